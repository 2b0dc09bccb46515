"""`rag-nodes store`: whole stores, from a folder to a server and back."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Never

import typer

from rag_nodes.cli.choices import StoredParser
from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.old_progress import copy_words, shown_progress
from rag_nodes.cli.options import STORE_SETTINGS
from rag_nodes.cli.stores import inventory, kept, must_exist, of_parser, opened
from rag_nodes.cli.views.store import aliases_view, copies_view, imported_view
from rag_nodes.cli.views.stored import foreign_words
from rag_nodes.errors import CollectionMissingError, ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.store import Store
    from rag_nodes.store.importing import ImportFailure
    from rag_nodes.upkeep import CopyFailure, HeldCollection, Inventory

Collections = Annotated[
    list[str] | None,
    typer.Option(
        "--collection",
        metavar="NAME",
        help="Only this one, repeatable, as `status` names it; all of the corpus by default.",
        show_default=False,
    ),
]
Pruned = Annotated[
    bool, typer.Option("--prune", help="Delete the documents that only the other side has.")
]
Everything = Annotated[bool, typer.Option("--all", help="The collections of every corpus.")]


@takes(*STORE_SETTINGS, "ledger", "corpus")
def push(
    cli: Invocation,
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="URL of a Qdrant server, or another folder.")
    ],
    collections: Collections = None,
    *,
    everything: Everything = False,
    prune: Pruned = False,
) -> None:
    """Copy what is stored to a server, as it is: nothing is cut or embedded again.

    Points that are there already are not sent again, so that a run which was interrupted goes on
    when it is repeated. Of documents that changed, the former chunks are deleted there when the new
    ones are in; documents that only the target has stay without --prune. At the end both sides are
    read and compared. The server's key is taken from RAG_NODES_STORE_API_KEY.
    """
    settings = cli.settings()
    ends = settings.store, target
    _copy(cli, ends, collections or [], everything=everything, prune=prune)


@takes(*STORE_SETTINGS, "ledger", "corpus")
def pull(
    cli: Invocation,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="URL of a Qdrant server, or another folder.")
    ],
    collections: Collections = None,
    *,
    everything: Everything = False,
    prune: Pruned = False,
) -> None:
    """Copy what a server has into the store, as `push` does the other way."""
    settings = cli.settings()
    ends = source, settings.store
    _copy(cli, ends, collections or [], everything=everything, prune=prune)


@takes(*STORE_SETTINGS)
def import_(
    cli: Invocation,
    folder: Annotated[
        Path,
        typer.Argument(metavar="FOLDER", help="As the program gives it: QdrantClient(path=...)."),
    ],
) -> None:
    """Copy the collections of a folder of qdrant-client's local mode into the store.

    Ids, payloads and vectors are copied as they are. The folder is only read. A collection that the
    store has already is refused, unless it is empty. Ask what was imported by an alias (`store
    alias`, then `ask --alias`), or measure it with `evaluate --collection`.
    """
    from rag_nodes.store.importing import ImportFailure, collections_in, import_collections

    settings, source = cli.settings(), folder.expanduser().resolve()
    names = collections_in(source)
    if Path(settings.store).expanduser().resolve().is_relative_to(source):
        raise ConfigurationError(
            f"{settings.store}: the store would be made in the folder that is imported, which is "
            "left as it is; name another one with --store"
        )
    store = opened(cli, settings)
    with shown_progress(cli, names, copy_words) as progress:
        outcomes = list(import_collections(source, store, progress))
    failed = [one for one in outcomes if isinstance(one, ImportFailure)]
    done = [one for one in outcomes if not isinstance(one, ImportFailure)]
    if not done and failed:
        raise failed[0].error
    places = {"source": str(source), "target": store.location}
    if cli.as_json:
        lost = [{"collection": one.collection, "error": str(one.error)} for one in failed]
        cli.emit({**places, "collections": [one._asdict() for one in done], "failed": lost})
    else:
        cli.show(*imported_view(done, **places))
    _conclude(cli, failed, len(outcomes), "imported")


@takes(*STORE_SETTINGS, "ledger", "corpus")
def alias(
    cli: Invocation,
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Of the alias; all are shown without one.")
    ] = None,
    collection: Annotated[
        str | None,
        typer.Argument(
            metavar="COLLECTION",
            help="What it is to mean, as `status` names it; by default the one of corpus and "
            "parser.",
        ),
    ] = None,
    parser: StoredParser = "",
    *,
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove the alias; what it means stays.")
    ] = False,
) -> None:
    """Give a collection another name, or show the names there are.

    Programs that ask by the alias, as `ask --alias` does, need not know which parser and model are
    behind it, and get the answers of another collection from one moment to the next: ingest with
    the new parser or model, look at it, then have the alias mean it.
    """
    settings = cli.settings()
    if remove and (name is None or collection is not None):
        raise ConfigurationError("--remove takes the name of one alias and nothing else")
    with cli.activity("Opening the store"):
        held = inventory(cli, settings)
        store = held.store
    if name and remove:
        store.drop_alias(name)
    elif name:
        found = of_parser(held.collections(settings.corpus), parser)
        named = collection or _only_one([one.info.name for one in found], settings.corpus)
        store.point_alias(name, named)
    known = store.aliases()
    if cli.as_json:
        cli.emit({"store": store.location, "aliases": known})
    else:
        cli.show(*aliases_view(known, store.location))


def _only_one(found: list[str], corpus: str) -> str:
    if len(found) != 1:
        there = ", ".join(found) or "see `rag-nodes status`"
        raise ConfigurationError(
            f"corpus {corpus!r} has {len(found) or 'no'} collections of that parser, and an alias "
            f"means one; name it, or its --parser: {there}"
        )
    return found[0]


def _copy(
    cli: Invocation, ends: tuple[str, str], names: list[str], *, everything: bool, prune: bool
) -> None:
    """Copy from the first of two stores to the second."""
    source, target = ends
    must_exist(source)
    settings = cli.settings()
    with cli.activity("Opening the stores"):
        from rag_nodes.upkeep import CopyFailure, copied

        here = kept(cli, settings, source)
        there = kept(cli, settings, target)
    chosen = _chosen(here, names, None if everything else settings.corpus)
    bars = [one.info.name for one in chosen]
    with shown_progress(cli, bars, copy_words) as progress:
        copies = copied(here.store, there.store, chosen, progress, prune=prune, ledger=there.ledger)
        outcomes = list(copies)
    failed = [one for one in outcomes if isinstance(one, CopyFailure)]
    done = [one for one in outcomes if not isinstance(one, CopyFailure)]
    if not done and failed:
        raise failed[0].error
    places = {"source": here.store.location, "target": there.store.location}
    if cli.as_json:
        not_copied = [{"collection": one.collection, "error": str(one.error)} for one in failed]
        collections = [asdict(one) for one in done]
        cli.emit({**places, "collections": collections, "failed": not_copied})
    else:
        cli.show(*copies_view(done, **places))
    _conclude(cli, failed, len(outcomes), "copied")


def _conclude(
    cli: Invocation, failed: "Sequence[CopyFailure | ImportFailure]", total: int, done: str
) -> None:
    """Name what was not done; the rest was."""
    if failed:
        for one in failed:
            cli.complain(f"{one.collection}: {one.error}")
        count = f"{len(failed)} of {total} collections"
        cli.complain(f"Not {done}: {count}; mend the cause and run this again")
        raise typer.Exit(ExitCode.PARTIAL)


def _chosen(held: "Inventory", names: list[str], corpus: str | None) -> "list[HeldCollection]":
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


def _none_of(store: "Store", corpus: str | None) -> Never:
    others = sorted({info.corpus for info in store.collections()})
    nothing = f"nothing is stored there{foreign_words(store.foreign())}"
    known = f"there are: {', '.join(others)}" if others else nothing
    raise CollectionMissingError(
        f"{store.location}: no collection of corpus {corpus or 'any'!r}; {known}; name one with "
        "--corpus"
    )
