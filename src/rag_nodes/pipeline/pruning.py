"""Documents that are gone from folders, and are taken out of the store."""

from __future__ import annotations

import logging
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import ConfigurationError, FileMissingError
from rag_nodes.pipeline.report import Pruned
from rag_nodes.readers import Exclusion, listed
from rag_nodes.store import is_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from rag_nodes.pipeline.ledger import Ledger
    from rag_nodes.pipeline.report import IngestReport
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)

_REMEDY = (
    "nothing was ingested or removed, since an unmounted disk would look the same; check the path, "
    "or take documents out with `rag-nodes remove FILE`"
)


class Removed(NamedTuple):
    """Numbers of documents, chunks and parents that were taken out of a collection."""

    collection: str
    documents: int
    nodes: int


class GoneDocument(NamedTuple):
    """A document that no file has any more: the file that had it, and where its text came from."""

    id: str
    path: str
    source: str | None


def check_prunable(
    paths: Iterable[Path],
    store: Store,
    ledger: Ledger | None,
    corpus: str,
    exclude: Exclusion | None = None,
) -> None:
    """Refuse to prune a store without ledger, or by nothing but paths that may be unmounted disks.

    Raises:
        ConfigurationError: no ledger is kept of the store.
        FileMissingError: all paths are `missing`.
    """
    if ledger is None:
        raise ConfigurationError(
            f"the store '{store.location}' has no ledger, so documents that are gone are "
            f"unknown; ingest into a folder or a server, or name a file for the ledger"
        )
    named = list(paths)
    reasons = missing(named, ledger, corpus, exclude)
    if named and len(reasons) == len({*named}):
        path, reason = next(iter(reasons.items()))
        raise FileMissingError(path, reason, _REMEDY)


def missing(
    paths: Iterable[Path], ledger: Ledger, corpus: str, exclude: Exclusion | None = None
) -> dict[Path, str]:
    """Return the paths that may only look as if all was deleted, each with the reason.

    Such a path is not there, cannot be looked into, or is a folder without a document where there
    were some.
    """
    reasons: dict[Path, str] = {}
    for path in paths:
        try:
            if path.is_dir():
                os.scandir(path).close()
            else:
                path.stat()
        except OSError as error:
            reasons[path] = error.strerror or str(error)
            continue
        is_bare = path.is_dir() and next(listed([path], exclude=exclude)).path == path
        if is_bare and any(map(_is_below_any([path]), ledger.paths(corpus))):
            reasons[path] = "there is no document in this folder, and there were some"
    return reasons


def compared(
    report: IngestReport,
    store: Store,
    ledger: Ledger,
    paths: Sequence[Path],
    *,
    prune: bool,
    exclude: Exclusion | None = None,
) -> IngestReport:
    """The report with what is gone from files and folders, which is taken out where it is pruned.

    So is what files had that were moved with the store, once it is stored of where they are now.
    Nothing is while one of the paths is `missing`; the report names it where it was to be pruned.

    Raises:
        StoreError: the store or the ledger failed.
    """
    corpus = report.corpus
    absent = missing(paths, ledger, corpus, exclude)
    if prune and absent:
        report = replace(report, missing_paths=tuple(map(str, absent)))
        logger.warning("%s", report.missing_in_words)
        return report
    prune = prune and not report.dry_run
    lacks = any(file.status == "incomplete" for file in report.files)
    is_whole = not lacks and not any(column.error for column in report.columns)
    if prune and not is_whole:
        return report  # of what is not stored whole the new place may be that of something gone
    now = _relocated(ledger)
    left_out = (exclude or Exclusion()).below(paths)
    gone, lost = ([], []) if absent else _gone(ledger, corpus, paths, left_out, now)
    names = _collections(store, ledger, corpus) if gone else []
    chosen, files = gone, lost
    if not prune:
        is_all = is_whole and {*names} <= {column.collection for column in report.columns}
        entries = ledger.known(corpus, [*map(now, lost)] if is_all else [])
        read = {path for path, file in entries.items() if file.file.state in {"read", "partial"}}
        files = [path for path in lost if now(path) != path and now(path) in read]
        chosen = [document for document in gone if document.path in files]
    removed = (
        taken_out(store, ledger, corpus, [document.id for document in chosen], names)
        if chosen
        else []
    )
    ledger.forget_files(corpus, files)
    corpora = {collection.corpus for collection in ledger.collections()} if ledger.moved() else ()
    if all(now(path) == path for corpus in corpora for path in ledger.paths(corpus)):
        ledger.stay()
    if not prune:
        return replace(report, gone=len(gone) - len(chosen))
    documents = tuple(document.source or document.path for document in gone)
    return replace(report, pruned=Pruned(documents, sum(document.nodes for document in removed)))


def _collections(store: Store, ledger: Ledger, corpus: str) -> list[str]:
    """Return the collections of a corpus in a store, also those that the ledger does not know."""
    corpora = {collection.name: collection.corpus for collection in ledger.collections()}
    return [
        collection.name
        for collection in store.collections()
        if (
            corpora[collection.name] == corpus
            if collection.name in corpora
            else is_of(collection, corpus)
        )
    ]


def _gone(
    ledger: Ledger,
    corpus: str,
    paths: Sequence[Path],
    left_out: Callable[[str], bool],
    now: Callable[[str], str],
) -> tuple[list[GoneDocument], list[str]]:
    """Documents that no file has any more, and the files that are gone.

    That is documents of files that are not there any more or are left out, and of files that are
    read and have them no more; not what another file has as well, and not what is elsewhere.
    """
    is_below, is_missing = _is_below_any(paths), file_loss()
    ledger_paths = dict.fromkeys(ledger.paths(corpus))

    def here(path: str) -> bool:
        return is_below(path) or is_below(now(path))

    def is_lost(path: str) -> bool:
        # One that was moved is not lost while nobody has read it where it is now.
        is_moved = now(path) not in ledger_paths and not is_missing(now(path))
        return left_out(path) or (is_missing(path) and not is_moved)

    lost = [path for path in filter(here, ledger_paths) if is_lost(path)]
    rows = [row for row in map(GoneDocument._make, ledger.unheld(corpus, lost)) if here(row.path)]
    left = ledger.known(corpus, list({row.path for row in rows}))
    # A file that is there has lost a document only once it was read without it.
    read = {path for path, file in left.items() if file.file.state != "failed"}
    gone = {row.id: row for row in rows if row.path in read or is_lost(row.path)}
    return list(gone.values()), lost


def _relocated(ledger: Ledger) -> Callable[[str], str]:
    """Return a function that gives the present path of a file, which moves with the ledger."""
    old, new = (os.path.join(folder, "") for folder in ledger.moved() or ("", ""))  # noqa: PTH118

    def now(path: str) -> str:
        return new + path.removeprefix(old) if old and path.startswith(old) else path

    return now


def taken_out(
    store: Store,
    ledger: Ledger,
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
    chosen = list(collections)
    # One that is damaged is known to the ledger alone; it may be mended, and then has them still.
    known_names = [collection.name for collection in ledger.collections(corpus)]
    holdings = {
        name: {
            document_id: nodes
            for document_id in document_ids
            if (nodes := len(store.stored(name, document_id)))
        }
        for name in dict.fromkeys([*chosen, *known_names])
    }
    gone: list[Removed] = []
    for name, node_counts in holdings.items():
        if node_counts:
            ledger.open(name, node_counts)
            store.delete_others(name, dict.fromkeys(node_counts, ()))
            store.flush(name)  # what came back after a power failure would be listed nowhere
        ledger.forget_stored(name, document_ids)
        if node_counts or name in chosen:
            gone.append(Removed(name, len(node_counts), sum(node_counts.values())))
    ledger.forget_documents(corpus, document_ids)
    return gone


def file_loss() -> Callable[[str], bool]:
    """Return a test for files that are certainly gone; a file that cannot be asked for may exist.

    Files are known by paths without links, so one that is behind a link now is another file.
    """
    folders: dict[str, bool] = {}

    def is_lost(path: str) -> bool:
        try:
            status = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        folder = os.path.dirname(path)  # noqa: PTH120
        if folder not in folders:
            folders[folder] = os.path.realpath(folder) != folder
        return folders[folder] or stat.S_ISDIR(status.st_mode) or stat.S_ISLNK(status.st_mode)

    return is_lost


def _is_below_any(paths: Iterable[Path]) -> Callable[[str], bool]:
    """Return a test for paths that are among some files, or in some folders."""
    places = {os.path.normcase(path.resolve()) for path in paths}
    folders = tuple(os.path.join(place, "") for place in places)  # noqa: PTH118

    def is_below(path: str) -> bool:
        # Compared as text: there may be a million of them.
        given = os.path.normcase(path)
        return given.startswith(folders) or given in places

    return is_below
