"""`rag-nodes evaluate`: which way of cutting finds the answers, by how much, and is it the size."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from rag_nodes.cli.choices import Changes, ComparedParsers, ComparedVectors
from rag_nodes.cli.commands.questions import asked_of
from rag_nodes.cli.executors import EngineName, MeasuringWorkers, RayAddress, executor_of
from rag_nodes.cli.failures import ExitCode, resumable, say_uncached
from rag_nodes.cli.files import check_writable, write_text
from rag_nodes.cli.gates import Gates
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.options import MODEL_SETTINGS, STORE_SETTINGS
from rag_nodes.cli.render.evaluation import evaluation_view
from rag_nodes.cli.render.progress import EVALUATION_BAR, evaluation_words, shown_progress
from rag_nodes.cli.render.text import one_line
from rag_nodes.cli.selection import query_options, select
from rag_nodes.cli.typed import numbers, table_of
from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import USUAL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.evaluation.gates import GateResult
    from rag_nodes.evaluation.judging.stage import Judging
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.report import EvaluationReport
    from rag_nodes.settings import Settings

_Granularity = Literal["chunks", "sentences", "both"]
_GATES = "Gates"
_MEASURED = "What is measured"
_JUDGED = "Whether the answers are good"


@takes(
    *STORE_SETTINGS,
    "similarity_cutoff",
    *MODEL_SETTINGS,
    search=("mode", "expand", "filter"),
)
def evaluate(  # noqa: PLR0913 -- one parameter per option of the command
    cli: Invocation,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DOCS",
            help="Files and folders the questions are about; none where the questions bring their "
            "own texts.",
        ),
    ] = None,
    *,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="Labelled questions: a sheet (CSV, XLSX) of questions and quotes or pages, our "
            "JSON, or files of LlamaIndex, RAGAS, TruLens, LangSmith, promptfoo, SQuAD and BEIR. "
            "Drafts where none are given.",
            show_default=False,
        ),
    ] = None,
    drafts: Annotated[
        int,
        typer.Option(
            min=1,
            help="Questions that are drafted from the documents where none are given; see "
            "`questions draft`.",
        ),
    ] = 50,
    parser: ComparedParsers = None,
    changes: Changes = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="A collection of --store that is there already, as one more column; repeatable."
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            metavar="N[,N...]",
            help="Tokens of context, filled exactly by every column; misses are explained at the "
            "middle one.",
            rich_help_panel=_MEASURED,
        ),
    ] = "500,1000,2000",
    sizes: Annotated[
        str,
        typer.Option(
            metavar="N[,N...]",
            help="Sizes at which every parser is tried, in tokens; 0 for none.",
            rich_help_panel=_MEASURED,
        ),
    ] = "100,200,400,800",
    equal_size: Annotated[
        int,
        typer.Option(
            min=0,
            help="Mean tokens of a chunk at which parsers are compared; 0 for no such comparison.",
            rich_help_panel=_MEASURED,
        ),
    ] = 200,
    granularity: Annotated[
        _Granularity | None,
        typer.Option(
            help="Read whole chunks (chunks, the default), the sentences of them that answer "
            "(sentences), or have every column read in both ways (both).",
            rich_help_panel=_MEASURED,
            show_default=False,
        ),
    ] = None,
    vector: ComparedVectors = None,
    own_document: Annotated[
        bool,
        typer.Option(
            "--own-document",
            help="Search only the document a question is about, as where each reader has one.",
            rich_help_panel=_MEASURED,
        ),
    ] = False,
    judge: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            help="Questions that the LLM answers from what each column read at the middle budget, "
            "and a judge grades; 0 for none. Costs requests.",
            rich_help_panel=_JUDGED,
        ),
    ] = 0,
    judge_model: Annotated[
        str | None,
        typer.Option(
            help="Who judges: a chat model's name, as for --llm-model, or the import path of an "
            "LLM of LlamaIndex, as for --llm. The LLM that answers where none is named.",
            rich_help_panel=_JUDGED,
        ),
    ] = None,
    judge_option: Annotated[
        list[str] | None,
        typer.Option(
            metavar="OPTION=VALUE",
            help="Option of that LLM's class, repeatable: model=llama3.2.",
            rich_help_panel=_JUDGED,
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Of the random swaps.", rich_help_panel=_MEASURED)
    ] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write the report as one HTML file, with the places.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write the run as JSON, for --baseline later."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(
            help="Write what the report says to take as a preset file, for --parser of every "
            "command."
        ),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            help="Folder that keeps paid vectors and finished rows: a run that was ended goes on."
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            help="Exit with 4 where a column fell below this run, and with 5 where the questions "
            "cannot exclude a drop of --tolerance.",
            rich_help_panel=_GATES,
        ),
    ] = None,
    tolerance: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="A drop below --baseline that is surely smaller holds, as a share from 0 to 1.",
            rich_help_panel=_GATES,
        ),
    ] = 0.05,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MEASURE=VALUE",
            help="Exit with 4 where a column does not reach it, as recall@1000=0.85; repeatable.",
            rich_help_panel=_GATES,
        ),
    ] = None,
    workers: MeasuringWorkers = "auto",
    engine: EngineName = None,
    ray_address: RayAddress = None,
) -> None:
    """Find out which way of cutting finds the answers to your questions, and by how much.

    Every column reads the same number of tokens. Columns are compared at their own options, over a
    curve of sizes, and at an equal mean size, so that you see what is size and what is strategy.

    Without questions of your own, drafts are made of the documents. Drafts show which answers are
    lost, but no column is compared by them. Beside accepted questions drafts are left out.
    """
    from rag_nodes.evaluation.columns import StoredCollection, by_vectors, in_both_ways
    from rag_nodes.evaluation.run import evaluate as run

    selection = select(parser or (), changes or ())
    plan = _plan(cli, budget, sizes, equal_size, granularity, vector, seed)
    gates = Gates(plan, baseline, fail_under or (), tolerance)
    chosen = executor_of(workers, engine, ray_address)
    files = _Files(html, output, save)
    files.check()
    settings = cli.settings()
    judging = _judging(settings, judge, judge_model, judge_option or [])
    with cli.workspace(settings) as workspace:
        # Refused, if at all, before documents are read and questions drafted.
        stored = {name: StoredCollection(workspace.store, name) for name in collection or ()}
        dataset = asked_of(cli, workspace, questions, paths or [], drafts)
        models = workspace.models(answers=bool(judging))
        parsers = {} if stored and not parser else selection.build(models)
        columns = {**parsers, **stored}
        columns = by_vectors(columns, plan.options, vector or ())
        if granularity == "both":
            columns = in_both_ways(columns, plan.options)
        gates.check_comparable(columns, dataset.questions)
        if judging:
            requests = judging.requests(len(columns), len(dataset.questions))
            cli.note(f"Answering and judging takes up to {requests:,} requests.")
        say_uncached(cli, cache, columns.values(), models)
        with (
            resumable(cli, "rows", cache),
            shown_progress(cli, [EVALUATION_BAR], evaluation_words) as progress,
        ):
            report = run(
                dataset.narrowed() if own_document else dataset,
                columns,
                plan=plan,
                models=models,
                cache=cache,
                progress=progress,
                judge=judging,
                executor=chosen,
            )
    notes = files.write(report, columns)
    results = gates.results(report)
    if cli.as_json:
        cli.emit({**report.as_dict(), "gates": [one.as_dict() for one in results]})
    else:
        cli.show(*evaluation_view(report, results))
    for said in notes:
        cli.note(said)
    raise typer.Exit(_code(cli, report, results))


def _code(cli: Invocation, report: "EvaluationReport", results: "list[GateResult]") -> ExitCode:
    failed = [row for row in report.rows if row.error]
    for row in failed:
        cli.complain(f"{row.name}: {one_line(row.error or '')}")
    not_judged = report.judgement.error if report.judgement else None
    if not_judged:
        cli.complain(one_line(not_judged))
    outcomes = {one.outcome for one in results}
    if "fell" in outcomes:
        return ExitCode.GATE
    if "cannot tell" in outcomes:
        return ExitCode.UNTOLD
    if failed:
        return ExitCode.FAILURE if len(failed) == len(report.rows) else ExitCode.PARTIAL
    partial = report.dataset["unplaced"] or not_judged or cli.unread
    return ExitCode.PARTIAL if partial else ExitCode.DONE


def _judging(
    settings: "Settings", count: int, model: str | None, options: list[str]
) -> "Judging | None":
    """What is judged and by whom; None where nothing is."""
    if not count:
        if model or options:
            raise ConfigurationError(
                "--judge-model judges nothing; add --judge 20, or leave it out"
            )
        return None
    from rag_nodes.evaluation.judging.stage import Judging
    from rag_nodes.import_paths import is_path
    from rag_nodes.models import choose_models

    prices = settings.answering().get("prices", {})
    if model is None:
        if options:
            raise ConfigurationError("--judge-option needs the --judge-model that it is for")
        return Judging(count, prices=prices)
    given = table_of("judge_options", options)
    own = {"embedding": "lexical", "llm_options": given, "temperature": 0.0}
    named = {"llm": model} if is_path(model) else {"llm": "openai", "llm_model": model}
    return Judging(count, choose_models(settings.model_copy(update=own | named)).llm, prices=prices)


def _plan(
    cli: Invocation,
    budget: str,
    sizes: str,
    equal_size: int,
    granularity: _Granularity | None,
    vectors: list[str] | None,
    seed: int,
) -> "EvaluationPlan":
    from rag_nodes.evaluation.plan import EvaluationPlan

    budgets = numbers("--budget", budget)
    if not budgets:
        raise ConfigurationError("--budget must be at least 1 token")
    options = replace(query_options(cli), vector=(vectors or [USUAL])[0])
    if granularity:
        read = "chunks" if granularity == "both" else granularity
        options = replace(options, granularity=read, top_k=None, budget=budgets[0])
    return EvaluationPlan(
        budgets=budgets,
        sizes=numbers("--sizes", sizes),
        target=equal_size or None,
        options=options,
        seed=seed,
    )


class _Files(NamedTuple):
    """What is to be written, where anything is."""

    html: Path | None
    output: Path | None
    save: Path | None

    def check(self) -> None:
        """Refuse names before hours are spent on what should be written there.

        Raises:
            ConfigurationError: one cannot be written, or names no preset file.
        """
        from rag_nodes.parsers.preset_files import name_of_preset

        for path in self:
            if path:
                check_writable(path)
        if self.save:
            name_of_preset(self.save)

    def write(self, report: "EvaluationReport", columns: "Mapping[str, object]") -> list[str]:
        """Write each, and say so, or why there is nothing to take in a preset file."""
        from rag_nodes.evaluation.page import html_of

        if self.html:
            write_text(self.html, html_of(report))
        if self.output:
            write_text(self.output, report.to_json())
        said = [f"Wrote {path}" for path in (self.html, self.output) if path]
        return [*said, _saved(self.save, report, columns)] if self.save else said


def _saved(path: Path, report: "EvaluationReport", columns: "Mapping[str, object]") -> str:
    """Write the parser that is to be taken as a preset file, and say what to do with it."""
    from rag_nodes.evaluation.columns import Searched, StoredCollection
    from rag_nodes.parsers import as_parser, preset_for, save_preset
    from rag_nodes.parsers.preset_files import name_of_preset

    column = columns.get(report.decision.take or "")
    parser = column.parser if isinstance(column, Searched) else column
    if parser is None:
        return f"{path} was not written: no column is shown to be the one to take"
    if isinstance(parser, StoredCollection):
        return f"{path} was not written: what is to be taken is a collection already"
    words = report.decision.words
    try:
        preset = preset_for(as_parser(parser), name_of_preset(path), summary=words)
    except ConfigurationError as error:
        return f"{path} was not written: {error}"
    save_preset(path, preset)
    said = f"Wrote {path}; use it: rag-nodes ingest DOCUMENTS --parser {path}"
    if not isinstance(column, Searched):
        return said
    read, vector = column.options.granularity, column.options.vector
    how = [f"--granularity {read}"] if read else []
    how += [f"--vector {vector}"] if vector != type(column.options)().vector else []
    return f"{said}, and ask as it was asked here: {' '.join(['rag-nodes ask', *how])}"
