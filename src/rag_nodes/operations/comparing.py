"""The same question to the same documents, cut in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from rag_nodes.errors import ConfigurationError
from rag_nodes.operations.base import NOT_BLANK, OWNER, Flag, Request, Result, visitors
from rag_nodes.operations.evaluating import Columns, check_names, finders
from rag_nodes.operations.fields import (
    MOST_QUESTION,
    OfText,
    ParserSpec,
    Searching,
)
from rag_nodes.operations.places import check_there, concluded, reasons_of
from rag_nodes.operations.run import Doing, Run
from rag_nodes.workspace.limits import MEMORY

if TYPE_CHECKING:
    from rag_nodes.compare import Comparison, ComparisonReport
    from rag_nodes.embedding import FileOutcome
    from rag_nodes.operations.asking import AskRequest
    from rag_nodes.pipeline import IngestReport
    from rag_nodes.query import QueryOptions

NO_DOCUMENT = "no document yet; upload one first, or send a text"
Question = Annotated[
    str, Field(min_length=1), visitors(max_length=MOST_QUESTION, pattern=NOT_BLANK)
]


class FollowUps(Request):
    """A question that does not stand alone."""

    follow_up: Annotated[
        bool | Annotated[str, Field(max_length=MOST_QUESTION)],
        Flag(
            metavar="QUESTION",
            help="The earlier question that this one follows; by default it stands alone.",
        ),
    ] = False
    """The earlier question that this one follows, or true for the last one that was asked of the
    documents of this session. By default the question stands alone."""


class CompareRequest(FollowUps, Searching, Columns, OfText):
    """Compare the answers of several parsers to one question.

    Nothing is kept, unless --store, the environment or rag_nodes.toml names a store.
    """

    paths: Annotated[
        list[Path], OWNER, Flag(argument=True, metavar="PATH", required=True, stdin="text")
    ] = Field(default_factory=list)
    """Files, and folders to walk; crawls are named."""
    question: Annotated[Question, Flag("--ask", short="-a", stdin="text")]
    """The question for every parser."""
    chunks: Annotated[int, OWNER, Field(ge=0)] = 3
    """Chunks to show of each parser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Result):
    """What every parser found; no `report` where no file could be read.

    `files` are how each ended, `ingested` is None where they were sent before.
    """

    reply: ClassVar[str] = "replies:ComparedReply"
    files: Sequence[FileOutcome]
    report: ComparisonReport | None
    options: QueryOptions
    ingested: IngestReport | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        files = [asdict(one) for one in self.files]
        shown = self.report.as_dict() if self.report else {"files": files, "columns": []}
        left_out = self.ingested
        return {
            **shown,
            "skipped": dict(left_out.skipped) if left_out else {},
            "excluded": left_out.excluded if left_out else 0,
            "blank_pages": list(left_out.blank_pages) if left_out else [],
        }

    def reasons(self) -> Sequence[str]:
        """What is wrong with files that could not be read, and with columns."""
        errors = _errors(self.report).items() if self.report else ()
        return [*reasons_of(self.files), *(f"{name}: {error}" for name, error in errors if error)]


def _errors(report: ComparisonReport) -> dict[str, str | None]:
    return {column.name: column.statistics.error or column.error for column in report.columns}


def compare(request: CompareRequest, run: Run) -> Compared:
    """Cut the documents by every parser, and ask each."""
    if not run.is_trusted:
        options = run.options(request)
        report = compare_sent(request, run, request.parsers, options)
        return Compared(files=report.files, report=report, options=options)
    check_there(request.paths)
    typed = "parsers" in request.model_fields_set or not request.column
    labels = {one.label for one in request.parsers} if typed else set()
    check_names(labels, (), request.column)
    run.emit(Doing("Loading parsers and models"))
    from rag_nodes.compare import Comparison

    options, settings = run.options(request), run.settings
    found = finders(request.column)
    models = run.models()
    parsers = run.parsers(request.parsers, models) if typed else {}
    run.note(models.describe())
    made = Comparison(
        {**parsers, **found},
        store=run.session.store,
        models=models,
        corpus=settings.corpus,
        options=options,
    )
    with made as comparison:
        ingested = comparison.ingest(
            request.paths,
            limits=run.limits(),
            progress=run.emit,
            ledger=settings.ledger,
            exclude=settings.exclude,
        )
        run.tell_skipped(ingested.skipped, ingested.excluded)
        files = ingested.files
        if parsers and len(ingested.failed) == len(files):
            outcome = concluded(run, files, {})
            return Compared(
                outcome=outcome, files=files, report=None, options=options, ingested=ingested
            )
        own = [file.document_id for file in files if file.document_id]
        # A store that is kept may hold other documents of the corpus.
        comparison.within = None if settings.store == MEMORY else own
        report = _answers(run, comparison, request)
    return Compared(
        outcome=concluded(run, report.files, _errors(report)),
        files=report.files,
        report=report,
        options=options,
        ingested=ingested,
    )


def compare_sent(
    request: AskRequest | CompareRequest,
    run: Run,
    specs: Sequence[ParserSpec],
    options: QueryOptions,
) -> ComparisonReport:
    """The answers from the documents that a stranger has sent."""
    if not run.documents:
        raise ConfigurationError(NO_DOCUMENT)
    from rag_nodes.workspace.limits import check_documents

    check_documents(run.documents, len(specs))
    models = run.models()
    comparison = run.session.prepared(
        run.parsers(specs, models),
        models,
        options,
        progress=run.emit,
    )
    return _answers(run, comparison, request)


def _answers(
    run: Run, comparison: Comparison, request: AskRequest | CompareRequest
) -> ComparisonReport:
    """Every parser's answer; those for a stranger piece by piece, and ended where nobody listens.

    Raises:
        RagNodesError: every parser failed for the same reason, such as a missing server.
    """
    if run.is_trusted:
        run.emit(Doing("Asking"))
        return comparison.ask(request.question, follow_up=request.follow_up)
    from rag_nodes.processes import current_interrupt
    from rag_nodes.query import Failed

    failures = {}
    interrupt = current_interrupt()
    stream = comparison.stream(request.question, follow_up=request.follow_up)
    with stream as events, interrupt.killing(stream.close):
        for name, event in events:
            run.emit((name, event))
            if isinstance(event, Failed):
                failures[name] = event.error
        interrupt.check("the question")
        report = events.report()
    reasons = {str(one) for one in failures.values()}
    if len(failures) == len(report.columns) and len(reasons) == 1:
        raise next(iter(failures.values()))
    return report
