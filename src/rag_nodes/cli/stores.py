"""Stores that a command looks at or changes: there before it runs, and opened with their key."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.cli.selection import select
from rag_nodes.errors import FileMissingError, LedgerDamagedError, LedgerError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.settings import Settings
    from rag_nodes.store import Store
    from rag_nodes.upkeep import HeldCollection, Inventory


MEMORY = ":memory:"
"""The store that is gone at the end."""


def exists(location: str) -> bool:
    """Whether there may be a store: a folder that is there, or an address."""
    return "://" in location or Path(location).expanduser().is_dir()


def must_exist(location: str) -> None:
    """Refuse a place where nothing can be: opening a folder would make it.

    Raises:
        FileMissingError: there is no such folder, or it is memory.
    """
    if not exists(location):
        raise FileMissingError(
            location, "there is no store here", "check --store, or ingest documents first"
        )


def opened(cli: Invocation, settings: Settings, location: str | None = None) -> Store:
    """An open store, closed at the end of the run.

    Args:
        cli: this run.
        settings: with key and options of a server.
        location: folder or URL; None for that of the settings.

    Raises:
        ConfigurationError: an option of the server is wrong.
        StoreError: it cannot be opened or does not answer.
    """
    from rag_nodes.store import ServerOptions, open_store

    key = settings.store_api_key
    secret = key.get_secret_value() if key else None
    options = ServerOptions.of(settings.store_options)
    return cli.cleanup.enter_context(open_store(location or settings.store, secret, options))


def ledger_of(settings: Settings, location: str, *, is_theirs: bool = True) -> Path | None:
    """Where the ledger of a store lies; None for a store that has none.

    Args:
        settings: may name another file for their own store.
        location: of the open store.
        is_theirs: it is the store of the settings.
    """
    from rag_nodes.ledger import ledger_path

    return ledger_path(location, settings.ledger if is_theirs else None)


def inventory(cli: Invocation, settings: Settings, *, must_know: bool = False) -> Inventory:
    """What the store of the settings holds, with its ledger where it has one.

    Args:
        cli: this run.
        settings: where the store is.
        must_know: a ledger that cannot be read is an error, and else only said.

    Raises:
        StoreError: the store cannot be opened or does not answer, or the ledger cannot be read.
    """
    must_exist(settings.store)
    return kept(cli, settings, settings.store, must_know=must_know)


def kept(
    cli: Invocation,
    settings: Settings,
    location: str,
    *,
    must_know: bool = False,
) -> Inventory:
    """What a store holds, which is opened with its ledger.

    Args:
        cli: this run.
        settings: with key and options of a server, and the ledger of their own store.
        location: folder or URL.
        must_know: see `inventory`.

    Raises:
        StoreError: see `inventory`.
    """
    from rag_nodes.ledger import Ledger
    from rag_nodes.upkeep import Inventory

    store = opened(cli, settings, location)
    path = ledger_of(settings, store.location, is_theirs=location == settings.store)
    ledger = None
    if path and path.is_file():
        try:
            ledger = cli.cleanup.enter_context(Ledger(path))
        except LedgerDamagedError as error:
            if must_know:
                raise
            cli.complain(f"{error}; until then paths and times are not known")
    return Inventory(store, ledger)


def tokens_of(
    cli: Invocation,
    settings: Settings,
    location: str,
    collection: str,
    document_ids: Sequence[str],
) -> int:
    """Tokens of documents of which something is read, by the ledger of the store.

    Args:
        cli: this run.
        settings: may name another ledger.
        location: of the open store.
        collection: that was asked.
        document_ids: of the documents.

    Returns:
        0 where no ledger knows it.
    """
    from rag_nodes.ledger import Ledger

    path = ledger_of(settings, location)
    if path is None or not path.is_file():
        return 0
    try:
        with Ledger(path) as ledger:
            rows = ledger.stored(collection, document_ids)
    except LedgerError as error:
        cli.complain(str(error))
        return 0
    return sum(row.tokens for row in rows.values())


def of_parser(held: list[HeldCollection], parser: str) -> list[HeldCollection]:
    """The collections of a parser.

    Args:
        held: to choose from.
        parser: its class, a preset with its options, or the name of a collection; "" for any.

    Raises:
        ConfigurationError: there is no such preset.
    """
    from rag_nodes.store import collection_name

    if not parser or any(parser in {one.parser, one.info.name} for one in held):
        return [one for one in held if parser in {"", one.parser, one.info.name}]
    (made,) = select([parser]).build(None).values()

    def is_it(one: HeldCollection) -> bool:
        if one.row:
            return one.row.fingerprint == made.fingerprint
        name = collection_name(one.corpus, made.fingerprint, made.class_name(), one.info.embedding)
        return name == one.info.name

    return [one for one in held if is_it(one)]
