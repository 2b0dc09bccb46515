"""An answer as it grows: pieces of text in, events out, the same for sync and async streams."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rag_nodes.errors import RagNodesError
from rag_nodes.query.answering import Written, generated, translated
from rag_nodes.query.citations import cite_sources
from rag_nodes.query.events import (
    CitationSeen,
    Delta,
    Event,
    Failed,
    Finished,
    Retrieved,
    UnknownSource,
)
from rag_nodes.query.marks import MarkReader
from rag_nodes.query.usage import Usage, usage_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from llama_index.core.base.llms.types import ChatResponse

    from rag_nodes.query.marks import Mark
    from rag_nodes.query.preparing import Prepared
    from rag_nodes.query.types import Answer

    Assemble = Callable[[Prepared, Written], Answer]


def retrieved(prepared: Prepared) -> Retrieved:
    """The first event."""
    return Retrieved(prepared.packed.hits, prepared.packed.sources)


def whole(prepared: Prepared, written: Written, assemble: Assemble) -> Iterator[Event]:
    """The events of an answer that is there at once: each sentence, then its citation."""
    citations = iter(written.citations)
    for piece in written.pieces:
        yield Delta(piece)
        for citation in citations:
            yield CitationSeen(citation)
            break
    yield Finished(assemble(prepared, written))


class GrowingAnswer:
    """Turns the pieces an LLM streams into events; one per answer.

    Args:
        prepared: what the model reads.
        prices: for the cost, see `usage_of`.
        assemble: makes the answer of what was written.
    """

    def __init__(
        self,
        prepared: Prepared,
        prices: Mapping[str, tuple[float, float]],
        assemble: Assemble,
    ) -> None:
        self._prepared = prepared
        self._models = prepared.models
        self._prices = prices
        self._assemble = assemble
        self._reader = MarkReader()
        self._named: set[int] = set()
        self._pieces: list[str] = []
        self._last: ChatResponse | None = None
        self._started = time.perf_counter()

    def grow(self, piece: ChatResponse) -> Iterator[Event]:
        """The events of the next piece."""
        self._last = piece
        text = piece.delta or ""
        if not text:
            return
        if not self._pieces:
            self._prepared.clock.seconds["first_token"] = time.perf_counter() - self._started
        self._pieces.append(text)
        yield Delta(text)
        yield from self._cited(self._reader.read(text))

    def end(self) -> Iterator[Event]:
        """The events of the end: what its last bracket cites, and the answer."""
        yield from self._cited(self._reader.end())
        self._prepared.clock.seconds["answer"] += time.perf_counter() - self._started
        text = "".join(self._pieces)
        try:
            written = generated(text, self._prepared.packed, self._models, self._usage(text))
            answer = self._assemble(self._prepared, written)
        except RagNodesError as error:
            yield self.failed(error)
            return
        yield Finished(answer)

    def failed(self, error: Exception) -> Failed:
        """The last event of an answer that broke off, with what had arrived."""
        return Failed(translated(error, self._models), "".join(self._pieces))

    def _usage(self, text: str) -> Usage:
        model = self._models.answer_name
        read = self._models.system_prompt + self._prepared.prompt
        return usage_of(self._last, read, text, model=model, prices=self._prices)

    def _cited(self, marks: Iterable[Mark]) -> Iterator[Event]:
        """What the marks name for the first time."""
        sources = self._prepared.packed.sources
        known = {source.number for source in sources}
        for number in dict.fromkeys(number for mark in marks for number in mark.numbers):
            if number in self._named:
                continue
            self._named.add(number)
            if number in known:
                yield from map(CitationSeen, cite_sources([number], sources))
            else:
                yield UnknownSource(number)
