"""Evaluation of parsers by questions, and the choice of the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.operations import ExitCode
from rag_nodes.operations.asked import LabelledQuestions, asked_of
from rag_nodes.operations.base import Flag, Result, Typed
from rag_nodes.operations.evaluating import (
    Columns,
    Gated,
    Gates,
    Judged,
    Saved,
    Searches,
    check_files,
    check_names,
    finders,
    judging_of,
    written_files,
)
from rag_nodes.operations.fields import (
    Finding,
    Parser,
    ParserSpec,
    SearchMode,
    as_parsers,
    described_parsers,
    numbers,
)
from rag_nodes.operations.ingesting import Working, executor_of
from rag_nodes.operations.run import Run
from rag_nodes.parsers.presets import MEASURED, SWEPT

if TYPE_CHECKING:
    from rag_nodes.evaluation.dataset import Dataset
    from rag_nodes.evaluation.gates import GateResult
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.models import Models


def _numbers(option: str) -> Typed:
    return Typed(lambda given: numbers(option, given))


class Measuring(Finding, LabelledQuestions, Saved, Working):
    """Options that `evaluate` and `recommend` share."""

    workers: Annotated[str | None, Flag(metavar="N|auto")] = None
    """Worker processes, each measuring one row; by default one per core if that is faster."""
    budgets: Annotated[
        tuple[Annotated[int, Field(ge=1, le=10**9)], ...],
        Field(min_length=1),
        _numbers("--budget"),
        Flag("--budget", metavar="N[,N...]", joined=True),
    ] = (500, 1000, 2000)
    """Token budgets; the middle one decides and explains misses."""
    sizes: Annotated[
        tuple[Annotated[int, Field(ge=1, le=10**9)], ...],
        _numbers("--sizes"),
        Flag(metavar="N[,N...]", joined=True),
    ] = (100, 200, 400, 800)
    """Chunk sizes of the size curve, in tokens; 0 for none."""
    own_document: bool = False
    """Search only the document that a question belongs to."""
    seed: Annotated[int, Field(ge=0, le=2**32 - 1)] = 0
    """Random seed of the intervals and of sampled passages."""
    cache: Annotated[Path | None, Flag(metavar="FOLDER")] = None
    """Cache folder for model output, so that an interrupted run does not pay twice."""


class EvaluateRequest(Measuring, Columns, Searches, Judged, Gated):
    """Measure which chunking strategy finds the answers to your questions, and by how much.

    Every column gets the same token budget; if keyword search finds too little to fill it, less
    is read, as `read` shows. Columns are compared at their default settings, over several chunk
    sizes, and at the same mean chunk size, which separates the effect of size from the strategy's.

    Without questions of your own, `evaluate` samples passages as long as --answers says, and ranks
    the columns by how well they find these from their keywords. Drafts that nobody has accepted
    show which answers are lost, but compare no columns; beside accepted questions they are left
    out.
    """

    parsers: Annotated[
        list[Parser],
        as_parsers(MEASURED),
        Field(description=described_parsers("measure", MEASURED)),
    ] = Field(default_factory=lambda: [ParserSpec(name=name) for name in MEASURED])
    collection: Annotated[list[str], Flag(metavar="NAME")] = Field(default_factory=list)
    """Existing collection of --store as one more column; repeatable."""
    equal_size: Annotated[int, Field(ge=0), Flag(metavar="TOKENS")] = 200
    """Mean chunk size of the size-matched comparison, in tokens; 0 for none."""
    granularity: Literal["sentences", "chunks"] | None = None
    """Selected sentences, with whole chunks for comparison (default), or whole chunks only."""


class RecommendRequest(Measuring, SearchMode):
    """Find the parser and chunk size to use for your documents.

    Runs `evaluate` over each parser at each size, LlamaIndex's SentenceSplitter with
    its default settings, and what `ingest` and `ask` do by default, all with the same questions and
    the same number of tokens read. It proposes the setting with the best estimate, and says how
    sure that is, what it may cost, and how many more questions would settle it.

    Without questions, parsers are ranked by sampled passages, see `rag-nodes evaluate --help`.
    """

    parsers: Annotated[
        list[Parser],
        as_parsers(SWEPT),
        Field(description=described_parsers("try", SWEPT)),
    ] = Field(default_factory=list)
    granularity: Literal["sentences", "chunks"] | None = None
    """Give the model selected sentences (default of `retrieval`) or whole chunks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated(Result):
    """A report, a result for each row and gate, and whether what to take was written.

    `unread` says why documents could not be read; `skipped` counts files of other types by
    suffix, and `excluded` those that match a pattern.
    """

    report: EvaluationReport
    gates: Sequence[GateResult] = field(default=())
    is_written: bool = False
    unread: Sequence[str] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)
    excluded: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs, the same for the same run."""
        return {
            **self.report.as_dict(),
            "gates": [gate.as_dict() for gate in self.gates],
            "unread": list(self.unread),
            "skipped": dict(self.skipped),
            "excluded": self.excluded,
        }

    def reasons(self) -> Sequence[str]:
        """Return the words of gates that do not hold."""
        return [gate.words for gate in self.gates if gate.outcome != "holds"]


def evaluate(request: EvaluateRequest, run: Run) -> Evaluated:
    """Measure every column."""
    from rag_nodes.evaluation.columns import StoredCollection
    from rag_nodes.evaluation.run import evaluate as measured

    typed = "parsers" in request.model_fields_set
    labels = {spec.label for spec in request.parsers} if typed else set()
    check_names(labels, request.collection, request.column)
    plan = _plan(request, run, target=request.equal_size or None)
    gates = Gates(plan, request)
    check_files(request)
    judging = judging_of(request, run)
    # Refused, if at all, before documents are read.
    stored: dict[str, object] = {
        name: StoredCollection(run.session.store, name) for name in request.collection
    }
    stored |= finders(request.column)
    # A model that cannot run is refused before documents are read.
    models = run.models(answers=bool(judging or request.rerank))
    dataset = asked_of(request, run, request.seed)
    searches = request.searches(plan.options, models.llm)
    compared = searches if len(searches) > 1 else {}
    plan = replace(plan, options=next(iter(searches.values())), searches=compared)
    parsers = {} if stored and not typed else run.parsers(request.parsers, models)
    columns: Mapping[str, object] = {**parsers, **stored}
    gates.check_comparable(columns, dataset.questions)
    if judging:
        # An answer and two grades for each question and column.
        requests = 3 * len(columns) * min(judging.questions, len(dataset.questions))
        run.note(f"Answering and judging takes up to {requests:,} requests.")
    report = measured(
        _narrowed(request, dataset),
        columns,
        judge=judging,
        in_use=gates.in_use,
        **_how(request, run, plan, models),
    )
    return _told(request, run, report, models, gates.results(report))


def recommend(request: RecommendRequest, run: Run) -> Evaluated:
    """Measure each parser at each size."""
    from rag_nodes.evaluation.run import recommend as measured

    if not request.sizes:
        raise ConfigurationError("--sizes: name at least one number of tokens above 0")
    plan = _plan(request, run)
    check_files(request)
    models = run.models(answers=False)
    dataset = asked_of(request, run, request.seed)
    parsers = run.parsers(request.parsers, models) if request.parsers else None
    report = measured(
        _narrowed(request, dataset),
        parsers,
        **_how(request, run, plan, models),
    )
    return _told(request, run, report, models)


def _how(request: Measuring, run: Run, plan: EvaluationPlan, models: Models) -> dict[str, Any]:
    """Return the options that `evaluate` and `recommend` share."""
    return {
        "plan": plan,
        "models": models,
        "progress": run.emit,
        "cache": request.cache,
        "executor": executor_of(request) or ("auto" if request.workers is None else None),
    }


def _narrowed(request: Measuring, dataset: Dataset) -> Dataset:
    return dataset.narrowed() if request.own_document else dataset


def _plan(
    request: EvaluateRequest | RecommendRequest, run: Run, *, target: int | None = None
) -> EvaluationPlan:
    from rag_nodes.evaluation.plan import EvaluationPlan

    asked = request.model_copy(update={"granularity": None})
    options = run.options(asked)
    if request.granularity:
        options = replace(
            options, granularity=request.granularity, top_k=None, budget=request.budgets[0]
        )
    return EvaluationPlan(
        budgets=request.budgets,
        sizes=request.sizes,
        target=target,
        options=options,
        seed=request.seed,
    )


def _told(
    request: Measuring,
    run: Run,
    report: EvaluationReport,
    models: Models,
    gates: Sequence[GateResult] = (),
) -> Evaluated:
    """The result, written to the files that were named."""
    written = written_files(request, report, models, run)
    failed = [row for row in report.rows if row.error]
    for error, name in {row.error: row.name for row in reversed(failed)}.items():
        run.warn(f"{name}: {error}")
    if report.judgement and report.judgement.error:
        run.warn(report.judgement.error)
    return Evaluated(
        outcome=_outcome(run, report, gates, unwritten=not all(written.values())),
        report=report,
        gates=gates,
        is_written=bool(request.export and written.get(request.export)),
        unread=run.unread,
        skipped=run.skipped,
        excluded=run.excluded,
    )


def _outcome(
    run: Run, report: EvaluationReport, gates: Sequence[GateResult], *, unwritten: bool
) -> ExitCode:
    outcomes = {gate.outcome for gate in gates}
    if "fell" in outcomes:
        return ExitCode.GATE
    if "inconclusive" in outcomes:
        return ExitCode.UNTOLD
    failed = sum(bool(row.error) for row in report.rows)
    if failed:
        return ExitCode.FAILURE if failed == len(report.rows) else ExitCode.PARTIAL
    not_judged = report.judgement.error if report.judgement else None
    dataset = report.dataset
    lost = len(dataset.not_located) + sum(dataset.left_out.values())
    is_mostly_lost = lost > dataset.questions + dataset.unaccepted + dataset.repeated
    partly = dataset.not_located or is_mostly_lost or not_judged or run.unread or unwritten
    return ExitCode.PARTIAL if partly else ExitCode.DONE
