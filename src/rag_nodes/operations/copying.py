"""Copies of whole stores, and aliases of collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Never

from pydantic import Field

from rag_nodes.errors import CollectionMissingError, ConfigurationError
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import OWNER, Flag, Request, Result
from rag_nodes.operations.places import foreign_words, inventory, must_exist, of_parser
from rag_nodes.operations.run import Doing, Run
from rag_nodes.operations.stored import OF_PARSER

if TYPE_CHECKING:
    from rag_nodes.store import Store
    from rag_nodes.store.copying import CopyFailure, CopyReport
    from rag_nodes.upkeep import HeldCollection, Inventory


class PushRequest(Request):
    """Copy a store to a Qdrant server or another folder; nothing is embedded again.

    Points that are there already are not sent again, so a run that was interrupted goes on when it
    is repeated. The old chunks of changed documents are deleted there once the new ones are in;
    documents that only the target has stay, unless you add --prune. At the end both sides are read
    and compared. The server's key is taken from RAG_NODES_STORE_API_KEY. To copy a store back, name
    it with --store and the new place as the target.
    """

    target: Annotated[str, OWNER, Flag(argument=True)]
    """URL of a Qdrant server, or another folder."""
    collections: Annotated[list[str], Flag("--collection", metavar="NAME")] = Field(
        default_factory=list
    )
    """Only this one, repeatable, as `status` names it; all of the corpus by default."""
    all: bool = False
    """The collections of every corpus."""
    prune: bool = False
    """Delete the documents that only the other side has."""


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
    collections: Sequence[CopyReport]
    failed: Sequence[CopyFailure]


@dataclass(frozen=True, slots=True, kw_only=True)
class Aliases(Result):
    """Which collection each alias of a store means."""

    store: str
    aliases: Mapping[str, str]


def push(request: PushRequest, run: Run) -> Copied:
    """Copy the store to the target.

    Raises:
        StoreError: no collection could be copied.
    """
    from rag_nodes.store.copying import CopyFailure

    must_exist(run.settings.store)
    run.emit(Doing("Opening the stores"))
    from rag_nodes.upkeep import copied

    here = inventory(run)
    chosen = _chosen(here, request.collections, None if request.all else run.settings.corpus)
    there = inventory(run, request.target)  # last, because opening a folder makes it
    outcomes = list(copied(here.store, there, chosen, run.emit, prune=request.prune))
    failed = [outcome for outcome in outcomes if isinstance(outcome, CopyFailure)]
    whole = [outcome for outcome in outcomes if not isinstance(outcome, CopyFailure)]
    if failed and not whole:
        raise failed[0].error
    for failure in failed:
        run.warn(f"{failure.collection}: {failure.error}")
    if failed:
        count = f"{len(failed)} of {len(outcomes)} collections"
        run.warn(f"Not copied: {count}; remove the cause and run this again")
    return Copied(
        outcome=ExitCode.PARTIAL if failed else ExitCode.DONE,
        source=here.store.location,
        target=there.store.location,
        collections=whole,
        failed=failed,
    )


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
