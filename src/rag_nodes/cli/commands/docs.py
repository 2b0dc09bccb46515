"""`rag-nodes docs`: a Firecrawl crawl to checked and summarised chunks."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rag_nodes.cli.choices import Changes, OneParser
from rag_nodes.cli.failures import ExitCode
from rag_nodes.cli.files import check_there
from rag_nodes.cli.invocation import Invocation, takes
from rag_nodes.cli.old_progress import DOCS_BARS, docs_words, shown_progress
from rag_nodes.cli.options import MODEL_SETTINGS
from rag_nodes.cli.selection import built, plain_options, select
from rag_nodes.cli.views.docs import docs_view
from rag_nodes.cli.views.text import configuration
from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from llama_index.core.llms import LLM

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

_OPTIONS = {
    "--max-tokens": "chunk_size",
    "--min-tokens": "min_chunk_size",
    "--overlap": "chunk_overlap",
}
"""The options of parsers that flags of their own set."""
_SUMMARIES = "Summaries"
_RETRY_SECONDS = 120.0
"""Nobody waits in front of a screen here, so a server that is busy or away gets more time."""


@takes(*MODEL_SETTINGS)
def docs(  # noqa: PLR0913 -- one parameter per option of the command
    cli: Invocation,
    crawl: Annotated[Path, typer.Argument(metavar="INPUT", help="JSON of a Firecrawl crawl.")],
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File for the chunks.")],
    *,
    parser: OneParser = "heading",
    changes: Changes = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(
            help="Tokens a chunk may hold, of a parser that counts them; 1000 by default.",
            show_default=False,
        ),
    ] = None,
    min_tokens: Annotated[
        int | None,
        typer.Option(
            help="Shorter sections join a neighbour, where the parser knows that; 100 by default.",
            show_default=False,
        ),
    ] = None,
    overlap: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="What neighbouring chunks share, counted as the parser counts; by default what "
            "the parser says, which is nothing at headings.",
            show_default=False,
        ),
    ] = None,
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
    """Cut a crawled documentation, at its headings or by any parser, check and summarise it.

    OUTPUT appears when all of it is written; statistics and findings go to OUTPUT.report.json.
    """
    check_there([crawl])
    settings = cli.settings()
    with cli.activity("Loading the workflow"):
        from rag_nodes.documentation import DocsOptions, parse_thresholds, run
        from rag_nodes.readers import Limits

        limits = Limits(**settings.reading())
        sizes = {"--max-tokens": max_tokens, "--min-tokens": min_tokens, "--overlap": overlap}
        selection = select([parser], [*(changes or ()), *_sizes(parser, sizes)])
        ((label, made),) = built(cli, selection).items()
        options = DocsOptions(
            parser=made,
            summaries=summaries,
            summary_tokens=summary_tokens,
            knowledge_base=knowledge_base,
            concurrency=concurrency,
            resume=resume,
            format=output_format,
            workers=workers,
            fail_on=parse_thresholds(fail_on),
            keep_duplicates=keep_duplicates,
        )
        llm = _llm(cli, settings, summary_tokens, requests_per_minute) if summaries else None
    with shown_progress(cli, DOCS_BARS, docs_words) as progress:
        report = run(crawl, output, options, llm=llm, limits=limits, progress=progress)
    if cli.as_json:
        cli.emit(report.as_dict())
        for message in (*report.failed_pages, *report.crossed):
            cli.complain(message)
    else:
        cli.show(*docs_view(report, f"{label} · {configuration(plain_options(made))}"))
    if report.crossed:
        raise typer.Exit(ExitCode.GATE)
    raise typer.Exit(ExitCode.DONE if report.complete else ExitCode.PARTIAL)


def _sizes(parser: str, sizes: "Mapping[str, int | None]") -> list[str]:
    """What `--set` would be given for flags that were typed.

    Raises:
        ConfigurationError: the parser has no such option, or counts something else than the flag.
    """
    (choice,) = select([parser]).choices
    known = {} if choice.is_foreign else {**plain_options(choice.known.make()), **choice.options}
    unit = known.get("unit", "tokens")
    changes = []
    for flag, size in sizes.items():
        option = _OPTIONS[flag]
        if size is None:
            continue
        if option not in known:
            raise ConfigurationError(
                f"{flag}: {choice.label} has no option {option}; 'rag-nodes parsers' lists what "
                "each parser takes"
            )
        if flag.endswith("tokens") and unit != "tokens":
            raise ConfigurationError(
                f"{flag}: {choice.label} counts {unit}; if you mean them, write "
                f"--set {option}={size}"
            )
        changes.append(f"{option}={size}")
    return changes


def _llm(
    cli: Invocation, settings: "Settings", tokens: int, requests_per_minute: int | None
) -> "LLM | None":
    """The model that summarises, tried out with requests that count for its limit, or None."""
    from rag_nodes.models import check_models, choose_models
    from rag_nodes.models.pacing import RequestWindow

    own: dict[str, Any] = {
        "embedding": "lexical",  # nothing is embedded, so nothing need answer for it
        "max_output_tokens": tokens,
        "temperature": 0.0,
    }
    # Tried with the usual patience: a wrong address shows at once.
    models = choose_models(settings.model_copy(update=own))
    if models.llm and requests_per_minute:
        models.llm.rate_limiter = RequestWindow(requests_per_minute)
    check_models(models)
    cli.note(f"summaries: {models.answer_name} ({'offline' if models.offline else 'server'})")
    if "retry_seconds" in settings.model_fields_set or models.llm is None:
        return models.llm
    own["retry_seconds"] = _RETRY_SECONDS
    patient = choose_models(settings.model_copy(update=own)).llm
    if patient:
        patient.rate_limiter = models.llm.rate_limiter
    return patient
