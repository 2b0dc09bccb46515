"""Line breaks inside running text, as e-mail and many PDF extractors write them.

Such a break stands for a space. Other line breaks separate titles, list items, table rows, entries,
lines of verse and code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from statistics import median_low

from rag_nodes.text.patterns import compiled
from rag_nodes.text.spans import with_line_feeds

MIN_LENGTH_SHARE = 0.6
"""Share of the median line length that a line has at least if its text goes on in the next line."""
_MIN_LENGTH = 16
"""Characters of the shortest line that is taken for running text."""
_MAX_LENGTH = 200
"""Characters of the longest line; a longer one is a whole paragraph, which nobody wrapped."""
_MAX_LONG_SHARE = 0.2
"""Share of longer lines above which lines are paragraphs, and a short one is a title or an item."""
_CODE_INDENT = 4
"""Columns by which code is indented more than most lines."""
_PARAGRAPH_INDENT = 2
"""Columns by which a new paragraph is indented more than the line above it."""
_MIN_ENTRIES = 3
"""Line breaks in a row that separate entries if no line after them begins in lower case."""
_SENTENCE_ENDS = frozenset(".?!:…。．？！：؟۔।॥")  # noqa: RUF001 -- marks of other scripts
_CLOSING = " \t\"'”’»›)]}」』）】*_"  # noqa: RUF001 -- quotation marks, brackets and emphasis
_OPENING = " \t\"'“„‘‚«‹([{¿¡*_"  # noqa: RUF001
_QUOTATION = compiled(r"(?:> ?)++")
_ITEM = compiled(r"(?:[-*+•◦▪‣●○■□]|[0-9]{1,3}[.)]|\((?:[0-9]{1,3}|[A-Za-z]|[ivx]{1,4})\))[ \t]")
_NUMBERED_TITLE = compiled(r"[0-9]{1,3}(?:\.[0-9]{1,3})++\.?[ \t]")
_MARKED = compiled(r"[|=}]|#{1,6}[ \t]|<[A-Za-z/!?]|_[0-9]")
"""Start of a row of a table, a heading, a tag, or a line of code (`_10` is its number)."""
_MAX_LABEL = 42
"""Characters of a label, its colon included."""
_LABEL = compiled(r"[^\W\d_][^:\n]{0,40}:[ \t]")
"""A speaker, or the name of a field, of up to 42 characters with its colon."""
_FENCES = ("```", "~~~")
_INDENTED = (" ", "\t")
_CODE = ("{", "}", "\\", ");", "};")
_CODE_ENDS = frozenset("{}\\;")
_BETWEEN_CELLS = (" | ", "   ", "\t", "....", ". . . ")
"""Separator of the cells of a row, or of a title and its page in a table of contents."""


def soft_breaks(text: str) -> list[int]:
    """Return the offsets, sorted, at which a line continues the running text of the line above.

    A line break is inside running text if the line before it has at least 60 % of the median
    length, at most 200 characters, and ends without `.?!:`, and the line after it is no list item,
    heading, table row or code, nor the turn of a speaker, an indented paragraph or another level of
    quotation. Three or more such breaks in a row separate entries, as in a log, an inventory or
    verse, if none of the lines after them begins in lower case. A text of which over 20 % of the
    lines are longer than 200 characters has paragraphs on one line, and no such breaks. Time is
    linear in the length of the text.
    """
    text = with_line_feeds(text)
    lines = text.split("\n")
    bodies = list(map(str.strip, lines))
    visible = [len(body) for body in bodies if body]
    long = sum(length > _MAX_LENGTH for length in visible)
    if len(visible) <= 1 or long > _MAX_LONG_SHARE * len(visible):
        return []
    min_length = max(_MIN_LENGTH, MIN_LENGTH_SHARE * median_low(visible))
    candidates = [
        number
        for number, (above, body) in enumerate(pairwise(bodies), start=1)
        if body and min_length <= len(above) <= _MAX_LENGTH and above[-1] not in _SENTENCE_ENDS
    ]
    if not candidates:
        return []
    apart = _apart(candidates, bodies)
    layout = _Layout(lines, bodies, has_fences=any(fence in text for fence in _FENCES))
    continuing = [
        number
        for number in candidates
        if not (number in apart or number - 1 in apart)
        and _continues(bodies[number - 1], bodies[number])
        and not layout.separates(number)
    ]
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    return [starts[number] for number in _without_entries(continuing, bodies)]


class _Layout:
    """Indentation and code of the lines of a text; lines are asked for in ascending order."""

    def __init__(self, lines: Sequence[str], bodies: Sequence[str], *, has_fences: bool) -> None:
        self._lines, self._bodies = lines, bodies
        self._code = set(_fenced(bodies)) if has_fences else set()
        self._base: int | None = None
        self._seen = 0
        self._in_item = False

    def separates(self, number: int) -> bool:
        """Return True if a line is code, or a paragraph indented more than the line above it."""
        if number in self._code or number - 1 in self._code:
            return True
        if not self._lines[number].startswith(_INDENTED):
            return False
        if self._is_in_item(number):
            return False
        above, indent = self._indent(number - 1), self._indent(number)
        if indent >= above + _PARAGRAPH_INDENT:
            return True
        if min(above, indent) < _CODE_INDENT:
            return False
        if self._base is None:
            visible = (number for number, body in enumerate(self._bodies) if body)
            self._base = median_low(map(self._indent, visible))
        return min(above, indent) >= self._base + _CODE_INDENT

    def _indent(self, number: int) -> int:
        """Columns before a line."""
        line = self._lines[number]
        margin = line[: len(line) - len(line.lstrip())]
        return len(margin.expandtabs(_CODE_INDENT))

    def _is_in_item(self, number: int) -> bool:
        """Return True if a list item begins above a line, with no blank line between them."""
        for body in self._bodies[self._seen : number]:
            self._in_item = bool(body) and (self._in_item or bool(_ITEM.match(body)))
        self._seen = max(self._seen, number)
        return self._in_item


def _fenced(bodies: Sequence[str]) -> Iterator[int]:
    """The lines of code between fences, and the fences."""
    inside = False
    for number, body in enumerate(bodies):
        is_fence = body.startswith(_FENCES)
        if inside or is_fence:
            yield number
        inside ^= is_fence


def _continues(above: str, body: str) -> bool:
    """Return True if a line may continue the line above it, by what the two begin with."""
    if above[-1] in _CLOSING and above.rstrip(_CLOSING)[-1:] in _SENTENCE_ENDS:
        return False
    if above[0] == ">" or body[0] == ">":
        above, body = _unquoted(above, body)
    first = body[:1]
    if first.islower():
        return True
    if not first or (first.isdigit() and above[0].isdigit()):
        return False  # another level of quotation; records that begin with a number or a date
    if not first.isalpha():
        return not _ITEM.match(body) and not _NUMBERED_TITLE.match(body)
    if ":" in body[:_MAX_LABEL] and _LABEL.match(body):
        return False
    return not (above[0].isdigit() and _NUMBERED_TITLE.match(above))


def _unquoted(above: str, body: str) -> tuple[str, str]:
    """Two lines without the marks of a quotation; empty if these differ."""
    first, second = _QUOTATION.match(above), _QUOTATION.match(body)
    if not first or not second or first.group().count(">") != second.group().count(">"):
        return "", ""
    return above[first.end() :].lstrip(), body[second.end() :].lstrip()


def _apart(candidates: Sequence[int], bodies: Sequence[str]) -> set[int]:
    """The lines around some line breaks that are never part of running text.

    Rows, headings, rulers, tags and code.
    """
    both = {*candidates, *(number - 1 for number in candidates)}
    every = "\n".join(bodies)
    separators = [separator for separator in _BETWEEN_CELLS if separator in every]
    apart = set()
    for number in both:
        body = bodies[number]
        if (
            (not body[0].isalnum() and (_MARKED.match(body) or not any(map(str.isalnum, body))))
            or (body[-1] in _CODE_ENDS and body.endswith(_CODE))
            or (separators and any(separator in body for separator in separators))
        ):
            apart.add(number)
    return apart


def _without_entries(numbers: Sequence[int], bodies: Sequence[str]) -> Iterator[int]:
    """The lines that continue others, without rows of lines that are entries."""
    row: list[int] = []
    for number in numbers:
        if row and number > row[-1] + 1:
            yield from _running(row, bodies)
            row = []
        row.append(number)
    yield from _running(row, bodies)


def _running(row: list[int], bodies: Sequence[str]) -> list[int]:
    is_list = len(row) >= _MIN_ENTRIES and all(_is_entry(bodies[number]) for number in row)
    return [] if is_list else row


def _is_entry(body: str) -> bool:
    """Return True if a line begins as entries do: with a digit or capital, but not all capitals."""
    first = body.lstrip(_OPENING)[:1]
    return first.isdigit() or (first.isupper() and not body.isupper())
