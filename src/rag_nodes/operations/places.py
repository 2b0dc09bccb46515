"""Files and stores that a request names: looked for, opened, and what came of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid5

from rag_nodes.core.errors import FileMissingError, LedgerDamagedError
from rag_nodes.core.metadata import FILE_NAME
from rag_nodes.operations import ExitCode
from rag_nodes.operations.fields import ParserSpec, parser_spec

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from llama_index.core.schema import Document

    from rag_nodes.embedding import FileOutcome
    from rag_nodes.operations.run import Run
    from rag_nodes.pipeline.upkeep import HeldCollection, Inventory
    from rag_nodes.store import Store

_NAMED = 10
"""Names of collections in one message."""


def check_there(paths: Iterable[Path]) -> None:
    """Refuse names of which nothing is there, before a model is loaded or a store is opened.

    Where some are there, the work goes on with those, and the report names the others.

    Raises:
        FileMissingError: there is no file and no folder of any of these names.
    """
    named = list(paths)
    if named and not any(path.exists() for path in named):
        more = f" (nor the other {len(named) - 1})" if len(named) > 1 else ""
        raise FileMissingError(named[0], f"no such file or folder{more}")


def text_document(text: str) -> Document:
    """A text as a document; the same text has the same id, and so have its chunks."""
    from llama_index.core.schema import Document

    return Document(text=text, id_=str(uuid5(NAMESPACE_OID, text)), metadata={FILE_NAME: "text"})


def concluded(
    run: Run,
    files: Sequence[FileOutcome],
    parsers: Mapping[str, str | None],
    *,
    some_done: bool = False,
    is_kept: bool = False,
    omitted: int = 0,
) -> ExitCode:
    """Return the outcome of work on many files with many parsers, and report what failed.

    Args:
        run: where to say it.
        files: how each file ended.
        parsers: error of each parser by label; None where it did well.
        some_done: whether parsers with an error have done a part of their work all the same.
        is_kept: whether the work is kept in a store, as by an ingest.
        omitted: further files, which ended well.
    """
    total = len(files) + omitted
    lost = [file for file in files if file.status == "failed"]
    incomplete = [file for file in files if file.status == "incomplete"]
    errors = {name: error for name, error in parsers.items() if error}
    if not lost and not errors:
        return ExitCode.DONE
    counts = (_share(len(lost), total, "file"), _share(len(errors), len(parsers), "parser"))
    run.warn("Failed: " + ", ".join(count for count in counts if count))
    if incomplete:
        share = _share(len(incomplete), total, "file")
        lack = f"Not embedded whole: {share}; what is missing cannot be found"
        if is_kept:
            lack = f"Not stored whole: {share}; what was stored before is kept"
        run.warn(f"{lack}; fix the cause and run this again")
    all_parsers = len(errors) == len(parsers) and not some_done
    nothing_left = (lost and len(lost) == total) or all_parsers
    if nothing_left and any(file.missing_extra for file in lost):
        return ExitCode.UNAVAILABLE
    return ExitCode.FAILURE if nothing_left else ExitCode.PARTIAL


def reasons_of(files: Iterable[FileOutcome]) -> list[str]:
    """Return why files could not be read, each with its name."""
    return [file.error or file.path for file in files if file.status == "failed"]


def _share(failed: int, total: int, thing: str) -> str:
    return f"{failed} of {total} {thing}{'' if total == 1 else 's'}" if failed else ""


# --- stores -------------------------------------------------------------------------------------


def foreign_words(names: Sequence[str]) -> str:
    """Return the words behind "nothing is stored" if other programs have collections there."""
    return f"; collections of other programs: {first_of(names)}" if names else ""


def first_of(names: Sequence[str]) -> str:
    """Return the first names as a list in words, and how many more there are."""
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"


def exists(location: str) -> bool:
    """Return True if there may be a store: a folder that exists, or an address."""
    return "://" in location or Path(location).expanduser().is_dir()


def is_store(location: str) -> bool:
    """Return True if a folder holds a store of ours, which is not opened; or for an address."""
    from rag_nodes.store.edge.folder import MARKER

    return "://" in location or (Path(location).expanduser() / MARKER).is_file()


def must_exist(location: str) -> None:
    """Refuse a place where nothing can be: opening a folder would make it.

    Raises:
        FileMissingError: there is no such folder, or it is memory.
    """
    if not exists(location):
        raise FileMissingError(
            location, "there is no store here", "check --store, or ingest documents first"
        )


def opened(run: Run, location: str | None = None) -> Store:
    """A store, open until the end of the run; by default that of the settings.

    Raises:
        ConfigurationError: an option of the server is wrong.
        StoreError: it cannot be opened or does not answer.
    """
    from rag_nodes.operations.workspace.opening import open_when_free

    run.check()
    store = open_when_free(run.settings, location or run.settings.store, run.note)
    return run.cleanup.enter_context(store)


def ledger_of(run: Run, location: str, *, is_theirs: bool = True) -> Path | None:
    """Return the path of a store's ledger; the settings may name that of their own store."""
    from rag_nodes.pipeline.ledger import ledger_path

    return ledger_path(location, run.settings.ledger if is_theirs else None)


def inventory(run: Run, location: str | None = None, *, must_know: bool = False) -> Inventory:
    """Return the contents of a store with its ledger, which is blank if there is none.

    Args:
        run: whose settings have key and options of a server, and the ledger of their own store.
        location: folder or URL; None for that of the settings, which must be there.
        must_know: a ledger that cannot be read is an error, and else only said.

    Raises:
        FileMissingError: there is no such store.
        StoreError: it cannot be opened or does not answer, or the ledger cannot be read.
    """
    from rag_nodes.pipeline.ledger import Ledger
    from rag_nodes.pipeline.upkeep import Inventory

    own = run.settings.store
    if location is None:
        must_exist(own)
    store = opened(run, location)
    path = ledger_of(run, store.location, is_theirs=location in {None, own})
    try:
        ledger = Ledger(path if path and path.is_file() else ":memory:")
    except LedgerDamagedError as error:
        if must_know:
            raise
        run.warn(f"{error}; until then paths and times are not known")
        ledger = Ledger(":memory:")
    return Inventory(store, run.cleanup.enter_context(ledger))


def of_parser(held: Sequence[HeldCollection], parser: str) -> list[HeldCollection]:
    """The collections of a parser: its class, a preset with its options, or one by its name.

    Raises:
        ConfigurationError: there is no such preset.
    """
    if not parser or any(
        parser in {collection.parser, collection.info.name} for collection in held
    ):
        return [
            collection
            for collection in held
            if parser in {"", collection.parser, collection.info.name}
        ]
    from rag_nodes.operations.parsers import make_parsers
    from rag_nodes.store import collection_name

    spec = ParserSpec.model_validate(parser_spec(parser))
    (preset,) = make_parsers([spec], lambda: None).values()

    def is_it(collection: HeldCollection) -> bool:
        if collection.row:
            return collection.row.fingerprint == preset.fingerprint
        name = collection_name(
            collection.corpus, preset.fingerprint, preset.class_name(), collection.info.embedding
        )
        return name == collection.info.name

    return [collection for collection in held if is_it(collection)]
