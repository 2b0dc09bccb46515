"""`rag-nodes evaluate`: which way of cutting finds the answers, by how much, and is it the size."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rag_nodes.cli.choices import Changes, ComparedParsers, ComparedVectors
from rag_nodes.cli.commands.questions import asked_of
from rag_nodes.cli.executors import EngineName, MeasuringWorkers, RayAddress, executor_of
from rag_nodes.cli.gates import Gates
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.measured import (
    AnswersOption,
    CacheOption,
    ExportOption,
    ReportFiles,
    SaveOption,
    budgets_of,
    show_report,
)
from rag_nodes.cli.old_progress import EVALUATION_BAR, evaluation_words, shown_progress
from rag_nodes.cli.options import MODEL_SETTINGS, STORE_SETTINGS
from rag_nodes.cli.selection import numbers, query_options, select, table_of
from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import USUAL

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.cli.selection import Selection
    from rag_nodes.evaluation.judging import Judging
    from rag_nodes.evaluation.plan import EvaluationPlan
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
            "JSON, or files of LlamaIndex, RAGAS, TruLens, LangSmith, promptfoo, SQuAD and BEIR.",
            show_default=False,
        ),
    ] = None,
    answers: AnswersOption = None,
    parser: ComparedParsers = None,
    changes: Changes = None,
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="A collection of --store that is there already, as one more column; repeatable."
        ),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=MODULE:OBJECT",
            help="A query engine, retriever, index or vector store of LlamaIndex, or a function "
            "that makes one, as it stands, as one more column; repeatable.",
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
    save: SaveOption = None,
    export: ExportOption = None,
    cache: CacheOption = None,
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

    Without questions of your own, columns are ranked by keywords of passages as long as --answers
    says. Drafts that nobody has accepted show which answers are lost, but no column is compared by
    them; beside accepted questions they are left out.
    """
    from rag_nodes.evaluation.columns import StoredCollection, by_vectors, in_both_ways
    from rag_nodes.evaluation.run import evaluate as run

    selection = select(parser or (), changes or ())
    found = [_column(given) for given in column or ()]
    _check_names(selection, [*(collection or ()), *(name for name, _ in found)])
    plan = _plan(cli, budget, sizes, equal_size, granularity, vector, seed)
    gates = Gates(plan, baseline, fail_under or (), tolerance)
    chosen = executor_of(workers, engine, ray_address)
    files = ReportFiles(html, output, save, export)
    files.check()
    settings = cli.settings()
    judging = _judging(settings, judge, judge_model, judge_option or [])
    with cli.workspace(settings) as workspace:
        # Refused, if at all, before documents are read and questions drafted.
        stored: dict[str, object] = {
            name: StoredCollection(workspace.store, name) for name in collection or ()
        }
        stored |= {name: _found(name, path) for name, path in found}
        dataset = asked_of(cli, workspace, questions, paths or [], answers, seed)
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
        with shown_progress(cli, [EVALUATION_BAR], evaluation_words) as progress:
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
    raise typer.Exit(show_report(cli, report, files, models, gates.results(report)))


def _column(given: str) -> tuple[str, str]:
    """The name of a column, and the import path of what finds for it."""
    name, equals, path = (part.strip() for part in given.partition("="))
    if not (name and equals and path):
        raise ConfigurationError(
            f"--column {given!r} is not NAME=MODULE:OBJECT, for example mine=my_engines:engine"
        )
    return name, path


def _check_names(selection: "Selection", names: "Sequence[str]") -> None:
    """Refuse collections and columns without a name of their own, and `--set` for no parser."""
    taken = {choice.label for choice in selection.choices}
    for name in names:
        if not name.strip():
            raise ConfigurationError("--collection is blank; name one of --store")
        if name in taken:
            raise ConfigurationError(
                f"two of the parsers, collections and columns are called {name!r}; give the "
                "--column another name, as other=MODULE:OBJECT, or leave one out"
            )
        taken.add(name)
    if names and selection.changes and not selection.choices:
        raise ConfigurationError(
            "--set changes nothing, as no parser is compared; name one with --parser, or leave it "
            "out"
        )


def _found(name: str, path: str) -> object:
    """What finds for a column."""
    from rag_nodes.columns import finds
    from rag_nodes.import_paths import load_object

    found = load_object(path)
    if not finds(found):
        raise ConfigurationError(
            f"--column {name}={path}: {type(found).__name__} finds nothing; name a query engine, "
            "retriever, index or vector store of LlamaIndex, or give a splitter with --parser"
        )
    return found


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
    from rag_nodes.evaluation.judging import Judging
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

    budgets = budgets_of(budget)
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
