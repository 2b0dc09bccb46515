"""The answer of somebody else's query engine, traced into the documents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.response.schema import StreamingResponse
from llama_index.core.llms import LLM

from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.keys import kind_of
from rag_nodes.evaluation.engines.finding import hits_of
from rag_nodes.models.names import answer_name
from rag_nodes.query.answering import answer_of
from rag_nodes.query.citations import cite_sources, cited_numbers, marks_of
from rag_nodes.query.reading import one_by_one
from rag_nodes.query.types import Answer, CitationSeen, Delta, Failed, Finished, Retrieved
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

    from llama_index.core.base.response.schema import RESPONSE_TYPE

    from rag_nodes.evaluation.engines.placing import Placing
    from rag_nodes.query.types import Event, Source

_NO_TEXT = ("", "None", "Empty Response")
"""Texts of a response without an answer; LlamaIndex writes the last two."""


class AnsweringEngine:
    """A query engine of LlamaIndex with answers of its own, with our citations.

    Its source nodes are located in the documents and numbered in their order, as its own
    `CitationQueryEngine` does. Cited are those that the answer names; where it names none, all.

    Args:
        engine: any query engine.
        placing: where its source nodes are located.
    """

    def __init__(self, engine: BaseQueryEngine, placing: Placing) -> None:
        self._engine, self._placing = engine, placing

    def answer(self, question: str, **_arguments: Any) -> Answer:
        """The answer, whole.

        Raises:
            RagNodesError: the engine failed.
        """
        *_, last = self.stream(question)
        return answer_of(last)

    def stream(self, question: str, **_arguments: Any) -> Generator[Event]:
        """The events of the answer; it grows where the engine streams."""
        started, pieces = time.perf_counter(), list[str]()
        try:
            response = self._engine.query(question)
            hits = hits_of(response.source_nodes, self._placing)
            sources = one_by_one(hits)
            yield Retrieved(tuple(hits), sources)
            for piece in _pieces(response):
                pieces.append(piece)
                yield Delta(piece)
        except RagNodesError as error:
            yield Failed(error, "".join(pieces))
            return
        except Exception as error:  # noqa: BLE001 -- another's engine may raise anything
            failure = RagNodesError(
                f"{type(self._engine).__name__} did not answer: {kind_of(error)}; run its query() "
                "alone to see where it fails"
            )
            failure.__cause__ = error
            yield Failed(failure, "".join(pieces))
            return
        answer = self._traced(question, "".join(pieces).strip(), sources)
        answer.seconds["answer"] = time.perf_counter() - started
        yield from map(CitationSeen, answer.citations)
        yield Finished(answer)

    def _traced(self, question: str, text: str, sources: tuple[Source, ...]) -> Answer:
        marks = marks_of(text)
        numbers = [source.number for source in sources]
        cited, unknown = cited_numbers(marks, numbers)
        read = sum(source.tokens for source in sources)
        return Answer(
            question=question,
            text=text,
            kind="generated" if sources or text not in _NO_TEXT else "nothing",
            citations=cite_sources(cited or numbers, sources),
            unknown_sources=unknown,
            hits=tuple(source.hits[0] for source in sources),
            sources=sources,
            left_out=0,
            context_tokens=read,
            answer_model=_model_of(self._engine),
            tokens_in=read,
            tokens_out=count_tokens(text),
            tokens_estimated=True,
            cost=None,
            embedding_cost=None,
            marks=marks,
        )


def _model_of(engine: BaseQueryEngine) -> str:
    """Return the name of the LLM that writes an engine's answers; "" if it holds none."""
    for owner in (getattr(engine, "_response_synthesizer", None), engine):
        for llm in (getattr(owner, name, None) for name in ("_llm", "llm")):
            if isinstance(llm, LLM):
                return answer_name(llm)
    inner = getattr(engine, "_query_engine", None)  # of one that changes questions
    return _model_of(inner) if isinstance(inner, BaseQueryEngine) else ""


def _pieces(response: RESPONSE_TYPE) -> Iterable[str]:
    """Yield the text of a response while it arrives."""
    if isinstance(response, StreamingResponse) and response.response_gen is not None:
        return response.response_gen
    return [str(response)]
