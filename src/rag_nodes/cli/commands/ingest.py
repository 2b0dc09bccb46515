"""`rag-nodes ingest`: documents into a store, through one or more parsers."""

from pathlib import Path
from typing import Annotated

import typer

from rag_nodes.cli.failures import conclude
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.options import MODEL_SETTINGS, STORE_SETTINGS, Changes, IngestedParsers
from rag_nodes.cli.render.ingest import ingest_view
from rag_nodes.cli.render.progress import DOCUMENTS, ingest_words, shown_progress
from rag_nodes.cli.selection import select
from rag_nodes.parsers.presets import DEFAULT_PARSER


@takes(*STORE_SETTINGS, "corpus", *MODEL_SETTINGS)
def ingest(
    cli: Invocation,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files, and folders to walk.")
    ],
    parser: IngestedParsers = None,
    changes: Changes = None,
) -> None:
    """Read documents, cut them, and store the chunks.

    Running it again adds nothing; a changed file replaces its chunks.
    """
    selection = select(parser or [DEFAULT_PARSER], changes or ())
    settings = cli.settings()
    with cli.activity("Loading parsers and models"):
        from rag_nodes.query import QueryOptions

        workspace = cli.workspace(settings)
        models = workspace.models(answers=False)
        parsers = selection.build(models)
    cli.note(models.describe())
    options = QueryOptions(**settings.answering())
    with (
        workspace,
        workspace.compared(parsers, models, options) as comparison,
        shown_progress(cli, [DOCUMENTS, *parsers], ingest_words) as progress,
    ):
        report = comparison.ingest(paths, limits=workspace.limits(), progress=progress)
    if cli.as_json:
        cli.emit(report.as_dict())
    else:
        cli.show(*ingest_view(report))
    errors = {column.parser: column.error for column in report.columns}
    stored = any(column.stored for file in report.files for column in file.columns.values())
    raise typer.Exit(conclude(cli, report.files, errors, some_done=stored))
