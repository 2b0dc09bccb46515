"""A document with the chunks of one strategy drawn into it, one page of text at a time."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.apps.view.html import Html, exactly, join, tag
from rag_nodes.apps.view.parts import colour_of, count, path_of, place
from rag_nodes.apps.visitors.cuts import span_of
from rag_nodes.metadata import (
    BLOCKS,
    HEADING_PATH,
    OVERSIZED,
    PAGE_END,
    PAGE_START,
    PART,
    PARTS,
    TOKEN_COUNT,
)
from rag_nodes.text.edges import EdgeFinder
from rag_nodes.text.formats import format_in
from rag_nodes.text.spans import PageMap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.text.spans import Span

PAGE_LENGTH = 8000
"""Characters drawn at once, about: more of them make the browser slow, fewer tear text apart."""
_LINE = 400
"""Characters in which a page looks for the end of a line to stop at."""
_PREVIEW = 90
"""Characters of a chunk that show in the list."""
_AND = " \N{MIDDLE DOT} "
_LEGEND = tag(
    "p",
    "A number marks where a chunk starts. Shades alternate from chunk to chunk; ",
    tag("span", "stripes", cls="rn-k2"),
    " are text that chunks share. Select text to mark it as the answer to a question.",
    cls="rn-legend",
)
_MARK = tag("button", "Mark as answer", type="button", cls="rn-act rn-mark-here", hidden=True)
"""Follows what is selected, see `labelling.SELECT`."""
_INTO = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


def page_starts(text: str) -> list[int]:
    """Offsets at which the pages of the view start; at least one."""
    starts = [0]
    while len(text) - starts[-1] > PAGE_LENGTH:
        stop = starts[-1] + PAGE_LENGTH
        line = text.rfind("\n", stop - _LINE, stop)
        starts.append(line + 1 if line > 0 else stop)
    return starts


def page_at(starts: Sequence[int], offset: int) -> int:
    """Number of the page that holds an offset, counted from 1."""
    return PageMap(starts).page_of(offset)


class Drawing(NamedTuple):
    """Everything one page shows.

    Attributes:
        strategy: preset, for its colour.
        text: of the whole document.
        nodes: its chunks, in order.
        starts: of the pages, see `page_starts`.
        page: which of them, counted from 1.
        chosen: position of the chunk to point out, counted from 0; None for none.
        document: its id.
        gold: characters to point out as the answer to a question.
    """

    strategy: str
    text: str
    nodes: Sequence[TextNode]
    starts: Sequence[int]
    page: int
    chosen: int | None = None
    document: str = ""
    gold: Sequence[Span] = ()


def document_page(drawing: Drawing) -> Html:
    """One page: the text with marks on the left, the facts of its chunks on the right."""
    low = drawing.starts[drawing.page - 1]
    high = (*drawing.starts, len(drawing.text))[drawing.page]
    first, last = _between(drawing.nodes, low, high)
    if first >= last:
        facts = tag("p", "No chunk on this page.", cls="rn-quiet")
    else:
        text_format = format_in(drawing.nodes[first].metadata, drawing.text)
        finder = EdgeFinder(drawing.text, text_format)
        items = [_item(drawing, number, finder) for number in range(first, last)]
        facts = tag("ol", *items, cls="rn-pieces")
    return tag(
        "div",
        _LEGEND,
        tag("div", *_segments(drawing, low, high), cls="rn-doc", dir="auto", tabindex="0",
            role="region", aria_label="Text with chunk boundaries",
            data_document=drawing.document, data_from=low),
        _MARK,
        tag(
            "aside",
            tag("h2", _range(first, last)),
            facts,
            cls="rn-doc-facts",
            aria_label="Chunks on this page",
        ),
        cls=f"rn-drawing {colour_of(drawing.strategy)}",
    )  # fmt: skip


def facts_of(node: TextNode) -> list[str]:
    """What is known of a chunk but for its headings, as plain text, most important first."""
    data = node.metadata
    facts = [
        count(int(data.get(TOKEN_COUNT) or 0), "token"),
        count(span_of(node).length, "character"),
        place(data.get(PAGE_START), data.get(PAGE_END)),
        f"part {data[PART]} of {data[PARTS]}" if data.get(PART) and data.get(PARTS) else None,
        "holds " + ", ".join(map(str, data[BLOCKS])) if data.get(BLOCKS) else None,
        "over the size limit" if data.get(OVERSIZED) else None,
    ]
    return [fact for fact in facts if fact]


def _headings(node: TextNode) -> list[str]:
    return [str(name) for name in node.metadata.get(HEADING_PATH) or ()]


def _title(node: TextNode, name: str) -> str:
    """Everything in one line, for a tooltip and for screen readers."""
    path = _INTO.join(_headings(node))
    return f"{name}: {_AND.join([*facts_of(node), *([path] if path else [])])}"


def _between(nodes: Sequence[TextNode], low: int, high: int) -> tuple[int, int]:
    """Positions of the chunks that share characters with `low:high`, the last one excluded."""
    first = bisect_right(nodes, low, key=lambda node: span_of(node).end)
    return first, bisect_left(nodes, high, key=lambda node: span_of(node).start)


def _range(first: int, last: int) -> str:
    if first >= last:
        return "Chunks"
    if last - first == 1:
        return f"Chunk {last}"
    return f"Chunks {first + 1}\N{EN DASH}{last}"


def _segments(drawing: Drawing, low: int, high: int) -> list[Html]:
    """The page cut wherever a chunk starts or ends, with the numbers of the chunks that have it."""
    nodes = drawing.nodes
    first, last = _between(nodes, low, high)
    spans = [span_of(node) for node in nodes[first:last]]
    starts, ends = [span.start for span in spans], [span.end for span in spans]
    inner = {at for span in spans for at in span if low < at < high}
    marked = {at for span in drawing.gold for at in span if low < at < high}
    pieces = []
    for left, right in pairwise(sorted({low, high} | inner | marked)):
        held = range(bisect_right(ends, left), bisect_right(starts, left))
        numbers = [first + position for position in held]
        if left == low or left in inner:
            pieces.append(_marks(drawing, numbers, left, low))
        segment = _segment(drawing, numbers, drawing.text[left:right])
        is_gold = any(span.start <= left < span.end for span in drawing.gold)
        pieces.append(tag("mark", segment, cls="rn-gold") if is_gold else segment)
    return pieces


def _marks(drawing: Drawing, numbers: Sequence[int], offset: int, page: int) -> Html:
    """A button at each chunk that starts here, and a label where chunks share what follows."""
    parts: list[Html] = []
    for number in numbers:
        starts = span_of(drawing.nodes[number]).start == offset
        if starts or offset == page:
            parts.append(_mark(drawing, number, continued=not starts))
    if len(numbers) > 1:
        parts.append(tag("small", f"in {_listed(numbers)}", cls="rn-both"))
    return join(parts)


def _mark(drawing: Drawing, number: int, *, continued: bool) -> Html:
    name = f"Chunk {number + 1}" + (", continued" if continued else "")
    title = _title(drawing.nodes[number], name)
    chosen = number == drawing.chosen and not continued
    return tag(
        "button",
        str(number + 1) + ("\N{HORIZONTAL ELLIPSIS}" if continued else ""),
        type="button",
        data_to=f"rn-piece-{number}",
        cls="rn-start rn-chosen" if chosen else "rn-start",
        title=title,
        aria_label=f"{title}. Show its facts",
    )


def _segment(drawing: Drawing, numbers: Sequence[int], text: str) -> Html:
    if not numbers:
        return tag(
            "span", exactly(text), cls="rn-gap", title="In no chunk" if text.strip() else None
        )
    if len(numbers) > 1:
        kind = "rn-k2"
        title = f"Shared by chunks {_listed(numbers)}: {count(len(text), 'character')}"
    else:
        kind = "rn-k1" if numbers[0] % 2 else "rn-k0"
        title = _title(drawing.nodes[numbers[0]], f"Chunk {numbers[0] + 1}")
    shown = " rn-shown" if drawing.chosen in numbers else ""
    held = " ".join(map(str, numbers))
    return tag("span", exactly(text), data_k=held, cls=f"{kind}{shown}", title=title)


def _listed(numbers: Sequence[int]) -> str:
    *others, last = (str(number + 1) for number in numbers)
    return f"{', '.join(others)} and {last}"


def _item(drawing: Drawing, number: int, finder: EdgeFinder) -> Html:
    """One chunk in the list: a line to read, everything else behind it."""
    node, chosen = drawing.nodes[number], number == drawing.chosen
    span, headings = span_of(node), path_of(_headings(node))
    where = place(node.metadata.get(PAGE_START), node.metadata.get(PAGE_END))
    tokens = count(int(node.metadata.get(TOKEN_COUNT) or 0), "token")
    words = " ".join(node.text[: 2 * _PREVIEW].split())[:_PREVIEW]
    summary = tag(
        "summary",
        tag("strong", str(number + 1), cls="rn-number"),
        tag("span", _AND.join(part for part in (tokens, where) if part)),
        tag("span", "over the limit", cls="rn-flag") if node.metadata.get(OVERSIZED) else None,
        *(tag("span", said, cls="rn-torn") for said in finder.of(span).said),
        tag("span", words, cls="rn-words", dir="auto"),
    )
    facts = [*facts_of(node), f"characters {span.start:,} to {span.end:,}"]
    details = tag(
        "details",
        summary,
        tag("p", headings, cls="rn-path") if headings else None,
        tag("ul", *(tag("li", fact) for fact in facts)),
        open=chosen,
    )
    cls = f"rn-piece {'rn-k1' if number % 2 else 'rn-k0'}{' rn-shown' if chosen else ''}"
    return tag("li", details, id=f"rn-piece-{number}", cls=cls)
