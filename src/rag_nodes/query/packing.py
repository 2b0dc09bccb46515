"""Hits to sources: what is read of them, grouped per page for the model only.

The hits themselves stay as retrieved, so a comparison still shows which chunk matched.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import NodeRelationship

from rag_nodes.metadata import BREADCRUMB, FILE_NAME, TITLE
from rag_nodes.query.locations import document_of, found_in, pages_of, related, span_of
from rag_nodes.query.types import Excerpt, Hit, Source
from rag_nodes.text.filling import Ranked, fill
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence


_GAP = "\n[...]\n"
"""Stands for text between two excerpts of a page that is not read."""
_BLANK = "\n"
"""Between two chunks that are neighbours: what their parser left out there is blank."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What goes into the prompt, and what did not fit.

    Attributes:
        hits: everything considered, in rank order.
        sources: numbered blocks of what is read.
        left_out: hits of which nothing is read.
        tokens: tokens of all sources together.
        left_out_tokens: tokens of the hits of which nothing is read.
        cut: the hit of which only a part is read, always the last; None where all are whole.
    """

    hits: tuple[Hit, ...]
    sources: tuple[Source, ...]
    left_out: int
    tokens: int
    left_out_tokens: int = 0
    cut: Hit | None = None


def pack(hits: Sequence[Hit], budget: int | None, *, all_wanted: bool = False) -> Packed:
    """Read the hits in rank order until the budget is full, each character once.

    `rag_nodes.text.filling` says how; the budget counts the documents' own text. Hits behind the
    one that filled it were never candidates and are dropped.

    Args:
        hits: in rank order.
        budget: context tokens; None for all hits.
        all_wanted: a number of chunks was asked for, so those that do not fit are left out and
            not just beyond the budget.
    """
    ranked = [passage_of(hit) for hit in hits]
    filled = fill(ranked, budget)
    read = [
        _ReadHit(hit, passage, parts)
        for hit, passage, parts in zip(hits, ranked, filled.parts, strict=False)
    ]
    cut = hits[len(read) - 1] if filled.cut else None
    if cut and not read[-1].parts:
        del read[-1]
        cut = None
    left_out = hits[len(read) :] if all_wanted else []
    return Packed(
        hits=tuple(hits) if all_wanted else tuple(one.hit for one in read),
        sources=_sources(read),
        left_out=len(left_out),
        tokens=filled.tokens,
        left_out_tokens=sum(count_tokens(hit.read.text) for hit in left_out),
        cut=cut,
    )


def one_by_one(hits: Sequence[Hit]) -> tuple[Source, ...]:
    """A source for each hit, numbered by its rank, as other engines number what they read."""
    whole = [Excerpt(hit, 0, len(hit.read.text), count_tokens(hit.read.text)) for hit in hits]
    return tuple(_source(one.hit.rank, [one], [one.hit]) for one in whole)


class _ReadHit(NamedTuple):
    """A hit and what is read because of it; no parts where hits before it hold its text."""

    hit: Hit
    passage: Ranked
    parts: tuple[Span, ...]

    def excerpts(self) -> list[Excerpt]:
        base = self.passage.span.start
        inside = [(part.start - base, part.end - base) for part in self.parts]
        text = self.passage.text
        return [Excerpt(self.hit, a, b, count_tokens(text[a:b])) for a, b in inside]


def passage_of(hit: Hit) -> Ranked:
    """The hit as a passage of its document; of a document of its own where offsets are missing."""
    node, span = hit.read, span_of(hit.read)
    if span is None:
        return Ranked(f"node {node.node_id}", Span(0, len(node.text)), node.text)
    return Ranked(document_of(node), span, node.text, found_in(hit))


def _sources(read: Sequence[_ReadHit]) -> tuple[Source, ...]:
    """Numbered sources: one per page of a file, or per section where there are no pages.

    They are numbered by their best hit; the text inside one is in document order.
    """
    groups: dict[tuple[str, str], list[Excerpt]] = defaultdict(list)
    held: dict[tuple[str, str], list[Hit]] = defaultdict(list)
    places: dict[str, list[tuple[Span, tuple[str, str]]]] = defaultdict(list)
    for one in read:
        document = one.passage.document
        for excerpt, part in zip(one.excerpts(), one.parts, strict=True):
            group = document_of(one.hit.read), _section(excerpt)
            groups[group].append(excerpt)
            places[document].append((part, group))
        touched = (group for part, group in places[document] if part.overlap(one.passage.span))
        for group in dict.fromkeys(touched):
            held[group].append(one.hit)
    return tuple(
        _source(number, excerpts, held[group])
        for number, (group, excerpts) in enumerate(groups.items(), start=1)
    )


def _section(excerpt: Excerpt) -> str:
    page, _ = pages_of(excerpt.hit.read, excerpt.start, excerpt.end)
    return f"page {page}" if page else str(excerpt.hit.read.metadata.get(BREADCRUMB) or "")


def _source(number: int, excerpts: list[Excerpt], hits: list[Hit]) -> Source:
    ordered = sorted(excerpts, key=lambda one: (one.span or (0, 0), one.hit.rank))
    return Source(
        number=number,
        hits=tuple(sorted(hits, key=lambda hit: (hit.node.start_char_idx or 0, hit.rank))),
        text=_joined(ordered),
        label=f"Source {number}{_place(ordered[0])}",
        tokens=sum(excerpt.tokens for excerpt in ordered),
        excerpts=tuple(ordered),
    )


def _place(excerpt: Excerpt) -> str:
    page, _ = pages_of(excerpt.hit.read, excerpt.start, excerpt.end)
    if page:
        return f" - Page {page}"
    metadata = excerpt.hit.read.metadata
    name = metadata.get(BREADCRUMB) or metadata.get(TITLE) or metadata.get(FILE_NAME)
    return f" - {_one_line(str(name))}" if name else ""


def _one_line(name: str) -> str:
    """A label out of document text: no line ends, no brackets that would end the label early."""
    return " ".join(name.translate({ord("["): "(", ord("]"): ")"}).split())


def _joined(excerpts: Sequence[Excerpt]) -> str:
    """The texts in document order, gaps marked."""
    between = [_between(before, after) for before, after in pairwise(excerpts)]
    texts = [excerpt.text for excerpt in excerpts]
    return texts[0] + "".join(gap + text for gap, text in zip(between, texts[1:], strict=True))


def _between(before: Excerpt, after: Excerpt) -> str:
    """What stands for the text between two excerpts."""
    if before.span and after.span and before.span.end == after.span.start:
        return ""
    one, other = before.hit.read, after.hit.read
    whole = before.end == len(one.text) and after.start == 0
    # Either may be a slice, whose neighbours are slices; those of a stored chunk are chunks.
    next_id = related(one, NodeRelationship.NEXT)
    previous_id = related(other, NodeRelationship.PREVIOUS)
    beside = next_id == other.node_id or previous_id == one.node_id
    return _BLANK if whole and beside else _GAP
