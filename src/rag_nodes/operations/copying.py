"""Copies of whole stores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Never

from pydantic import Field

from rag_nodes.core.errors import CollectionMissingError
from rag_nodes.core.spelling import counted
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import OWNER, Flag, Request, Result
from rag_nodes.operations.places import foreign_words, inventory, must_exist, opened
from rag_nodes.operations.run import Doing, Run

if TYPE_CHECKING:
    from rag_nodes.pipeline.upkeep import HeldCollection, Inventory
    from rag_nodes.store import Store
    from rag_nodes.store.copying import CopyFailure, CopyReport


class PushRequest(Request):
    """Copy a store to a Qdrant server or another folder; nothing is embedded again.

    Points that are there already are not sent again: to continue an interrupted run, repeat it. The
    old chunks of changed documents are deleted there once the new ones are in; documents that only
    the target has stay, unless you add --prune. At the end both sides are read and compared. The
    server's key is taken from RAG_NODES_STORE_API_KEY. To copy a store back, name it with --store
    and the new place as the target.
    """

    target: Annotated[str, OWNER, Flag(argument=True)]
    """URL of a Qdrant server, or another folder."""
    collections: Annotated[list[str], Flag("--collection", metavar="NAME")] = Field(
        default_factory=list
    )
    """Collection to copy, as `status` names it; repeatable. Default: all of the corpus."""
    all: bool = False
    """The collections of every corpus."""
    prune: bool = False
    """Delete the documents that only the other side has."""


class ExportRequest(Request):
    """Write a store to a folder that qdrant-client opens; nothing is embedded again.

    QdrantClient(path=FOLDER) reads it, and so does LlamaIndex's QdrantVectorStore. At the end both
    sides are read and compared. The folder is there once all of it is: a run that is killed leaves
    FOLDER.part, which you delete before the next one. Qdrant advises against such folders for
    collections of more than 20,000 chunks: copy these to a server.
    """

    folder: Annotated[Path, OWNER, Flag(argument=True)]
    """New or empty folder."""
    collections: Annotated[list[str], Flag("--collection", metavar="NAME")] = Field(
        default_factory=list
    )
    """Collection to export, as `status` names it; repeatable. Default: all of every corpus."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Result):
    """Outcome of each collection on its way from one store to another."""

    source: str
    target: str
    collections: Sequence[CopyReport]
    failed: Sequence[CopyFailure]


def push(request: PushRequest, run: Run) -> Copied:
    """Copy the store to the target.

    Raises:
        StoreError: no collection could be copied.
    """
    from rag_nodes.store.copying import CopyFailure

    must_exist(run.settings.store)
    run.emit(Doing("Opening the stores"))
    from rag_nodes.pipeline.upkeep import copied

    source = inventory(run)
    chosen = _chosen(source, request.collections, None if request.all else run.settings.corpus)
    target = inventory(run, request.target)  # last, because opening a folder makes it
    outcomes = list(copied(source.store, target, chosen, run.emit, prune=request.prune))
    failed = [outcome for outcome in outcomes if isinstance(outcome, CopyFailure)]
    whole = [outcome for outcome in outcomes if not isinstance(outcome, CopyFailure)]
    if failed and not whole:
        raise failed[0].error
    for failure in failed:
        run.warn(f"{failure.collection}: {failure.error}")
    if failed:
        count = f"{len(failed)} of {len(outcomes)} collections"
        run.warn(f"Not copied: {count}; remove the cause and run this again")
    if not request.collections and (others := len(source.collections()) - len(chosen)):
        run.warn(f"Not copied: {counted(others, 'collection')} of other corpora; add --all")
    return Copied(
        outcome=ExitCode.PARTIAL if failed else ExitCode.DONE,
        source=source.store.location,
        target=target.store.location,
        collections=whole,
        failed=failed,
    )


def export(request: ExportRequest, run: Run) -> Copied:
    """Write the store to a folder that qdrant-client reads.

    Raises:
        ConfigurationError: the folder is not empty.
        StoreError: a collection could not be copied, so that nothing was written.
    """
    must_exist(run.settings.store)
    run.emit(Doing("Opening the store"))
    from rag_nodes.store.exporting import export_folder

    store = opened(run)
    return Copied(
        outcome=ExitCode.DONE,
        source=store.location,
        target=str(request.folder),
        collections=export_folder(store, request.folder, request.collections or None, run.emit),
        failed=(),
    )


def _chosen(held: Inventory, names: list[str], corpus: str | None) -> list[HeldCollection]:
    """Return collections by their names, or else those of a corpus; None for all."""
    from rag_nodes.store import missing

    if not names:
        collections = held.collections(corpus)
        return collections or _none_of(held.store, corpus)
    by_name = {collection.info.name: collection for collection in held.collections()}
    if unknown := [name for name in names if name not in by_name]:
        raise missing(held.store.location, unknown[0])
    return [by_name[name] for name in dict.fromkeys(names)]


def _none_of(store: Store, corpus: str | None) -> Never:
    others = sorted({info.corpus for info in store.collections()})
    nothing = f"nothing is stored there{foreign_words(store.foreign())}"
    content = f"there are: {', '.join(others)}" if others else nothing
    raise CollectionMissingError(
        f"{store.location}: no collection of corpus '{corpus or 'any'}'; {content}; name one with "
        "--corpus"
    )
