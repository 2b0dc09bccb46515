"""The doctor: what is torn, foreign, orphaned or about to fail in a store, found and mended.

It looks at the folder before it opens it, then at every collection document by document, then at
what the ledger says of both. It changes nothing unless it is asked to, and then only what loses
nothing: the ledger is made to say what the store holds, remains of a former version go where a
whole one is there, and a document that is not whole goes, so that the next ingest makes it anew.
"""

from __future__ import annotations

import os
import shutil
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.errors import (
    LedgerDamagedError,
    LedgerError,
    RagNodesError,
    StoreError,
    StoreForeignError,
)
from rag_nodes.ledger import FILE_NAME, Ledger
from rag_nodes.upkeep.contents import Trouble, examined_contents

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.store import QdrantStore
    from rag_nodes.upkeep.contents import FindingKind

SPACE = 1 << 30
"""Bytes that should be free on the disk of a folder; below a quarter of it nothing is written."""
_SIDES = ("", "-wal", "-shm")
"""Endings of the files of a ledger."""
_ASIDE = ".damaged"
"""After the name of a file that cannot be read and was put aside."""


def examined(
    location: str,
    opened: Callable[[], QdrantStore],
    ledger_path: Callable[[str], Path | None],
    *,
    repair: bool = False,
) -> Iterator[Trouble]:
    """Look at a store from outside to inside; findings come as they are made.

    Args:
        location: folder or URL of the store.
        opened: opens it; whoever gives this closes it.
        ledger_path: of an open store's location, where its ledger lies; None for none.
        repair: mend what can be mended without a loss.
    """
    for finding in _findings(location, opened, ledger_path):
        yield _mended(finding) if repair and finding.repair else finding


def _mended(finding: Trouble) -> Trouble:
    assert finding.repair is not None  # noqa: S101 -- for the type checker
    try:
        finding.repair()
    except (RagNodesError, OSError) as error:
        return replace(finding, what=f"{finding.what}; it could not be mended: {error}")
    return replace(finding, mended=True)


def _findings(
    location: str, opened: Callable[[], QdrantStore], ledger_path: Callable[[str], Path | None]
) -> Iterator[Trouble]:
    outside: set[FindingKind] = set()
    if "://" not in location:
        found = list(_folder(Path(location).expanduser().resolve()))
        yield from found
        outside = {one.kind for one in found if one.is_wrong}
        if outside & {"folder", "foreign"}:
            return
    try:
        store = opened()
    except StoreError as error:
        yield Trouble.of(error, location, "folder")
        return
    # That its disk is full was said of the folder; each of its collections would say it again.
    inside = _inside(store, ledger_path(store.location))
    yield from (one for one in inside if one.kind != "disk" or "disk" not in outside)


def _inside(store: QdrantStore, path: Path | None) -> Iterator[Trouble]:
    """What can be seen of an open store, and of its ledger."""
    ledger = None
    with ExitStack() as cleanup:
        if path and path.is_file():
            try:
                found = cleanup.enter_context(Ledger(path))
                found.check()
            except LedgerError as error:
                cleanup.close()
                is_torn = isinstance(error, LedgerDamagedError)
                mend = partial(_put_aside, path) if is_torn else None
                yield Trouble.of(error, str(path), "ledger", repair=mend)
            else:
                ledger = found
        yield from examined_contents(store, ledger)
    if path and not path.is_file() and store.collections():
        what = "there is no ledger, so that an ingest opens every file"
        yield Trouble("ledger", str(path), what, "the next ingest makes one", is_wrong=False)


def _folder(path: Path) -> Iterator[Trouble]:
    """What can be seen without opening it."""
    from rag_nodes.store.edge.ownership import looked_at
    from rag_nodes.transforms import WRITTEN_FILE

    if not os.access(path, os.R_OK | os.W_OK | os.X_OK):
        remedy = "give it to the user who runs this, with the right to read and to write"
        yield Trouble("folder", str(path), "it cannot be written to", remedy)
        return
    free = shutil.disk_usage(path).free
    if free < SPACE:
        yield Trouble(
            "disk",
            str(path),
            f"{free >> 20} MB are free on its disk",
            f"free some space; below {SPACE >> 22} MB nothing is written",
        )
    try:
        look = looked_at(path)
    except StoreForeignError as error:
        yield Trouble.of(error, str(path), "foreign")
        return
    for unread in look.unread:
        yield Trouble.of(unread, str(path), "unreadable")
    put_aside = {f"{FILE_NAME}{side}{_ASIDE}" for side in _SIDES}
    if kept := sorted(put_aside.intersection(look.foreign)):
        what = f"a damaged ledger was put aside: {', '.join(kept)}"
        yield Trouble("ledger", str(path), what, "delete it", is_wrong=False)
    ours = {WRITTEN_FILE, *put_aside, *(f"{FILE_NAME}{side}" for side in _SIDES)}
    if foreign := [name for name in look.foreign if name not in ours]:
        what = f"files that are none of ours: {', '.join(foreign)}"
        yield Trouble("foreign", str(path), what, "keep them elsewhere", is_wrong=False)


def _put_aside(path: Path) -> None:
    """Rename a ledger and what SQLite has beside it."""
    for side in _SIDES:
        file = path.with_name(path.name + side)
        if file.exists():
            file.replace(file.with_name(f"{file.name}{_ASIDE}"))
