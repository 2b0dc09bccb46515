"""Find where a text stands in documents, although both were extracted in different ways.

Two programs that read the same PDF agree on letters and digits and on little else: spaces, line
breaks, hyphens, bullets, ligatures and accents differ, headers and footers are left out, cells of a
table stand in another order. So only letters and digits are compared, after Unicode normalisation,
and a place needs most of them, not all.

A place is certain or there is none: the text must have far more letters in common with it than
with any other place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.text.letters import (
    SHORT_RUN,
    aligned,
    aligned_in_order,
    densest,
    folded_letters,
    hashes,
    repeated,
    shared,
    within,
)
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from rag_nodes.text.letters import Codes, EqualLetters, Numbers

MIN_LETTERS = 20
"""Letters and digits of a text that is looked for at all."""
_SHARE, _INNER_SHARE = 0.4, 0.8
"""Share of the letters of a text that stand at its place, and the same between the first and the
last of them: headers, footers and words put before a chunk are at its ends."""
_REPEATED = 3
"""Times that letters stand in texts that follow each other before they may be those of headers and
footers: then a part need not have them at its place."""
_MAX_TAKEN = 0.1
"""Share of the letters of a place that may belong to another page."""
_STRICT_LETTERS, _STRICT_SHARE = 200, 0.97
"""Letters of a text below which more of them must be there, and this share: one word can change
what it says."""
_MIN_COMMON = 40
"""Letters that a text has in common with its place if they are not all."""
_RUN = 16
"""Letters in a row that hint at a place."""
_MAX_HINTS = 100_000
"""Places of runs that are looked at for one text, those of the rarest runs first."""
_MAX_PLACES = 10_000
"""Places of the rarest run of a text beyond which it is not looked for as it stands."""
_REGIONS = 4
"""Regions that are compared with each other."""
_DRIFT_LETTERS, _DRIFT_SHARE = 100, 0.125
"""Letters, and share of the text, by which what was left out or added shifts parts of it."""
_MARGIN_LETTERS, _MARGIN_SHARE = 2 * _RUN, 0.1
"""Letters, and share of a text, that it has in common with its place and not with the next best: a
header may be on the wrong page alone."""


class IndexedSpan(NamedTuple):
    """Number of a text among those of the index, and the characters there."""

    text: int
    span: Span


class Piece(NamedTuple):
    """Text of which others are parts, and the number of the page that it is of, if it is known."""

    text: str
    page: int = 0


class _Region(NamedTuple):
    """Letters of the index by number, and how many of a text stand there, in all and inside."""

    start: int
    end: int
    common: int
    inner: float


class LetterIndex:
    """Letters of texts, to find a place among all of them at once.

    Building takes time in proportion to the texts (a few tenths of a second for a million
    characters), a search in proportion to the text that is sought.

    Args:
        texts: in which others are looked for.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts
        parts = [folded_letters(text) for text in texts]
        between = np.zeros(1, np.uint32)
        self._codes = np.concatenate([between, *(x for part, _ in parts for x in (part, between))])
        none = np.zeros(1, np.int64)
        self._offsets = np.concatenate([none, *(x for _, at in parts for x in (at, none))])
        sizes = np.array([len(part) + 1 for part, _ in parts], dtype=np.int64)
        self._starts = 1 + np.cumsum(np.concatenate([none, sizes]))
        runs = hashes(self._codes, _RUN)
        self._order = np.argsort(runs, kind="stable")
        self._sorted = runs[self._order]

    def find(self, text: str, among: Collection[int] | None = None) -> IndexedSpan | None:
        """Return the one place at which a text stands.

        Args:
            text: that is looked for.
            among: numbers of the texts in which it may stand; None for all.

        Returns:
            The place; None if there is none, or more than one that is about as good.
        """
        codes, _ = folded_letters(text)
        if len(codes) < MIN_LETTERS:
            return None
        if exact := self._exact(codes, among):
            return self._place(exact[0], exact[0] + len(codes)) if len(exact) == 1 else None
        windows = list(self._windows(codes, among))
        regions = filter(None, (self._region(codes, window) for window in windows))
        best = max(regions, key=lambda region: region.common, default=None)
        if best is None:
            return None
        inner = _STRICT_SHARE if len(codes) < _STRICT_LETTERS else _INNER_SHARE
        is_like = best.common >= max(_MIN_COMMON, _SHARE * len(codes)) and best.inner >= inner
        margin = max(_MARGIN_LETTERS, _MARGIN_SHARE * len(codes))
        if not is_like or best.common - self._elsewhere(codes, windows, best) < margin:
            return None
        return self._place(best.start, best.end)

    def find_in_order(
        self,
        pieces: Sequence[Piece],
        parts: Sequence[IndexedSpan],
        alone: Sequence[IndexedSpan | None],
        among: Collection[int],
        pages: Iterable[IndexedSpan] = (),
    ) -> list[IndexedSpan | None]:
        """Return where parts of texts stand that follow each other, such as the pages of a file.

        The texts as a whole are aligned with those of the index. So what stands in several places
        has the place between those of its neighbours, and headers and footers need no place. A
        place that a part has alone counts before that, unless text of another page is there: a PDF
        may hide an earlier state of the page behind.

        Args:
            pieces: texts that follow each other.
            parts: parts of the pieces that are looked for.
            alone: place at which `find` finds each part, if any.
            among: numbers of the texts of the index in which they may stand.
            pages: pages of those texts, if they are known.

        Returns:
            The place of each part; None if it has none.
        """
        between = np.zeros(1, np.int64)
        ranges = (np.arange(*self._starts[number : number + 2]) for number in sorted(among))
        target = np.concatenate([between, *ranges])
        sequence = _Sequence(pieces, self._codes[target])
        for page in pages:
            sequence.claim(*np.searchsorted(target, self._letters(page)))
        places: list[IndexedSpan | None] = []
        for part, place in zip(parts, alone, strict=True):
            if place and not sequence.is_taken(
                part, *np.searchsorted(target, self._letters(place))
            ):
                places.append(place)
                continue
            region = sequence.region(part)
            ends = target[[region.start, region.end - 1]].tolist() if region else [0, 0]
            is_in_one = region is not None and self._number(ends[0]) == self._number(ends[1])
            places.append(self._place(ends[0], ends[1] + 1) if is_in_one else None)
        return places

    def _place(self, start: int, end: int) -> IndexedSpan:
        """Return letters of the index by number as a place."""
        number = self._number(start)
        first, last = (int(self._offsets[at]) for at in (start, end - 1))
        return IndexedSpan(number, _with_signs(self._texts[number], Span(first, last + 1)))

    def _number(self, letter: int) -> int:
        """Return the number of the text that a letter of the index is in."""
        return int(np.searchsorted(self._starts, letter, "right")) - 1

    def _letters(self, place: IndexedSpan) -> Span:
        """Return a place as letters of the index by number."""
        first, after = self._starts[place.text : place.text + 2].tolist()
        low, high = np.searchsorted(self._offsets[first : after - 1], place.span)
        return Span(first + int(low), first + int(high))

    def _exact(self, codes: Codes, among: Collection[int] | None) -> list[int]:
        """Return up to two places at which all the letters stand in order."""
        runs = hashes(codes, _RUN)
        low = np.searchsorted(self._sorted, runs, "left")
        count = np.searchsorted(self._sorted, runs, "right") - low
        at = int(np.argmin(count))  # the rarest run has the fewest places to look at
        if count[at] > _MAX_PLACES:
            return []
        places: list[int] = []
        for place in self._order[low[at] : low[at] + count[at]] - at:
            if place < 0 or not np.array_equal(self._codes[place : place + len(codes)], codes):
                continue
            if among is None or self._number(place) in among:
                places.append(int(place))
            if len(places) > 1:
                break
        return places

    def _windows(self, codes: Codes, among: Collection[int] | None) -> Iterator[Span]:
        """Yield the likeliest parts of the index that hold the text, each within one text."""
        shifts = self._shifts(codes, among)
        width = _DRIFT_LETTERS + int(_DRIFT_SHARE * len(codes))
        for _ in range(_REGIONS):
            if not len(shifts):
                return
            reach = np.searchsorted(shifts, shifts + width, "right")
            first = int(np.argmax(reach - np.arange(len(shifts))))
            low, high = int(shifts[first]), int(shifts[reach[first] - 1])
            middle = min(max(1, (low + high + len(codes)) // 2), len(self._codes) - 2)
            number = self._number(middle)
            first, after = self._starts[number : number + 2].tolist()
            yield Span(
                max(first, low),
                min(after - 1, high + len(codes)),
            )
            shifts = shifts[(shifts < low - width) | (shifts > high + width)]

    def _shifts(self, codes: Codes, among: Collection[int] | None) -> Numbers:
        """Return where the text would begin by each run that both share, in order."""
        runs = hashes(codes, _RUN)
        low = np.searchsorted(self._sorted, runs, "left")
        count = np.searchsorted(self._sorted, runs, "right") - low
        rarest = np.argsort(count, kind="stable")
        count[rarest[np.cumsum(count[rarest]) > _MAX_HINTS]] = 0
        at = np.repeat(np.arange(len(runs)), count)
        step = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count)
        places = self._order[np.repeat(low, count) + step]
        if among is not None:
            texts = np.searchsorted(self._starts, places, "right") - 1
            is_among = np.isin(texts, list(among))
            places, at = places[is_among], at[is_among]
        return np.sort(places - at)

    def _region(self, codes: Codes, window: Span) -> _Region | None:
        """Return the letters of a window that the text has too, in its order."""
        start, end = window
        blocks = aligned(codes, self._codes[start:end])
        return _region(blocks, start) if blocks else None

    def _elsewhere(self, codes: Codes, windows: Iterable[Span], best: _Region) -> int:
        """Return how many letters of the text stand in another window, in whatever order."""
        most = 0
        for start, end in windows:
            before = self._codes[start : min(end, best.start)]
            behind = self._codes[max(start, best.end) : end]
            most = max(most, shared(codes, np.concatenate([before, self._codes[:1], behind])))
        return most


class _Sequence:
    """Texts that follow each other, aligned with other letters.

    Args:
        pieces: texts that follow each other.
        letters: with which they are aligned.
    """

    def __init__(self, pieces: Sequence[Piece], letters: Codes) -> None:
        folded = [folded_letters(piece.text) for piece in pieces]
        self._pages = np.array([piece.page for piece in pieces])
        codes = np.concatenate([codes for codes, _ in folded])
        self._offsets = [offsets for _, offsets in folded]
        self._starts = np.cumsum([0, *map(len, self._offsets)])
        self._blocks = aligned_in_order(codes, letters)
        self._counts = ~repeated(codes, _RUN, _REPEATED)
        self._owners = np.zeros(len(letters), np.int64)
        for at, place, size in self._blocks:
            self._counts[at : at + size] = True
            numbers = np.searchsorted(self._starts, np.arange(at, at + size), "right") - 1
            self._owners[place : place + size] = self._pages[numbers]

    def claim(self, start: int, end: int) -> None:
        """Take other letters for the page to which more than half of them belong."""
        owners = self._owners[start:end]
        pages, counts = np.unique(owners[owners > 0], return_counts=True)
        if len(pages) and 2 * counts.max() > len(owners):
            owners[owners == 0] = pages[np.argmax(counts)]

    def is_taken(self, part: IndexedSpan, start: int, end: int) -> bool:
        """Return whether other letters belong to another page than a part does."""
        owners, page = self._owners[start:end], self._pages[part.text]
        is_other = (owners > 0) & (owners != page) & (page > 0)
        return int(is_other.sum()) > _MAX_TAKEN * len(owners)

    def region(self, part: IndexedSpan) -> _Region | None:
        """Return the other letters at which a part stands."""
        low, high = np.searchsorted(self._offsets[part.text], part.span) + self._starts[part.text]
        blocks = within(self._blocks, int(low), int(high))
        if not blocks:
            return None
        region, size = _region(blocks, 0), int(self._counts[low:high].sum())
        least = max(SHORT_RUN, _SHARE * size, min(_MIN_COMMON, _INNER_SHARE * size))
        least = max(least, _INNER_SHARE * (region.end - region.start))
        return region if region.common >= least else None


def _region(blocks: list[EqualLetters], start: int) -> _Region:
    """Return where most of some equal letters stand, behind the letter with a number."""
    blocks = densest(blocks)
    first, last = blocks[0], blocks[-1]
    common = sum(block.size for block in blocks)
    inner = max(last.at + last.size - first.at, last.place + last.size - first.place)
    place = start + first.place, start + last.place + last.size
    return _Region(*place, common, common / inner)


def _with_signs(text: str, span: Span) -> Span:
    """Return the span with the signs that stand before and behind it without a blank."""
    start, end = span
    while start and not (text[start - 1].isspace() or text[start - 1].isalnum()):
        start -= 1
    while end < len(text) and not (text[end].isspace() or text[end].isalnum()):
        end += 1
    return Span(start, end)
