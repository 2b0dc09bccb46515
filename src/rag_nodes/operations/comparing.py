"""The same question to the same documents, split in several ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from rag_nodes.core.errors import CollectionMissingError, ConfigurationError
from rag_nodes.operations.base import NOT_BLANK, OWNER, Flag, Request, Result, visitors
from rag_nodes.operations.evaluating import Columns, check_names, finders
from rag_nodes.operations.fields import MOST_QUESTION, OfText, ParserSpec, Searching
from rag_nodes.operations.places import check_there, concluded, must_exist, reasons_of
from rag_nodes.operations.run import Doing, Run
from rag_nodes.operations.workspace.limits import MEMORY

if TYPE_CHECKING:
    from llama_index.core.schema import Document

    from rag_nodes.embedding import DocumentsReport, FileOutcome
    from rag_nodes.evaluation.compare import Comparison, ComparisonReport
    from rag_nodes.models import Models
    from rag_nodes.operations.asking import AskRequest
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

    Files are compared in memory, and nothing of them is kept. Without files the collections of
    --store are asked: those of each --parser, or all of the corpus.
    """

    paths: Annotated[list[Path], OWNER, Flag(argument=True, metavar="PATH", stdin="text")] = Field(
        default_factory=list
    )
    """Files and folders; name crawls as files. Leave out to compare stored collections."""
    question: Annotated[Question, Flag("--ask", short="-a", stdin="text")]
    """The question for every parser."""
    chunks: Annotated[int, OWNER, Field(ge=0)] = 3
    """Chunks to show of each parser."""
    cache: Annotated[Path | None, OWNER, Flag(metavar="FOLDER")] = None
    """Cache folder for embeddings, so that no text is paid for twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared(Result):
    """Answers of every parser; no `report` if no file could be read.

    `files` are how each ended, `loaded` is None where they were sent or stored before; `skipped`
    and `excluded` count files of folders that were left out.
    """

    reply: ClassVar[str] = "replies:ComparedReply"
    files: Sequence[FileOutcome]
    report: ComparisonReport | None
    options: QueryOptions
    loaded: DocumentsReport | None = None
    skipped: Mapping[str, int] = field(default_factory=dict)
    excluded: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        files = [asdict(file) for file in self.files]
        shown = self.report.as_dict() if self.report else {"files": files, "columns": []}
        return {
            **shown,
            "skipped": dict(self.skipped),
            "excluded": self.excluded,
            "blank_pages": list(self.loaded.blank_pages) if self.loaded else [],
        }

    def reasons(self) -> Sequence[str]:
        """Return the errors of files that could not be read, and of columns."""
        errors = _errors(self.report).items() if self.report else ()
        return [*reasons_of(self.files), *(f"{name}: {error}" for name, error in errors if error)]


def _errors(report: ComparisonReport) -> dict[str, str | None]:
    return {column.name: column.statistics.error or column.error for column in report.columns}


def compare(request: CompareRequest, run: Run) -> Compared:
    """Split the documents by every parser, and ask each."""
    if not run.is_trusted:
        options = run.options(request)
        report = compare_sent(request, run, request.parsers, options)
        return Compared(files=report.files, report=report, options=options)
    settings = run.settings
    if request.paths and settings.store != MEMORY and "store" in run.typed:
        raise ConfigurationError(
            f"files are compared in memory, but you also named --store {settings.store}; leave "
            f"out the files to ask what is stored there, or add --store {MEMORY}"
        )
    if not request.paths and settings.store == MEMORY:
        raise ConfigurationError(
            "nothing to compare: name files, or name the store of an ingest with --store"
        )
    check_there(request.paths)
    typed = "parsers" in request.model_fields_set or not request.column
    labels = {spec.label for spec in request.parsers} if typed else set()
    check_names(labels, (), request.column)
    run.emit(Doing("Loading parsers and models"))
    columns = finders(request.column)
    models = run.models()
    run.note(models.describe())
    if request.paths:
        parsers = run.parsers(request.parsers, models) if typed else {}
        return _of_files(request, run, {**parsers, **columns}, models)
    return _of_store(request, run, columns, models)


def _of_files(
    request: CompareRequest, run: Run, columns: Mapping[str, object], models: Models
) -> Compared:
    """Split files in memory and ask each column."""
    from rag_nodes.evaluation.compare import Comparison

    options = run.options(request)
    documents, files = _read(request, run)
    if not documents:
        outcome = concluded(run, files, {})
        return Compared(outcome=outcome, files=files, report=None, options=options)
    with Comparison(
        columns,
        documents=documents,
        cache=request.cache,
        models=models,
        options=options,
        progress=run.emit,
    ) as comparison:
        rows = {row.document_id: row for row in comparison.loaded.files}
        files = [
            replace(rows[row.document_id], seconds=row.seconds) if row.document_id in rows else row
            for row in files
        ]
        comparison.loaded = replace(comparison.loaded, files=tuple(files))
        report = _answers(run, comparison, request)
    return Compared(
        outcome=concluded(run, files, _errors(report)),
        files=files,
        report=report,
        options=options,
        loaded=comparison.loaded,
        skipped=run.skipped,
        excluded=run.excluded,
    )


def _read(request: CompareRequest, run: Run) -> tuple[list[Document], list[FileOutcome]]:
    """Read files and folders; one that cannot be read is a row and stops nothing."""
    from rag_nodes.query.documents import row_of

    documents, files = [], []
    for result in run.results(request.paths, run.emit):
        if result.document is not None:
            documents.append(result.document)
        files.append(row_of(result))
    return documents, files


def _of_store(
    request: CompareRequest, run: Run, columns: Mapping[str, object], models: Models
) -> Compared:
    """Ask collections of a store as they stand."""
    from rag_nodes.evaluation.compare import Comparison

    options = run.options(request)
    stored = _collections(request, run, models) if not columns or _names_parsers(request) else {}
    with Comparison({**stored, **columns}, models=models, options=options) as comparison:
        report = _answers(run, comparison, request)
    outcome = concluded(run, (), _errors(report))
    return Compared(outcome=outcome, files=(), report=report, options=options)


def _names_parsers(request: CompareRequest) -> bool:
    return "parsers" in request.model_fields_set


def _collections(request: CompareRequest, run: Run, models: Models) -> dict[str, object]:
    """The collections of the parsers that are named, by label; else all of the corpus.

    Raises:
        CollectionMissingError: none was embedded by this model.
    """
    from rag_nodes.evaluation.engines import StoredCollection
    from rag_nodes.operations.parsers import make_parsers
    from rag_nodes.parsers import PRESETS
    from rag_nodes.store import is_embedded_by, parser_collection

    must_exist(run.settings.store)
    store, corpus, model = run.stored.store, run.settings.corpus, models.embedding_name
    specs = (
        request.parsers
        if _names_parsers(request)
        else [ParserSpec(name=preset) for preset in PRESETS]
    )
    labels = {
        parser_collection(corpus, parser, model): label
        for label, parser in make_parsers(specs, lambda: models.sentence_model).items()
    }
    if _names_parsers(request):
        return {label: StoredCollection(store, name) for name, label in labels.items()}
    collections = {
        labels.get(collection.name, collection.name): StoredCollection(store, collection.name)
        for collection in store.collections()
        if collection.points and collection.corpus == corpus and is_embedded_by(collection, model)
    }
    if not collections:
        raise CollectionMissingError(
            f"{store.location}: no collection of corpus '{corpus}' was embedded with {model}; "
            "ingest documents first, or name another --corpus or --embedding"
        )
    return {**collections}


def compare_sent(
    request: AskRequest | CompareRequest,
    run: Run,
    specs: Sequence[ParserSpec],
    options: QueryOptions,
) -> ComparisonReport:
    """The answers from the documents that a stranger has sent."""
    if not run.documents:
        raise ConfigurationError(NO_DOCUMENT)
    from rag_nodes.operations.workspace.limits import check_documents

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
    from rag_nodes.core.processes import current_interrupt
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
    reasons = {str(failure) for failure in failures.values()}
    if len(failures) == len(report.columns) and len(reasons) == 1:
        raise next(iter(failures.values()))
    return report
