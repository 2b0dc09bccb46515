"""`rag-nodes docs`: a Firecrawl crawl to checked and summarised chunks (S1-33)."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.render.docs import docs_view
from rag_nodes.cli.render.progress import DOCS_BARS, docs_words, shown_progress

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from rag_nodes.documentation import DocsOptions
    from rag_nodes.models.pacing import RequestWindow
    from rag_nodes.settings import Settings

FORMAT_NAMES = ("documentation", "links", "tokens", "web", "jsonl")
"""Shapes for help texts; importing them takes seconds."""
MEASURE_NAMES = (
    "lost-headings",
    "split-code",
    "coverage",
    "tokens",
    "duplicates",
    "outside-range",
    "too-large",
    "too-small",
    "failed-pages",
    "failed-summaries",
)
"""What `--fail-on` can name, for help texts."""

_SUMMARIES = "Summaries"
_RETRY_SECONDS = 120.0
"""Nobody waits in front of a screen here, so a server that is busy or away gets more time."""


@takes("llm", "llm_model", "api_base", "retry_seconds")
def docs(  # noqa: PLR0913 -- one parameter per option of the command
    cli: Invocation,
    crawl: Annotated[Path, typer.Argument(metavar="INPUT", help="JSON of a Firecrawl crawl.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File for the chunks.")],
    *,
    max_tokens: Annotated[int, typer.Option(help="Tokens a chunk may hold.")] = 1000,
    min_tokens: Annotated[int, typer.Option(help="Shorter sections join a neighbour.")] = 100,
    output_format: Annotated[
        str,
        typer.Option("--format", help=f"Shape of the output: {', '.join(FORMAT_NAMES)}."),
    ] = "documentation",
    workers: Annotated[
        int | None,
        typer.Option(min=1, help="Processes; by default all cores for crawls over 16 MB, else 1."),
    ] = None,
    fail_on: Annotated[
        str,
        typer.Option(
            metavar="NAME[=NUMBER],...",
            help="Exit with 4 where a figure is over NUMBER (0 by default), or coverage under it "
            f"(100 percent by default): {', '.join(MEASURE_NAMES)}.",
        ),
    ] = "",
    summary_tokens: Annotated[
        int, typer.Option(min=16, help="Tokens of a summary.", rich_help_panel=_SUMMARIES)
    ] = 150,
    knowledge_base: Annotated[
        str,
        typer.Option(help="What the documentation is about.", rich_help_panel=_SUMMARIES),
    ] = "",
    concurrency: Annotated[
        int, typer.Option(min=1, help="Requests at the same time.", rich_help_panel=_SUMMARIES)
    ] = 4,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Requests in any minute at most, repeated ones included.",
            rich_help_panel=_SUMMARIES,
        ),
    ] = None,
    summaries: Annotated[
        bool,
        typer.Option(
            "--summaries/--no-summaries",
            help="By the LLM, or quoted from the text.",
            rich_help_panel=_SUMMARIES,
        ),
    ] = True,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Use the summaries an interrupted run left beside OUTPUT.",
            rich_help_panel=_SUMMARIES,
        ),
    ] = False,
    keep_duplicates: Annotated[
        bool,
        typer.Option("--keep-duplicates", help="Cut the same text again under another URL."),
    ] = False,
) -> None:
    """Cut a crawled documentation at its headings, check and summarise the chunks.

    OUTPUT appears when all of it is written; statistics and findings go to OUTPUT.report.json.
    """
    settings = cli.settings()
    with cli.activity("Loading the workflow"):
        from rag_nodes.documentation import DocsOptions, parse_thresholds, run
        from rag_nodes.models.pacing import RequestWindow
        from rag_nodes.readers import Limits

        limits = Limits(**settings.reading())
        options = DocsOptions(
            max_tokens=max_tokens,
            min_tokens=min_tokens,
            summaries=summaries,
            summary_tokens=summary_tokens,
            knowledge_base=knowledge_base,
            concurrency=concurrency,
            requests_per_minute=requests_per_minute,
            resume=resume,
            format=output_format,
            workers=workers,
            fail_on=parse_thresholds(fail_on),
            keep_duplicates=keep_duplicates,
        )
        window = RequestWindow(requests_per_minute) if requests_per_minute else None
        llm = _llm(cli, settings, options, window) if summaries else None
    with shown_progress(cli, DOCS_BARS, docs_words) as progress:
        report = run(
            crawl, output, options, llm=llm, window=window, limits=limits, progress=progress
        )
    if cli.as_json:
        cli.emit(report.as_dict())
        for message in (*report.failed_pages, *report.crossed):
            cli.complain(message)
    else:
        cli.show(*docs_view(report))
    if report.crossed:
        raise typer.Exit(ExitCode.GATE)
    raise typer.Exit(ExitCode.DONE if report.complete else ExitCode.PARTIAL)


def _llm(
    cli: Invocation, settings: "Settings", options: "DocsOptions", window: "RequestWindow | None"
) -> "LLM | None":
    """The model that summarises, tried out with requests that `window` counts, or None."""
    from rag_nodes.models import check_models, choose_models
    from rag_nodes.models.pacing import repeats_counted

    own: dict[str, Any] = {
        "embedding": "lexical",  # nothing is embedded, so nothing need answer for it
        "max_output_tokens": options.summary_tokens,
        "temperature": 0.0,  # S1-09
    }
    # Tried with the usual patience: a wrong address shows at once.
    if window:
        window.acquire()
    with repeats_counted(window):
        models = choose_models(settings.model_copy(update=own))
        check_models(models)
    cli.note(f"summaries: {models.answer_name} ({'offline' if models.offline else 'server'})")
    if "retry_seconds" not in settings.model_fields_set:
        own["retry_seconds"] = _RETRY_SECONDS
    return choose_models(settings.model_copy(update=own)).llm
