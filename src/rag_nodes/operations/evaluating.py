"""Columns of an evaluation beside parsers, its judge, its gates, and the files it writes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.files import check_writable, write_text
from rag_nodes.core.import_paths import label_of
from rag_nodes.operations.base import OWNER, Flag, Request, visitors
from rag_nodes.operations.fields import (
    ASSIGNMENT,
    MOST_COLUMNS,
    Parser,
    ParserSpec,
    as_parsers,
    assignments,
    described_parsers,
)
from rag_nodes.operations.places import check_there
from rag_nodes.operations.run import Run
from rag_nodes.parsers.presets import COMPARED

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.gates import GateResult
    from rag_nodes.evaluation.judging import Judging
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.models import Models
    from rag_nodes.query import QueryOptions
    from rag_nodes.store import SearchMode


class Searches(Request):
    """Ways to search, each of which is measured."""

    panel: ClassVar[str] = "Search"

    modes: Annotated[list[Literal["hybrid", "dense", "sparse"]], Flag("--mode", metavar="MODE")] = (
        Field(default_factory=list)
    )
    """BM25 (sparse), embeddings (dense), or both (hybrid); several are compared."""
    rerank: Annotated[list[str], Flag(metavar="MODULE:CLASS")] = Field(default_factory=list)
    """Reranker of LlamaIndex, which is compared with the search alone."""

    def searches(self, options: QueryOptions, llm: LLM | None) -> dict[str, QueryOptions]:
        """Return the ways to search by name; one without a name if nothing is compared."""
        from rag_nodes.query.reranking import reranker_at

        modes: list[SearchMode | None] = [*dict.fromkeys(self.modes)] or [options.mode]
        ways = {str(mode) if len(modes) > 1 else "": replace(options, mode=mode) for mode in modes}
        for path in self.rerank:
            reranker, label = reranker_at(path, llm), label_of(path)
            ways |= {
                f"{name}, {label}" if name else label: replace(search, rerank=reranker)
                for name, search in ways.items()
                if not search.rerank
            }
        return ways


class Judged(Request):
    """Options of the LLM that judges answers."""

    panel: ClassVar[str] = "Answer quality"

    judge: Annotated[int, Field(ge=0), Flag(metavar="N")] = 0
    """Questions that the LLM answers and a judge grades, which costs requests."""
    judge_model: str | None = None
    """Model that judges: a name, or module:Class. Default: the model that answers."""
    judge_option: Annotated[list[str], Flag(metavar=ASSIGNMENT)] = Field(default_factory=list)
    """Option of the judge's class, such as model=llama3.2; repeatable."""


class Gated(Request):
    """Thresholds that a build relies on."""

    panel: ClassVar[str] = "Gates"

    baseline: Annotated[Path | None, Flag(metavar="FILE")] = None
    """Earlier run to compare with. Exit 4 if a column got worse, 5 if that is inconclusive."""
    tolerance: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Largest drop below --baseline that passes, from 0 to 1."""
    fail_under: Annotated[list[str], Flag(metavar="MEASURE=VALUE")] = Field(default_factory=list)
    """Exit with 4 if a column has less, such as recall@1000=0.85; repeatable."""


class Columns(Request):
    """Columns of a comparison: parsers, and engines as they stand."""

    parsers: Annotated[
        list[Parser],
        as_parsers(COMPARED),
        Field(description=described_parsers("compare", COMPARED)),
        visitors(min_length=1, max_length=MOST_COLUMNS),
    ] = Field(default_factory=lambda: [ParserSpec(name=name) for name in COMPARED])
    column: Annotated[list[str], OWNER, Flag(metavar="NAME=MODULE:OBJECT")] = Field(
        default_factory=list
    )
    """One more column: an engine, retriever, index or vector store of LlamaIndex."""


def _named(given: str) -> tuple[str, str]:
    """The name of a column, and the import path of what finds for it."""
    name, equals, path = (part.strip() for part in given.partition("="))
    if not (name and equals and path):
        raise ConfigurationError(
            f"--column '{given}' is not NAME=MODULE:OBJECT, for example mine=my_engines:engine"
        )
    return name, path


def check_names(parsers: set[str], collections: Sequence[str], columns: Sequence[str]) -> None:
    """Refuse collections and columns without a name of their own."""
    taken = set(parsers)
    for name in [*collections, *(_named(column)[0] for column in columns)]:
        if not name.strip():
            raise ConfigurationError("--collection is blank; name one of --store")
        if name in taken:
            raise ConfigurationError(
                f"two of the parsers, collections and columns are called '{name}'; give the "
                "--column another name, as other=MODULE:OBJECT, or leave one out"
            )
        taken.add(name)


def finders(columns: Sequence[str]) -> dict[str, object]:
    """Return the engine of each column, by name."""
    from rag_nodes.core.import_paths import load_object
    from rag_nodes.evaluation.engines import finds

    engines = {}
    for name, path in map(_named, columns):
        engines[name] = engine = load_object(path)
        if not finds(engine):
            raise ConfigurationError(
                f"--column {name}={path}: {type(engine).__name__} cannot be searched; name a query "
                "engine, retriever, index or vector store of LlamaIndex, or give a splitter with "
                "--parser"
            )
    return engines


def judging_of(request: Judged, run: Run) -> Judging | None:
    """Return the number of questions to judge and the judge; None if nothing is judged."""
    count, model, options = request.judge, request.judge_model, request.judge_option
    if not count:
        if model or options:
            raise ConfigurationError(
                "--judge-model has no effect without --judge; add --judge 20, or leave it out"
            )
        return None
    from rag_nodes.core.import_paths import is_path
    from rag_nodes.core.settings import refuse_secrets, typed_option
    from rag_nodes.evaluation.judging import Judging
    from rag_nodes.models import choose_models

    if model is None:
        if options:
            raise ConfigurationError("--judge-option needs the --judge-model that it is for")
        return Judging(count)
    flag = "--judge-option"
    given = {name: typed_option(value) for name, value in assignments(options, flag).items()}
    refuse_secrets(given, flag, "judge_options")
    own = {"embedding": "lexical", "llm_options": given, "temperature": 0.0}
    named = {"llm": model} if is_path(model) else {"llm": "openai", "llm_model": model}
    settings = run.settings.model_copy(update=own | named)
    return Judging(count, choose_models(settings).llm)


class Gates:
    """`--baseline` and `--fail-under`: refused before an hour is spent, and what came of them."""

    def __init__(self, plan: EvaluationPlan, request: Gated) -> None:
        from rag_nodes.evaluation.gates import check_measured, limit_of
        from rag_nodes.evaluation.report import EvaluationReport

        self._before: EvaluationReport | None = None
        self._limits, self._tolerance = request.fail_under, request.tolerance
        if request.baseline is not None:
            check_there([request.baseline])
            self._before = EvaluationReport.load(request.baseline)
            check_measured(self._before, plan.main)
        for limit in self._limits:
            limit_of(limit, plan.shares)

    @property
    def in_use(self) -> list[str]:
        """Name the row that the user has by the baseline: the only one, or its decision."""
        if self._before is None:
            return []
        names = [row.name for row in self._before.of_role("own")]
        taken = self._before.decision.take
        return names if len(names) == 1 else [taken] if taken else []

    def check_comparable(self, columns: Mapping[str, object], asked: Sequence[Question]) -> None:
        """Refuse a baseline with nothing in common with what is to be measured."""
        from rag_nodes.evaluation.gates import check_comparable

        if self._before:
            check_comparable(self._before, columns, asked)

    def results(self, report: EvaluationReport) -> list[GateResult]:
        """A result per row and gate."""
        from rag_nodes.evaluation.gates import against_baseline, under

        before = self._before
        results = against_baseline(report, before, tolerance=self._tolerance) if before else []
        return [*results, *(result for limit in self._limits for result in under(report, limit))]


class Saved(Request):
    """Files that a report is written to."""

    html: Annotated[Path | None, Flag(metavar="FILE")] = None
    """Write a self-contained HTML report."""
    output: Annotated[Path | None, Flag(short="-o", metavar="FILE")] = None
    """Write the report as JSON, for --baseline later."""
    export: Annotated[Path | None, Flag(metavar="FILE")] = None
    """Write a script that ingests and answers with the proposed settings."""


def check_files(request: Saved) -> None:
    """Refuse names before hours are spent on what should be written there."""
    html, output, script = request.html, request.output, request.export
    for path, *endings in ((html, ".html", ".htm"), (output, ".json"), (script, ".py")):
        if path:
            check_writable(path, *endings)


def written_files(
    request: Saved, report: EvaluationReport, models: Models, run: Run
) -> dict[Path, bool]:
    """Write each file, and say so, or why it could not be written, and return whether it was."""
    written: dict[Path, bool] = {}
    for path, write, use in _files_of(request, report, models):
        written[path] = False
        try:
            write(path)
            written[path] = True
        except ConfigurationError as refused:  # what may have taken hours is shown all the same
            run.warn(str(refused))
        else:
            run.note(f"Wrote {path}{use}")
    return written


def _files_of(
    request: Saved, report: EvaluationReport, models: Models
) -> Iterator[tuple[Path, Callable[[Path], None], str]]:
    """Each file, what writes it, and how to use it."""
    from rag_nodes.evaluation.page import html_of

    if request.html:
        yield request.html, lambda path: write_text(path, html_of(report)), ""
    if request.output:
        yield request.output, lambda path: write_text(path, report.to_json()), ""
    if request.export:
        use = f"; run it: python {request.export} DOCUMENT --question QUESTION"
        yield request.export, partial(_export, report, models), use


def _export(report: EvaluationReport, models: Models, path: Path) -> None:
    from rag_nodes.operations.scripts import script_to_use

    if not report.decision.parser:
        raise ConfigurationError(f"{path} was not written: {_why_none(report)}")
    write_text(path, script_to_use(report.decision, models, path.name))


def _why_none(report: EvaluationReport) -> str:
    decision = report.decision
    if decision.take is None:
        return decision.certainty
    if decision.preset:
        return f"{decision.take} was searched with a reranker, which a script cannot name"
    kind = report.row(decision.take).parser["class"]
    if kind == "collection":
        return f"{decision.take} is a collection, which `rag-nodes ask` can search as it is"
    if kind == "as it stands":
        return f"{decision.take} is your own, so you have its code already"
    return f"{decision.take} cannot be named by a preset or an import path with plain options"
