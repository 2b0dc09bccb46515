"""Bookmarks and pages in, the lines that are the bookmarked headings out."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.readers.pdf.layout import Entry, PageHeading, PdfPage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.readers.pdf.layout import Line

LINES = 5
"""Lines a heading may run over."""
LINES_ABOVE = 3
"""Lines above a title that are searched for its number ("Exhibit 4-2", then the title)."""
FOUND_SHARE = 0.5
"""Share of the titles that must be found on their pages for the outline to be believed."""
PAGES_PER_TITLE = 25
"""An outline with fewer titles found than one per so many pages says too little."""
SHORTEST_PREFIX = 5
"""Letters and digits a bookmark must have to be taken for the beginning of a longer title."""
LONGEST = 200
"""Letters and digits a heading may have."""
OPENING = "„“\u2018«\u2039「『【〈《§¿¡.<"
"""Characters a heading may begin with, letters and digits apart; "(Appendix A)" is a mention."""
DEEPEST = 6
"""Markdown has six levels."""

_LABELS = "chapter|section|part|appendix|annex|exhibit|kapitel|abschnitt|teil|anhang|chapitre|第"
_NUMBER = re.compile(
    rf"(?:(?:{_LABELS})\s*)?((?:\d+|[A-Z]\b)(?:[.\-]\d+)*)[.:)]?\s*", re.IGNORECASE
)
_LABEL_LINE = re.compile(rf"(?:{_LABELS})\s*[\dA-Z]+\s*[章部編]?", re.IGNORECASE)
_DOTTED = re.compile(r"\d+(?:[.\-]\d+)+")
_NOT_WORDS = re.compile(r"[\W_]+")


def outline_headings(
    pages: Sequence[PdfPage], outline: Sequence[Entry]
) -> list[tuple[PageHeading, ...]] | None:
    """Return headings per page in order: titles of the outline, on the pages they lead to.

    None if the outline says too little: no entries, or fewer than half of its titles are on
    their pages.
    """
    entries = [entry for entry in outline if 0 <= entry.page < len(pages) and _key(entry.title)]
    levels = _levels(entries)
    indexes: dict[int, _PageIndex] = {}
    by_page: list[list[PageHeading]] = [[] for _ in pages]
    for entry, level in zip(entries, levels, strict=True):
        for number in (entry.page, entry.page + 1, entry.page - 1):
            if not 0 <= number < len(pages):
                continue
            if number not in indexes:
                indexes[number] = _PageIndex(pages[number].lines)
            if run := indexes[number].take(entry.title):
                by_page[number].append(PageHeading(start=run[0], stop=run[1], level=level))
                break
    total = sum(map(len, by_page))
    if not total or total < max(FOUND_SHARE * len(entries), len(pages) / PAGES_PER_TITLE):
        return None
    return [tuple(sorted(headings, key=lambda heading: heading.start)) for headings in by_page]


def title_keys(title: str) -> tuple[str, ...]:
    """Return the keys of a title: itself, and itself without its number."""
    return tuple(key for key in (_key(title), _key(_without_number(title))) if key)


def _levels(entries: Sequence[Entry]) -> list[int]:
    """Return the depths of the outline, or of the numbers if the outline is flat."""
    levels = [entry.level for entry in entries]
    if len(set(levels)) == 1:
        depths = [_depth(entry.title) for entry in entries]
        numbered = [depth for depth in depths if depth]
        if 2 * len(numbered) >= len(entries) and numbered:
            levels = [depth - min(numbered) + 1 if depth else 1 for depth in depths]
    return [max(1, min(level, DEEPEST)) for level in levels]


def _depth(title: str) -> int:
    match = _DOTTED.match(title)
    return len(re.split(r"[.\-]", match.group())) if match else 0


class _LineRun(NamedTuple):
    """Consecutive lines that may be a heading, and the number they begin with."""

    start: int
    stop: int
    number: str
    size: float
    bold: bool


class _PageIndex:
    """Runs of a page by their text, so that each title is a single look-up."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self._lines = lines
        self._taken: set[int] = set()
        self._sorted: list[str] = []
        self._runs: dict[str, list[_LineRun]] = defaultdict(list)
        for run, full, bare in _runs(lines):
            self._runs[full].append(run)
            if bare and bare != full:
                self._runs[bare].append(run)

    def take(self, title: str) -> tuple[int, int] | None:
        """Return the lines that say `title`, numbers apart, and use them up."""
        number = _number(title)
        for key in title_keys(title):
            runs = [run for run in self._runs.get(key, ()) if self._is_free(run, number)]
            runs = runs or self._longer_titles(key)
            if runs:
                best = max(
                    runs, key=lambda run: (run.size, run.bold, run.stop - run.start, -run.start)
                )
                start = self._with_lines_above(best, number)
                self._taken.update(range(start, best.stop))
                return start, best.stop
        return None

    def _longer_titles(self, key: str) -> list[_LineRun]:
        """Return bold lines that go on after the text of the bookmark ("Appendix A. Tables")."""
        if len(key) < SHORTEST_PREFIX:
            return []
        if not self._sorted:
            self._sorted = sorted(self._runs)
        runs: list[_LineRun] = []
        # All keys that begin with this one lie before it with the last character of Unicode.
        first, last = (bisect_left(self._sorted, text) for text in (key, key + "\U0010ffff"))
        for text in self._sorted[first:last]:
            runs += (run for run in self._runs[text] if run.bold and self._is_free(run, ""))
        return runs

    def _is_free(self, run: _LineRun, number: str) -> bool:
        if number and run.number and number != run.number:
            return False
        return self._taken.isdisjoint(range(run.start, run.stop))

    def _with_lines_above(self, run: _LineRun, number: str) -> int:
        """Return the start of a run with lines above that hold its number or say "Chapter 4"."""
        first = self._lines[run.start]
        for start in range(run.start - 1, max(-1, run.start - 1 - LINES_ABOVE), -1):
            above = self._lines[start]
            if start in self._taken or above.baseline >= first.baseline:
                break
            aligned = abs(above.left - first.left) < first.size and above.block == first.block
            if aligned and number and not run.number and number in above.text.split():
                return start
            if start == run.start - 1 and _LABEL_LINE.fullmatch(above.text):
                return start
        return run.start


def _runs(lines: Sequence[Line]) -> Iterator[tuple[_LineRun, str, str]]:
    """Yield every run that may be a heading, its key, and its key without the number."""
    keys = [_key(line.text) for line in lines]
    for start, first in enumerate(lines):
        if not (first.text[0].isalnum() or first.text[0] in OPENING):
            continue
        number, bare, rest = _number(first.text), _key(_without_number(first.text)), ""
        for stop in range(start + 1, min(start + LINES, len(lines)) + 1):
            line = lines[stop - 1]
            if stop - start > 1:
                if not _continues(lines[stop - 2], line):
                    break
                rest += keys[stop - 1]
            if len(bare) + len(rest) > LONGEST:
                break
            run = _LineRun(start, stop, number, first.size, first.bold and line.bold)
            yield run, keys[start] + rest, bare + rest


def _continues(above: Line, below: Line) -> bool:
    step = below.baseline - above.baseline
    return 0 < step < 3 * below.size and abs(above.size - below.size) < above.size / 2


def _key(text: str) -> str:
    """Letters and digits only, case folded: blanks and punctuation differ between the two."""
    return _NOT_WORDS.sub("", unicodedata.normalize("NFKC", text).casefold())


def _number(text: str) -> str:
    match = _NUMBER.match(text)
    return match.group(1) if match and any(map(str.isdigit, match.group(1))) else ""


def _without_number(text: str) -> str:
    match = _NUMBER.match(text)
    return text[match.end() :] if match else text
