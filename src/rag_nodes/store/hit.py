"""One retrieved node, as every search returns it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from llama_index.core.schema import TextNode

Origin = Literal["search", "neighbour"]
"""Found itself, or read from the store because it stands next to one that was."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved node.

    Attributes:
        node: the node that was found, as stored, without its embedding.
        rank: position in this result, counted from 1.
        score: from 0, nothing in common with the question, to 1, in the order of the ranks (equal
            where they cannot be told apart): the cosine of a dense search, the share of the best
            BM25 score of a sparse one, and what `rag_nodes.store.fusion` makes of both; what a
            reranker gave, where there is one.
        similarity: cosine similarity of question and node in [-1, 1]; None without a dense search.
        keyword_score: BM25 score, 0 or more; None without a sparse search.
        fused_score: what a hybrid search ranked by, of any size and sign, only comparable within
            one result; None where one ranking decided.
        rerank_score: what a reranker gave, of any size and sign; None without one.
        origin: how it came into the result; what was not searched for has the score of the hit
            that brought it along.
        surroundings: what is read in its place: its window of sentences, or its parent; None
            where the node itself is read.
    """

    node: TextNode
    rank: int
    score: float
    similarity: float | None = None
    keyword_score: float | None = None
    fused_score: float | None = None
    rerank_score: float | None = None
    origin: Origin = "search"
    surroundings: TextNode | None = None

    @property
    def read(self) -> TextNode:
        """What an answer is made from: the surroundings, else the node itself."""
        return self.surroundings or self.node

    @property
    def distance(self) -> float | None:
        """Cosine distance of question and node, one minus the similarity (S4-18)."""
        return None if self.similarity is None else 1 - self.similarity

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        return {
            "rank": self.rank,
            "score": self.score,
            "similarity": self.similarity,
            "distance": self.distance,
            "keyword_score": self.keyword_score,
            "fused_score": self.fused_score,
            "rerank_score": self.rerank_score,
            "origin": self.origin,
            "node_id": self.node.node_id,
            "text": self.node.text,
            "start": self.node.start_char_idx,
            "end": self.node.end_char_idx,
            "metadata": dict(self.node.metadata),
            "read": _place(self.surroundings) if self.surroundings else None,
        }


def _place(node: TextNode) -> dict[str, Any]:
    return {
        "node_id": node.node_id,
        "text": node.text,
        "start": node.start_char_idx,
        "end": node.end_char_idx,
    }
