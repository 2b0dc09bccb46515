"""`rag-nodes ingest`: documents into a store, through one or more parsers."""

from pathlib import Path
from typing import Annotated

import typer

from rag_nodes.cli.failures import conclude
from rag_nodes.cli.options import DEFAULT_PARSER, MODEL_SETTINGS, Changes, Ingested, takes
from rag_nodes.cli.progress import shown_progress
from rag_nodes.cli.render.ingest import ingest_view
from rag_nodes.cli.selection import select
from rag_nodes.cli.session import Session


@takes("store", "corpus", *MODEL_SETTINGS)
def ingest(
    session: Session,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files, and folders to walk.")
    ],
    parser: Ingested = None,
    changes: Changes = None,
) -> None:
    """Read documents, cut them, and store the chunks.

    Running it again adds nothing; a changed file replaces its chunks.
    """
    selection = select(parser or [DEFAULT_PARSER], changes or ())
    settings = session.settings()
    with session.activity("Loading parsers and models"):
        from rag_nodes.pipeline import ingest as ingest_files
        from rag_nodes.readers import Limits

        models = session.models(settings, answers=False)
        parsers = selection.build(models)
    session.note(models.describe())
    with (
        session.store(settings) as store,
        shown_progress(session, list(parsers)) as progress,
    ):
        report = ingest_files(
            paths,
            parsers,
            store,
            models=models,
            corpus=settings.corpus,
            limits=Limits(**settings.reading()),
            progress=progress,
            prices=settings.answering()["prices"],
        )
    if session.as_json:
        session.emit(report.as_dict())
    else:
        session.show(*ingest_view(report))
    errors = {column.parser: column.error for column in report.columns}
    stored = any(column.stored for file in report.files for column in file.columns.values())
    raise typer.Exit(conclude(session, report.files, errors, some_done=stored))
