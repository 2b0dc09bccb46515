"""A crawled documentation split, checked and summarised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import OWNER, Flag, Result
from rag_nodes.operations.fields import ParserSpec, ParserToUse, Writing
from rag_nodes.operations.parsers import plain_options
from rag_nodes.operations.places import check_there
from rag_nodes.operations.run import Doing, Run
from rag_nodes.parsers.presets import get_parser

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from rag_nodes.operations.crawl import DocsReport
    from rag_nodes.parsers import SpanNodeParser

_RETRY_SECONDS = 120.0
"""Nobody waits in front of a screen here, so a server that is busy or away gets more time."""


class Summarised(Writing):
    """Options of summaries."""

    panel: ClassVar[str] = "Summaries"

    summaries: bool = True
    """Summaries by the LLM, or quoted from the text."""
    summary_tokens: Annotated[int, Field(ge=16)] = 150
    """Tokens of a summary."""
    knowledge_base: str = ""
    """Subject of the documentation."""


class DocsRequest(Summarised):
    """Split, check and summarise a crawl of documentation.

    OUTPUT appears when all of it is written; statistics and findings go to OUTPUT.report.json.
    """

    crawl: Annotated[Path, OWNER, Flag(argument=True, metavar="INPUT", stdin="data")]
    """JSON of a Firecrawl crawl."""
    output: Annotated[Path, OWNER, Flag(argument=True)]
    """File for the chunks: one chunk per line if it ends in .jsonl, else one JSON document."""
    parser: ParserToUse = ParserSpec(name="heading")
    max_tokens: int | None = None
    """Maximum tokens of a chunk, for a parser that counts tokens; 1000 by default."""
    workers: Annotated[int | None, Field(ge=1)] = None
    """Processes; by default all cores for crawls over 16 MB, else 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented(Result):
    """Outcome of a crawl, and the parser that split its pages, by its label."""

    report: DocsReport
    label: str
    parser: SpanNodeParser

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return self.report.as_dict()

    def reasons(self) -> Sequence[str]:
        """Return why pages failed."""
        return self.report.failed_pages


def docs(request: DocsRequest, run: Run) -> Documented:
    """Split every page."""
    check_there([request.crawl])
    run.emit(Doing("Loading the workflow"))
    from rag_nodes.embedding import SectionSummary
    from rag_nodes.operations.crawl import run as documented

    ((label, parser),) = run.parsers([_sized(request.parser, request.max_tokens)]).items()
    summary = None
    if request.summaries:
        summary = SectionSummary(
            llm=_llm(request, run),
            knowledge_base=request.knowledge_base,
            max_tokens=request.summary_tokens,
            concurrency=request.concurrency,
        )
    report = documented(
        request.crawl,
        request.output,
        parser=parser,
        summary=summary,
        resume=request.resume,
        workers=request.workers,
        limits=run.limits(),
        progress=run.emit,
    )
    outcome = ExitCode.DONE if report.complete else ExitCode.PARTIAL
    return Documented(outcome=outcome, report=report, label=label, parser=parser)


def _sized(spec: ParserSpec, max_tokens: int | None) -> ParserSpec:
    """Return the parser with `--max-tokens` as its size.

    Raises:
        ConfigurationError: the parser does not count tokens, or has a size already.
    """
    if max_tokens is None:
        return spec
    sized = spec.model_copy(update={"options": {**spec.options, "chunk_size": max_tokens}})
    options = {} if spec.is_foreign else {**plain_options(get_parser(spec.name)), **spec.options}
    counts_tokens = "chunk_size" in options and options.get("unit", "tokens") == "tokens"
    if not counts_tokens or "chunk_size" in spec.options:
        raise ConfigurationError(
            f"--max-tokens: {spec.label} does not count tokens, or has a size already; leave it "
            f"out, or write --parser {sized.label} if you mean that"
        )
    return sized


def _llm(request: DocsRequest, run: Run) -> LLM | None:
    """The model that summarises, tried out with requests that count for its limit, or None."""
    from rag_nodes.models import check_models

    # Tried with the default timeout: a wrong address shows at once.
    models = run.writing(request.summary_tokens, request.requests_per_minute)
    check_models(models)
    run.note(f"summaries: {models.answer_name} ({'offline' if models.offline else 'server'})")
    if "retry_seconds" in run.settings.model_fields_set or models.llm is None:
        return models.llm
    patient = run.writing(request.summary_tokens, retry_seconds=_RETRY_SECONDS).llm
    if patient:
        patient.rate_limiter = models.llm.rate_limiter
    return patient
