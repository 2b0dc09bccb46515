"""What one strategy made of one document, in numbers, with warnings first."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from rag_nodes.apps.view.html import Html, join, tag
from rag_nodes.apps.view.parts import colour_of, count, notice, percent
from rag_nodes.apps.view.plots import histogram
from rag_nodes.apps.visitors.choice import headline_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.evaluation.chunk_facts import ChunkFacts

_LISTED = 8
"""Chunk numbers a warning names, and texts of chunks without a place."""
_LONGEST = 200
"""Characters of such a text."""


def statistics(
    strategy: str,
    configuration: Mapping[str, object],
    sizes: Sequence[int],
    facts: ChunkFacts,
    said: Sequence[tuple[str, str]] = (),
) -> Html:
    """Warnings, a table and a histogram.

    Args:
        strategy: preset, for its colour.
        configuration: plain options of the parser, with its "class".
        sizes: tokens of each chunk, in order.
        facts: of the same chunks.
        said: what the chunks say about how they were cut, a name and words each.
    """
    return tag(
        "div",
        _warnings(facts),
        *(tag("p", f"{name}: {words}", cls="rn-config", dir="auto") for name, words in said),
        tag("div", _table(sizes, facts), histogram(sizes, "tokens", colour_of(strategy)),
            cls="rn-overview"),
        tag("p", headline_of(strategy, configuration), cls="rn-config"),
        cls="rn-statistics",
    )  # fmt: skip


def unplaced(nodes: Sequence[TextNode]) -> Html | None:
    """The chunks that stand nowhere in the document, which can be neither drawn nor measured."""
    if not nodes:
        return None
    shown = [tag("li", node.text[:_LONGEST], dir="auto") for node in nodes[:_LISTED]]
    more = len(nodes) - len(shown)
    return tag(
        "details",
        tag("summary", f"{count(len(nodes), 'chunk')} without a place, neither drawn nor measured"),
        tag("ul", *shown, tag("li", f"and {more:,} more") if more else None),
        cls="rn-unplaced",
    )


def percentile(sizes: Sequence[int], share: float) -> int:
    """The smallest size that at least `share` of all sizes do not exceed; 0 without sizes."""
    ordered = sorted(sizes)
    return ordered[max(0, ceil(share * len(ordered)) - 1)] if ordered else 0


def numbered(positions: Sequence[int]) -> str:
    """`chunks 3, 8 and 2 more`, of positions counted from 0."""
    numbers = list(dict.fromkeys(position + 1 for position in positions))
    shown = ", ".join(f"{number:,}" for number in numbers[:_LISTED])
    more = len(numbers) - _LISTED
    name = "chunk" if len(numbers) == 1 else "chunks"
    return f"{name} {shown}" + (f" and {more:,} more" if more > 0 else "")


def _warnings(facts: ChunkFacts) -> Html:
    messages = []
    if facts.oversized:
        what = count(len(facts.oversized), "chunk is", "chunks are")
        messages.append(f"{what} over the size limit: {numbered(facts.oversized)}.")
    if facts.cutting:
        blocks = count(facts.blocks, "table or code block", "tables and code blocks")
        messages.append(
            f"{len(facts.cutting):,} of {blocks} cut through: {numbered(facts.cutting)}."
        )
    return join(notice("warning", message) for message in messages)


def _table(sizes: Sequence[int], facts: ChunkFacts) -> Html:
    rows = (
        ("Chunks", f"{len(sizes):,}"),
        ("Tokens", f"{sum(sizes):,}"),
        ("Smallest", f"{min(sizes, default=0):,}"),
        ("Median", f"{percentile(sizes, 0.5):,}"),
        ("95 % have at most", f"{percentile(sizes, 0.95):,}"),
        ("Largest", f"{max(sizes, default=0):,}"),
        ("Overlap", percent(facts.overlap)),
        ("Over the size limit", f"{len(facts.oversized):,}"),
        ("Tables and code cut", f"{len(facts.cutting):,} of {facts.blocks:,}"),
    )
    return tag(
        "table",
        tag(
            "tbody",
            *(tag("tr", tag("th", name, scope="row"), tag("td", value)) for name, value in rows),
        ),
        cls="rn-table",
        aria_label="Statistics of the chunks, sizes in tokens",
    )
