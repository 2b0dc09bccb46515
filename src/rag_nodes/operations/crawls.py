"""A crawled documentation cut, checked and summarised."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from rag_nodes.errors import ConfigurationError
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import OWNER, Flag, Result
from rag_nodes.operations.fields import ParserSpec, ParserToUse, Writing
from rag_nodes.operations.parsers import plain_options, preset_of
from rag_nodes.operations.places import check_there
from rag_nodes.operations.run import Doing, Run

if TYPE_CHECKING:
    from llama_index.core.llms import LLM

    from rag_nodes.documentation import DocsReport
    from rag_nodes.parsers import SpanNodeParser

_SIZES = {"max_tokens": "chunk_size", "min_tokens": "min_chunk_size", "overlap": "chunk_overlap"}
"""Fields that set an option of the parser."""
_RETRY_SECONDS = 120.0
"""Nobody waits in front of a screen here, so a server that is busy or away gets more time."""


class Summarised(Writing):
    """How chunks are summarised."""

    panel: ClassVar[str] = "Summaries"

    summaries: bool = True
    """Summaries by the LLM, or quoted from the text."""
    summary_tokens: Annotated[int, Field(ge=16)] = 150
    """Tokens of a summary."""
    knowledge_base: str = ""
    """What the documentation is about."""


class DocsRequest(Summarised):
    """Split, check and summarise a crawl of documentation.

    OUTPUT appears when all of it is written; statistics and findings go to OUTPUT.report.json.
    """

    crawl: Annotated[Path, OWNER, Flag(argument=True, metavar="INPUT", stdin="data")]
    """JSON of a Firecrawl crawl."""
    output: Annotated[Path, OWNER, Flag(argument=True)]
    """File for the chunks."""
    parser: ParserToUse = ParserSpec(name="heading")
    max_tokens: int | None = None
    """Tokens a chunk may hold, of a parser that counts them; 1000 by default."""
    min_tokens: int | None = None
    """Shorter sections join a neighbour, where the parser knows that; 100 by default."""
    overlap: Annotated[int | None, Field(ge=0)] = None
    """Overlap of neighbouring chunks, in the parser's unit; the parser's own by default."""
    format: Literal["documentation", "links", "tokens", "web", "jsonl"] = "documentation"
    """Shape of the output."""
    workers: Annotated[int | None, Field(ge=1)] = None
    """Processes; by default all cores for crawls over 16 MB, else 1."""
    fail_on: Annotated[str, Flag(metavar="NAME[=NUMBER],...")] = ""
    """Exit with 4 where a finding is over NUMBER (0), such as lost-headings, or coverage=99.9."""
    keep_duplicates: bool = False
    """Split the same text again under another URL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Documented(Result):
    """What became of a crawl, and the parser that cut its pages, by its label."""

    report: DocsReport
    label: str
    parser: SpanNodeParser

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return self.report.as_dict()

    def reasons(self) -> Sequence[str]:
        """Pages that failed, and thresholds that were crossed."""
        return [*self.report.failed_pages, *self.report.crossed]


def docs(request: DocsRequest, run: Run) -> Documented:
    """Cut every page."""
    check_there([request.crawl])
    run.emit(Doing("Loading the workflow"))
    from rag_nodes.documentation import DocsOptions, parse_thresholds
    from rag_nodes.documentation import run as documented

    ((label, made),) = run.parsers([_sized(request)]).items()
    options = DocsOptions(
        parser=made,
        summaries=request.summaries,
        summary_tokens=request.summary_tokens,
        knowledge_base=request.knowledge_base,
        concurrency=request.concurrency,
        resume=request.resume,
        format=request.format,
        workers=request.workers,
        fail_on=parse_thresholds(request.fail_on),
        keep_duplicates=request.keep_duplicates,
    )
    llm = _llm(request, run) if request.summaries else None
    report = documented(
        request.crawl, request.output, options, llm=llm, limits=run.limits(), progress=run.emit
    )
    whole = ExitCode.DONE if report.complete else ExitCode.PARTIAL
    return Documented(
        outcome=ExitCode.GATE if report.crossed else whole,
        report=report,
        label=label,
        parser=made,
    )


def _sized(request: DocsRequest) -> ParserSpec:
    """The parser with the options that are flags here.

    Raises:
        ConfigurationError: the parser has no such option, or counts something else.
    """
    spec = request.parser
    known = {} if spec.is_foreign else {**plain_options(preset_of(spec).make()), **spec.options}
    unit = known.get("unit", "tokens")
    options = dict(spec.options)
    for name, option in _SIZES.items():
        size, flag = getattr(request, name), f"--{name.replace('_', '-')}"
        if size is None:
            continue
        if option not in known:
            raise ConfigurationError(
                f"{flag}: {spec.label} has no option {option}; 'rag-nodes parsers' lists what "
                "each parser takes"
            )
        if name.endswith("tokens") and unit != "tokens":
            meant = spec.model_copy(update={"options": {**spec.options, option: size}})
            raise ConfigurationError(
                f"{flag}: {spec.label} counts {unit}; if you mean them, write "
                f"--parser {meant.label}"
            )
        if option in options:
            raise ConfigurationError(f"{flag}: {option} is given twice; leave one out")
        options[option] = size
    return spec.model_copy(update={"options": options})


def _llm(request: DocsRequest, run: Run) -> LLM | None:
    """The model that summarises, tried out with requests that count for its limit, or None."""
    from rag_nodes.models import check_models

    # Tried with the usual patience: a wrong address shows at once.
    models = run.writing(request.summary_tokens, request.requests_per_minute)
    check_models(models)
    run.note(f"summaries: {models.answer_name} ({'offline' if models.offline else 'server'})")
    if "retry_seconds" in run.settings.model_fields_set or models.llm is None:
        return models.llm
    patient = run.writing(request.summary_tokens, retry_seconds=_RETRY_SECONDS).llm
    if patient:
        patient.rate_limiter = models.llm.rate_limiter
    return patient
