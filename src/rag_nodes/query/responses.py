"""Questions, hits and answers as LlamaIndex passes them on, nodes with each text once."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from llama_index.core.base.response.schema import (
    AsyncStreamingResponse,
    Response,
    StreamingResponse,
)
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.query.locations import document_of, joined_text, part_of, place_of, slice_of, span_of
from rag_nodes.query.types import Delta, Failed, Finished, Retrieved
from rag_nodes.store import Hit
from rag_nodes.text.filling import Ranked, fill
from rag_nodes.text.spans import Span, merge

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator, Iterable, Sequence

    from rag_nodes.query.types import Answer, Event


def innermost(given: str | QueryBundle) -> QueryBundle:
    """Return a bundle whose question is a text.

    Components annotate a `QueryBundle` and pass on a text, or wrap a bundle again: a chat
    engine that is asked a bundle calls its postprocessors with a bundle whose `query_str` is that
    bundle.

    Args:
        given: a question in any of these forms.

    Returns:
        The innermost bundle, with its embedding, or one that an outer bundle has.
    """
    embedding = None
    while isinstance(given, QueryBundle) and isinstance(given.query_str, QueryBundle):
        embedding = embedding or given.embedding
        given = given.query_str
    if not isinstance(given, QueryBundle):
        return QueryBundle(given)
    return given if given.embedding else replace(given, embedding=embedding)


def replaced(hits: Iterable[Hit]) -> list[NodeWithScore]:
    """The nodes that are read, best first: windows and parents that overlap are one node."""
    nodes: list[NodeWithScore] = []
    seen: set[tuple[str, Span] | str] = set()
    every = list(hits)
    joined = _joined(every)
    for hit in every:
        node, place = hit.node, None
        if hit.surroundings is not None:
            place = _place_in(joined, hit.surroundings)
            node = _whole(hit, joined[place]) if place else hit.surroundings
        key = place or node.node_id
        if key not in seen:
            seen.add(key)
            nodes.append(NodeWithScore(node=_with_scores(node, hit), score=hit.score))
    return nodes


def fitting(nodes: Sequence[NodeWithScore], budget: int) -> list[NodeWithScore]:
    """Return the first nodes that fit a budget of tokens; the last is truncated to it.

    Text that two nodes share counts twice, because whoever gets the nodes reads it twice.
    """
    texts = [scored.node.get_content() for scored in nodes]
    passages = (Ranked(f"{n}", Span(0, len(text)), text) for n, text in enumerate(texts))
    filled = fill(passages, budget)
    kept = list(nodes[: len(filled.parts)])
    if filled.truncated:
        last = kept.pop()
        kept += [
            NodeWithScore(node=_cut(last.node, part), score=last.score) for part in filled.parts[-1]
        ]
    return kept


def _cut(node: Any, part: Span) -> TextNode:
    """Return a part of the text of a node as a slice of its document, if its place is known."""
    span = span_of(node)
    if span is None:
        return part_of(node, *part)
    return slice_of([node], Span(span.start + part.start, span.start + part.end))


def _with_scores(node: TextNode, hit: Hit) -> TextNode:
    """The node with what it was found by; a copy, as the scores are those of one question."""
    values = (hit.similarity, hit.keyword_score, hit.fused_score, hit.rerank_score)
    scores = {k: v for k, v in zip(keys.SCORES, values, strict=True) if v is not None}
    if not scores:
        return node
    lists = ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys")
    hidden = {name: list(dict.fromkeys((*getattr(node, name), *scores))) for name in lists}
    return node.model_copy(update={"metadata": {**node.metadata, **scores}, **hidden})


_Places = dict[tuple[str, Span], list[TextNode]]


def _joined(hits: Sequence[Hit]) -> _Places:
    """The surroundings that are read, by document and disjoint span."""
    by_document: dict[str, dict[Span, TextNode]] = defaultdict(dict)
    for hit in hits:
        node = hit.surroundings
        if node is not None and (span := span_of(node)) is not None:
            by_document[document_of(node)].setdefault(span, node)
    return {
        (document, whole): [parts[span] for span in sorted(parts) if span.overlap(whole)]
        for document, parts in by_document.items()
        for whole in merge(list(parts))
    }


def _place_in(joined: _Places, node: TextNode) -> tuple[str, Span] | None:
    span, document = span_of(node), document_of(node)
    if span is None:
        return None
    return next(piece for piece in joined if piece[0] == document and piece[1].overlap(span))


def _whole(hit: Hit, parts: Sequence[TextNode]) -> TextNode:
    """One node of overlapping parts in order, under the id of the one the best hit brought."""
    start, text = parts[0].start_char_idx or 0, joined_text(parts)
    whole = Span(start, start + len(text))
    best = hit.surroundings or hit.node
    facts = {
        **parts[0].metadata,
        **place_of(parts, whole),
        keys.ORIGINAL_TEXT: hit.node.text,
    }
    hidden = {keys.ORIGINAL_TEXT, *best.excluded_llm_metadata_keys}
    return best.model_copy(
        update={
            "text": text,
            "start_char_idx": whole.start,
            "end_char_idx": whole.end,
            "metadata": facts,
            "excluded_llm_metadata_keys": sorted(hidden),
        }
    )


def response_of(answer: Answer) -> Response:
    """The answer's text and nodes, with all of it as plain data in the metadata."""
    return Response(
        response=answer.text,
        source_nodes=replaced(answer.hits),
        metadata={"answer": answer.as_dict()},
    )


def streaming_response(events: Generator[Event]) -> StreamingResponse:
    """A response whose text arrives while it is read.

    Its metadata gets the whole answer with the last piece; a model that fails raises there.
    """
    nodes, metadata = _nodes(next(events)), dict[str, Any]()

    def texts() -> Generator[str]:
        for event in events:
            if text := _text(event, metadata):
                yield text

    return StreamingResponse(texts(), source_nodes=nodes, metadata=metadata)


async def astreaming_response(events: AsyncGenerator[Event]) -> AsyncStreamingResponse:
    """Like `streaming_response`, for an async stream."""
    nodes, metadata = _nodes(await anext(events)), dict[str, Any]()

    async def texts() -> AsyncGenerator[str]:
        async for event in events:
            if text := _text(event, metadata):
                yield text

    return AsyncStreamingResponse(texts(), source_nodes=nodes, metadata=metadata)


def _nodes(first: Event) -> list[NodeWithScore]:
    return replaced(first.hits) if isinstance(first, Retrieved) else []


def _text(event: Event, metadata: dict[str, Any]) -> str:
    """The text an event adds; the answer goes into the metadata."""
    if isinstance(event, Failed):
        raise event.error
    if isinstance(event, Finished):
        metadata["answer"] = event.answer.as_dict()
    return event.text if isinstance(event, Delta) else ""
