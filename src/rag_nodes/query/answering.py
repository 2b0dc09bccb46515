"""Packed sources to an answer: written by an LLM, or made of the documents' own sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import ModelResponseError, RagNodesError
from rag_nodes.models import map_model_error
from rag_nodes.query.citations import cite_quote, cite_sources, cited_numbers
from rag_nodes.query.marks import Mark, marks_of
from rag_nodes.query.usage import Usage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llama_index.core.base.llms.types import ChatMessage

    from rag_nodes.models import Models
    from rag_nodes.query.packing import Packed
    from rag_nodes.query.types import Citation, Hit

NOTHING_FOUND = "No passage was found for this question."
"""Answer where retrieval came back empty."""
NOTHING_ANSWERS = "No sentence in the retrieved passages answers this question."
"""Offline answer where no sentence shares enough with the question."""
BETWEEN_EXTRACTS = "\n\n"
"""Between the quoted sentences of an offline answer."""


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

    @property
    def text(self) -> str:
        """The whole answer."""
        return "".join(self.pieces)


def without_llm(question: str, packed: Packed, *, retrieval_only: bool) -> Written:
    """The answer that needs no LLM: nothing found, nothing asked for, or extracts."""
    if not packed.sources:
        return Written((NOTHING_FOUND,), "nothing")
    if retrieval_only:
        return Written((), "retrieval")
    return extracted(question, packed)


def extracted(question: str, packed: Packed, *, sentences: int = 3) -> Written:
    """The best sentences of the packed hits, each followed by its source.

    Each citation is exactly the sentence, with its own page.

    Args:
        question: in the user's words.
        packed: what may be quoted.
        sentences: how many at most.
    """
    from rag_nodes.models.offline.extractive import extract

    passages = list(_passages(packed))
    texts = [hit.read.text[start:end] for hit, start, end in passages]
    extracts = extract(question, texts, limit=sentences)
    if not extracts:
        return Written((NOTHING_ANSWERS,), "nothing")
    pieces: list[str] = []
    length = 0
    citations: list[Citation] = []
    marks: list[Mark] = []
    for found in extracts:
        hit, first, _ = passages[found.passage]
        citation = cite_quote(hit, first + found.start, first + found.end, packed.sources)
        before = BETWEEN_EXTRACTS if citations else ""
        citations.append(citation)
        mark = f"[Source {citation.number}]"
        pieces.append(f"{before}{' '.join(citation.quote.split())} {mark}")
        length += len(pieces[-1])
        marks.append(Mark(length - len(mark), length, (citation.number,)))
    return Written(tuple(pieces), "extract", tuple(citations), marks=tuple(marks))


def messages(system: str, prompt: str) -> list[ChatMessage]:
    """What the LLM is sent: what holds for every question (S4-16), then excerpts and question.

    Args:
        system: the system message; none is sent where it is blank.
        prompt: the user's message.
    """
    from llama_index.core.base.llms.types import ChatMessage, MessageRole

    told = [ChatMessage(role=MessageRole.SYSTEM, content=system)] if system.strip() else []
    return [*told, ChatMessage(role=MessageRole.USER, content=prompt)]


def generated(text: str, packed: Packed, models: Models, usage: Usage) -> Written:
    """An LLM's answer with its citations resolved (S4-17).

    Raises:
        ModelResponseError: the answer is empty.
    """
    stripped = text.strip()
    if not stripped:
        raise ModelResponseError(
            f"{models.answer_name}: the model answered with nothing; ask again, or raise the "
            "limit of output tokens"
        )
    marks = marks_of(stripped)
    cited = cited_numbers(marks, (source.number for source in packed.sources))
    citations = cite_sources(cited.known, packed.sources)
    return Written((stripped,), "generated", citations, cited.unknown, usage, marks)


def translated(error: Exception, models: Models) -> RagNodesError:
    """An LLM's exception as one of ours."""
    if isinstance(error, RagNodesError):
        return error
    return map_model_error(error, model=models.answer_name, api_base=None)


def _passages(packed: Packed) -> Iterator[tuple[Hit, int, int]]:
    """Each text that is read, best hit first, as offsets inside `hit.read.text`."""
    hits = {hit.rank: hit for source in packed.sources for hit in source.hits}
    seen: set[str] = set()
    for _, hit in sorted(hits.items()):
        if hit is packed.cut:
            excerpts = (one for source in packed.sources for one in source.excerpts)
            yield from ((hit, one.start, one.end) for one in excerpts if one.hit is hit)
        elif hit.read.node_id not in seen:
            seen.add(hit.read.node_id)
            yield hit, 0, len(hit.read.text)
