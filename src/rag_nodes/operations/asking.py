"""One question to documents that are stored, or were sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field

from rag_nodes.core.errors import CollectionMissingError, ConfigurationError, RagNodesError
from rag_nodes.operations.base import NOT_BLANK, OWNER, Flag, Only, Result, as_plain
from rag_nodes.operations.boxes import boxes_of, lines_in
from rag_nodes.operations.comparing import NO_DOCUMENT, FollowUps, Question, compare_sent
from rag_nodes.operations.fields import (
    AS_PARSER,
    PARSER_NAMES,
    OfText,
    Parser,
    ParserSpec,
    Searching,
)
from rag_nodes.operations.places import first_of, foreign_words, ledger_of, must_exist
from rag_nodes.operations.run import Doing, Run
from rag_nodes.operations.workspace.limits import MEMORY
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from rag_nodes.models import Models
    from rag_nodes.operations.boxes import CitedBoxes
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.query import Answer, Citation, Hit
    from rag_nodes.readers import Lines
    from rag_nodes.store import Store


class AskRequest(FollowUps, Searching, OfText):
    """Answer a question from documents, with citations.

    On the command line you ask documents that `ingest` has stored. Name the parser, its options,
    the corpus and the embedding model as you did for the ingest; if a single preset made the
    corpus, you can leave out the parser.
    """

    question: Annotated[Question, Flag(argument=True, stdin="text")]
    """The question, in your own words."""
    parser: Annotated[
        Parser | None,
        AS_PARSER,
        Field(
            description=f"Parser whose chunks are searched: {PARSER_NAMES}; by default "
            f"{DEFAULT_PARSER}, or the one preset that made the corpus."
        ),
    ] = None
    collection: Annotated[
        Annotated[str, Field(pattern=NOT_BLANK)] | None, OWNER, Flag(metavar="NAME")
    ] = None
    """Collection in --store, or its alias on a server, instead of --parser; see `status`."""
    rerank: Annotated[str | None, OWNER, Flag(metavar="MODULE:CLASS")] = None
    """Reranker of LlamaIndex that puts the chunks into another order."""
    chunks: Annotated[int, OWNER, Field(ge=0)] = 3
    """Chunks to show."""
    boxes: Annotated[bool, Only(("cli", "rest"))] = False
    """Also show where PDFs print what is cited: a box for each line, in points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked(Result):
    """An answer with its evidence, and what was asked.

    `collection` is "" where documents were sent along, `document_tokens`, of those that were read
    from, 0 where nobody knows, `incomplete` why some could not be searched; the text of an answer
    that has `grown` was sent piece by piece. `boxes` are those of each citation, None if nobody
    asked for them; `lines` and `hit_lines` the lines of citations and hits in text files.
    """

    reply: ClassVar[str] = "replies:AskedReply"
    answer: Answer
    parser: str
    models: str
    collection: str = ""
    document_tokens: int = 0
    incomplete: str | None = None
    grown: bool = False
    boxes: Sequence[CitedBoxes] | None = None
    lines: Sequence[Lines | None]
    hit_lines: Sequence[Lines | None]

    @property
    def reduction(self) -> float | None:
        """Share of the documents that need not be read; None where it is not known."""
        read = self.answer.context_tokens
        return 1 - read / self.document_tokens if self.document_tokens else None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {
            "parser": self.parser,
            "collection": self.collection,
            "models": self.models,
            **self.answer.as_dict(),
            "hits": _with_lines(self.answer.hits, self.hit_lines),
            "citations": self._citations(),
            "incomplete": self.incomplete,
            "document_tokens": self.document_tokens or None,
            "context_reduction": self.reduction,
        }

    def _citations(self) -> list[dict[str, Any]]:
        """Return the citations with their lines, and their boxes if somebody asked for these."""
        plain = _with_lines(self.answer.citations, self.lines)
        for citation, boxes in zip(plain, self.boxes or (), strict=False):
            citation |= {"boxes": as_plain(boxes.boxes), "boxes_error": boxes.error}
        return plain


def _with_lines(
    passages: Sequence[Citation | Hit], lines: Sequence[Lines | None]
) -> list[dict[str, Any]]:
    plain = []
    for passage, numbers in zip(passages, lines, strict=True):
        first, last = numbers or (None, None)
        plain.append({**passage.as_dict(), "start_line": first, "end_line": last})
    return plain


def ask(request: AskRequest, run: Run) -> Asked:
    """Ask the documents that were sent, or else the store."""
    if run.documents:
        return _ask_sent(request, run)
    settings = run.settings
    if not run.is_trusted:
        raise ConfigurationError(NO_DOCUMENT)
    if request.collection and request.parser:
        raise ConfigurationError(
            "--collection and --parser both name what to search; leave one of them out"
        )
    if settings.store == MEMORY:
        raise ConfigurationError(
            f"--store {MEMORY} holds nothing to ask; name the folder or URL of the ingest, or use "
            "'rag-nodes compare', which does both"
        )
    must_exist(settings.store)
    run.emit(Doing("Loading parsers and models"))
    from rag_nodes.query import RagNodesQueryEngine
    from rag_nodes.query.reranking import reranker_at

    options = run.options(request)
    stored = run.stored
    models = stored.models()
    if request.rerank:
        options = replace(options, rerank=reranker_at(request.rerank, models.llm))
    store = stored.store
    if request.collection:
        label, collection = _named_collection(store, request.collection, models.embedding_name)
    else:
        label, collection = asked_collection(run, store, models, request.parser)
    with _contents_named(request, store):
        engine = RagNodesQueryEngine(
            store=store,
            collection=collection,
            models=models,
            parser_name=label,
            options=options,
        )
        answer = run.answer(engine, request.question, label, follow_up=request.follow_up)
    return Asked(
        answer=answer,
        parser=label,
        models=models.describe(),
        collection=collection,
        document_tokens=_tokens_of(run, store.location, collection, answer),
        grown=run.streams,
        boxes=boxes_of(answer.citations, run) if request.boxes else None,
        lines=lines_in(answer.citations, run),
        hit_lines=lines_in(answer.hits, run),
    )


def _ask_sent(request: AskRequest, run: Run) -> Asked:
    """One parser over the documents of a stranger."""
    from rag_nodes.query.options import STEP_FACTOR

    options = run.options(request, step_factor=STEP_FACTOR)
    options = replace(options, granularity="sentences" if options.reads_sentences else "chunks")
    spec = request.parser or ParserSpec(name=DEFAULT_PARSER)
    report = compare_sent(request, run, [spec], options)
    [column] = report.columns
    if column.answer is None:
        raise RagNodesError(column.error or "there is no answer")
    return Asked(
        answer=column.answer,
        parser=column.name,
        models=report.models,
        incomplete=column.statistics.error,
        grown=run.streams,
        boxes=boxes_of(column.answer.citations, run) if request.boxes else None,
        lines=lines_in(column.answer.citations, run),
        hit_lines=lines_in(column.answer.hits, run),
    )


def asked_collection(
    run: Run, store: Store, models: Models, spec: ParserSpec | None
) -> tuple[str, str]:
    """Return the label of the parser that is asked, and the name of its collection.

    Args:
        run: whose settings name the corpus.
        store: where the collection is.
        models: of which one embedded it.
        spec: the parser; None for the default one, or the one preset that made the corpus.
    """
    from rag_nodes.store import parser_collection

    corpus = run.settings.corpus
    if spec is None:
        spec = ParserSpec(name=_stored_preset(store, corpus, models))
    ((label, parser),) = run.parsers([spec], models).items()
    return label, parser_collection(corpus, parser, models.embedding_name)


def stored_parsers(store: Store, corpus: str, models: Models) -> list[str]:
    """Return the parsers that have split a corpus: presets by name, others by class and model."""
    from rag_nodes.store import is_of, parser_collection

    presets = {
        parser_collection(corpus, parser, models.embedding_name): name
        for name, parser in _presets(models)
    }
    return [
        presets.get(info.name, f"{info.parser} with {info.embedding}")
        for info in store.collections()
        if is_of(info, corpus)
    ]


def _named_collection(store: Store, name: str, embedding_name: str) -> tuple[str, str]:
    """Return the parser and the name of a collection that another program may have made.

    Raises:
        ConfigurationError: another model embedded it, so that questions by this one find nothing.
    """
    from rag_nodes.store import described, is_embedded_by

    collection = store.resolved(name)
    info = described(collection, 0)
    if info and not is_embedded_by(info, embedding_name):
        raise ConfigurationError(
            f"{store.location}: collection {collection} was embedded with {info.embedding}, not "
            f"{embedding_name}; choose that model with --embedding"
        )
    return (info.parser if info else name), collection


def _stored_preset(store: Store, corpus: str, models: Models) -> str:
    """The default preset, unless the corpus was split by exactly one other and not by it.

    With several, only the user knows which is meant.
    """
    from rag_nodes.store import parser_collection

    present = {info.name for info in store.collections() if info.points or info.trouble}
    presets = (
        name
        for name, parser in _presets(models)
        if parser_collection(corpus, parser, models.embedding_name) in present
    )
    first = next(presets, DEFAULT_PARSER)
    return DEFAULT_PARSER if first == DEFAULT_PARSER or any(presets) else first


def _presets(models: Models) -> Iterator[tuple[str, SpanNodeParser]]:
    """Each preset as it is made for these models; the default first, as it is mostly that."""
    from rag_nodes.operations.parsers import make_parsers
    from rag_nodes.parsers import PRESETS

    for name in dict.fromkeys([DEFAULT_PARSER, *PRESETS]):
        yield from make_parsers([ParserSpec(name=name)], lambda: models.sentence_model).items()


@contextmanager
def _contents_named(request: AskRequest, store: Store) -> Iterator[None]:
    """If a collection is missing, tell its owner which there are: one is probably meant."""
    try:
        yield
    except CollectionMissingError as error:
        names, foreign = [collection.name for collection in store.collections()], store.foreign()
        missing = str(error)
        if request.collection:
            missing = f"{store.location}: there is no collection '{request.collection}'"
        content = f"there are: {first_of(names)}" if names else "nothing is stored"
        how = "; to ask one of these, name it with --collection" if names or foreign else ""
        raise CollectionMissingError(f"{missing}; {content}{foreign_words(foreign)}{how}") from None


def _tokens_of(run: Run, location: str, collection: str, answer: Answer) -> int:
    """Tokens of the documents of which something is read; 0 where no ledger knows it."""
    from rag_nodes.core.errors import LedgerError
    from rag_nodes.pipeline.ledger import Ledger

    path = ledger_of(run, location)
    if path is None or not path.is_file():
        return 0
    read = (hit.node.ref_doc_id for source in answer.sources for hit in source.hits)
    try:
        with Ledger(path) as ledger:
            rows = ledger.stored(
                collection, list(dict.fromkeys(document_id for document_id in read if document_id))
            )
    except LedgerError as error:
        run.warn(str(error))
        return 0
    return sum(row.tokens for row in rows.values())
