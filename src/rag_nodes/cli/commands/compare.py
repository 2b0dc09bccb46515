"""`rag-nodes compare`: the same documents and question for several parsers, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rag_nodes.cli.choices import Changes, ComparedParsers, ComparedVectors, ShownChunks
from rag_nodes.cli.failures import ExitCode, conclude
from rag_nodes.cli.files import check_there
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.old_progress import DOCUMENTS, ingest_words, shown_progress
from rag_nodes.cli.options import ANSWER_SETTINGS, MODEL_SETTINGS, SEARCH, STORE_SETTINGS
from rag_nodes.cli.selection import query_options, select
from rag_nodes.cli.views.comparison import comparison_view, header_view, times_view
from rag_nodes.cli.views.ingest import embedding_spent, files_view
from rag_nodes.cli.views.text import plain

if TYPE_CHECKING:
    from rag_nodes.compare import Comparison, ComparisonReport
    from rag_nodes.pipeline import IngestReport

_DEFAULTS = {"store": ":memory:"}
"""A comparison leaves nothing behind unless it is told where."""


@takes(
    *(*STORE_SETTINGS, "ledger", "corpus", *ANSWER_SETTINGS, *MODEL_SETTINGS),
    search=[name for name in SEARCH if name != "vector"],
    defaults=_DEFAULTS,
)
def compare(
    cli: Invocation,
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Files, and folders to walk; crawls are named."),
    ],
    ask: Annotated[str, typer.Option("--ask", "-a", help="The question for every parser.")],
    parser: ComparedParsers = None,
    changes: Changes = None,
    equal_size: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Tokens of a chunk on average, the same for each parser, found on the first "
            "documents; the parsers' own sizes by default.",
        ),
    ] = None,
    vector: ComparedVectors = None,
    chunks: ShownChunks = 3,
) -> None:
    """Ask the same question of the same documents cut in different ways.

    Nothing is kept unless --store, the environment or rag_nodes.toml names a store.
    """
    check_there(paths)
    selection = select(parser or (), changes or ())
    settings = cli.settings()
    with cli.activity("Loading parsers and models"):
        options = query_options(cli)
        workspace = cli.workspace(settings)
        models = workspace.models()
        parsers = selection.build(models)
    sized = workspace.compared(
        parsers, models, options, equal_size=equal_size, vectors=vector or ()
    )
    with workspace, sized as comparison:
        _announce(cli, comparison, ask)
        with shown_progress(cli, [DOCUMENTS, *parsers], ingest_words) as progress:
            ingested = comparison.ingest(
                paths, limits=workspace.limits(), progress=progress, ledger=settings.ledger
            )
        if len(ingested.failed) == len(ingested.files):
            raise typer.Exit(_nothing_to_ask(cli, ingested))
        report = _asked(cli, comparison, ask, _documents_of(ingested, settings.store))
    if cli.as_json:
        cli.emit(report.as_dict())
    else:
        cli.show(*files_view(report.files))
        cli.show(*comparison_view(report, cli.output, shown=chunks))
        cli.show(times_view(ingested.seconds, report.seconds))
        if spent := embedding_spent(ingested):
            cli.show(plain(spent, "dim"))
    errors = {column.name: column.statistics.error or column.error for column in report.columns}
    raise typer.Exit(conclude(cli, report.files, errors))


def _asked(
    cli: Invocation, comparison: "Comparison", question: str, documents: list[str] | None
) -> "ComparisonReport":
    """Every parser's answer; on a terminal they can be watched as they grow."""
    if cli.output.is_terminal and not cli.as_json:
        from rag_nodes.cli.views.streaming import streamed_report

        stream = comparison.stream(question, document_ids=documents)
        return streamed_report(stream, comparison.columns, cli.output)
    with cli.activity("Asking"):
        return comparison.ask(question, document_ids=documents)


def _announce(cli: Invocation, comparison: "Comparison", question: str) -> None:
    """What will run, before it runs."""
    if cli.as_json:
        cli.note(comparison.models.describe())
    else:
        cli.show(
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


def _nothing_to_ask(cli: Invocation, ingested: "IngestReport") -> ExitCode:
    if not cli.as_json:
        cli.show(*files_view(ingested.files))
    return conclude(cli, ingested.files, {})
