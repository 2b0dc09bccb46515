"""What is gone from folders: documents that are taken out of the store, and files that moved."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import FileMissingError
from rag_nodes.pipeline.report import Pruned
from rag_nodes.readers import listed
from rag_nodes.store import is_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rag_nodes.ledger import Ledger
    from rag_nodes.store import Store


_REMEDY = (
    "nothing was removed, since a disk that is not there looks the same; check the path, or take "
    "documents out with `rag-nodes remove FILE`"
)


class Removed(NamedTuple):
    """Of how many documents how many chunks and parents were taken out of a collection."""

    collection: str
    documents: int
    nodes: int


def check_folders(paths: Iterable[str | Path], ledger: Ledger, corpus: str) -> None:
    """Refuse to prune by paths that may only look as if all was deleted.

    Raises:
        FileMissingError: one is not there, cannot be looked into, or is a folder without a document
            where there were some.
    """
    for path in map(Path, paths):
        try:
            if path.is_dir():
                os.scandir(path).close()
            else:
                path.stat()
        except OSError as error:
            raise FileMissingError(path, error.strerror or str(error), _REMEDY) from error
        here = _is_below_any([path])
        is_bare = path.is_dir() and next(listed([path])).path == path
        if is_bare and any(map(here, ledger.paths(corpus))):
            reason = "there is no document in this folder, and there were some"
            raise FileMissingError(path, reason, _REMEDY)


def pruned(store: Store, ledger: Ledger, corpus: str, paths: Iterable[str | Path]) -> Pruned:
    """Take out of all collections of a corpus what is gone from files and folders.

    That is documents of files that are not there any more or that are empty, and of files that are
    read and have them no more. What another file has as well stays, and so does what is elsewhere.

    Raises:
        StoreError: the store or the ledger failed.
    """
    chosen, lost = _gone(ledger, corpus, paths)
    names = _collections_of(store, ledger, corpus) if chosen else []
    out = taken_out(store, ledger, corpus, list(chosen), names)
    ledger.forget_files(corpus, lost)
    return Pruned(tuple(chosen.values()), sum(one.nodes for one in out))


def gone_documents(ledger: Ledger, corpus: str, paths: Sequence[str | Path]) -> int:
    """How many documents `pruned` would take out; 0 where it would refuse these paths."""
    try:
        check_folders(paths, ledger, corpus)
    except FileMissingError:
        return 0
    return len(_gone(ledger, corpus, paths)[0])


def taken_out(
    store: Store,
    ledger: Ledger | None,
    corpus: str,
    document_ids: Sequence[str],
    collections: Iterable[str],
) -> list[Removed]:
    """Delete documents from collections, flushed, then from the ledger.

    Nothing is deleted while a collection that is named, or that the ledger knows, cannot be read.
    Interrupted, it leaves documents of which a part is there: run again it deletes the rest.

    Raises:
        StoreError: the store or the ledger failed.
    """
    gone: list[Removed] = []
    chosen = list(collections)
    # One that is damaged is known to the ledger alone; it may be mended, and then has them still.
    known = [one.name for one in ledger.collections(corpus)] if ledger else []
    for name, there in _holdings(store, [*chosen, *known], document_ids).items():
        if ledger and there:
            ledger.intend(name, there)
        every = [node for found in there.values() for node in found]
        if every:
            store.delete(name, every)
            store.flush(name)  # what came back after a power cut would be listed nowhere
        if ledger:
            ledger.forget_stored(name, document_ids)
        if every or name in chosen:
            gone.append(Removed(name, len(there), len(every)))
    if ledger:
        ledger.forget_documents(corpus, document_ids)
    return gone


def _holdings(
    store: Store, collections: Iterable[str], document_ids: Sequence[str]
) -> dict[str, dict[str, list[str]]]:
    """The stored nodes of those documents that are there, by collection and document."""
    found = {
        name: {one: list(store.stored(name, one)) for one in document_ids}
        for name in dict.fromkeys(collections)
    }
    return {name: {one: nodes for one, nodes in of.items() if nodes} for name, of in found.items()}


def _collections_of(store: Store, ledger: Ledger, corpus: str) -> list[str]:
    """All collections of a corpus, also those that the ledger has never heard of."""
    known = {one.name: one.corpus for one in ledger.collections()}
    return [
        info.name
        for info in store.collections()
        if (known[info.name] == corpus if info.name in known else is_of(info, corpus))
    ]


def _gone(
    ledger: Ledger, corpus: str, paths: Iterable[str | Path]
) -> tuple[dict[str, str], list[str]]:
    """Documents by id that no file has any more, by path or URL, and the files that are gone."""
    here = _is_below_any(paths)
    lost = [path for path in filter(here, ledger.paths(corpus)) if _is_lost(path)]
    rows = [row for one in ledger.known(corpus, lost).values() for row in one.documents]
    holders = ledger.documents(corpus, list({row.id for row in rows}))
    gone = {
        row.id: row.source or row.path
        for row in rows
        if {one.path for one in holders[row.id]} <= {*lost}
    }
    vanished = [(path, one) for path, one in ledger.vanished(corpus) if here(path)]
    left = ledger.known(corpus, list({path for path, _ in vanished}))
    for path, one in vanished:
        # A file that is there has lost a document only once it was read without it.
        was_read = path in left and left[path].file.state != "failed"
        if was_read or _is_lost(path):
            gone[one] = path
    return gone, lost


def moved_files(ledger: Ledger, corpus: str, paths: Iterable[str | Path]) -> tuple[str, ...]:
    """Files that are not there any more, and whose bytes are in files that were ingested.

    Nothing of them is removed: of a disk that is not there the files look the same.
    """
    here = _is_below_any(paths)
    copies = ledger.copies(corpus)
    found = {content for path, content in copies if here(path) and not _is_lost(path)}
    lost = [path for path, content in copies if content in found and _is_lost(path)]
    known = ledger.known(corpus, lost)
    ids = [row.id for one in known.values() for row in one.documents]
    # A page of two crawls is one document, which is to stay.
    kept = {
        one
        for one, rows in ledger.documents(corpus, ids).items()
        if any(row.path not in known for row in rows)
    }
    return tuple(p for p in lost if kept.isdisjoint(row.id for row in known[p].documents))


def _is_lost(path: str) -> bool:
    """Whether a file is not there for certain; one that cannot be asked for may well be."""
    try:
        found = os.stat(path)  # noqa: PTH116 - there may be a million of them, as below
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode)


def _is_below_any(paths: Iterable[str | Path]) -> Callable[[str], bool]:
    """What says of a file whether it is one of some files, or in one of some folders."""
    places = {os.path.normcase(Path(path).resolve()) for path in paths}
    folders = tuple(os.path.join(place, "") for place in places)  # noqa: PTH118

    def is_below(path: str) -> bool:
        # Compared as text: there may be a million of them.
        given = os.path.normcase(path)
        return given.startswith(folders) or given in places

    return is_below
