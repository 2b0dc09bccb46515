"""Rerankers: functions of question and hits, and node postprocessors of LlamaIndex."""

from __future__ import annotations

from dataclasses import replace
from math import isnan, tanh
from typing import TYPE_CHECKING

from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeWithScore

from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.import_paths import load
from rag_nodes.core.keys import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from llama_index.core.llms import LLM

    from rag_nodes.store import Hit

    Rerank = Callable[[str, Sequence[Hit]], Sequence[Hit]] | BaseNodePostprocessor


def reranker_at(path: str, llm: LLM | None = None) -> BaseNodePostprocessor:
    """Make the postprocessor that an import path names.

    Args:
        path: `module:Class(option=value)`.
        llm: for a class with a field of that name, such as LLMRerank; None for its own default.

    Raises:
        ConfigurationError: it is no postprocessor, or cannot be made.
    """
    reranker: BaseNodePostprocessor = load(
        path, BaseNodePostprocessor, offered={"llm": llm} if llm else None
    )
    return reranker


def reranked(hits: Sequence[Hit], question: str, rerank: Rerank) -> list[Hit]:
    """Return the hits in the order of a reranker, which may leave some out.

    Raises:
        RagNodesError: a postprocessor failed, or returned nodes that it was not given.
    """
    if not isinstance(rerank, BaseNodePostprocessor):
        return list(rerank(question, hits))
    name = type(rerank).__name__
    by_id = {hit.node.node_id: hit for hit in hits}
    nodes = [NodeWithScore(node=hit.node, score=hit.score) for hit in hits]
    try:
        ranking = rerank.postprocess_nodes(nodes, query_str=question)
        scores = {node.node.node_id: float(node.score or 0.0) for node in ranking}
    except RagNodesError:
        raise
    except Exception as error:
        raise RagNodesError(
            f"the reranker {name} failed: {kind_of(error)}; run it alone to see where it fails"
        ) from error
    if foreign := scores.keys() - by_id.keys():
        raise RagNodesError(
            f"the reranker {name} returned nodes that it was not given ({len(foreign):,}); "
            "choose one that orders nodes or leaves some out"
        )
    return rescored(
        [replace(by_id[node_id], rerank_score=score) for node_id, score in scores.items()]
    )


def rescored(hits: Sequence[Hit]) -> list[Hit]:
    """Scores of a reranker, or of anybody, from 0 to 1: as they are, or by the logistic function.

    Cross-encoders give the logits of a probability where they give none; of any other scale, the
    function at least keeps the order. What has no number for a score comes last.
    """
    scored = [(hit.rerank_score or 0.0, hit) for hit in hits]
    numbers = [(score, hit) for score, hit in scored if not isnan(score)]
    is_probability = all(0 <= score <= 1 for score, _ in numbers)
    return [
        *(replace(hit, score=s if is_probability else (1 + tanh(s / 2)) / 2) for s, hit in numbers),
        *(replace(hit, score=0.0, rerank_score=None) for score, hit in scored if isnan(score)),
    ]


def in_order(hits: Sequence[Hit]) -> list[Hit]:
    """Ranks counted again; what was put before others has at least their score.

    So whoever limits or sorts by score keeps to the order that was asked for.
    """
    best, ordered = 0.0, []
    for rank, hit in reversed(list(enumerate(hits, start=1))):
        best = max(best, hit.score)
        ordered.append(replace(hit, rank=rank, score=best))
    return ordered[::-1]
