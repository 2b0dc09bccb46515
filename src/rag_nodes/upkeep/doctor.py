"""The doctor: what is torn, foreign or orphaned in a store, found and mended.

Nothing changes unless it is asked to, and then only what loses nothing: the ledger is made to say
what the store holds, remains of a former version go where a whole one is there, and a document that
is not whole goes, so that the next ingest makes it anew.
"""

from __future__ import annotations

from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.errors import (
    LedgerDamagedError,
    LedgerError,
    RagNodesError,
    StoreDamagedError,
    StoreError,
    StoreForeignError,
    StoreFullError,
    StoreLockedError,
    StoreUnreachableError,
)
from rag_nodes.ledger import Ledger
from rag_nodes.pipeline.columns import stored_row
from rag_nodes.store import lack_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rag_nodes.store import Store, StoredNode

    StoredDocuments = dict[str, dict[str, StoredNode]]

_SHOWN = 5
"""Documents that are listed of many."""
_ANEW = "`rag-nodes clear --parser {} --yes` deletes it; then ingest again, or restore a copy"

FindingKind = Literal[
    "disk", "folder", "foreign", "ledger", "locked", "torn", "unreachable", "unreadable"
]
"""What it is about; "torn" are documents of which not all is there."""
_KINDS: tuple[tuple[type[Exception], FindingKind], ...] = (
    (StoreForeignError, "foreign"),
    (StoreLockedError, "locked"),
    (StoreUnreachableError, "unreachable"),
    (StoreDamagedError, "unreadable"),
    (StoreFullError, "disk"),
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """One thing that was found: where, what is wrong with it, and what to do.

    What is not `is_wrong` is only worth knowing; without `repair` a person has to decide.
    """

    kind: FindingKind
    where: str
    what: str
    remedy: str
    is_wrong: bool = True
    repair: Callable[[], None] | None = field(default=None, compare=False)
    mended: bool = False

    @classmethod
    def of(cls, error: Exception, where: str, otherwise: FindingKind, remedy: str = "") -> Trouble:
        """What an error tells: what is wrong and, behind a semicolon, what to do about it."""
        kinds = (kind for of, kind in _KINDS if isinstance(error, of))
        what, _, said = str(error).partition("; ")
        return cls(next(kinds, otherwise), where, what, remedy or said or "see what it says")

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        said = {one: getattr(self, one) for one in ("kind", "where", "what", "remedy", "is_wrong")}
        return {**said, "can_be_repaired": self.repair is not None, "mended": self.mended}


def examined(
    location: str,
    opened: Callable[[], Store],
    ledger_path: Callable[[str], Path | None],
    *,
    repair: bool = False,
) -> Iterator[Trouble]:
    """Look at a store; findings come as they are made.

    Args:
        location: folder or URL of the store.
        opened: opens it; whoever gives this closes it.
        ledger_path: of an open store's location, where its ledger lies; None for none.
        repair: mend what can be mended without a loss.
    """
    for finding in _findings(location, opened, ledger_path):
        if not (repair and finding.repair):
            yield finding
            continue
        try:
            finding.repair()
        except (RagNodesError, OSError) as error:
            yield replace(finding, what=f"{finding.what}; it could not be mended: {error}")
        else:
            yield replace(finding, mended=True)


def _findings(
    location: str, opened: Callable[[], Store], ledger_path: Callable[[str], Path | None]
) -> Iterator[Trouble]:
    try:
        yield from _folder(location)
        store = opened()
    except (StoreError, OSError) as error:
        yield Trouble.of(error, location, "folder")
        return
    ledger, path = None, ledger_path(store.location)
    with ExitStack() as cleanup:
        if path and path.is_file():
            try:
                ledger = cleanup.enter_context(Ledger(path))
                ledger.check()
            except LedgerError as error:
                ledger = None
                cleanup.close()
                is_torn = isinstance(error, LedgerDamagedError)
                mend = partial(_put_aside, path) if is_torn else None
                yield replace(Trouble.of(error, str(path), "ledger"), repair=mend)
        names = [info.name for info in store.collections()]
        for name in names:
            try:
                yield from _collection(store, ledger, name)
            except RagNodesError as error:
                remedy = _ANEW.format(name) if isinstance(error, StoreDamagedError) else ""
                yield Trouble.of(error, name, "unreadable", remedy)
        for one in ledger.collections() if ledger else ():
            # Of a collection that is gone nothing is counted and no error raised.
            with suppress(RagNodesError):
                if ledger and one.documents and one.name not in names and not store.count(one.name):
                    what = "the ledger knows this collection, and the store has it no more"
                    remedy = "--repair forgets it; ingest its documents again if it should be there"
                    forget = partial(ledger.forget_collection, one.name)
                    yield Trouble("ledger", one.name, what, remedy, repair=forget)


def _folder(location: str) -> Iterator[Trouble]:
    """Collections of a folder of which not even the name can be read."""
    from rag_nodes.store.edge.folder import contents_of

    if "://" not in location:
        path = Path(location).expanduser().resolve()
        for unread in contents_of(path).unread.values():
            yield Trouble.of(unread, str(path), "unreadable")


def _put_aside(path: Path) -> None:
    """Rename a ledger and what SQLite has beside it."""
    for side in ("", "-wal", "-shm"):
        file = path.with_name(path.name + side)
        if file.exists():
            file.replace(file.with_name(f"{file.name}.damaged"))


def _collection(store: Store, ledger: Ledger | None, name: str) -> Iterator[Trouble]:
    """All about one collection; what the ledger says is looked at when documents are mended."""
    stored = store.documents(name)
    yield from _torn(store, ledger, name, stored)
    chunks = sum(not node.is_parent for nodes in stored.values() for node in nodes.values())
    if lacking := chunks - store.count(name):
        what = f"{lacking} of {chunks} chunks have no embedding, and no search finds them"
        yield Trouble("torn", name, what, _ANEW.format(name))
    if ledger and not ledger.stored(name):
        what = "the ledger does not know what is in this collection: it was written elsewhere"
        remedy = "the next ingest into it makes it known"
        yield Trouble("ledger", name, what, remedy, is_wrong=False)
    elif ledger and (different := _different(ledger, name, stored)):
        count = "1 document" if len(different) == 1 else f"{len(different):,} documents"
        rest = f" and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
        shown = ", ".join(different[:_SHOWN]) + rest
        yield Trouble(
            "ledger",
            name,
            f"the ledger says something else of {count}: {shown}",
            "--repair makes it say what is stored, as the next ingest does by itself",
            repair=partial(_adopt, store, ledger, name),
        )


def _torn(
    store: Store, ledger: Ledger | None, name: str, stored: StoredDocuments
) -> Iterator[Trouble]:
    """Documents that are not whole, and are looked at again when they were mended."""
    rows = ledger.stored(name) if ledger else {}
    for document, nodes in list(stored.items()):
        # What no ingest wrote cannot be judged; what failed the next ingest completes with what is
        # there, which may have been paid for.
        is_judged = any(node.source_hash for node in nodes.values())
        has_failed = document in rows and rows[document].error is not None
        if is_judged and not has_failed and (what := lack_of(nodes)):
            yield Trouble(
                "torn",
                f"{name}: document {document}",
                what,
                "ingest it again, or repeat the push that was interrupted; --repair removes what "
                "is not whole, so that it becomes due",
                repair=partial(_mend, store, ledger, name, document, nodes),
            )
            stored[document] = store.stored(name, document)


def _different(ledger: Ledger, name: str, stored: StoredDocuments) -> list[str]:
    """Documents that are whole in another version than a ledger says, or have points it lacks."""
    there = {one: stored_row(name, one, nodes).version for one, nodes in stored.items()}
    said = {one: row.version for one, row in ledger.stored(name).items()}
    listed = ledger.listed_ids(name, list(stored))
    return [
        one
        for one in dict.fromkeys([*there, *said])
        if said.get(one, "") != there.get(one, "")
        or not stored.get(one, {}).keys() <= {*listed.get(one, ())}
    ]


def _mend(
    store: Store,
    ledger: Ledger | None,
    name: str,
    document: str,
    nodes: Mapping[str, StoredNode],
) -> None:
    """Keep the version that is whole, if there is one, and delete the rest."""
    versions: StoredDocuments = {}
    for one, node in nodes.items():
        versions.setdefault(node.source_hash, {})[one] = node
    whole = [found for found in versions.values() if not lack_of(found)]
    kept = max(whole, key=len, default={})
    if ledger:
        ledger.intend(name, {document: nodes})
    store.delete(name, [one for one in nodes if one not in kept])
    if ledger and kept:
        ledger.settle([stored_row(name, document, kept)], {document: kept})
    elif ledger:
        ledger.forget_stored(name, [document])


def _adopt(store: Store, ledger: Ledger, name: str) -> None:
    documents = store.documents(name).items()
    ledger.adopt(name, ((stored_row(name, one, nodes), nodes) for one, nodes in documents))
