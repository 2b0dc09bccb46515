"""Packed sources to an answer: written by an LLM, or made of the documents' own sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.errors import ModelResponseError, RagNodesError
from rag_nodes.models import map_model_error
from rag_nodes.query.citations import cite_passage, cite_sources, cited_numbers
from rag_nodes.query.prompt import fill

if TYPE_CHECKING:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse

    from rag_nodes.models import Models
    from rag_nodes.query.packing import Packed
    from rag_nodes.query.types import Citation, Hit

NOTHING_FOUND = "No passage was found for this question."
"""Answer where retrieval came back empty."""
NOTHING_ANSWERS = "No sentence in the retrieved passages answers this question."
"""Offline answer where no sentence shares enough with the question."""


class Written(NamedTuple):
    """The text of an answer and its evidence; fields as in `Answer`."""

    text: str
    kind: str
    citations: tuple[Citation, ...] = ()
    unknown_sources: tuple[int, ...] = ()


def nothing_found() -> Written:
    """The answer to a question without hits."""
    return Written(NOTHING_FOUND, "nothing")


def extracted(question: str, packed: Packed, *, sentences: int = 3) -> Written:
    """The best sentences of the packed hits, each followed by its source.

    Each citation is exactly the sentence, with its own page.

    Args:
        question: in the user's words.
        packed: what may be quoted.
        sentences: how many at most.
    """
    from rag_nodes.models.extractive import extract

    numbered = _in_rank_order(packed)
    extracts = extract(question, [hit.node.text for _, hit in numbered], limit=sentences)
    if not extracts:
        return Written(NOTHING_ANSWERS, "nothing")
    parts, citations = [], []
    for found in extracts:
        number, hit = numbered[found.passage]
        citation = cite_passage(number, hit, found.start, found.end)
        citations.append(citation)
        parts.append(f"{' '.join(citation.quote.split())} [Source {number}]")
    return Written("\n\n".join(parts), "extract", tuple(citations))


def messages(question: str, packed: Packed, prompt: str) -> list[ChatMessage]:
    """What the LLM is sent."""
    from llama_index.core.base.llms.types import ChatMessage, MessageRole

    return [ChatMessage(role=MessageRole.USER, content=fill(prompt, packed.sources, question))]


def generated(response: ChatResponse, packed: Packed, models: Models) -> Written:
    """An LLM's answer with its citations resolved (S4-17).

    Raises:
        ModelResponseError: the answer is empty.
    """
    text = (response.message.content or "").strip()
    if not text:
        raise ModelResponseError(
            f"{models.answer_name}: the model answered with nothing; ask again, or raise the "
            "limit of output tokens"
        )
    cited = cited_numbers(text, (source.number for source in packed.sources))
    citations = cite_sources(cited.known, packed.sources)
    return Written(text, "generated", citations, cited.unknown)


def translated(error: Exception, models: Models) -> Exception:
    """An LLM's exception as one of ours."""
    if isinstance(error, RagNodesError):
        return error
    return map_model_error(error, model=models.answer_name, api_base=None)


def _in_rank_order(packed: Packed) -> list[tuple[int, Hit]]:
    """Source number and hit of everything that was packed, best hit first."""
    numbered = [(source.number, hit) for source in packed.sources for hit in source.hits]
    return sorted(numbered, key=lambda pair: pair[1].rank)
