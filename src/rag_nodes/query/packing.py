"""Hits to sources: which chunks fit the context, merged per page for the model only.

The hits themselves stay as retrieved, so a comparison still shows which chunk matched (C24).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.metadata import (
    BREADCRUMB,
    FILE_NAME,
    PAGE_START,
    SOURCE,
    TITLE,
)
from rag_nodes.query.types import Hit, Source
from rag_nodes.text.tokens import TokenIndex, count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import TextNode

_GAP = "\n[...]\n"
"""Stands for text between two chunks of a page that was not retrieved."""
_LEAST_ROOM = 16
"""Tokens below which the budget counts as full: no sentence fits any more."""
_MOST_SKIPPED = 3
"""Chunks that may be too large before the budget counts as full: far down the ranking there is
always something small, and it does not help."""


@dataclass(frozen=True, slots=True)
class Packed:
    """What goes into the prompt, and what did not fit.

    Attributes:
        hits: everything considered, in rank order.
        sources: numbered blocks made of the hits that fit.
        left_out: hits that did not fit.
        tokens: tokens of all sources together.
        left_out_tokens: tokens of the hits that did not fit.
    """

    hits: tuple[Hit, ...]
    sources: tuple[Source, ...]
    left_out: int
    tokens: int
    left_out_tokens: int = 0


def pack(hits: Sequence[Hit], budget: int | None, *, all_wanted: bool = False) -> Packed:
    """Choose whole chunks in rank order until the budget is full, and merge them per page.

    A chunk that does not fit is skipped for the next ones, a few times, so that every parser
    comes close to the same budget. If not even the best chunk fits, it is cut at the budget.
    Hits ranked behind the last one that fitted were never candidates and are dropped.

    Args:
        hits: in rank order.
        budget: context tokens; None for all hits.
        all_wanted: a number of chunks was asked for, so those that do not fit are left out and
            not just beyond the budget.
    """
    chosen = list(hits) if budget is None else _fitting(hits, budget)
    last = max((hit.rank for hit in chosen), default=0)
    considered = tuple(hit for hit in hits if all_wanted or hit.rank <= last)
    sources = merge(chosen)
    # Gaps between merged chunks take tokens too.
    while budget is not None and len(chosen) > 1 and _tokens(sources) > budget:
        chosen.pop()
        sources = merge(chosen)
    used = {hit.rank for hit in chosen}
    left_out = [hit for hit in considered if hit.rank not in used]
    return Packed(
        hits=considered,
        sources=sources,
        left_out=len(left_out),
        tokens=_tokens(sources),
        left_out_tokens=sum(count_tokens(hit.node.text) for hit in left_out),
    )


def merge(hits: Iterable[Hit]) -> tuple[Source, ...]:
    """Numbered sources: one per page of a file, or per section where there are no pages (S4-14).

    Sources are numbered by their best hit; the text inside one is in document order, and what
    overlapping chunks share is there once.
    """
    groups: dict[tuple[str, str], list[Hit]] = {}
    for hit in hits:
        groups.setdefault(_group(hit.node), []).append(hit)
    return tuple(_source(number, group) for number, group in enumerate(groups.values(), start=1))


def _tokens(sources: Sequence[Source]) -> int:
    return sum(source.tokens for source in sources)


def _fitting(hits: Sequence[Hit], budget: int) -> list[Hit]:
    room, skipped = budget, 0
    chosen: list[Hit] = []
    for hit in hits:
        tokens = count_tokens(hit.node.text)
        if tokens <= room:
            chosen.append(hit)
            room -= tokens
        elif not chosen:
            return [_cut(hit, budget)]
        else:
            skipped += 1
        if room < _LEAST_ROOM or skipped >= _MOST_SKIPPED:
            break
    return chosen


def _cut(hit: Hit, budget: int) -> Hit:
    """The hit with only as much text as the budget holds; offsets still slice the document."""
    text = hit.node.text[: TokenIndex(hit.node.text).fit(0, budget)]
    node = hit.node.model_copy(deep=True)
    node.text = text
    if node.start_char_idx is not None:
        node.end_char_idx = node.start_char_idx + len(text)
    return replace(hit, node=node)


def _group(node: TextNode) -> tuple[str, str]:
    document = node.ref_doc_id or str(node.metadata.get(SOURCE) or node.node_id)
    page = node.metadata.get(PAGE_START)
    return document, f"page {page}" if page else str(node.metadata.get(BREADCRUMB) or "")


def _source(number: int, hits: list[Hit]) -> Source:
    ordered = sorted(hits, key=lambda hit: (hit.node.start_char_idx or 0, hit.rank))
    text = _joined([hit.node for hit in ordered])
    return Source(
        number=number,
        hits=tuple(ordered),
        text=text,
        label=f"Source {number}{_place(ordered[0].node)}",
        tokens=count_tokens(text),
    )


def _place(node: TextNode) -> str:
    metadata = node.metadata
    if metadata.get(PAGE_START):
        return f" - Page {metadata[PAGE_START]}"
    name = metadata.get(BREADCRUMB) or metadata.get(TITLE) or metadata.get(FILE_NAME)
    return f" - {_one_line(str(name))}" if name else ""


def _one_line(name: str) -> str:
    """A label out of document text: no line ends, no brackets that would end the label early."""
    return " ".join(name.translate({ord("["): "(", ord("]"): ")"}).split())


def _joined(nodes: list[TextNode]) -> str:
    """The texts in document order, shared text once, gaps marked."""
    joined, reached = "", None
    for node in nodes:
        start, end = node.start_char_idx, node.end_char_idx
        if start is None or end is None or reached is None:
            joined = f"{joined}{_GAP}{node.text}" if joined else node.text
        elif start <= reached:
            joined += node.text[reached - start :]
        else:
            joined += f"{_GAP}{node.text}"
        if end is not None:
            reached = max(end, reached or 0)
    return joined
