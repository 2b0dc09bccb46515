"""Documents into a store, through one or more parsers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.numbers import MAX_DIGITS, number_in
from rag_nodes.core.own_metadata import typed_metadata
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import OWNER, Flag, Request, Result
from rag_nodes.operations.fields import Parser, ParserSpec, as_parsers, described_parsers
from rag_nodes.operations.places import check_there, concluded, exists, must_exist, reasons_of
from rag_nodes.operations.run import Doing, Run
from rag_nodes.operations.workspace.limits import MEMORY
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.pipeline.ledger import FILE_NAME as LEDGER_NAME
from rag_nodes.pipeline.ledger import WEB_HOURS

if TYPE_CHECKING:
    from rag_nodes.embedding import Progress
    from rag_nodes.models.executors import Pool, Ray
    from rag_nodes.pipeline import IngestReport


class Working(Request):
    """Other processes that work along."""

    panel: ClassVar[str] = "Workers"

    workers: Annotated[str | None, OWNER, Flag(metavar="N|auto")] = None
    """Worker processes; auto: one for each core, the default on Ray."""
    ray_address: Annotated[str | None, OWNER, Flag(metavar="HOST:PORT")] = None
    """Head node of a Ray cluster that does the work; this machine is part of it."""


def executor_of(request: Working) -> Pool | Ray | None:
    """Return the executor of a request; None for this process alone.

    Raises:
        ConfigurationError: no such number.
    """
    usual = "1" if request.ray_address is None else "auto"
    count = _count(usual if request.workers is None else request.workers)
    if request.ray_address is not None:
        from rag_nodes.models.executors import Ray

        return Ray(count, address=request.ray_address)
    if count == 1:
        return None
    from rag_nodes.models.executors import Pool

    return Pool(count)


def _count(workers: str) -> int | None:
    """Return the number of workers; None for a worker on each core."""
    if workers == "auto":
        return None
    if count := number_in(workers):
        return count
    raise ConfigurationError(f"--workers {workers[:MAX_DIGITS]}: write a number from 1 on, or auto")


class IngestRequest(Working):
    """Read, split, embed and store documents.

    Running it again adds nothing, and opens no file that did not change; a changed file replaces
    its chunks.
    """

    paths: Annotated[list[Path], OWNER, Flag(argument=True, metavar="PATH")] = Field(
        default_factory=list
    )
    """Files and folders (with their subfolders); name crawls as files."""
    from_store: bool = False
    """Embed the chunks in the store with another model; no file is opened, nothing is split."""
    parsers: Annotated[
        list[Parser],
        as_parsers((DEFAULT_PARSER,)),
        Field(description=described_parsers("use", (DEFAULT_PARSER,)), min_length=1),
    ] = Field(default_factory=lambda: [ParserSpec(name=DEFAULT_PARSER)])
    metadata: Annotated[Path | None, OWNER, Flag(metavar="CSV")] = None
    """Metadata keys of your own by file: a column path (or pattern), then one for each key."""
    assigned: Annotated[list[str], Flag("--set", metavar="KEY=VALUE")] = Field(default_factory=list)
    """Metadata key of your own for all files, as dept=hr or 'tags=a|b'."""
    embed_metadata: Annotated[list[str], Flag(metavar="KEY")] = Field(default_factory=list)
    """Embed the value of this metadata key, and index its words, as title."""
    prune: bool = False
    """Remove stored documents whose files, or pages of a crawl, are gone from PATH."""
    ttl: Annotated[float, Field(ge=0), Flag(metavar="HOURS")] = WEB_HOURS
    """Hours after which pages of an unchanged crawl are due again; 0 for never."""
    dry_run: bool = False
    """Count and price what is due; ask no model and store nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested(Result):
    """Outcome of an ingest, or of a dry run."""

    report: IngestReport

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return self.report.as_dict()

    def reasons(self) -> Sequence[str]:
        """Return the errors of files that failed, and of parsers."""
        of_parsers = [
            f"{column.parser}: {column.error}" for column in self.report.columns if column.error
        ]
        return [*reasons_of(self.report.files), *of_parsers]


_BY_FILES = {"text", "exclude", "encoding"}
"""Settings that an ingest of files alone heeds."""
_BY_STORE = {"from_store", "parsers", "dry_run", *Working.model_fields}
"""Fields of a request that an ingest from the store heeds."""


def _check_asked(request: IngestRequest, run: Run) -> None:
    """Refuse a request without documents, and options that chunks of a store are too late for.

    Raises:
        ConfigurationError: see above.
    """
    if not request.from_store:
        if not request.paths:
            raise ConfigurationError(
                "nothing to ingest: name files or folders, or embed what is stored with another "
                "model: --from-store --embedding MODEL"
            )
        return
    must_exist(run.settings.store)
    surplus = (request.model_fields_set - _BY_STORE) | (_BY_FILES & {*run.typed})
    if surplus:
        flags = {"paths": "PATH", "assigned": "--set"}
        named = sorted(flags.get(field, f"--{field.replace('_', '-')}") for field in surplus)
        raise ConfigurationError(
            f"--from-store uses the chunks of the store, and {', '.join(named)} would need other "
            f"chunks; leave that out, or ingest the files"
        )


def ingest(request: IngestRequest, run: Run) -> Ingested:
    """Store what is new."""
    _check_asked(request, run)
    if not request.prune:  # which says itself what a folder that is not there means
        check_there(request.paths)
    ledger = run.settings.ledger
    if request.dry_run and run.settings.store != MEMORY and not exists(run.settings.store):
        # Opening a folder makes it; its ledger is not made, and makes the rules of a folder hold.
        ledger = ledger or str(Path(run.settings.store).expanduser() / LEDGER_NAME)
        run.configure({"store": MEMORY})
    from rag_nodes.pipeline import FileMetadata
    from rag_nodes.readers import Exclusion

    own = FileMetadata(typed_metadata(request.assigned), request.metadata)
    # Refused, if at all, before models are loaded.
    Exclusion(run.settings.exclude)
    limits = run.limits()
    executor = executor_of(request)
    run.emit(Doing("Loading parsers and models"))
    from rag_nodes.pipeline import ingest as ingested
    from rag_nodes.pipeline import ingest_from_store

    settings = run.settings
    models = run.models(answers=settings.text == "summary", check=not request.dry_run)
    parsers = run.parsers(request.parsers, models)
    run.note(models.describe())
    store = run.session.store
    if request.ray_address is not None and "://" not in store.location:
        run.note("One process writes a folder; Ray pays where the store is a server.")
    options: dict[str, Any] = {
        "models": models,
        "corpus": settings.corpus,
        "progress": _rehearsed(run.emit) if request.dry_run else run.emit,
        "prices": settings.answering().get("prices", {}),
        "ledger": ledger,
        "dry_run": request.dry_run,
        "executor": executor,
    }
    if request.from_store:
        report = ingest_from_store(parsers, store, **options)
    else:
        report = ingested(
            request.paths,
            parsers,
            store,
            text=settings.text,
            embed_metadata=request.embed_metadata,
            metadata=own,
            limits=limits,
            ttl=request.ttl,
            exclude=settings.exclude,
            prune=request.prune,
            **options,
        )
    if words := own.unmatched():
        run.warn(words)
    return Ingested(outcome=_outcome(request, run, report), report=report)


def _outcome(request: IngestRequest, run: Run, report: IngestReport) -> ExitCode:
    """Return the outcome of an ingest, and report what failed and why nothing was pruned."""
    if report.missing_paths:
        run.warn(report.missing_in_words)
    elif request.prune and report.pruned is None and not request.dry_run:
        run.warn(
            "Nothing was removed, because some documents are incomplete. Remove the cause and run "
            "this again."
        )
    errors = {column.parser: column.error for column in report.columns}
    stored = any(column.stored for file in report.files for column in file.columns.values())
    outcome = concluded(
        run, report.files, errors, some_done=stored, is_kept=True, omitted=report.omitted
    )
    is_partial = outcome == ExitCode.DONE and report.missing_paths
    return ExitCode.PARTIAL if is_partial else outcome


def _rehearsed(emit: Callable[[object], None]) -> Callable[[Progress], None]:
    """Tells of every stage behind reading as one of counting."""

    def tell(step: Progress) -> None:
        emit(step if step.stage == "read" else replace(step, stage="count"))  # type: ignore[arg-type]

    return tell
