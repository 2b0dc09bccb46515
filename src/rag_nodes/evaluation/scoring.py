"""One question's ranking to numbers: at ranks, and at budgets that are filled."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.metrics import (
    Coverage,
    Passage,
    discounted_gain,
    first_hit,
    precision_omega,
    recall,
)
from rag_nodes.text.filling import Filled, Ranked, fill
from rag_nodes.text.spans import Span, merge

if TYPE_CHECKING:
    from rag_nodes.evaluation.dataset import Answer, Question

Scores = dict[str, float]
"""Values by name. At a budget of tokens: `recall@1000`, `precision@1000`, `iou@1000`, and
`tokens@1000`, what was read. At a number of chunks: `recall@k5`, `precision@k5`, `hit@k5`,
`ndcg@k10`. Of the whole ranking: `mrr`. Of the splitting alone: `omega`."""
FOUND = 1 - 1e-9
"""Recall from which a question counts as found."""


@dataclass
class ChunkMap:
    """Spans of the chunks of a column, sorted by document, to find those that hold a gold passage.

    `not_located` counts chunks whose place is not known, `longest` are characters of a chunk.
    """

    spans: dict[str, list[Span]] = field(default_factory=lambda: defaultdict(list))
    not_located: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    longest: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, chunks: Iterable[tuple[str, Span | None]]) -> ChunkMap:
        """The map of chunks given as document and place."""
        chunk_map = cls()
        for document, span in chunks:
            if span is None:
                chunk_map.not_located[document] += 1
            else:
                chunk_map.spans[document].append(span)
        for document, spans in chunk_map.spans.items():
            spans.sort()
            chunk_map.longest[document] = max(span.length for span in spans)
        return chunk_map

    @property
    def count(self) -> int:
        """Number of chunks."""
        return sum(map(len, self.spans.values())) + sum(self.not_located.values())

    def holding(self, passage: Passage) -> list[Span]:
        """The chunks with characters of a passage, in order."""
        spans = self.spans.get(passage.document, [])
        # A long chunk may begin far before: look back as far as the longest can reach.
        reach = self.longest.get(passage.document, 0)
        first = bisect_left(spans, (passage.span.start - reach,))
        last = bisect_left(spans, (passage.span.end,))
        return [span for span in spans[first:last] if span.overlap(passage.span)]


class ContextRead(NamedTuple):
    """Text read from a ranking, best first, that fills a token budget exactly."""

    ranked: Sequence[Ranked]
    budget: int
    filled: Filled

    @classmethod
    def of(cls, ranked: Sequence[Ranked], budget: int) -> ContextRead:
        """Read a ranking within a budget."""
        return cls(ranked, budget, fill(ranked, budget, exact=True))

    @property
    def is_full(self) -> bool:
        """Return True if part of the ranking did not fit."""
        return self.filled.truncated or len(self.filled.parts) < len(self.ranked)

    @property
    def passages(self) -> list[Passage]:
        """The passages that are read, and the places of other documents where the same stands.

        Near-equal places are left out: an answer may be what they differ by.
        """
        read = list(zip(self.ranked, self.filled.parts, strict=False))
        whole = [chunk for chunk, parts in read if parts]
        if self.filled.truncated:
            whole = whole[:-1]
        return [
            *(Passage(chunk.document, part) for chunk, parts in read for part in parts),
            *(
                Passage(repeat.document, repeat.span)
                for chunk in whole
                for repeat in chunk.repeats
                if repeat.is_equal
            ),
        ]


def score(
    question: Question,
    ranked: Sequence[Ranked],
    reads: Iterable[ContextRead],
    chunks: ChunkMap,
    texts: Mapping[str, str],
    ks: Sequence[int],
) -> Scores:
    """All measures of one question in one column.

    Of several answers that are enough, the one counts that a measure likes best.

    Args:
        question: with its gold.
        ranked: what was retrieved, best first.
        reads: what is read of it, or of sentences of it, at each budget.
        chunks: where all chunks of the column are.
        texts: of the documents.
        ks: numbers of chunks.
    """
    passages = [Passage(chunk.document, chunk.span) for chunk in ranked]
    scores: Scores = {}
    for read in reads:
        scores |= _shares(str(read.budget), read.passages, question, texts)
        scores[f"tokens@{read.budget}"] = float(read.filled.tokens)
    for k in ks:
        scores |= _shares(f"k{k}", passages[:k], question, texts)
    return scores | _ranks(question, passages, chunks, ks)


def best_recall(
    read: Iterable[Passage], answers: Sequence[Answer], texts: Mapping[str, str]
) -> float:
    """Recall of the answer of which most was read."""
    passages = closed(read, texts)
    return max(recall(passages, answer) for answer in answers)


def closed(read: Iterable[Passage], texts: Mapping[str, str]) -> list[Passage]:
    """Disjoint passages, joined where only blank space is between them.

    Parsers leave out what is blank between two chunks; an answer across both is read whole.
    """
    spans: dict[str, list[Span]] = defaultdict(list)
    for passage in read:
        spans[passage.document].append(passage.span)
    joined: list[Passage] = []
    for document, parts in spans.items():
        text = texts.get(document, "")
        for span in merge(parts):
            last = joined[-1] if joined and joined[-1].document == document else None
            if last and text[last.span.end : span.start].isspace():
                joined[-1] = Passage(document, Span(last.span.start, span.end))
            else:
                joined.append(Passage(document, span))
    return joined


def _shares(
    at: str, read: Sequence[Passage], question: Question, texts: Mapping[str, str]
) -> Scores:
    coverages = [Coverage.of(read, answer) for answer in question.gold]
    return {
        f"recall@{at}": best_recall(read, question.gold, texts),
        f"precision@{at}": max(coverage.precision for coverage in coverages),
        f"iou@{at}": max(coverage.iou for coverage in coverages),
    }


def _ranks(
    question: Question, passages: Sequence[Passage], chunks: ChunkMap, ks: Sequence[int]
) -> Scores:
    """Return measures of the ranks of chunks that hold gold, and the bound that splitting sets."""
    gold = [passage for answer in question.gold for passage in answer]
    ranks = [rank for rank, passage in enumerate(passages, start=1) if first_hit([passage], gold)]
    first = ranks[0] if ranks else None
    scores = {f"hit@k{k}": float(first is not None and first <= k) for k in ks}
    scores["mrr"] = 1 / first if first else 0.0
    # What is read around a chunk may hold gold that the chunk does not.
    relevant = max(len(_holding(gold, chunks)), len(ranks))
    for k in ks:
        scores[f"ndcg@k{k}"] = discounted_gain(ranks, relevant, k)
    omegas = (precision_omega(_holding(answer, chunks), answer) for answer in question.gold)
    return scores | {"omega": max(omegas)}


def _holding(gold: Iterable[Passage], chunks: ChunkMap) -> set[Passage]:
    return {Passage(passage.document, span) for passage in gold for span in chunks.holding(passage)}
