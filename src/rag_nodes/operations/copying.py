"""Whole stores: copied to a server and back, imported, and other names of what is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Never

from pydantic import Field

from rag_nodes.errors import CollectionMissingError, ConfigurationError
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import OWNER, Flag, Request, Result
from rag_nodes.operations.places import foreign_words, inventory, must_exist, of_parser, opened
from rag_nodes.operations.run import Doing, Run
from rag_nodes.operations.stored import OF_PARSER

if TYPE_CHECKING:
    from rag_nodes.store import Store
    from rag_nodes.store.copying import CopyFailure, CopyReport
    from rag_nodes.store.importing import ImportReport
    from rag_nodes.upkeep import HeldCollection, Inventory


class _Copy(Request):
    """What is copied between two stores."""

    collections: Annotated[list[str], Flag("--collection", metavar="NAME")] = Field(
        default_factory=list
    )
    """Only this one, repeatable, as `status` names it; all of the corpus by default."""
    all: bool = False
    """The collections of every corpus."""
    prune: bool = False
    """Delete the documents that only the other side has."""


class PushRequest(_Copy):
    """Copy a store to a Qdrant server; nothing is split or embedded again.

    Points that are there already are not sent again, so that a run which was interrupted goes on
    when it is repeated. Of documents that changed, the former chunks are deleted there when the new
    ones are in; documents that only the target has stay without --prune. At the end both sides are
    read and compared. The server's key is taken from RAG_NODES_STORE_API_KEY.
    """

    target: Annotated[str, OWNER, Flag(argument=True)]
    """URL of a Qdrant server, or another folder."""


class PullRequest(_Copy):
    """Copy a store back from a Qdrant server."""

    source: Annotated[str, OWNER, Flag(argument=True)]
    """URL of a Qdrant server, or another folder."""


class ImportRequest(Request):
    """Copy the collections of a folder of qdrant-client's local mode into the store.

    Ids, payloads and vectors are copied as they are. The folder is only read. A collection that the
    store has already is refused, unless it is empty. Ask what was imported by an alias (`store
    alias`, then `ask --alias`), or measure it with `evaluate --collection`.
    """

    folder: Annotated[Path, OWNER, Flag(argument=True)]
    """As the program gives it: QdrantClient(path=...)."""


class AliasRequest(Request):
    """Give a collection another name, or show the names there are.

    Programs that ask by the alias, as `ask --alias` does, need not know which parser and model are
    behind it, and get the answers of another collection from one moment to the next: ingest with
    the new parser or model, look at it, then have the alias mean it.
    """

    parser: Annotated[str, OF_PARSER] = ""
    """The collection of this parser: a preset with its options, or a class."""
    name: Annotated[str | None, Flag(argument=True)] = None
    """Of the alias; all are shown without one."""
    collection: Annotated[str | None, Flag(argument=True)] = None
    """What it is to mean, as `status` names it; by default the one of corpus and parser."""
    remove: bool = False
    """Remove the alias; what it means stays."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied(Result):
    """What became of each collection on its way from one store to another."""

    source: str
    target: str
    collections: Sequence[CopyReport | ImportReport]
    failed: Sequence[CopyFailure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aliases(Result):
    """Which collection each alias of a store means."""

    store: str
    aliases: Mapping[str, str]


def push(request: PushRequest, run: Run) -> Copied:
    """Copy from the store."""
    return _copied(request, run, run.settings.store, request.target)


def pull(request: PullRequest, run: Run) -> Copied:
    """Copy into the store."""
    return _copied(request, run, request.source, run.settings.store)


def import_folder(request: ImportRequest, run: Run) -> Copied:
    """Copy from another program's folder."""
    from rag_nodes.store.importing import collections_in, import_collections

    source = request.folder.expanduser().resolve()
    collections_in(source)  # which refuses what is no such folder, before a store is made
    if Path(run.settings.store).expanduser().resolve().is_relative_to(source):
        raise ConfigurationError(
            f"{run.settings.store}: the store would be made in the folder that is imported, which "
            "is left as it is; name another one with --store"
        )
    store = opened(run)
    outcomes = list(import_collections(source, store, run.emit))
    return _concluded(run, "imported", str(source), store.location, outcomes)


def alias(request: AliasRequest, run: Run) -> Aliases:
    """Set, remove or show."""
    name = request.name
    if request.remove and (name is None or request.collection is not None):
        raise ConfigurationError("--remove takes the name of one alias and nothing else")
    run.emit(Doing("Opening the store"))
    held = inventory(run)
    store, corpus = held.store, run.settings.corpus
    if name and request.remove:
        store.point_alias(name, None)
    elif name:
        found = of_parser(held.collections(corpus), request.parser)
        named = request.collection or _only_one([one.info.name for one in found], corpus)
        store.point_alias(name, named)
    return Aliases(store=store.location, aliases=store.aliases())


def _only_one(found: list[str], corpus: str) -> str:
    if len(found) != 1:
        there = ", ".join(found) or "see `rag-nodes status`"
        raise ConfigurationError(
            f"corpus {corpus!r} has {len(found) or 'no'} collections of that parser, and an alias "
            f"means one; name it, or its --parser: {there}"
        )
    return found[0]


def _copied(request: _Copy, run: Run, source: str, target: str) -> Copied:
    """Copy from the first of two stores to the second."""
    must_exist(source)
    run.emit(Doing("Opening the stores"))
    from rag_nodes.upkeep import copied

    here = inventory(run, source)
    chosen = _chosen(here, request.collections, None if request.all else run.settings.corpus)
    there = inventory(run, target)  # after what may refuse, as a folder is made by opening it
    copies = copied(here.store, there, chosen, run.emit, prune=request.prune)
    return _concluded(run, "copied", here.store.location, there.store.location, list(copies))


def _concluded(
    run: Run,
    done: str,
    source: str,
    target: str,
    outcomes: Sequence[CopyReport | ImportReport | CopyFailure],
) -> Copied:
    """Name what was not done; the rest was.

    Raises:
        StoreError: nothing was.
    """
    from rag_nodes.store.copying import CopyFailure

    failed = [one for one in outcomes if isinstance(one, CopyFailure)]
    whole = [one for one in outcomes if not isinstance(one, CopyFailure)]
    if failed and not whole:
        raise failed[0].error
    for one in failed:
        run.warn(f"{one.collection}: {one.error}")
    if failed:
        count = f"{len(failed)} of {len(outcomes)} collections"
        run.warn(f"Not {done}: {count}; mend the cause and run this again")
    return Copied(
        outcome=ExitCode.PARTIAL if failed else ExitCode.DONE,
        source=source,
        target=target,
        collections=whole,
        failed=failed,
    )


def _chosen(held: Inventory, names: list[str], corpus: str | None) -> list[HeldCollection]:
    """Collections by their names or aliases, or else those of a corpus; None for all."""
    from rag_nodes.store import missing

    if not names:
        found = held.collections(corpus)
        return found or _none_of(held.store, corpus)
    known, aliases = {one.info.name: one for one in held.collections()}, held.store.aliases()
    meant = [aliases.get(name, name) for name in names]
    if unknown := [name for name in meant if name not in known]:
        raise missing(held.store.location, unknown[0])
    return [known[name] for name in dict.fromkeys(meant)]


def _none_of(store: Store, corpus: str | None) -> Never:
    others = sorted({info.corpus for info in store.collections()})
    nothing = f"nothing is stored there{foreign_words(store.foreign())}"
    known = f"there are: {', '.join(others)}" if others else nothing
    raise CollectionMissingError(
        f"{store.location}: no collection of corpus {corpus or 'any'!r}; {known}; name one with "
        "--corpus"
    )
