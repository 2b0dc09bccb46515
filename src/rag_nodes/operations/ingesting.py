"""Documents into a store, through one or more parsers."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

import rag_nodes
from rag_nodes.errors import ConfigurationError
from rag_nodes.ledger import WEB_HOURS
from rag_nodes.operations.base import OWNER, Flag, Request, Result
from rag_nodes.operations.fields import (
    Changes,
    Parser,
    ParserSpec,
    as_parsers,
    described_parsers,
)
from rag_nodes.operations.places import check_there, concluded, exists, ledger_of, opened
from rag_nodes.operations.run import MEMORY, Doing, Run
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from rag_nodes.executors import Pool, Ray
    from rag_nodes.pipeline import IngestReport, Progress
    from rag_nodes.readers import FileShard
    from rag_nodes.store import Store

_WRITTEN = {"summary", "context"}
"""Vectors for which a model writes."""
_NONE = "none"
"""Keeps no vectors that are stored and not named."""


class Working(Request):
    """Other processes that work along."""

    panel: ClassVar[str] = "Workers"

    workers: Annotated[str | None, OWNER, Flag(metavar="N|auto")] = None
    """Worker processes; auto: one for each core, the default with --engine."""
    engine: Annotated[Literal["processes", "ray"] | None, OWNER] = None
    """Processes of this machine, the default, or tasks of a Ray cluster."""
    ray_address: Annotated[str | None, OWNER, Flag(metavar="HOST:PORT")] = None
    """Ray's head, on one of whose machines this runs; without it Ray is started here."""


def executor_of(request: Working) -> Pool | Ray | None:
    """What is asked for; None for this process alone.

    Raises:
        ConfigurationError: an option of Ray for something else, or no such number.
    """
    usual = "auto" if request.engine else "1"
    count = _count(usual if request.workers is None else request.workers)
    if request.engine == "ray":
        from rag_nodes.executors import Ray

        return Ray(count, address=request.ray_address)
    if request.ray_address is not None:
        raise ConfigurationError("--ray-address is for --engine ray; name that, or leave it out")
    if request.engine is None and count == 1:
        return None
    from rag_nodes.executors import Pool

    return Pool(count)


def _count(workers: str) -> int | None:
    """How many; None for one for each core."""
    if workers == "auto":
        return None
    if workers.isascii() and workers.isdecimal() and int(workers) > 0:
        return int(workers)
    raise ConfigurationError(f"--workers {workers}: write a number from 1 on, or auto")


class IngestRequest(Working):
    """Read, split, embed and store documents.

    Running it again adds nothing, and opens no file that did not change; a changed file replaces
    its chunks.
    """

    paths: Annotated[list[Path], OWNER, Flag(argument=True, metavar="PATH")]
    """Files, and folders to walk; crawls are named."""
    parsers: Annotated[
        list[Parser],
        as_parsers((DEFAULT_PARSER,)),
        Field(description=described_parsers("use", (DEFAULT_PARSER,)), min_length=1),
    ] = Field(default_factory=lambda: [ParserSpec(name=DEFAULT_PARSER)])
    set: Changes = Field(default_factory=dict)
    """Change an option of every chosen parser that has it, repeatable."""
    vector: Annotated[list[str], Flag(metavar="NAME")] = Field(default_factory=list)
    """Named vector beside heading, repeatable: plain, summary, context (an LLM), or none."""
    alias: Annotated[str | None, Flag(metavar="NAME")] = None
    """Point this alias to the collection when all is stored; see `store alias`. For one parser."""
    shard: Annotated[str | None, Flag(metavar="I/N")] = None
    """Only the files of one of N shares, by a hash of their path below PATH."""
    prune: bool = False
    """Remove stored documents whose files, or pages of a crawl, are gone from PATH."""
    ttl: Annotated[float, Field(ge=0), Flag(metavar="HOURS")] = WEB_HOURS
    """Hours after which pages of an unchanged crawl are due again; 0 for never."""
    dry_run: bool = False
    """Count and price what is due; ask no model and store nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ingested(Result):
    """What an ingest did, or would do."""

    report: IngestReport

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return self.report.as_dict()


def ingest(request: IngestRequest, run: Run) -> Ingested:
    """Store what is new."""
    _check_alias(request)
    if not request.prune:  # which says itself what a folder that is not there means
        check_there(request.paths)
    if request.dry_run and not exists(run.settings.store):
        run.configure({"store": MEMORY})  # opening a folder makes it
    from rag_nodes.readers import FileShard

    shard = FileShard.of(request.shard) if request.shard is not None else None
    executor, identity = executor_of(request), _identity(request, run)
    report, told = _unchanged(request, run, identity, shard) if identity else (None, 0)
    if report is not None:
        run.note(report.models)
        return _told(request, run, opened(run), report)
    run.emit(Doing("Loading parsers and models"))
    from rag_nodes.pipeline import ingest as ingested
    from rag_nodes.transforms import NamedVectors

    settings, vectors = run.settings, request.vector

    def tell(step: Progress) -> None:
        if step.stage != "read" or step.done > told:
            run.emit(step)

    models = run.models(answers=bool(_WRITTEN & {*vectors}), check=not request.dry_run)
    parsers = run.parsers(request.parsers, request.set, models)
    names = [one for one in vectors if one != _NONE]
    steps = [NamedVectors(*names, keep=_NONE not in vectors)]
    run.note(models.describe())
    store = run.workspace.store
    if request.engine == "ray" and "://" not in store.location:
        run.note("One process writes a folder; Ray pays where the store is a server.")
    report = ingested(
        request.paths,
        parsers,
        store,
        models=models,
        transformations=steps,
        corpus=settings.corpus,
        limits=run.limits(),
        progress=_rehearsed(run.emit) if request.dry_run else tell,
        prices=settings.answering().get("prices", {}),
        ledger=settings.ledger,
        ttl=request.ttl,
        shard=shard,
        prune=request.prune,
        dry_run=request.dry_run,
        executor=executor,
        request=identity,
    )
    return _told(request, run, store, report)


def _told(request: IngestRequest, run: Run, store: Store, report: IngestReport) -> Ingested:
    """What is said and done once all is stored that can be."""
    if request.alias and not request.dry_run:
        _switch(run, store, report, request.alias)
    if request.prune and report.pruned is None:
        run.warn("Nothing was removed, as not all is stored; mend that and run this again.")
    errors = {column.parser: column.error for column in report.columns}
    stored = any(column.stored for file in report.files for column in file.columns.values())
    outcome = concluded(run, report.files, errors, some_done=stored, omitted=report.omitted)
    return Ingested(outcome=outcome, report=report)


def _identity(request: IngestRequest, run: Run) -> str:
    """Identifies all that decides which collections are meant and what is in them; "" for unknown.

    That is where it takes more than what is installed: code of the user, an LLM, preset files.
    """
    from rag_nodes.parsers.plugins import find_plugins
    from rag_nodes.parsers.presets import PRESETS

    ours = PRESETS.keys() - find_plugins().keys()
    names = {one.name for one in request.parsers}
    if request.dry_run or _WRITTEN & {*request.vector} or not names <= ours:
        return ""
    asked = request.model_dump(include={"parsers", "set", "vector"})
    made_by = [version("rag-nodes"), version("llama-index-core"), _newest()]
    facts = json.dumps([asked, run.settings.model_dump(), made_by], default=str, sort_keys=True)
    return hashlib.sha256(facts.encode()).hexdigest()


def _newest() -> int:
    """When the parsers were last changed: of one that is worked on the version tells nothing."""
    folder = Path(rag_nodes.__file__).parent / "parsers"
    return max(one.stat().st_mtime_ns for one in folder.rglob("*.py"))


def _unchanged(
    request: IngestRequest, run: Run, identity: str, shard: FileShard | None
) -> tuple[IngestReport | None, int]:
    """What an ingest gives of which nothing is due, without LlamaIndex; of how many files was told.

    None where something may be due.
    """
    from rag_nodes.ledger import Ledger
    from rag_nodes.pipeline.due import unchanged

    settings, told = run.settings, 0

    def tell(step: Progress) -> None:
        nonlocal told
        run.emit(step)
        told = step.done

    if not exists(settings.store):
        return None, 0
    store = opened(run)
    place = ledger_of(run, store.location)
    if place is None or not place.is_file():
        return None, 0
    with Ledger(place) as ledger:
        report = unchanged(
            identity,
            request.paths,
            store,
            ledger,
            corpus=settings.corpus,
            limits=run.limits(),
            progress=tell,
            prices=settings.answering().get("prices", {}),
            vectors=request.vector,
            shard=shard,
            prune=request.prune,
        )
    return report, told


def _rehearsed(emit: Callable[[object], None]) -> Callable[[Progress], None]:
    """Tells of every stage behind reading as one of counting."""

    def tell(step: Progress) -> None:
        emit(step if step.stage == "read" else replace(step, stage="count"))  # type: ignore[arg-type]

    return tell


def _check_alias(request: IngestRequest) -> None:
    """See that an alias can mean what this run stores."""
    alias = request.alias
    if alias and len(request.parsers) > 1:
        raise ConfigurationError(
            f"--alias {alias} can mean what one parser made, and {len(request.parsers)} are named; "
            "ingest with each by itself"
        )
    if alias and request.shard:
        raise ConfigurationError(
            f"--alias {alias} would mean a share of the files while others may be missing; when "
            f"all runs have ended: `rag-nodes store alias {alias}`"
        )


def _switch(run: Run, store: Store, report: IngestReport, alias: str) -> None:
    """Have an alias mean the one column, unless who asks by it would miss something then."""
    [column] = report.columns
    missed = [column.parser] if column.error else _missed(store, report, alias)
    if missed:
        more = f" and {len(missed) - 1} more" if missed[1:] else ""
        run.warn(
            f"Not all is stored ({missed[0]}{more}), so the alias {alias} means what it meant. To "
            "have it mean the new chunks all the same: "
            f"`rag-nodes store alias {alias} {column.collection}`"
        )
        return
    store.point_alias(alias, column.collection)
    run.note(f"{alias} now means {column.collection}")


def _missed(store: Store, report: IngestReport, alias: str) -> list[str]:
    """Files that are not stored whole, or that are only found by what the alias means so far.

    A file that never could be read is not among them: one scanned page in a folder would hold back
    every switch.
    """
    from rag_nodes.readers import COLLECTIONS, document_id

    former = store.aliases().get(alias)

    def is_found(path: Path) -> bool:
        holds_many = path.suffix.lower() in COLLECTIONS  # whose ids only their content tells
        return holds_many or bool(former and store.stored(former, document_id(path.resolve())))

    return [
        file.path
        for file in report.files
        if file.status == "incomplete" or (file.status == "failed" and is_found(Path(file.path)))
    ]
