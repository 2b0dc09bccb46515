"""Chunks as rails beside a text: on the printed page, or beside the blocks of a rendered one."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers.pdf.engines.protocol import Box
    from rag_nodes.readers.pdf.places import Glyphs
    from rag_nodes.readers.pdf.surface import PdfSurface
    from rag_nodes.text.edges import Inside
    from rag_nodes.text.spans import Span

STRIP = 26.0
"""Points beside a text, or beside a page without a margin, that the rails of all columns share."""
GAP = 4.0
"""Points between the rails and the text."""
BETWEEN = 2.0
"""Points of a rail that stands between two columns of text."""
HEIGHT = 1000
"""Units of the height of a block, whatever it is on the screen."""


class DrawnChunk(NamedTuple):
    """A chunk as it is drawn: its position in its strategy, from 0, and its place in the document.

    `is_retrieved` if it was retrieved for the question that is shown; `inside` is what its
    beginning splits in two.
    """

    number: int
    span: Span
    is_retrieved: bool = False
    inside: Inside | None = None


class Rail(NamedTuple):
    """The parts of the rails of the strategy in `column` that look the same, as one path of an SVG.

    `cls` is "rn-odd" or "rn-even", so that neighbours differ and overlap is darker, with
    "rn-hit" if the chunk was retrieved.
    """

    column: int
    cls: str
    path: str


class Notch(NamedTuple):
    """The beginning of a chunk of the strategy in `column` inside a word, line or sentence.

    `x` is its position, `top` the upper edge of the line, which is `height` high.
    """

    column: int
    inside: Inside
    x: float
    top: float
    height: float


class _Flow(NamedTuple):
    """Lines that follow each other down the page."""

    first: int  # of its glyphs
    left: float
    right: float


def page_rails(surface: PdfSurface, columns: Sequence[Sequence[DrawnChunk]]) -> list[Rail]:
    """The rails of a printed page.

    Those of the left column of the text stand left of it, those of the right column right of it, in
    reverse order; between three columns they are narrow.

    Args:
        surface: the page.
        columns: the chunks of each strategy.
    """
    flows = _flows(surface.page.glyphs, sorted(set(surface.placed(surface.span))))
    parts: dict[tuple[int, str], list[str]] = {}
    for column, pieces in enumerate(columns):
        for piece in pieces:
            at = sorted(surface.placed(piece.span))
            for low, high, flow in _by_flow(at, flows):
                first, last = surface.page.glyphs.boxes[low], surface.page.glyphs.boxes[high]
                top, bottom = _height(first, flow, 0), _height(last, flow, 2)
                x, width = _lane(column, len(columns), flow, flows, surface.page.width)
                path = _bar(x, width, top, bottom)
                parts.setdefault((column, _cls(piece)), []).append(path)
    return [Rail(column, cls, "".join(paths)) for (column, cls), paths in parts.items()]


def padding(surface: PdfSurface) -> float:
    """Points that a page needs on both sides of it for the rails: none where its margins do."""
    boxes = [surface.page.glyphs.boxes[at] for at in surface.placed(surface.span)]
    left = min((box[0] for box in boxes), default=0.0)
    right = surface.page.width - max((box[2] for box in boxes), default=0.0)
    return 0.0 if min(left, right) >= STRIP + GAP else STRIP


def page_notches(surface: PdfSurface, columns: Sequence[Sequence[DrawnChunk]]) -> list[Notch]:
    """Return the beginnings of chunks inside a word, line or sentence of a printed page."""
    notches = []
    for column, pieces in enumerate(columns):
        for piece in pieces:
            begins = surface.span.start <= piece.span.start < surface.span.end
            if begins and piece.inside and (at := surface.placed(piece.span)):
                left, top, _, bottom = surface.page.glyphs.boxes[at[0]]
                notches.append(Notch(column, piece.inside, left, top, bottom - top))
    return notches


def block_rails(block: Span, columns: Sequence[Sequence[DrawnChunk]]) -> list[Rail]:
    """The rails beside a block, `STRIP` wide and `HEIGHT` high; within it by shares of its text."""
    parts: dict[tuple[int, str], list[str]] = {}
    width = STRIP / max(1, len(columns))
    for column, pieces in enumerate(columns):
        for piece in pieces:
            if piece.span.overlap(block):
                ends = (min(max(at, block.start), block.end) - block.start for at in piece.span)
                top, bottom = (HEIGHT * at / max(1, block.length) for at in ends)
                path = _bar(column * width, width - 1, top, bottom)
                parts.setdefault((column, _cls(piece)), []).append(path)
    return [Rail(column, cls, "".join(paths)) for (column, cls), paths in parts.items()]


def _bar(x: float, width: float, top: float, bottom: float) -> str:
    return f"M{x:.1f} {top:.1f}h{width:.1f}V{bottom:.1f}h{-width:.1f}z"


def _cls(piece: DrawnChunk) -> str:
    return ("rn-odd" if piece.number % 2 else "rn-even") + (" rn-hit" if piece.is_retrieved else "")


def _flows(glyphs: Glyphs, placed: Sequence[int]) -> list[_Flow]:
    flows: list[_Flow] = []
    line, bottom = -1, 0.0
    for at in placed:
        left, top, right, low = glyphs.boxes[at]
        if glyphs.lines[at] != line and (not flows or low < bottom - (low - top)):
            flows.append(_Flow(at, left, right))
        line, bottom = glyphs.lines[at], low
        last = flows[-1]
        flows[-1] = _Flow(last.first, min(last.left, left), max(last.right, right))
    return flows


def _by_flow(at: Sequence[int], flows: Sequence[_Flow]) -> list[tuple[int, int, _Flow]]:
    """First and last of some glyphs within each flow that has any of them."""
    runs = []
    for number, flow in enumerate(flows):
        end = flows[number + 1].first if number + 1 < len(flows) else 1 << 60
        within = [position for position in at if flow.first <= position < end]
        if within:
            runs.append((within[0], within[-1], flow))
    return runs


def _height(box: Box, flow: _Flow, side: int) -> float:
    """Return how far down an edge within a line is: as far down the line as it is along it."""
    share = (box[side] - flow.left) / max(1.0, flow.right - flow.left)
    return box[1] + (box[3] - box[1]) * share


def _lane(
    column: int, columns: int, flow: _Flow, flows: Sequence[_Flow], page: float
) -> tuple[float, float]:
    """Left edge and width of a strategy's rail beside a flow."""
    lefts, rights = min(other.left for other in flows), max(other.right for other in flows)
    width = STRIP / columns
    if flow.left > page / 2:
        start = rights + GAP if page - rights >= STRIP + GAP else page
        return start + (columns - 1 - column) * width, width - 1
    if flow.left < lefts + (rights - lefts) / 4:
        start = lefts - GAP - STRIP if lefts >= STRIP + GAP else -STRIP
        return start + column * width, width - 1
    return flow.left - GAP / 2 - (columns - column) * BETWEEN, BETWEEN - 0.5
