"""Running headers, footers and page numbers out, the body of every page left.

A line is boilerplate if it stands at the outer edge of its page and either says the same on
several neighbouring pages at the same height, or holds a number that grows with the page, or
stands where most pages of the document have such a line (headers that change by chapter).
Nothing inside the body is ever removed, however often it repeats.
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.layout import Entry, Line, PdfPage, measure, rounded
from rag_nodes.readers.pdf.outline import title_keys

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ZONE = 0.14
"""Share of the page height, at the top and at the bottom, in which boilerplate is looked for."""
BAND = 8.0
"""Points within which two lines count as equally high on their pages."""
OCCURRENCES = 3
"""Pages on which a line must stand before it is boilerplate."""
REACH = 2
"""Pages between two occurrences: headers alternate between left and right pages."""
SAME_ROW = 1.0
"""Points within which two baselines are one row; a header may share its row with others."""
LARGEST = 1.3
"""Font size, as a multiple of the body's, from which a line that counts is a chapter's title
("Chapter 1", "Chapter 2" on one page each) and no page number."""
WORDLESS_SHARE = 0.2
"""Share of pages on which the same figures must stand before they are boilerplate."""
SLOT_SHARE = 0.4
"""Share of pages with boilerplate at the same place from which that place is a slot for it."""

_NUMBER = re.compile(r"\d+|\b[ivxlc]+\b")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}

Spot = tuple[str, int]
"""Text of a line and the band it stands in."""
Slot = tuple[int, float]
"""Half band and font size of a line."""


@dataclass(slots=True, eq=False)
class _EdgeLine:
    """A line near the edge of a page; its height is negative if measured from the bottom."""

    page: int
    index: int
    line: Line
    height: float

    @property
    def slot(self) -> Slot:
        """Place of lines of this size and height."""
        return round(2 * self.height / BAND), rounded(self.line.size)


def without_boilerplate(
    pages: Sequence[PdfPage], outline: Sequence[Entry] = ()
) -> tuple[PdfPage, ...]:
    """Remove lines that repeat at the edges of the pages.

    A title of the outline stays on the page that its bookmark leads to, even if the following
    pages repeat it.
    """
    marks = [mark for number, page in enumerate(pages) for mark in _edge_lines(number, page)]
    repeated = _repeated(marks, len(pages), LARGEST * measure(pages).size)
    slots = _slots(repeated, len(pages))
    titles = {(entry.page, key) for entry in outline for key in title_keys(entry.title)}
    candidates: dict[int, set[int]] = defaultdict(set)
    for mark in marks:
        if titles and any((mark.page, key) in titles for key in title_keys(mark.line.text)):
            continue
        if mark in repeated or (mark.line.upright and mark.slot in slots):
            candidates[mark.page].add(mark.index)
    return tuple(
        replace(page, lines=_body(page, candidates[number])) for number, page in enumerate(pages)
    )


def _edge_lines(number: int, page: PdfPage) -> Iterator[_EdgeLine]:
    for index, line in enumerate(page.lines):
        if line.baseline < ZONE * page.height or not line.upright:
            yield _EdgeLine(number, index, line, line.baseline)
        elif line.baseline > (1 - ZONE) * page.height:
            yield _EdgeLine(number, index, line, line.baseline - page.height)


def _repeated(marks: Sequence[_EdgeLine], pages: int, largest: float) -> set[_EdgeLine]:
    places: dict[Spot, list[_EdgeLine]] = defaultdict(list)
    for mark in marks:
        for spot in _spots(mark, counting=mark.line.size < largest):
            places[spot].append(mark)
    repeated: set[_EdgeLine] = set()
    for (text, _), group in places.items():
        needed = _needed(text, pages)
        numbers = {mark.page for mark in group}
        if len(numbers) >= needed:
            repeated.update(mark for mark in group if _has_neighbour(mark.page, numbers))
    return repeated


def _needed(text: str, pages: int) -> float:
    if text.startswith("#"):
        return min(OCCURRENCES, max(2, pages - 1))
    # Equal figures without a letter may be the last row of a table: believed only in numbers.
    wordless = not any(character.isalpha() for character in text)
    return max(2 * OCCURRENCES, WORDLESS_SHARE * pages) if wordless else OCCURRENCES


def _spots(mark: _EdgeLine, *, counting: bool) -> Iterator[Spot]:
    """Yield the places that a line belongs to: two grids of bands, so that no edge parts a pair."""
    for text in _readings(mark.line.text.casefold(), mark.page, counting=counting):
        band = int(mark.height // BAND)
        yield text, 2 * band
        yield text, 2 * int((mark.height + BAND / 2) // BAND) + 1


def _readings(text: str, page: int, *, counting: bool) -> Iterator[str]:
    """Yield the text itself, and once per number with that as distance to the page."""
    yield f"={text}"
    if not counting:
        return
    for match in _NUMBER.finditer(text):
        value = _value(match.group())
        if value is not None:
            yield f"#{text[: match.start()]}#{value - page}#{text[match.end() :]}"


def _value(number: str) -> int | None:
    if number.isdecimal():
        return int(number) if len(number) < 6 else None  # noqa: PLR2004 - no page number
    values = [_ROMAN[letter] for letter in number]
    following = [*values[1:], 0]
    return sum(-v if v < after else v for v, after in zip(values, following, strict=True))


def _has_neighbour(page: int, numbers: set[int]) -> bool:
    return any(page + step in numbers for step in range(-REACH, REACH + 1) if step)


def _slots(repeated: set[_EdgeLine], pages: int) -> set[Slot]:
    """Return the places where most pages have boilerplate."""
    taken: dict[Slot, set[int]] = defaultdict(set)
    for mark in repeated:
        taken[mark.slot].add(mark.page)
    needed = max(OCCURRENCES, SLOT_SHARE * pages)
    return {slot for slot, numbers in taken.items() if len(numbers) >= needed}


def _body(page: PdfPage, candidates: set[int]) -> tuple[Line, ...]:
    """Drop the candidates that lie outside everything else on the page."""
    if not candidates:
        return page.lines
    kept = [line for index, line in enumerate(page.lines) if index not in candidates]
    baselines = [line.baseline for line in kept if line.upright]
    first, last = min(baselines, default=page.height), max(baselines, default=0.0)
    return tuple(
        line
        for index, line in enumerate(page.lines)
        if index not in candidates
        or (line.upright and first + SAME_ROW < line.baseline < last - SAME_ROW)
    )
