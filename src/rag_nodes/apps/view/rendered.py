"""A part of a document without pages, rendered, with marks around its characters."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup

from rag_nodes.apps.view.markdown import render_markdown, visible
from rag_nodes.text.alignment import align
from rag_nodes.text.formats import Format, blocks_of
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PART_LENGTH = 6_000
"""Characters that are shown at once, about."""
_PIECE = Markup('<span class="{}" data-k="{}" data-at="{}">{}</span>')


class TextMark(NamedTuple):
    """Characters with CSS classes of their own, and the number of the chunk that they are."""

    span: Span
    cls: str
    number: int | None = None


class TextBlock(NamedTuple):
    """A paragraph, heading, table, or whatever else is rendered as one, with marks."""

    span: Span
    html: Markup


def part_starts(text: str, text_format: Format) -> list[int]:
    """Offsets at which the parts start in which a document without pages is shown; at least one."""
    starts = [0]
    for block in blocks_of(text, text_format):
        if block.end - starts[-1] > PART_LENGTH and block.start > starts[-1]:
            starts.append(block.start)
        while block.end - starts[-1] > 2 * PART_LENGTH:
            line = text.rfind("\n", starts[-1] + 1, starts[-1] + PART_LENGTH)
            starts.append(line + 1 if line > 0 else starts[-1] + PART_LENGTH)
    return starts


def text_blocks(
    text: str, span: Span, text_format: Format, marks: Sequence[TextMark]
) -> list[TextBlock]:
    """A part of a document, rendered.

    HTML in it is shown as what it says; nothing is loaded, nothing leads elsewhere.

    Args:
        text: of the whole document.
        span: the part.
        text_format: what marks its structure.
        marks: what is shown in a way of its own; a later one stands over those before it.
    """
    rendered, level = [], None
    for block in blocks_of(span.of(text), text_format):
        place = Span(span.start + block.start, span.start + block.end)
        own = [mark for mark in marks if mark.span.overlap(place)]
        is_plain = text_format is Format.PLAIN
        block_text = _Rendered(place.of(text), place.start, own, level, is_plain=is_plain)
        rendered.append(TextBlock(place, block_text.html()))
        level = block_text.level
    return rendered


class _Rendered:
    """One block: rendered to see what it shows, and again with marks around that."""

    def __init__(
        self, text: str, start: int, marks: Sequence[TextMark], level: int | None, *, is_plain: bool
    ) -> None:
        self.level = self._before = level  # of the last heading
        self._text, self._start, self._marks, self._is_plain = text, start, marks, is_plain
        self._leaves: list[str] = []
        self._at = 0

    def html(self) -> Markup:
        """The block with marks."""
        self._render(self._collect)
        return self._render(self._marked)

    def _render(self, write: Callable[[str], Markup]) -> Markup:
        if self._is_plain:
            return Markup('<p dir="auto">{}</p>').format(write(self._text))
        rendered = render_markdown(self._text, write, level=self._before)
        self.level = rendered.level
        return rendered.html

    def _collect(self, leaf: str) -> Markup:
        self._leaves.append(leaf)
        return Markup()

    @cached_property
    def _origins(self) -> list[int]:
        """Offset in the text of each character that is shown; -1 for none."""
        shown = "".join(self._leaves)
        origins = [-1] * len(shown)
        # No word goes on from one leaf to the next: these are cells, or parted by a mark.
        lines = [number for number, leaf in enumerate(self._leaves) for _ in leaf]
        for at, on in enumerate(align(self._text, shown, lines)):
            if on >= 0:
                origins[on] = at
        for on, character in enumerate(shown):
            before = origins[on - 1] if on else -1
            if origins[on] < 0 and character == self._text[before + 1 : before + 2]:
                origins[on] = before + 1
        return origins

    def _marked(self, leaf: str) -> Markup:
        """A piece of what is shown, in elements that say where it is from."""
        if not leaf:
            return Markup()
        low, high = self._at, self._at + len(leaf)
        self._at = high
        origins = self._origins[low:high]
        edges = {self._start, *(at for mark in self._marks for at in mark.span)}
        cuts = [
            at
            for at in range(1, len(leaf))
            if origins[at] != origins[at - 1] + 1 or origins[at] + self._start in edges
        ]
        pieces = [
            self._piece(leaf[start:end], origins[start])
            for start, end in pairwise([0, *cuts, len(leaf)])
        ]
        return Markup().join(pieces)

    def _piece(self, text: str, origin: int) -> Markup:
        shown = visible(text)
        if origin < 0:
            return Markup("{}").format(shown)
        at = self._start + origin
        held = [mark for mark in self._marks if mark.span.start <= at < mark.span.end]
        cls = " ".join(dict.fromkeys(mark.cls for mark in held))
        numbers = " ".join(str(mark.number) for mark in held if mark.number is not None)
        return _PIECE.format(cls, numbers, at, shown)
