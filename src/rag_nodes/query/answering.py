"""A prepared question to its answer, as the events of its making.

One path for all ways of asking: an LLM's answer that is whole is a stream of one piece, and one
made of the documents' own sentences is there at once.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import ModelResponseError, RagNodesError
from rag_nodes.models.endings import ended_at_limit
from rag_nodes.models.names import priced_name
from rag_nodes.models.prices import billed, cost_of
from rag_nodes.query import tracing
from rag_nodes.query.citations import MarkReader, cite_quote, cite_sources, cited_numbers, marks_of
from rag_nodes.query.preparing import translated
from rag_nodes.query.types import Answer, CitationSeen, Delta, Failed, Finished, Mark, UnknownSource
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from llama_index.core.base.llms.types import ChatMessage, ChatResponse

    from rag_nodes.query.cited import Citation
    from rag_nodes.query.options import QueryOptions
    from rag_nodes.query.preparing import Prepared
    from rag_nodes.query.reading import Packed
    from rag_nodes.query.types import Event
    from rag_nodes.store import Hit

NOTHING_FOUND = "No passage was found for this question."
"""Answer where retrieval came back empty."""
NOTHING_ANSWERS = "No sentence in the retrieved passages answers this question."
"""Offline answer where no sentence shares enough with the question."""
BETWEEN_EXTRACTS = "\n\n"
"""Between the quoted sentences of an offline answer."""


class Usage(NamedTuple):
    """Tokens and money of one answer; fields as in `Answer`."""

    tokens_in: int = 0
    tokens_out: int = 0
    tokens_estimated: bool = False
    cost: float | None = 0.0


class Written(NamedTuple):
    """The text of an answer and its evidence; fields as in `Answer`.

    Attributes:
        pieces: the text in the parts it is shown in, each citation's piece at its place.
        marks: where the text names its sources; brackets elsewhere are the documents' own.
    """

    pieces: tuple[str, ...]
    kind: str
    citations: tuple[Citation, ...] = ()
    unknown_sources: tuple[int, ...] = ()
    usage: Usage = Usage()
    marks: tuple[Mark, ...] = ()
    truncated: bool = False

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.pieces)


class Answering:
    """One answer in the making: pieces of an LLM's text in, events out.

    Does no waiting of its own, so streams and whole answers, sync and async, share it.
    """

    def __init__(self, prepared: Prepared, options: QueryOptions) -> None:
        self._prepared = prepared
        self._options = options
        self._reader = MarkReader()
        self._named: set[int] = set()
        self._pieces: list[str] = []
        self._last: ChatResponse | None = None
        self._is_truncated = False
        self._started = time.perf_counter()

    def without_llm(self) -> Written:
        """The answer that needs no LLM: nothing found, nothing asked for, or extracts."""
        packed = self._prepared.packed
        with self._prepared.clock("answer"):
            if not packed.sources:
                return Written((NOTHING_FOUND,), "nothing")
            if self._options.retrieval_only:
                return Written((), "retrieval")
            return extracted(self._prepared.question, packed)

    def events_of(self, written: Written) -> Iterator[Event]:
        """The events of an answer that is there at once: each sentence, then its citation."""
        citations = iter(written.citations)
        for piece in written.pieces:
            yield Delta(piece)
            for citation in citations:
                yield CitationSeen(citation)
                break
        yield self._finished(written)

    def grow(self, piece: ChatResponse) -> Iterator[Event]:
        """The events of the next piece of an LLM's answer; none for a piece without new text."""
        self._last = piece
        self._is_truncated = self._is_truncated or ended_at_limit(piece)
        text = piece.delta or ""
        if not text:
            return
        if not self._pieces:
            self._prepared.clock.seconds["first_token"] = time.perf_counter() - self._started
        self._pieces.append(text)
        yield Delta(text)
        yield from self._cited(self._reader.read(text))

    def end(self) -> Iterator[Event]:
        """The events of the end: what the last bracket cites, and the answer or why there is none.

        An LLM that was asked for all at once has said it in the message of its only piece.
        """
        yield from self._cited(self._reader.end())
        self._prepared.clock.seconds["answer"] += time.perf_counter() - self._started
        text = "".join(self._pieces) or (self._last and self._last.message.content) or ""
        try:
            yield self._finished(self._generated(text))
        except RagNodesError as error:
            yield self.failed(error)

    def failed(self, error: Exception) -> Failed:
        """The last event of an answer that broke off, with what had arrived."""
        models = self._prepared.models
        ours = translated(error, models.llm, models.answer_name)
        if ours is not error:
            ours.__cause__ = error
        return Failed(ours, "".join(self._pieces))

    def _generated(self, text: str) -> Written:
        """An LLM's answer with its citations resolved."""
        prepared, models = self._prepared, self._prepared.models
        stripped = text.strip()
        if not stripped:
            raise ModelResponseError(
                f"{models.answer_name}: the model returned an empty answer; ask again, or raise "
                "the limit of output tokens"
            )
        read = models.system_prompt + prepared.prompt
        prices = self._options.prices
        usage = usage_of(
            self._last, read, text, model=priced_name(models.answer_name, models.llm), prices=prices
        )
        sources = prepared.packed.sources
        marks = marks_of(stripped)
        cited, unknown = cited_numbers(marks, {source.number for source in sources})
        citations = cite_sources(cited, sources)
        truncated = self._is_truncated
        return Written((stripped,), "generated", citations, unknown, usage, marks, truncated)

    def _cited(self, marks: Iterable[Mark]) -> Iterator[Event]:
        """Yield the citations that the marks name for the first time."""
        sources = {source.number: source for source in self._prepared.packed.sources}
        for number in (number for mark in marks for number in mark.numbers):
            if number in self._named:
                continue
            self._named.add(number)
            if number in sources:
                yield from map(CitationSeen, cite_sources([number], [sources[number]]))
            else:
                yield UnknownSource(number)

    def _finished(self, written: Written) -> Finished:
        answer = self._assembled(written)
        tracing.ended(answer)
        return Finished(answer)

    def _assembled(self, written: Written) -> Answer:
        prepared, packed, models = self._prepared, self._prepared.packed, self._prepared.models
        asked, prices = prepared.embedded.tokens, self._options.prices
        return Answer(
            question=prepared.question,
            text=written.text,
            kind=written.kind,
            citations=written.citations,
            unknown_sources=written.unknown_sources,
            hits=packed.hits,
            sources=packed.sources,
            left_out=packed.left_out,
            left_out_tokens=packed.left_out_tokens,
            context_truncated=packed.truncated is not None,
            context_tokens=packed.tokens,
            budget=prepared.budget,
            seconds=dict(prepared.clock.seconds),
            embedding_model=models.embedding_name,
            answer_model=models.answer_name,
            mode=prepared.mode,
            widening=prepared.widening,
            cached=prepared.embedded.cached,
            embedding_tokens=asked,
            embedding_cost=cost_of(asked, 0, models.embedding_name, prices),
            unsearched=prepared.unsearched,
            marks=written.marks,
            truncated=written.truncated,
            **written.usage._asdict(),
        )


def answer_of(last: Event | None) -> Answer:
    """The answer that the last event of a stream brings.

    Raises:
        RagNodesError: it says why there is none.
    """
    if isinstance(last, Failed):
        raise last.error
    if not isinstance(last, Finished):
        raise RagNodesError("the answer ended without an end; please report this as a bug")
    return last.answer


def extracted(question: str, packed: Packed) -> Written:
    """The best sentences of the packed hits, each cited exactly, with its own page."""
    from rag_nodes.text.extracts import extract

    passages = list(_passages(packed))
    texts = [hit.read.text[start:end] for hit, start, end in passages]
    extracts = extract(question, texts, scores=[hit.score for hit, _, _ in passages])
    if not extracts:
        return Written((NOTHING_ANSWERS,), "nothing")
    pieces: list[str] = []
    length = 0
    citations: list[Citation] = []
    marks: list[Mark] = []
    for sentence in extracts:
        hit, first, _ = passages[sentence.passage]
        citation = cite_quote(hit, first + sentence.start, first + sentence.end, packed.sources)
        before = BETWEEN_EXTRACTS if citations else ""
        citations.append(citation)
        mark = f"[Source {citation.number}]"
        pieces.append(f"{before}{' '.join(citation.quote.split())} {mark}")
        length += len(pieces[-1])
        marks.append(Mark(length - len(mark), length, (citation.number,)))
    return Written(tuple(pieces), "extract", tuple(citations), marks=tuple(marks))


def messages(system: str, prompt: str) -> list[ChatMessage]:
    """Return the messages for an LLM: system message, unless blank, then excerpts and question."""
    from llama_index.core.base.llms.types import ChatMessage, MessageRole

    preamble = [ChatMessage(role=MessageRole.SYSTEM, content=system)] if system.strip() else []
    return [*preamble, ChatMessage(role=MessageRole.USER, content=prompt)]


def _passages(packed: Packed) -> Iterator[tuple[Hit, int, int]]:
    """Each text that is read, best hit first, as offsets inside `hit.read.text`."""
    hits = {hit.rank: hit for source in packed.sources for hit in source.hits}
    seen: set[str] = set()
    for _, hit in sorted(hits.items()):
        if hit is packed.truncated:
            excerpts = (excerpt for source in packed.sources for excerpt in source.excerpts)
            yield from (
                (hit, excerpt.start, excerpt.end) for excerpt in excerpts if excerpt.hit is hit
            )
        elif hit.read.node_id not in seen:
            seen.add(hit.read.node_id)
            yield hit, 0, len(hit.read.text)


def usage_of(
    response: ChatResponse | None,
    prompt: str,
    text: str,
    *,
    model: str,
    prices: Mapping[str, tuple[float, float]],
) -> Usage:
    """Return the tokens of an answer, by its last piece, else as counted here."""
    counted = billed(response.additional_kwargs) if response is not None else None
    tokens_in, tokens_out = counted or (count_tokens(prompt), count_tokens(text))
    cost = cost_of(tokens_in, tokens_out, model, prices)
    return Usage(tokens_in, tokens_out, counted is None, cost)
