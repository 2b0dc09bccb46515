"""Pages without a usable outline in, headings by their looks out."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.readers.pdf.layout import Line, Measures, PageHeading, PdfPage, rounded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

LARGER = 1.12
"""Font size of a heading, as a multiple of the body's, from which size alone is enough."""
NEARLY = 0.97
"""Font size below which even bold lines are no headings (table heads, captions)."""
CHARACTERS = 160
"""Characters a heading may have."""
LINES = 4
"""Lines a heading may run over."""
LETTERS = 0.55
"""Share of letters, blanks and section number apart, above which a line is words."""
COMMAS = 3
"""Commas from which a line is a list of names, not a title."""
PER_PAGE = 8
"""Headings a page may have; above that the smallest kind goes first: the page is a poster, a
form or a table of contents."""
STYLE_SHARE = 0.15
"""Share of all characters above which a style is body text."""
DEEPEST = 6
"""Markdown has six levels."""

_NUMBER = re.compile(r"(?:\d+(?:\.\d+)*|[A-Z](?:\.\d+)+|[A-Z]|[IVX]+)[.)]?\s+\S")
_DECIMAL = re.compile(r"\d+(?:\.\d+)*")
_BULLET = re.compile("[•‣▪◦●○■□\u2013\u2014*·-]\\s")
_LETTERS = re.compile(r"[^\W\d_]")

FontStyle = tuple[float, bool]
"""Font size to half a point, and bold or not."""


@dataclass(frozen=True, slots=True)
class _HeadingCandidate:
    """Lines that look like a heading."""

    page: int
    start: int
    stop: int
    style: FontStyle
    depth: int


def font_headings(pages: Sequence[PdfPage], measures: Measures) -> list[tuple[PageHeading, ...]]:
    """Return large lines, and bold lines that stand alone or are numbered, as headings by page.

    The largest style is level 1, the next one level 2, and so on; within one style, numbers such as
    2.1 and 2.1.3 tell the depth.
    """
    candidates = [
        candidate
        for number, page in enumerate(pages)
        for candidate in _capped(list(_candidates(number, page.lines, measures)))
    ]
    rare = _rare_styles(pages)
    candidates = [candidate for candidate in candidates if candidate.style in rare]
    levels = _levels(candidates)
    by_page: list[list[PageHeading]] = [[] for _ in pages]
    for candidate in candidates:
        level = min(levels[candidate.style, candidate.depth], DEEPEST)
        by_page[candidate.page].append(
            PageHeading(start=candidate.start, stop=candidate.stop, level=level)
        )
    return [tuple(headings) for headings in by_page]


def _candidates(
    number: int, lines: Sequence[Line], measures: Measures
) -> Iterator[_HeadingCandidate]:
    blocks = Counter(line.block for line in lines)
    start = 0
    while start < len(lines):
        stop = start + 1
        while stop < len(lines) and _same_heading(lines[stop - 1], lines[stop]):
            stop += 1
        run = lines[start:stop]
        alone = all(blocks[line.block] <= len(run) for line in run)
        if _is_heading(run, measures, alone=alone):
            text = run[0].text
            yield _HeadingCandidate(number, start, stop, _style(run[0]), _depth(text))
        start = stop


def _same_heading(above: Line, below: Line) -> bool:
    step = below.baseline - above.baseline
    return _style(above) == _style(below) and 0 < step <= 1.7 * below.size


def _is_heading(run: Sequence[Line], measures: Measures, *, alone: bool) -> bool:
    text = " ".join(line.text for line in run)
    if not _is_title(text, run):
        return False
    size = run[0].size
    if size >= LARGER * measures.size:
        return True
    numbered = _NUMBER.match(text) is not None
    return run[0].bold and size >= NEARLY * measures.size and (numbered or alone)


def _is_title(text: str, run: Sequence[Line]) -> bool:
    plain = all(line.upright and not line.row and not line.mono for line in run)
    short = len(text) <= CHARACTERS and len(run) <= LINES
    names = text.count(",") >= COMMAS
    ends_open = text[-1] in ".,;:-" and not text.endswith("...")
    words = _share_of_letters(text) > LETTERS
    starts_low = text[0].islower() or _BULLET.match(text) is not None
    return plain and short and words and not (names or ends_open or starts_low or "..." in text)


def _share_of_letters(text: str) -> float:
    number = _NUMBER.match(text)
    body = text[number.end() - 1 :] if number else text
    return len(_LETTERS.findall(body)) / max(1, len(body.replace(" ", "")))


def _capped(candidates: list[_HeadingCandidate]) -> list[_HeadingCandidate]:
    while len(candidates) > PER_PAGE:
        smallest = min(candidate.style for candidate in candidates)
        candidates = [candidate for candidate in candidates if candidate.style != smallest]
    return candidates


def _rare_styles(pages: Sequence[PdfPage]) -> set[FontStyle]:
    counts: Counter[FontStyle] = Counter()
    for page in pages:
        for line in page.lines:
            counts[_style(line)] += len(line.text)
    most = STYLE_SHARE * counts.total()
    few_lines = sum(len(page.lines) for page in pages) < 2 * PER_PAGE
    return {style for style, count in counts.items() if few_lines or count <= most}


def _levels(candidates: Sequence[_HeadingCandidate]) -> dict[tuple[FontStyle, int], int]:
    """Rank the styles by size, and the depths of their numbers within each style."""
    depths: dict[FontStyle, set[int]] = defaultdict(set)
    for candidate in candidates:
        depths[candidate.style].add(candidate.depth)
    levels: dict[tuple[FontStyle, int], int] = {}
    level = 0
    for style in sorted(depths, reverse=True):
        base = min((depth for depth in depths[style] if depth), default=0)
        steps = {depth: max(0, depth - base) for depth in depths[style]}
        levels.update({(style, depth): level + 1 + step for depth, step in steps.items()})
        level += 1 + max(steps.values())
    return levels


def _style(line: Line) -> FontStyle:
    return rounded(line.size), line.bold


def _depth(text: str) -> int:
    """Count the parts of a number such as 2.1.3; 0 if there is none."""
    match = _DECIMAL.match(text) if _NUMBER.match(text) else None
    return match.group().count(".") + 1 if match else 0
