"""`rag-nodes recommend`: which parser and size to take, or that the data cannot tell."""

from pathlib import Path
from typing import Annotated

import typer

from rag_nodes.cli.choices import Changes, ComparedVectors, SweptParsers
from rag_nodes.cli.commands.questions import asked_of
from rag_nodes.cli.executors import EngineName, MeasuringWorkers, RayAddress, executor_of
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
from rag_nodes.cli.options import MODEL_SETTINGS
from rag_nodes.cli.selection import numbers, query_options, select
from rag_nodes.errors import ConfigurationError

_TRIED = "What is tried"


@takes("similarity_cutoff", *MODEL_SETTINGS, search=("granularity", "mode", "expand", "filter"))
def recommend(  # noqa: PLR0913 -- one parameter per option of the command
    cli: Invocation,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DOCS",
            help="Files and folders to choose for; none where the questions bring their own texts.",
        ),
    ] = None,
    *,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="Labelled questions in any format that `evaluate` reads.",
            show_default=False,
        ),
    ] = None,
    answers: AnswersOption = None,
    parser: SweptParsers = None,
    changes: Changes = None,
    sizes: Annotated[
        str,
        typer.Option(
            metavar="N[,N...]",
            help="Sizes at which every parser is tried, in tokens.",
            rich_help_panel=_TRIED,
        ),
    ] = "100,200,400,800",
    budget: Annotated[
        str,
        typer.Option(
            metavar="N[,N...]",
            help="Tokens of context, filled exactly by every row; the middle one decides.",
            rich_help_panel=_TRIED,
        ),
    ] = "500,1000,2000",
    vector: ComparedVectors = None,
    own_document: Annotated[
        bool,
        typer.Option(
            "--own-document",
            help="Search only the document a question is about, as where each reader has one.",
            rich_help_panel=_TRIED,
        ),
    ] = False,
    seed: Annotated[
        int,
        typer.Option(
            min=0, help="Of the random swaps, and of the passages.", rich_help_panel=_TRIED
        ),
    ] = 0,
    html: Annotated[
        Path | None, typer.Option(help="Write the report as one HTML file, with the places.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the report as JSON.")
    ] = None,
    export: ExportOption = None,
    save: SaveOption = None,
    cache: CacheOption = None,
    workers: MeasuringWorkers = "auto",
    engine: EngineName = None,
    ray_address: RayAddress = None,
) -> None:
    """Find the parser and size to take for your documents, or hear that nothing can tell.

    The short way to `evaluate`: each parser at each size, LlamaIndex's SentenceSplitter as it
    comes, and what `ingest` and `ask` do where nothing is said, all with the same questions and the
    same number of tokens read. The cheapest to keep is taken that is as good as the best, with
    intervals that hold for all of them at once. Where the questions cannot tell them apart it says
    so, and how many would be needed.

    Without questions parsers are ranked by keywords of passages as long as --answers says.
    """
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.run import recommend as run

    selection = select(parser or (), changes or ())
    tried = numbers("--sizes", sizes)
    if not tried:
        raise ConfigurationError("--sizes: name at least one number of tokens above 0")
    plan = EvaluationPlan(
        budgets=budgets_of(budget), sizes=tried, options=query_options(cli), seed=seed
    )
    files = ReportFiles(html, output, save, export)
    files.check()
    chosen = executor_of(workers, engine, ray_address)
    with cli.workspace(cli.settings()) as workspace:
        dataset = asked_of(cli, workspace, questions, paths or [], answers, seed)
        models = workspace.models(answers=False)
        with shown_progress(cli, [EVALUATION_BAR], evaluation_words) as progress:
            report = run(
                dataset.narrowed() if own_document else dataset,
                selection.build(models) if parser else None,
                plan=plan,
                vectors=vector or (),
                models=models,
                cache=cache,
                progress=progress,
                executor=chosen,
            )
    raise typer.Exit(show_report(cli, report, files, models))
