"""`rag-nodes list`, `remove` and `clear`: what is stored, and out with it."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_nodes.cli.choices import StoredParser
from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.options import STORE_SETTINGS
from rag_nodes.cli.stores import inventory, of_parser
from rag_nodes.cli.views.stored import documents_view, removed_view
from rag_nodes.cli.views.text import counted
from rag_nodes.errors import ConfigurationError
from rag_nodes.ledger import utc_time

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from rag_nodes.upkeep import HeldCollection, Inventory, ListedDocument

_NAMED = 5
"""Documents up to which all are named."""
_STATES = ("stored", "incomplete", "expired", "failed")

DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would go and delete nothing.")]


@takes(*STORE_SETTINGS, "ledger", "corpus")
def list_(
    cli: Invocation,
    parser: StoredParser = "",
    state: Annotated[
        str,
        typer.Option(
            metavar="STATE[,STATE...]",
            help="Only documents that are so: stored, incomplete, expired (due to be read again) "
            "or failed (the file could not be read).",
        ),
    ] = "",
) -> None:
    """List the documents of a corpus, with what is stored of each.

    Incomplete ones are as they were before, or in part; the next ingest completes them. Ends with 3
    where a collection cannot be opened: then it is listed as the ledger knows it.
    """
    states = [one.strip() for one in state.split(",") if one.strip()]
    if unknown := [one for one in states if one not in _STATES]:
        raise ConfigurationError(f"--state {unknown[0]!r} is none of {', '.join(_STATES)}")
    settings = cli.settings()
    held = inventory(cli, settings)
    collections = of_parser(held.collections(settings.corpus), parser)
    listed = held.documents(settings.corpus, collections)
    shown = [one for one in listed if not states or one.state in states]
    if cli.as_json:
        rows = [_plain(one, "stored_at", "failed_at") for one in shown]
        cli.emit({"corpus": settings.corpus, "documents": rows})
    else:
        foreign = [] if collections else held.store.foreign()
        cli.show(
            *documents_view(settings.corpus, shown, collections, of=len(listed), foreign=foreign)
        )
    for one in collections:
        if one.info.trouble:
            cli.complain(f"{one.info.name} is shown as the ledger knows it: {one.info.trouble}")
    _end_as(collections)


@takes(*STORE_SETTINGS, "ledger", "corpus")
def remove(
    cli: Invocation,
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE", help="Paths, URLs, names or ids, as `list` shows them."),
    ],
    *,
    dry_run: DryRun = False,
) -> None:
    """Take documents out of every collection of the corpus.

    A path stands for all documents of that file or folder. What is still in a folder that is
    ingested again comes back with it; `ingest --prune` removes what is gone from a folder.
    """
    from rag_nodes.upkeep import documents_named, removed

    settings = cli.settings()
    held = inventory(cli, settings, must_know=True)
    collections = held.collections(settings.corpus)
    listed = held.documents(settings.corpus, collections)
    chosen = documents_named(settings.corpus, files, listed)
    if dry_run:
        ids = {one.id for one in chosen}
        gone, title = [held.size_of(one, ids) for one in collections], "Would remove"
    else:
        gone, title = removed(held, settings.corpus, chosen, collections), "Removed"
    _show(cli, [one._asdict() for one in gone if one.nodes], f"{title} {_names(chosen)}")


@takes(*STORE_SETTINGS, "ledger", "corpus")
def clear(
    cli: Invocation,
    parser: StoredParser = "",
    *,
    yes: Annotated[bool, typer.Option("--yes", help="Really delete.")] = False,
) -> None:
    """Delete all that is stored of a corpus, or what one parser cut of it.

    A collection that --parser names as `status` does is that of any corpus. Without --yes it says
    what would go, deletes nothing and ends with 2.
    """
    from rag_nodes.upkeep import cleared

    settings = cli.settings()
    held = inventory(cli, settings, must_know=True)
    # Messages of an ingest and of `doctor` name a collection, and need not name its corpus.
    known = [*held.collections(), *held.never_stored()]
    own = [one for one in known if one.info.name == parser]
    collections = own or of_parser([one for one in known if one.is_of(settings.corpus)], parser)
    corpus = own[0].corpus if own else settings.corpus
    if yes:
        gone = cleared(held, collections)
        _show(cli, [one._asdict() for one in gone], f"Cleared corpus {corpus!r}")
        return
    _show(cli, [_would_go(held, one) for one in collections], f"Would clear corpus {corpus!r}")
    cli.complain("Nothing was deleted; say --yes to do it.")
    raise typer.Exit(ExitCode.USAGE)


def _end_as(collections: "list[HeldCollection]") -> None:
    """Tell programs that not all could be looked at."""
    if any(one.info.trouble for one in collections):
        raise typer.Exit(ExitCode.PARTIAL)


def _show(cli: Invocation, rows: list[dict[str, Any]], title: str) -> None:
    if cli.as_json:
        cli.emit({"title": title, "collections": rows})
    else:
        cli.show(*removed_view(title, rows))


def _names(documents: "list[ListedDocument]") -> str:
    if len(documents) > _NAMED:
        return counted(len(documents), "document")
    return ", ".join(one.name for one in documents)


def _would_go(held: "Inventory", one: "HeldCollection") -> dict[str, Any]:
    aliases = sorted(alias for alias, of in held.store.aliases().items() if of == one.info.name)
    return {**held.size_of(one)._asdict(), "aliases": aliases}


def _plain(row: "DataclassInstance", *times: str) -> dict[str, Any]:
    """A row for programs, its times in UTC."""
    data = asdict(row)
    return data | {name: utc_time(data[name]) for name in times}
