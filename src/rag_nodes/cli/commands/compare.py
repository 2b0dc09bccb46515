"""`rag-nodes compare`: the same documents and question for several parsers, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_nodes.cli.answering import Expanded, Filters, Mode, RetrievalOnly, query_options
from rag_nodes.cli.failures import ExitCode, conclude
from rag_nodes.cli.options import (
    ANSWER_SETTINGS,
    MODEL_SETTINGS,
    Changes,
    Compared,
    ShownChunks,
    takes,
)
from rag_nodes.cli.progress import shown_progress
from rag_nodes.cli.render.comparison import comparison_view, header_view, times_view
from rag_nodes.cli.render.ingest import embedding_spent, files_view
from rag_nodes.cli.render.text import plain
from rag_nodes.cli.selection import select
from rag_nodes.cli.session import Session

if TYPE_CHECKING:
    from rag_nodes.compare import Comparison, ComparisonReport
    from rag_nodes.pipeline import IngestReport

_DEFAULTS = {"store": ":memory:"}
"""A comparison leaves nothing behind unless it is told where."""


@takes("store", "corpus", *ANSWER_SETTINGS, *MODEL_SETTINGS, defaults=_DEFAULTS)
def compare(  # noqa: PLR0913 - one per option of the command
    session: Session,
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH", help="Files, and folders to walk.")
    ],
    ask: Annotated[str, typer.Option("--ask", "-a", help="The question for every parser.")],
    parser: Compared = None,
    changes: Changes = None,
    chunks: ShownChunks = 3,
    *,
    mode: Mode = None,
    expand: Expanded = None,
    filters: Filters = None,
    retrieval_only: RetrievalOnly = False,
) -> None:
    """Ask the same question of the same documents cut in different ways.

    Nothing is kept unless --store, the environment or rag_nodes.toml names a store.
    """
    selection = select(parser or (), changes or ())
    settings = session.settings()
    with session.activity("Loading parsers and models"):
        from rag_nodes.compare import Comparison
        from rag_nodes.readers import Limits

        options = query_options(
            session, mode=mode, expand=expand, filters=filters, retrieval_only=retrieval_only
        )
        models = session.models(settings)
        parsers = selection.build(models)
    with (
        session.store(settings) as store,
        Comparison(
            store=store,
            models=models,
            parsers=parsers,
            corpus=settings.corpus,
            options=options,
        ) as comparison,
    ):
        _announce(session, comparison, ask)
        with shown_progress(session, list(parsers)) as progress:
            ingested = comparison.ingest(
                paths, limits=Limits(**settings.reading()), progress=progress
            )
        if len(ingested.failed) == len(ingested.files):
            raise typer.Exit(_nothing_to_ask(session, ingested))
        report = _asked(session, comparison, ask, _documents_of(ingested, settings.store))
    if session.as_json:
        session.emit(report.as_dict())
    else:
        session.show(*files_view(report.files))
        session.show(*comparison_view(report, session.output, shown=chunks))
        session.show(times_view(ingested.seconds, report.seconds))
        if spent := embedding_spent(ingested):
            session.show(plain(spent, "dim"))
    errors = {column.name: column.statistics.error or column.error for column in report.columns}
    raise typer.Exit(conclude(session, report.files, errors))


def _asked(
    session: Session, comparison: "Comparison", question: str, documents: list[str] | None
) -> "ComparisonReport":
    """Every parser's answer; on a terminal they can be watched as they grow."""
    if session.output.is_terminal and not session.as_json:
        from rag_nodes.cli.streaming import streamed_report

        stream = comparison.stream(question, document_ids=documents)
        return streamed_report(stream, comparison.parsers, session.output)
    with session.activity("Asking"):
        return comparison.ask(question, document_ids=documents)


def _announce(session: Session, comparison: "Comparison", question: str) -> None:
    """What will run, before it runs."""
    if session.as_json:
        session.note(comparison.models.describe())
    else:
        session.show(
            header_view(
                question,
                comparison.models.describe(),
                budget=comparison.options.budget,
                top_k=comparison.options.top_k,
            )
        )


def _documents_of(ingested: "IngestReport", store: str) -> list[str] | None:
    """What to search: a store that is kept may hold other documents of the corpus."""
    if store == _DEFAULTS["store"]:
        return None
    return [file.document_id for file in ingested.files if file.document_id]


def _nothing_to_ask(session: Session, ingested: "IngestReport") -> ExitCode:
    if not session.as_json:
        session.show(*files_view(ingested.files))
    return conclude(session, ingested.files, {})
