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

from rag_nodes.text.letters import aligned, densest, folded_letters, hashes, shared
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from rag_nodes.text.letters import Codes, Numbers

MIN_LETTERS = 20
"""Letters and digits of a text that is looked for at all."""
_SHARE, _INNER_SHARE = 0.4, 0.8
"""Share of the letters of a text that stand at its place, and the same between the first and the
last of them: headers, footers and words put before a chunk are at its ends."""
_SHARE_BETWEEN = 0.6
"""The first share for a part of a text, where few other places are compared: a footer that stands
there by chance may be half of a short chunk."""
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
        self._codes = np.concatenate([between, *(x for one, _ in parts for x in (one, between))])
        none = np.zeros(1, np.int64)
        self._offsets = np.concatenate([none, *(x for _, at in parts for x in (at, none))])
        sizes = np.array([len(one) + 1 for one, _ in parts], dtype=np.int64)
        self._starts = 1 + np.cumsum(sizes) - sizes
        runs = hashes(self._codes, _RUN)
        self._order = np.argsort(runs, kind="stable")
        self._sorted = runs[self._order]

    def find(
        self, text: str, among: Collection[int] | None = None, between: IndexedSpan | None = None
    ) -> IndexedSpan | None:
        """Return the one place at which a text stands.

        Args:
            text: that is looked for.
            among: numbers of the texts in which it may stand; None for all.
            between: where it may stand, if that is known; None for everywhere.

        Returns:
            The place; None if there is none, or more than one that is about as good.
        """
        codes, _ = folded_letters(text)
        if len(codes) < MIN_LETTERS:
            return None
        inside = self._letters(between) if between else Span(1, len(self._codes))
        if exact := self._exact(codes, among, inside):
            return self._place(exact[0], exact[0] + len(codes)) if len(exact) == 1 else None
        windows = list(self._windows(codes, among, inside))
        regions = filter(None, (self._region(codes, window) for window in windows))
        best = max(regions, key=lambda one: one.common, default=None)
        if best is None:
            return None
        share = _SHARE_BETWEEN if between else _SHARE
        inner = _STRICT_SHARE if len(codes) < _STRICT_LETTERS else _INNER_SHARE
        is_like = best.common >= max(_MIN_COMMON, share * len(codes)) and best.inner >= inner
        margin = max(_MARGIN_LETTERS, _MARGIN_SHARE * len(codes))
        if not is_like or best.common - self._elsewhere(codes, windows, best) < margin:
            return None
        return self._place(best.start, best.end)

    def beside(self, text: str, place: IndexedSpan, *, behind: bool) -> IndexedSpan | None:
        """Return where a text stands next to a place, behind or before it; None if it does not."""
        (codes, _), span = folded_letters(text), self._letters(place)
        start = span.end if behind else span.start - len(codes)
        same = np.array_equal(self._codes[max(0, start) : start + len(codes)], codes)
        return self._place(start, start + len(codes)) if len(codes) and same else None

    def _place(self, start: int, end: int) -> IndexedSpan:
        """Return letters of the index by number as a place."""
        number = int(np.searchsorted(self._starts, start, "right")) - 1
        first, last = (int(self._offsets[at]) for at in (start, end - 1))
        return IndexedSpan(number, _with_signs(self._texts[number], Span(first, last + 1)))

    def _letters(self, place: IndexedSpan) -> Span:
        """Return a place as letters of the index by number."""
        first = int(self._starts[place.text])
        after = [*self._starts.tolist(), len(self._codes)][place.text + 1] - 1
        low, high = np.searchsorted(self._offsets[first:after], place.span)
        return Span(first + int(low), first + int(high))

    def _exact(self, codes: Codes, among: Collection[int] | None, inside: Span) -> list[int]:
        """Return up to two places at which all the letters stand in order."""
        runs = hashes(codes, _RUN)
        low = np.searchsorted(self._sorted, runs, "left")
        count = np.searchsorted(self._sorted, runs, "right") - low
        at = int(np.argmin(count))  # the rarest run has the fewest places to look at
        if count[at] > _MAX_PLACES:
            return []
        found: list[int] = []
        for place in self._order[low[at] : low[at] + count[at]] - at:
            if (
                place < inside.start
                or place + len(codes) > inside.end
                or not np.array_equal(self._codes[place : place + len(codes)], codes)
            ):
                continue
            if among is None or int(np.searchsorted(self._starts, place, "right")) - 1 in among:
                found.append(int(place))
            if len(found) > 1:
                break
        return found

    def _windows(self, codes: Codes, among: Collection[int] | None, inside: Span) -> Iterator[Span]:
        """Yield the likeliest parts of the index that hold the text, each within one text."""
        shifts = self._shifts(codes, among, inside)
        width = _DRIFT_LETTERS + int(_DRIFT_SHARE * len(codes))
        for _ in range(_REGIONS):
            if not len(shifts):
                return
            reach = np.searchsorted(shifts, shifts + width, "right")
            first = int(np.argmax(reach - np.arange(len(shifts))))
            low, high = int(shifts[first]), int(shifts[reach[first] - 1])
            middle = min(max(1, (low + high + len(codes)) // 2), len(self._codes) - 2)
            number = int(np.searchsorted(self._starts, middle, "right")) - 1
            bounds = [*self._starts, len(self._codes)][number : number + 2]
            yield Span(
                max(int(bounds[0]), inside.start, low),
                min(int(bounds[1]) - 1, inside.end, high + len(codes)),
            )
            shifts = shifts[(shifts < low - width) | (shifts > high + width)]

    def _shifts(self, codes: Codes, among: Collection[int] | None, inside: Span) -> Numbers:
        """Return where the text would begin by each run that both share, in order."""
        runs = hashes(codes, _RUN)
        low = np.searchsorted(self._sorted, runs, "left")
        count = np.searchsorted(self._sorted, runs, "right") - low
        rarest = np.argsort(count, kind="stable")
        count[rarest[np.cumsum(count[rarest]) > _MAX_HINTS]] = 0
        at = np.repeat(np.arange(len(runs)), count)
        step = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count)
        places = self._order[np.repeat(low, count) + step]
        is_inside = (places >= inside.start) & (places < inside.end)
        places, at = places[is_inside], at[is_inside]
        if among is not None:
            texts = np.searchsorted(self._starts, places, "right") - 1
            is_among = np.isin(texts, list(among))
            places, at = places[is_among], at[is_among]
        return np.sort(places - at)

    def _region(self, codes: Codes, window: Span) -> _Region | None:
        """Return the letters of a window that the text has too, in its order."""
        start, end = window
        blocks = aligned(codes, self._codes[start:end])
        if not blocks:
            return None
        blocks = densest(blocks)
        first, last = blocks[0], blocks[-1]
        common = sum(block.size for block in blocks)
        inner = max(last.at + last.size - first.at, last.place + last.size - first.place)
        place = start + first.place, start + last.place + last.size
        return _Region(*place, common, common / inner)

    def _elsewhere(self, codes: Codes, windows: Iterable[Span], best: _Region) -> int:
        """Return how many letters of the text stand in another window, in whatever order."""
        most = 0
        for start, end in windows:
            before = self._codes[start : min(end, best.start)]
            behind = self._codes[max(start, best.end) : end]
            most = max(most, shared(codes, np.concatenate([before, self._codes[:1], behind])))
        return most


def _with_signs(text: str, span: Span) -> Span:
    """Return the span with the signs that stand before and behind it without a blank."""
    start, end = span
    while start and not (text[start - 1].isspace() or text[start - 1].isalnum()):
        start -= 1
    while end < len(text) and not (text[end].isspace() or text[end].isalnum()):
        end += 1
    return Span(start, end)
