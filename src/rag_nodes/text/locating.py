"""Find where a text stands in documents, although both were extracted in different ways.

Two programs that read the same PDF agree on letters and digits and on little else: spaces, line
breaks, hyphens, bullets, ligatures and accents differ, headers and footers are left out, cells of a
table stand in another order. So only letters and digits are compared, after Unicode normalisation,
and a place needs most of them, not all.

A place is certain or there is none: the text must have far more letters in common with it than
with any other place.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.uint32]
    Numbers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

MIN_LETTERS = 20
"""Letters and digits of a text that is looked for at all."""
_SHARE, _INNER_SHARE = 0.4, 0.8
"""Share of the letters of a text that stand at its place, and the same between the first and the
last of them: headers, footers and words put before a chunk are at its ends."""
_STRICT_LETTERS, _STRICT_SHARE = 200, 0.97
"""Letters of a text below which more of them must be there: one word can change what it says."""
_MIN_COMMON = 40
"""Letters that a text has in common with its place if they are not all."""
_RUN, _SHORT_RUN = 16, 8
"""Letters in a row that hint at a place, and that count as common."""
_MAX_HINTS = 100_000
"""Places of runs that are looked at for one text, those of the rarest runs first."""
_MAX_PLACES = 10_000
"""Places of the rarest run of a text beyond which it is not looked for as it stands."""
_REGIONS = 4
"""Regions that are compared with each other."""
_DRIFT_LETTERS, _DRIFT_SHARE = 100, 0.125
"""Letters, and share of the text, by which what was left out or added shifts parts of it."""
_MARGIN_LETTERS, _MARGIN_SHARE = _RUN, 0.02
"""Letters that a text has in common with its place and not with the next best."""
_BASE = 0x9E3779B97F4A7C15
"""Odd multiplier of the rolling hash."""


class Place(NamedTuple):
    """Number of a text among those of the index, and the characters there."""

    text: int
    span: Span


class _Block(NamedTuple):
    """Equal letters: where they begin in the text that is sought and in the index."""

    at: int
    place: int
    size: int


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
        runs = _hashes(self._codes, _RUN)
        self._order = np.argsort(runs, kind="stable")
        self._sorted = runs[self._order]

    def find(self, text: str, among: Collection[int] | None = None) -> Place | None:
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
        best = max(regions, key=lambda one: one.common, default=None)
        if best is None:
            return None
        share = _STRICT_SHARE if len(codes) < _STRICT_LETTERS else _INNER_SHARE
        is_like = best.common >= max(_MIN_COMMON, _SHARE * len(codes)) and best.inner >= share
        margin = max(_MARGIN_LETTERS, _MARGIN_SHARE * len(codes))
        if not is_like or best.common - self._elsewhere(codes, windows, best) < margin:
            return None
        return self._place(best.start, best.end)

    def _place(self, start: int, end: int) -> Place:
        """Return letters of the index by number as a place."""
        number = int(np.searchsorted(self._starts, start, "right")) - 1
        first, last = (int(self._offsets[at]) for at in (start, end - 1))
        return Place(number, _with_signs(self._texts[number], Span(first, last + 1)))

    def _exact(self, codes: Codes, among: Collection[int] | None) -> list[int]:
        """Return up to two places at which all the letters stand in order."""
        runs = _hashes(codes, _RUN)
        low = np.searchsorted(self._sorted, runs, "left")
        count = np.searchsorted(self._sorted, runs, "right") - low
        at = int(np.argmin(count))  # the rarest run has the fewest places to look at
        if count[at] > _MAX_PLACES:
            return []
        found: list[int] = []
        for place in self._order[low[at] : low[at] + count[at]] - at:
            if place <= 0 or not np.array_equal(self._codes[place : place + len(codes)], codes):
                continue
            if among is None or int(np.searchsorted(self._starts, place, "right")) - 1 in among:
                found.append(int(place))
            if len(found) > 1:
                break
        return found

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
            number = int(np.searchsorted(self._starts, middle, "right")) - 1
            bounds = [*self._starts, len(self._codes)][number : number + 2]
            yield Span(max(int(bounds[0]), low), min(int(bounds[1]) - 1, high + len(codes)))
            shifts = shifts[(shifts < low - width) | (shifts > high + width)]

    def _shifts(self, codes: Codes, among: Collection[int] | None) -> Numbers:
        """Return where the text would begin by each run that both share, in order."""
        runs = _hashes(codes, _RUN)
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
        blocks = _aligned(codes, self._codes[start:end])
        if not blocks:
            return None
        blocks = _densest(blocks)
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
            most = max(most, _shared(codes, np.concatenate([before, self._codes[:1], behind])))
        return most


def _with_signs(text: str, span: Span) -> Span:
    """Return the span with the signs that stand before and behind it without a blank."""
    start, end = span
    while start and not (text[start - 1].isspace() or text[start - 1].isalnum()):
        start -= 1
    while end < len(text) and not (text[end].isspace() or text[end].isalnum()):
        end += 1
    return Span(start, end)


def folded_letters(text: str) -> tuple[Codes, Numbers]:
    """Return the letters and digits of a text, normalised, and the offset of each in the text."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds, which = np.unique(codes, return_inverse=True)
    folded = [_folded(chr(code)) for code in kinds]
    sizes = np.array([len(one) for one in folded], dtype=np.int64)
    flat = np.array([ord(letter) for one in folded for letter in one], dtype=np.uint32)
    count = sizes[which]
    offsets = np.repeat(np.arange(len(codes)), count)
    step = np.arange(len(offsets)) - np.repeat(np.cumsum(count) - count, count)
    return flat[(np.cumsum(sizes) - sizes)[which[offsets]] + step], offsets


@cache
def _folded(character: str) -> str:
    """Return the letters and digits that a character stands for."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def _hashes(codes: Codes, size: int) -> Hashes:
    """Return a hash of every run of `size` letters, a power of two."""
    found = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE)
    factor, width = _BASE, 1
    while width < size:
        factor = factor * factor % 2**64
        found = found[:-width] * np.uint64(factor) + found[width:]
        width *= 2
    return found


def _shared(codes: Codes, others: Codes) -> int:
    """Return how many letters are in a short run that stands among the others, too."""
    if min(len(codes), len(others)) < _SHORT_RUN:
        return 0
    at = np.flatnonzero(np.isin(_hashes(codes, _SHORT_RUN), _hashes(others, _SHORT_RUN)))
    is_shared = np.zeros(len(codes), dtype=np.bool_)
    for step in range(_SHORT_RUN):
        is_shared[at + step] = True
    return int(is_shared.sum())


def _aligned(codes: Codes, others: Codes) -> list[_Block]:
    """Return the blocks of letters that stand in both in the same order.

    Runs that stand once in each are the anchors; what is equal beside them belongs to them.
    """
    if min(len(codes), len(others)) < _SHORT_RUN:
        return []
    (runs, at), (other_runs, place) = _once(codes), _once(others)
    _, one, other = np.intersect1d(runs, other_runs, assume_unique=True, return_indices=True)
    order = np.argsort(at[one])
    starts, ends = at[one][order].tolist(), place[other][order].tolist()
    blocks: list[_Block] = []
    for number in _increasing(ends):
        begin, there = starts[number], ends[number]
        last = blocks[-1] if blocks else _Block(0, 0, 0)
        free = begin - last.at - last.size, there - last.place - last.size
        if min(free) < 0:
            continue
        back = _equal(
            codes[begin - min(free) : begin][::-1], others[there - min(free) : there][::-1]
        )
        size = _equal(codes[begin:], others[there:])
        blocks.append(_Block(begin - back, there - back, back + size))
    return blocks


def _once(codes: Codes) -> tuple[Hashes, Numbers]:
    """Return the short runs that stand once, and where."""
    runs, at, counts = np.unique(_hashes(codes, _SHORT_RUN), return_index=True, return_counts=True)
    return runs[counts == 1], at[counts == 1]


def _equal(letters: Codes, others: Codes) -> int:
    """Return how many letters two texts begin with alike."""
    size = min(len(letters), len(others))
    is_other = letters[:size] != others[:size]
    return int(np.argmax(is_other)) if is_other.any() else size


def _increasing(numbers: Sequence[int]) -> list[int]:
    """Return the places of the longest increasing subsequence."""
    tails: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        at = bisect_left(tails, number)
        before.append(places[at - 1] if at else -1)
        tails[at : at + 1], places[at : at + 1] = [number], [place]
    found, place = list[int](), places[-1] if places else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]


def _densest(blocks: list[_Block]) -> list[_Block]:
    """Return the blocks with the most letters over those that lie between them."""
    best, score, first, chosen = 0, 0, 0, (0, len(blocks))
    for number, block in enumerate(blocks):
        if number:
            last = blocks[number - 1]
            score -= block.place - last.place - last.size
        if score <= 0:
            score, first = 0, number
        score += block.size
        if score > best:
            best, chosen = score, (first, number + 1)
    return blocks[slice(*chosen)]
