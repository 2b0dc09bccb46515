"""Letters and digits of texts, normalised, and what two texts have in common."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from functools import cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Codes = NDArray[np.uint32]
    Numbers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

SHORT_RUN = 8
"""Letters in a row that count as common."""
_LONG_RUN = 64
"""Letters in a row that are looked for first where long texts are aligned."""
_MAX_DEPTH = 12
"""Times that what lies between equal letters is aligned again."""
_TARGET = re.compile(r"(?<=\])\((?:[^()\s]|\([^()\s]*\))*\)")
"""Target of a link in Markdown, behind its text."""
_BASE = 0x9E3779B97F4A7C15
"""Odd multiplier of the rolling hash."""


class EqualLetters(NamedTuple):
    """Equal letters: where they begin in the text that is sought and in the index."""

    at: int
    place: int
    size: int


def folded_letters(text: str) -> tuple[Codes, Numbers]:
    """Return the letters and digits of a text, normalised, and the offset of each in the text.

    Targets of links in Markdown are left out: other programs do not show them.
    """
    text = _TARGET.sub(lambda link: " " * len(link[0]), text)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds, which = np.unique(codes, return_inverse=True)
    folded = [_folded(chr(code)) for code in kinds]
    sizes = np.array([len(letters) for letters in folded], dtype=np.int64)
    flat = np.array([ord(letter) for letters in folded for letter in letters], dtype=np.uint32)
    count = sizes[which]
    offsets = np.repeat(np.arange(len(codes)), count)
    step = np.arange(len(offsets)) - np.repeat(np.cumsum(count) - count, count)
    return flat[(np.cumsum(sizes) - sizes)[which[offsets]] + step], offsets


@cache
def _folded(character: str) -> str:
    """Return the letters and digits that a character stands for."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", character).casefold())
    return "".join(letter for letter in plain if letter.isalnum())


def hashes(codes: Codes, size: int) -> Hashes:
    """Return a hash of every run of `size` letters, a power of two."""
    values = (codes.astype(np.uint64) + np.uint64(1)) * np.uint64(_BASE)
    factor, width = _BASE, 1
    while width < size:
        factor = factor * factor % 2**64
        values = values[:-width] * np.uint64(factor) + values[width:]
        width *= 2
    return values


def shared(codes: Codes, others: Codes) -> int:
    """Return how many letters are in a short run that stands among the others, too."""
    if min(len(codes), len(others)) < SHORT_RUN:
        return 0
    is_shared = np.isin(hashes(codes, SHORT_RUN), hashes(others, SHORT_RUN))
    return int(_covered(is_shared, SHORT_RUN).sum())


def repeated(codes: Codes, size: int, times: int) -> NDArray[np.bool_]:
    """Return for each letter if it is in a run of `size` letters that stands so many times."""
    if len(codes) < size:
        return np.zeros(len(codes), dtype=np.bool_)
    _, which, counts = np.unique(hashes(codes, size), return_inverse=True, return_counts=True)
    return _covered(counts[which] >= times, size)


def _covered(is_run: NDArray[np.bool_], size: int) -> NDArray[np.bool_]:
    """Return for each letter if it is in one of the runs whose beginnings are given."""
    is_covered = np.zeros(len(is_run) + size - 1, dtype=np.bool_)
    for step in range(size):
        is_covered[step : step + len(is_run)] |= is_run
    return is_covered


def aligned_in_order(codes: Codes, others: Codes) -> list[EqualLetters]:
    """Return the blocks of letters that stand in both in the same order, of long texts.

    What stands several times in both is aligned between what stands once: first by long runs of
    letters, then by shorter ones.
    """
    blocks: list[EqualLetters] = []
    gaps = [(EqualLetters(0, 0, 0), EqualLetters(len(codes), len(others), 0), _LONG_RUN, 0)]
    while gaps:
        before, behind, run, depth = gaps.pop()
        at, place = before.at + before.size, before.place + before.size
        inside = [
            EqualLetters(at + block.at, place + block.place, block.size)
            for block in aligned(codes[at : behind.at], others[place : behind.place], run)
        ]
        blocks += inside
        if not inside:
            run //= 2
        if run >= SHORT_RUN and depth < _MAX_DEPTH:
            ends = pairwise([before, *inside, behind])
            gaps += [(start, end, run, depth + 1) for start, end in ends]
    return sorted(blocks)


def aligned(codes: Codes, others: Codes, run: int = SHORT_RUN) -> list[EqualLetters]:
    """Return the blocks of letters that stand in both in the same order.

    Runs that stand once in each are the anchors; what is equal beside them belongs to them.
    """
    if min(len(codes), len(others)) < run:
        return []
    (runs, at), (other_runs, place) = _once(codes, run), _once(others, run)
    _, own, other = np.intersect1d(runs, other_runs, assume_unique=True, return_indices=True)
    order = np.argsort(at[own])
    starts, ends = at[own][order].tolist(), place[other][order].tolist()
    blocks: list[EqualLetters] = []
    for number in _increasing(ends):
        begin, partner = starts[number], ends[number]
        last = blocks[-1] if blocks else EqualLetters(0, 0, 0)
        free = begin - last.at - last.size, partner - last.place - last.size
        if min(free) < 0:
            continue
        back = _equal(
            codes[begin - min(free) : begin][::-1], others[partner - min(free) : partner][::-1]
        )
        size = _equal(codes[begin:], others[partner:])
        blocks.append(EqualLetters(begin - back, partner - back, back + size))
    return blocks


def _once(codes: Codes, run: int) -> tuple[Hashes, Numbers]:
    """Return the runs that stand once, and where."""
    runs, at, counts = np.unique(hashes(codes, run), return_index=True, return_counts=True)
    return runs[counts == 1], at[counts == 1]


def _equal(letters: Codes, others: Codes) -> int:
    """Return how many letters two texts begin with alike."""
    size, end = min(len(letters), len(others)), 0
    while end < size:  # texts are long, and what is equal is short
        start, end = end, min(size, 4 * end + _LONG_RUN)
        is_other = letters[start:end] != others[start:end]
        if is_other.any():
            return start + int(np.argmax(is_other))
    return size


def _increasing(numbers: Sequence[int]) -> list[int]:
    """Return the places of the longest increasing subsequence."""
    tails: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        at = bisect_left(tails, number)
        before.append(places[at - 1] if at else -1)
        tails[at : at + 1], places[at : at + 1] = [number], [place]
    chain, place = list[int](), places[-1] if places else -1
    while place >= 0:
        chain.append(place)
        place = before[place]
    return chain[::-1]


def densest(blocks: list[EqualLetters]) -> list[EqualLetters]:
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


def within(blocks: Sequence[EqualLetters], start: int, end: int) -> list[EqualLetters]:
    """Return the blocks that lie in a part of the text that is sought, split at its ends."""
    first = bisect_left(blocks, start, key=lambda block: block.at + block.size)
    inside: list[EqualLetters] = []
    for block in islice(blocks, first, None):
        if block.at >= end:
            break
        low, high = max(start, block.at), min(end, block.at + block.size)
        if low < high:
            inside.append(EqualLetters(low, block.place + low - block.at, high - low))
    return inside
