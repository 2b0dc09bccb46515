"""Queries of a store, and how a collection is searched for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from numbers import Real
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, get_args

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import FILE_NAME, SOURCE
from rag_nodes.core.spelling import quoted
from rag_nodes.readers import node_boxes, node_lines
from rag_nodes.store.conditions import Where, all_of
from rag_nodes.store.filters import Filter, paths_in
from rag_nodes.store.fusion import FUSIONS, Fusion, fuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import TextNode

    from rag_nodes.readers import Lines, Ocr, PlacedBox
    from rag_nodes.store.fusion import Scores

    Nodes = Callable[[Sequence[str]], dict[str, TextNode]]

SearchMode = Literal["hybrid", "dense", "sparse"]
"""By meaning and words, by meaning only, or by words only."""


def usual_mode(*, by_meaning: bool, compares: bool, has_words: bool) -> SearchMode:
    """Return the default search mode: keywords alone, unless the embedding model carries meaning.

    Args:
        by_meaning: embeddings tell meaning, as those of `LexicalEmbedding` do not.
        compares: a cutoff of similarity is asked for.
        has_words: the collection indexes words.
    """
    return "hybrid" if by_meaning or compares or not has_words else "sparse"


def mode_that_runs(asked: SearchMode, *, has_words: bool) -> SearchMode:
    """Return the mode that a collection allows: without keyword vectors, hybrid becomes dense."""
    return "dense" if asked == "hybrid" and not has_words else asked


@dataclass(frozen=True, slots=True)
class Query:
    """Query of a search.

    Attributes:
        vector: embedding of the question; needed unless the mode is "sparse".
        text: the question; needed unless the mode is "dense".
        limit: chunks to find at most.
        mode: which rankings to use.
        filter: search only chunks that pass it; by default it lets all pass.
        fusion: how a hybrid search joins its rankings, see `rag_nodes.store.fusion`.
        alpha: weight of the dense ranking in the fusion "score", from 0 to 1; None for half.
        also: what nodes have to be beside passing the filter; None for nothing.

    Raises:
        ConfigurationError: mode or fusion is unknown, the limit is below 1, `alpha` is no
            share, or the mode needs a vector or text that is missing.
    """

    vector: Sequence[float] | None
    text: str | None
    limit: int
    mode: SearchMode = "hybrid"
    filter: Filter = field(default_factory=Filter)
    fusion: Fusion = "score"
    alpha: float | None = None
    also: Where | None = None

    def __post_init__(self) -> None:
        """Check that the mode has what it needs."""
        _check_choice("search mode", self.mode, get_args(SearchMode))
        _check_choice("fusion", self.fusion, FUSIONS)
        if self.mode != "sparse" and self.vector is None:
            raise ConfigurationError(f"search mode '{self.mode}' needs the question's embedding")
        if self.mode != "dense" and self.text is None:
            raise ConfigurationError(f"search mode '{self.mode}' needs the question's text")
        if self.limit < 1:
            raise ConfigurationError(
                f"the number of chunks to find must be at least 1, not {self.limit}"
            )
        if self.alpha is not None:
            check_share("alpha", self.alpha)

    @property
    def where(self) -> Where | None:
        """Return the condition on nodes that may be found; None for all."""
        return all_of(self.filter.conditions(), self.also)


def check_share(name: str, value: object) -> None:
    """Refuse what is no number from 0 to 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= 1:
        raise ConfigurationError(f"{name} is a number from 0 to 1, not {quoted(value)}")


def _check_choice(name: str, given: str, names: Sequence[str]) -> None:
    if given not in names:
        choices = f"{', '.join(names[:-1])} or {names[-1]}"
        raise ConfigurationError(f"unknown {name} {quoted(given)}; choose {choices}")


Origin = Literal["search", "neighbour"]
"""Found itself, or read from the store because it stands next to one that was."""


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved node.

    Attributes:
        node: the node that was found, as stored, without its embedding.
        rank: position in this result, counted from 1.
        score: from 0, nothing in common with the question, to 1, in the order of the ranks (equal
            where they cannot be distinguished): the cosine of a dense search, the share of the best
            BM25 score of a sparse one, and what `rag_nodes.store.fusion` makes of both; what a
            reranker gave, where there is one; of a passage the share of the best passage's score.
        similarity: cosine similarity of question and node in [-1, 1]; None without a dense search.
        keyword_score: BM25 score, 0 or more; None without a sparse search.
        fused_score: what a hybrid search ranked by, of any size and sign, only comparable within
            one result; None where one ranking decided.
        rerank_score: what a reranker gave, or the engine of another package that found the node,
            of any size and sign; None without one.
        origin: how it came into the result; what was not searched for has the score of the hit
            that brought it along.
        surroundings: what is read in its place: its window of sentences, its parent, or the passage
            of it that answers; None where the node itself is read.
        also: places of other retrieved documents that say the same, as slices of these: the text
            that is read, or sentences of it, in any case and white space.
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
    also: tuple[TextNode, ...] = ()

    @property
    def read(self) -> TextNode:
        """Return the text that an answer is made from: the surroundings, else the node itself."""
        return self.surroundings or self.node

    @property
    def found(self) -> TextNode:
        """Return the node that was found, or its passage that answers, if only that is read."""
        node, read = self.node, self.read
        start, end = node.start_char_idx, node.end_char_idx
        first, last = read.start_char_idx, read.end_char_idx
        if start is None or end is None or first is None or last is None:
            return node if node.text in read.text else read
        return node if first <= start and end <= last else read

    @property
    def distance(self) -> float | None:
        """Cosine distance of question and node, one minus the similarity."""
        return None if self.similarity is None else 1 - self.similarity

    def boxes(self, path: str | Path | None = None, ocr: Ocr | None = None) -> list[PlacedBox]:
        """Return a box for each printed line of the text that was found, see `Citation.boxes`.

        Args:
            path: the PDF, if it is not where it was when it was read.
            ocr: what has read its scanned pages, see `Limits`; None for nothing.
        """
        return node_boxes(self.found, 0, len(self.found.text), path, ocr)

    def lines(self, path: str | Path | None = None) -> Lines | None:
        """Return the lines of the text that was found in its file, see `Citation.lines`."""
        return node_lines(self.found, 0, len(self.found.text), path)

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
            **_place(self.node),
            "metadata": dict(self.node.metadata),
            "read": _place(self.surroundings) if self.surroundings else None,
            "also": [{**_place(node), "metadata": dict(node.metadata)} for node in self.also],
        }


def _place(node: TextNode) -> dict[str, Any]:
    return {
        "node_id": node.node_id,
        "text": node.text,
        "start": node.start_char_idx,
        "end": node.end_char_idx,
    }


def best_hits(
    query: Query, scores: Scores, fetch: Callable[[list[str]], Mapping[str, TextNode]]
) -> list[Hit]:
    """The best chunks that are still there, with what each search said about them.

    Of headings inside chunks an engine asks less than the filter does, see `Filter.conditions`.
    Whoever writes to the store may delete between ranking and reading; the next best follow.
    Chunks of equal score come in the order in which people read them: ids know the folder of a
    file, and the same documents elsewhere would be ranked otherwise.
    """
    dense, sparse, _ = scores
    ranking = fuse(scores, query.fusion, query.alpha)
    ties = groupby(ranking.pairs, key=itemgetter(1))
    results: list[tuple[TextNode, float]] = []
    while page := _at_least(query.limit - len(results), ties):
        nodes = fetch([node_id for node_id, _ in page])
        results += [
            (node, score)
            for node_id, score in page
            if (node := nodes.get(node_id)) and query.filter.is_under(paths_in(node.metadata))
        ]
    results = sorted(results, key=lambda pair: (-pair[1], *_place_of(pair[0])))[: query.limit]
    return [
        Hit(
            node=node,
            rank=rank,
            score=ranking.share(score),
            similarity=None if dense is None else dense.get(node.node_id),
            keyword_score=None if sparse is None else sparse.get(node.node_id, 0.0),
            fused_score=None if dense is None or sparse is None else score,
        )
        for rank, (node, score) in enumerate(results, start=1)
    ]


def _at_least(
    count: int, ties: Iterator[tuple[float, Iterator[tuple[str, float]]]]
) -> list[tuple[str, float]]:
    """So many of the next chunks, and all that have the score of the last of them."""
    pairs: list[tuple[str, float]] = []
    while len(pairs) < count and (group := next(ties, None)):
        pairs += group[1]
    return pairs


def _place_of(node: TextNode) -> tuple[str, str, int, str]:
    """Return the position of a node among all documents, wherever their folder is."""
    file, source = (str(node.metadata.get(key, "")) for key in (FILE_NAME, SOURCE))
    return file, source, node.start_char_idx or 0, node.node_id
