"""Tools of agents: search stored documents, ask them, verify a quotation; none changes anything.

MCP over stdio and over HTTP offer the same tools. What a tool takes is bounded, what it returns
holds no path of this computer, and texts of documents are fields of their own, never advice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import (
    CollectionMissingError,
    ConfigurationError,
    RagNodesError,
    StoreLockedError,
)
from rag_nodes.core.own_metadata import MAX_KEYS, Value, own_metadata
from rag_nodes.operations.agent_forms import (
    LONGEST_VALUE,
    MOST_QUOTED,
    AgentListing,
    AgentQuestion,
    AgentQuote,
    AgentSearch,
    AgentSearching,
    CitedAnswer,
    CitedPassage,
    Documents,
    FoundDocument,
    FoundPassage,
    FurtherPlace,
    Passages,
    Quotation,
)
from rag_nodes.operations.asking import asked_collection, stored_parsers
from rag_nodes.operations.base import Reply, Request
from rag_nodes.operations.boxes import BoxReply, boxes_in
from rag_nodes.operations.places import first_of, inventory, is_store
from rag_nodes.operations.run import Run
from rag_nodes.operations.workspace.limits import MEMORY
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from rag_nodes.core.settings import Settings
    from rag_nodes.models import Models
    from rag_nodes.operations.fields import ParserSpec
    from rag_nodes.query import Answer, Citation
    from rag_nodes.store import Store


class _Opened(NamedTuple):
    """A store that is open for one call, and the collection that is asked."""

    run: Run
    store: Store
    models: Models
    label: str
    collection: str


def _search(request: AgentSearch, opened: _Opened) -> Passages:
    answer = _answered(request, request.query, opened, retrieval_only=True)
    from rag_nodes.query.citations import cite_passage
    from rag_nodes.query.reading import in_whole_sentences

    excerpts = [excerpt for source in answer.sources for excerpt in source.excerpts]
    return Passages(
        passages=[
            FoundPassage(
                **_facts(cite_passage(excerpt.hit.rank, excerpt.hit, excerpt.start, excerpt.end))
            )
            for excerpt in in_whole_sentences(excerpts)
        ],
        unsearched=answer.unsearched,
    )


def _ask(request: AgentQuestion, opened: _Opened) -> CitedAnswer:
    answer = _answered(request, request.question, opened)
    return CitedAnswer(
        answer=answer.text,
        kind=answer.kind,
        citations=[
            CitedPassage(number=citation.number, **_facts(citation))
            for citation in answer.citations
        ],
        unknown_sources=answer.unknown_sources,
        unsearched=answer.unsearched,
        truncated=answer.truncated,
    )


def _quote(request: AgentQuote, opened: _Opened) -> Quotation:
    from rag_nodes.query.quotes import quote
    from rag_nodes.readers import node_lines

    span = Span(request.start, request.end)
    # At least one character, so that offsets outside the document are answered with those inside.
    last = min(max(request.end, request.start + 1), request.start + MOST_QUOTED)
    inquired = Span(request.start, last)
    passage = quote(opened.store, opened.collection, request.document_id, inquired)
    if not 0 < span.length <= MOST_QUOTED:
        range_end = "on" if span.length < 1 else f"to {span.start + MOST_QUOTED}"
        raise ConfigurationError(
            f"end must be 1 to {MOST_QUOTED:,} characters after start; choose an end from "
            f"{span.start + 1} {range_end}"
        )
    facts, own, sent = passage.node.metadata, passage.node.text, request.text
    inside = passage.find(sent) if sent else None
    boxes = boxes_in(passage.node, inside or Span(0, len(own)), opened.run.settings.ocr)
    lines = node_lines(passage.node, 0, len(own))
    return Quotation(
        document_id=request.document_id,
        name=keys.display_name(facts, request.document_id),
        start=span.start,
        end=span.end,
        page=facts.get(keys.PAGE_START),
        page_end=facts.get(keys.PAGE_END),
        start_line=lines.start_line if lines else None,
        end_line=lines.end_line if lines else None,
        heading_path=tuple(facts.get(keys.HEADING_PATH) or ()),
        metadata=own_metadata(facts),
        text=own,
        exact=None if sent is None else passage.is_exactly(sent),
        same_words=None if sent is None else inside is not None,
        text_start=span.start + inside.start if inside else None,
        text_end=span.start + inside.end if inside else None,
        found_text=inside.of(own) if inside else None,
        boxes=[BoxReply(**box._asdict()) for box in boxes.boxes],
        boxes_error=boxes.error,
    )


def _keys_of(document_id: str, opened: _Opened) -> dict[str, Value | None]:
    """Return the own keys of a document, as one of its chunks has them, with short values."""
    from rag_nodes.store.conditions import DOCUMENT_ID, Condition

    of_document = Condition(DOCUMENT_ID, "==", document_id)
    points = opened.store.some(opened.collection, of_document, 1)
    own = (item for point in points for item in own_metadata(point.payload).items())
    return {
        key: value if len(str(value)) <= LONGEST_VALUE else None
        for key, value in islice(own, MAX_KEYS)
    }


def _list_documents(request: AgentListing, opened: _Opened) -> Documents:
    held, corpus = inventory(opened.run), opened.run.settings.corpus
    searched = [
        collection
        for collection in held.collections(corpus)
        if collection.info.name == opened.collection
    ]
    listed = [
        document
        for document in held.documents(corpus, searched)
        if document.chunks.get(opened.collection)
        and request.name.casefold() in document.name.casefold()
    ]
    page = listed[request.first : request.first + request.limit]
    return Documents(
        total=len(listed),
        documents=[
            FoundDocument(
                document_id=document.id,
                name=document.name,
                pages=document.pages,
                chunks=document.chunks[opened.collection],
                metadata=_keys_of(document.id, opened),
            )
            for document in page
        ],
    )


class AgentTool(NamedTuple):
    """A tool: the class of its request, that of its reply, and its function."""

    request: type[Request]
    reply: type[Reply]
    function: Callable[[Any, _Opened], Reply]


TOOLS: Mapping[str, AgentTool] = {
    "search": AgentTool(AgentSearch, Passages, _search),
    "ask": AgentTool(AgentQuestion, CitedAnswer, _ask),
    "quote": AgentTool(AgentQuote, Quotation, _quote),
    "list_documents": AgentTool(AgentListing, Documents, _list_documents),
}
"""All tools by name, in the order in which agents list them."""


class StoredTools(NamedTuple):
    """The tools over one store; it is opened for each call, so that an ingest can run in between.

    Attributes:
        settings: store, corpus and models.
        parser: parser whose chunks are searched; None for the default one, or the one preset that
            made the corpus.
        option: option of the server that names it.
    """

    settings: Settings
    parser: ParserSpec | None = None
    option: str = "--parser"

    @classmethod
    def over_http(cls, settings: Settings, parser: ParserSpec | None = None) -> Self:
        """Return the tools of `rag-nodes app --mcp`, whose --parser is for its visitors."""
        return cls(settings, parser, "--mcp-parser")

    def call(self, name: str, request: Request) -> dict[str, Any]:
        """Call a tool and return its reply as plain data.

        Args:
            name: key of `TOOLS`.
            request: of the class that this tool takes.

        Raises:
            CollectionMissingError: nothing is stored, or nothing by this parser and model.
            CancelledError: the agent does not wait any more, see `interruptible`.
            RagNodesError: what the tool raises.
        """
        with closing(Run(self.settings)) as run:
            run.tell(request)
            reply = TOOLS[name].function(request, self._opened(run))
            return reply.model_dump(mode="json")

    def lack(self) -> str:
        """Return why a call would fail now, such as a parser that has stored nothing; else ""."""
        try:
            with closing(Run(self.settings, waits=False)) as run:
                self._opened(run)
        except StoreLockedError:
            return ""
        except RagNodesError as error:
            return str(error)
        return ""

    def _opened(self, run: Run) -> _Opened:
        location = run.settings.store
        if location == MEMORY or not is_store(location):
            raise CollectionMissingError(
                f"{location}: no documents are stored here; run `rag-nodes ingest` with this "
                "--store, or start the server with the --store of your documents"
            )
        try:
            store = run.stored.store
        except StoreLockedError as error:
            raise StoreLockedError(
                f"{location}: another process uses this store right now, such as an ingest or "
                "another agent; call the tool again in a few seconds, or keep the documents on a "
                "Qdrant server, which many can use at once"
            ) from error
        # The question itself tries the models out.
        models = run.models(check=False)
        label, collection = asked_collection(run, store, models, self.parser)
        if store.dimension(collection) is None:
            corpus = run.settings.corpus
            nothing = f"{location}: nothing is stored in corpus '{corpus}'"
            if parsers := stored_parsers(store, corpus, models):
                nothing += f" by parser {label} with {models.embedding_name}, only by "
                nothing += first_of(parsers)
            raise CollectionMissingError(
                f"{nothing}; start the server with {self.option}, --corpus and the embedding model "
                "of the ingest, which `rag-nodes status` shows"
            )
        return _Opened(run, store, models, label, collection)


def _answered(request: AgentSearching, question: str, opened: _Opened, **usual: Any) -> Answer:
    from rag_nodes.query import RagNodesQueryEngine

    if request.filter:
        request.filter.check_no_path()
    engine = RagNodesQueryEngine(
        store=opened.store,
        collection=opened.collection,
        models=opened.models,
        parser_name=opened.label,
        options=opened.run.options(request, **usual),
    )
    return opened.run.answer(engine, question, opened.label)


def _facts(citation: Citation) -> dict[str, Any]:
    """Return the fields of a passage."""
    first, last = citation.lines() or (None, None)
    return {
        "document_id": citation.document_id,
        "name": citation.file_name,
        "start": citation.start,
        "end": citation.end,
        "page": citation.page,
        "page_end": citation.page_end,
        "start_line": first,
        "end_line": last,
        "heading_path": citation.heading_path,
        "metadata": citation.metadata,
        "text": citation.quote,
        "also": [
            FurtherPlace(
                document_id=place.document_id,
                name=place.file_name,
                start=place.start,
                end=place.end,
                page=place.page,
            )
            for place in citation.also
        ],
    }
