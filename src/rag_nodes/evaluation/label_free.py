"""How well chunks suit their documents, without a single labelled question.

Every measure keeps the chunks behind its number, so that each can be looked at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.evaluation.tally import Finding, JudgedChunk, SizeLimits, Tally
from rag_nodes.parsers import ParentChildNodeParser, get_parser
from rag_nodes.text.spans import Span, trimmed

if TYPE_CHECKING:
    from rag_nodes.evaluation.text_facts import TextFacts
    from rag_nodes.parsers import SpanNodeParser

_RELATED = 0.5
"""Cosine from which two sentences on either side of a boundary are pointed out."""


def limits_of(parser: SpanNodeParser) -> SizeLimits:
    """The sizes a parser is configured for; those of the children where it makes families."""
    if isinstance(parser, ParentChildNodeParser):
        parser = get_parser(parser.child, **parser.child_options)
    unit = getattr(parser, "unit", "tokens")
    if unit == "sentences":
        return SizeLimits(0, getattr(parser, "max_tokens", None), "tokens")
    minimum, maximum = getattr(parser, "min_chunk_size", 0), getattr(parser, "chunk_size", None)
    return SizeLimits(minimum, maximum, "characters" if unit == "characters" else "tokens")


def judge(
    document: str, facts: TextFacts, chunks: Sequence[JudgedChunk], limits: SizeLimits
) -> Tally:
    """Everything about one document's chunks.

    Args:
        document: its id, for the findings.
        facts: what its text says; cohesion needs its sentences compared.
        chunks: in order; starts and ends increase.
        limits: of the parser that made them.
    """
    sizes = _sizes(document, chunks, limits)
    ends = _open_ends(document, facts, chunks)
    blocks = _cut_blocks(document, facts, chunks)
    repeats = sum(max(0, a.span.end - b.span.start) for a, b in pairwise(chunks))
    pairs = _pairs(document, facts, chunks)
    return Tally(
        chunks=len(chunks),
        tokens=sum(chunk.tokens for chunk in chunks),
        embedded=sum(chunk.embedded for chunk in chunks),
        limited=len(chunks) if limits.maximum is not None else 0,
        fitting=len(chunks) - len(sizes) if limits.maximum is not None else 0,
        closed=len(chunks) - len(ends),
        blocks=len(facts.blocks),
        whole=len(facts.blocks) - len(blocks),
        characters=sum(chunk.span.length for chunk in chunks),
        repeated=repeats,
        inside=pairs.inside,
        inside_similarity=pairs.inside_similarity,
        across=pairs.across,
        across_similarity=pairs.across_similarity,
        findings=(*sizes, *ends, *blocks, *pairs.related),
    )


def total(tallies: Iterable[Tally], duplicates: Sequence[Finding] = ()) -> Tally:
    """Several documents' tallies as one.

    Args:
        tallies: one per document.
        duplicates: found over all of them, see `duplicates_of`.
    """
    every = list(tallies)
    names = [name for name in Tally.__slots__ if name != "findings"]
    sums = {name: sum(getattr(tally, name) for tally in every) for name in names}
    findings = [finding for tally in every for finding in tally.findings]
    return Tally(**sums, findings=(*findings, *duplicates))


def duplicates_of(documents: Iterable[tuple[str, str, Sequence[JudgedChunk]]]) -> list[Finding]:
    """Chunks whose words an earlier chunk of any document has already, in the same order.

    Args:
        documents: id, text and chunks of each.
    """
    seen: set[str] = set()
    found = []
    for document, text, chunks in documents:
        for number, chunk in enumerate(chunks):
            folded = " ".join(chunk.span.of(text).split())
            if folded in seen:
                found.append(Finding("duplicate", document, number, chunk.span, chunk.tokens))
            seen.add(folded)
    return found


def _sizes(document: str, chunks: Sequence[JudgedChunk], limits: SizeLimits) -> list[Finding]:
    if limits.maximum is None:
        return []
    found = []
    for number, chunk in enumerate(chunks):
        size = chunk.tokens if limits.unit == "tokens" else chunk.span.length
        if chunk.oversized or size > limits.maximum:
            found.append(Finding("oversized", document, number, chunk.span, size))
        elif size < limits.minimum and len(chunks) > 1:  # a short document has no more to give
            found.append(Finding("undersized", document, number, chunk.span, size))
    return found


def _open_ends(document: str, facts: TextFacts, chunks: Sequence[JudgedChunk]) -> list[Finding]:
    """Chunks that stop in the middle of a sentence, with the characters around the cut."""
    found = []
    for number, chunk in enumerate(chunks):
        end = trimmed(facts.text, *chunk.span).end
        if end not in facts.ends:
            found.append(Finding("open-end", document, number, Span(end, end)))
    return found


def _cut_blocks(document: str, facts: TextFacts, chunks: Sequence[JudgedChunk]) -> list[Finding]:
    """For each table or code block that no chunk holds whole, the first chunk that cuts it."""
    ends = [chunk.span.end for chunk in chunks]
    found = []
    for block in facts.blocks:
        holder = bisect_left(ends, block.end)
        if holder < len(chunks) and chunks[holder].span.start <= block.start:
            continue
        first = bisect_left(ends, block.start + 1)
        if first < len(chunks):
            found.append(Finding("cut-block", document, first, Span(block.start, block.end)))
    return found


class _Pairs(NamedTuple):
    inside: int
    inside_similarity: float
    across: int
    across_similarity: float
    related: list[Finding]


def _pairs(document: str, facts: TextFacts, chunks: Sequence[JudgedChunk]) -> _Pairs:
    """Neighbouring sentences, by whether some chunk has both sides of the gap between them."""
    if facts.similarity is None:
        return _Pairs(0, 0.0, 0, 0.0, [])
    starts = [chunk.span.start for chunk in chunks]
    kept, parted, related = [], [], []
    for (left, right), cosine in zip(
        pairwise(facts.sentences), facts.similarity.tolist(), strict=True
    ):
        # The last chunk that begins before the gap reaches furthest.
        number = bisect_left(starts, left.end) - 1
        if number >= 0 and chunks[number].span.end > right.start:
            kept.append(cosine)
            continue
        parted.append(cosine)
        if number >= 0 and cosine >= _RELATED:
            quote = Span(left.start, right.end)
            related.append(Finding("related", document, number, quote, cosine))
    return _Pairs(len(kept), sum(kept), len(parted), sum(parted), related)
