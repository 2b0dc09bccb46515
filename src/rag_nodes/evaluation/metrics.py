"""Measures of how well retrieved passages cover gold passages, counted in characters.

Definitions follow the Chroma report on chunking: what is retrieved twice is paid for twice, so
overlap between chunks costs precision, and large chunks do not win by size.
"""

from __future__ import annotations

from math import log2
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.text.spans import Span, merge

if TYPE_CHECKING:
    from collections.abc import Iterable


class Passage(NamedTuple):
    """Some characters of a document, named by its id."""

    document: str
    span: Span


class Coverage(NamedTuple):
    """Retrieved characters beside gold characters.

    `shared` are in both, each counted once; `paid` was retrieved, repeats counted; `wanted` is
    different gold.
    """

    shared: int
    paid: int
    wanted: int

    @classmethod
    def of(cls, retrieved: Iterable[Passage], gold: Iterable[Passage]) -> Coverage:
        """Count the characters that retrieved passages share with gold passages."""
        read, own = list(retrieved), _by_document(gold)
        read_spans = _by_document(read)
        shared = sum(
            left.overlap(right)
            for document, spans in own.items()
            for left in spans
            for right in read_spans.get(document, ())
        )
        wanted = sum(span.length for spans in own.values() for span in spans)
        return cls(shared, sum(passage.span.length for passage in read), wanted)

    @property
    def recall(self) -> float:
        """Share of the gold; 1.0 where nothing was to be found."""
        return self.shared / self.wanted if self.wanted else 1.0

    @property
    def precision(self) -> float:
        """Share of what was retrieved; 0.0 where nothing was."""
        return self.shared / self.paid if self.paid else 0.0

    @property
    def iou(self) -> float:
        """Intersection over union; characters retrieved twice count twice in the union."""
        union = self.paid + self.wanted - self.shared
        return self.shared / union if union else 1.0


def recall(retrieved: Iterable[Passage], gold: Iterable[Passage]) -> float:
    """Share of the gold characters that was retrieved; 1.0 where nothing was to be found."""
    return Coverage.of(retrieved, gold).recall


def precision(retrieved: Iterable[Passage], gold: Iterable[Passage]) -> float:
    """Share of the retrieved characters that is gold; 0.0 where nothing was retrieved."""
    return Coverage.of(retrieved, gold).precision


def iou(retrieved: Iterable[Passage], gold: Iterable[Passage]) -> float:
    """Intersection over union; characters retrieved twice count twice in the union."""
    return Coverage.of(retrieved, gold).iou


def precision_omega(chunks: Iterable[Passage], gold: Iterable[Passage]) -> float:
    """Precision of a perfect retriever: all chunks that hold gold, and no others.

    Says what the splitting alone allows, whatever the retrieval. What two of these chunks share is
    paid for once here, as in the report, so that overlap counts as one larger chunk.

    Args:
        chunks: every chunk of the parser.
        gold: the gold passages of one question.
    """
    wanted = list(gold)
    needed = [chunk for chunk in chunks if _touches(chunk, wanted)]
    read = [
        Passage(document, span)
        for document, spans in _by_document(needed).items()
        for span in spans
    ]
    return precision(read, wanted)


def first_hit(retrieved: Iterable[Passage], gold: Iterable[Passage]) -> int | None:
    """Rank of the first passage with gold in it, counted from 1; None where none has any."""
    wanted = list(gold)
    ranks = (rank for rank, passage in enumerate(retrieved, start=1) if _touches(passage, wanted))
    return next(ranks, None)


def discounted_gain(ranks: Iterable[int], relevant: int, k: int) -> float:
    """The nDCG at `k` with equal gains: how far up the passages with gold in them stand.

    Args:
        ranks: of the passages with gold in them, counted from 1.
        relevant: how many passages with gold there are to be found.
        k: ranks that count.

    Returns:
        1.0 where as many as can be stand first; 0.0 where none is among the first `k`.
    """
    best = sum(1 / log2(rank + 1) for rank in range(1, min(relevant, k) + 1))
    return sum(1 / log2(rank + 1) for rank in ranks if rank <= k) / best if best else 0.0


def _by_document(passages: Iterable[Passage]) -> dict[str, list[Span]]:
    """Disjoint spans per document."""
    spans: dict[str, list[Span]] = {}
    for passage in passages:
        spans.setdefault(passage.document, []).append(passage.span)
    return {document: merge(parts) for document, parts in spans.items()}


def _touches(passage: Passage, gold: list[Passage]) -> bool:
    return any(
        passage.document == wanted.document and passage.span.overlap(wanted.span) > 0
        for wanted in gold
    )
