"""What is gone from folders, taken out of the store: deleted, emptied and vanished documents."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import FileMissingError
from rag_nodes.readers import listed
from rag_nodes.store import is_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.ledger import DocumentRow, FileRow, Ledger
    from rag_nodes.store import Store

_REMEDY = (
    "nothing was removed, since a disk that is not there looks the same; check the path, or take "
    "documents out with `rag-nodes remove`"
)


class Removed(NamedTuple):
    """What was taken out of one collection.

    Attributes:
        collection: its name.
        documents: of which something was stored in it.
        nodes: chunks and parents.
    """

    collection: str
    documents: int
    nodes: int


class Pruned(NamedTuple):
    """What was gone from the folders and is gone from the store now.

    Attributes:
        documents: their paths, or the URLs of pages.
        nodes: chunks and parents that were deleted, in all collections.
    """

    documents: tuple[str, ...]
    nodes: int


def check_folders(paths: Iterable[str | Path], ledger: Ledger, corpus: str) -> None:
    """Refuse to prune by paths that may only look as if all was deleted.

    Args:
        paths: files and folders that are ingested.
        ledger: knows what was in them.
        corpus: name of the document set.

    Raises:
        FileMissingError: one is not there, cannot be looked into, or is a folder without a document
            where there were some.
    """
    files = list(ledger.files(corpus))
    for path in map(Path, paths):
        try:
            if path.is_dir():
                os.scandir(path).close()
            else:
                path.stat()
        except OSError as error:
            raise FileMissingError(path, error.strerror or str(error), _REMEDY) from error
        place = path.resolve()
        if path.is_dir() and _is_bare(path) and any(_is_below(Path(one), place) for one in files):
            reason = "there is no document in this folder, and there were some"
            raise FileMissingError(path, reason, _REMEDY)


def pruned(store: Store, ledger: Ledger, corpus: str, paths: Iterable[str | Path]) -> Pruned:
    """Take out of all collections of a corpus what is gone from files and folders.

    That is documents of files that are not there any more or that are empty, and of files that are
    read and have them no more. What another file has as well stays.

    Args:
        store: to take it out of.
        ledger: of the store.
        corpus: name of the document set.
        paths: files and folders that were ingested; what is known of others stays as it is.

    Raises:
        StoreError: the store or the ledger failed.
    """
    places = [Path(path).resolve() for path in paths]
    here = {
        path: file
        for path, file in ledger.files(corpus).items()
        if any(_is_below(Path(path), place) for place in places)
    }
    lost = {path for path in here if _is_lost(path)}
    gone, kept = _divided(ledger.documents(corpus), here, lost)
    chosen = {one.id: one for one in gone if one.id not in kept}
    names = _collections_of(store, ledger, corpus) if chosen else []
    out = taken_out(store, ledger, corpus, list(chosen), names)
    ledger.forget_files(corpus, sorted(lost))
    return Pruned(
        tuple(one.source or one.path for one in chosen.values()), sum(one.nodes for one in out)
    )


def taken_out(
    store: Store,
    ledger: Ledger | None,
    corpus: str,
    document_ids: Sequence[str],
    collections: Iterable[str],
) -> list[Removed]:
    """Delete documents from collections, then from the ledger.

    Interrupted, it leaves documents of which a part is there: run again it deletes the rest.

    Args:
        store: to take them out of.
        ledger: of the store; None where none is kept.
        corpus: name of the document set.
        document_ids: which.
        collections: names of those of the corpus.

    Raises:
        StoreError: the store or the ledger failed.
    """
    gone: list[Removed] = []
    for name in collections:
        nodes = {one: list(store.stored(name, one)) for one in document_ids}
        there = {one: found for one, found in nodes.items() if found}
        if ledger and there:
            ledger.unsettle(name, there)
        every = [node for found in there.values() for node in found]
        if every:
            store.delete(name, every)
        if ledger:
            ledger.forget_deposits(name, document_ids)
        gone.append(Removed(name, len(there), len(every)))
    if ledger:
        ledger.forget_documents(corpus, document_ids)
    return gone


def _collections_of(store: Store, ledger: Ledger, corpus: str) -> list[str]:
    """All collections of a corpus, also those that the ledger has never heard of."""
    known = {one.row.name: one.row.corpus for one in ledger.collections()}
    return [
        info.name
        for info in store.collections()
        if (known[info.name] == corpus if info.name in known else is_of(info, corpus))
    ]


def _divided(
    documents: dict[str, list[DocumentRow]], here: dict[str, FileRow], lost: set[str]
) -> tuple[list[DocumentRow], set[str]]:
    """Documents that are gone from their files, and the ids of those that are not."""
    gone: list[DocumentRow] = []
    kept: set[str] = set()
    for path, rows in documents.items():
        emptied = path in lost or (path in here and here[path].state == "empty")
        for row in rows:
            if path in here and (emptied or not row.source_hash):
                gone.append(row)
            elif row.source_hash:
                kept.add(row.id)
    return gone, kept


def _is_lost(path: str) -> bool:
    """Whether a file is not there for certain; one that cannot be asked for may well be."""
    try:
        Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def _is_bare(folder: Path) -> bool:
    """Whether there is no file in a folder that would be read."""
    return next(listed([folder])).path == folder


def _is_below(path: Path, place: Path) -> bool:
    with suppress(ValueError):
        return path.is_relative_to(place)
    return False
