"""Alignment of a text with characters that show it: a printed page, rendered Markdown.

What is shown keeps nothing of where its characters came from: a PDF's text has gone through joints,
tables and links. They are found again by aligning both; that takes some 10 ms a page, and nothing
is stored.
"""

from __future__ import annotations

import heapq
import re
from bisect import bisect_left
from collections import defaultdict
from difflib import SequenceMatcher
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.text.superscripts import lowered

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROUNDS = 4_000
"""Pieces that have changed places, as in tables set row by row, and are looked for."""
SEEN = 200
"""Places of one word that are looked at for each of them."""
LEAST = 3
"""Letters that are enough to find a piece of a word between what was found."""

_TOKEN = re.compile(
    "[^\\W_\u0e00-\u0eff\u2e80-\u9fff\uf900-\ufaff\uff01-\uffdc\U00020000-\U0003134f]+|\\S"
)
"""A run of letters and digits; of scripts without blanks, and of signs, each alone."""
_TARGET = re.compile(r"\]\((?:[^()\s]|\([^()\s]*\))*\)")
_BREAKS = frozenset("-\u2010\u00ad")


class _Token(NamedTuple):
    word: str
    at: Sequence[int]  # position of each character


def align(text: str, shown: str, lines: Sequence[int]) -> list[int]:
    """Find the characters of a text among those that are shown.

    The text is what a document says, as Markdown; what is shown may be in any order of pieces, each
    character on one of `lines`.

    For each character of the text the position of the one that shows it; -1 for none, as for
    blanks.
    """
    wanted = _tokens(_TARGET.sub(lambda target: "]" + " " * (len(target[0]) - 1), text))
    offered = _rejoined(_tokens_by_line(shown, lines), lines, {token.word for token in wanted})
    words, others = [token.word for token in wanted], [token.word for token in offered]
    partner = [-1] * len(words)
    blocks = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    for start, other, size in blocks:
        partner[start : start + size] = range(other, other + size)
    _Moved(words, others, partner).find()
    places = [-1] * len(text)
    for token, other in zip(wanted, partner, strict=True):
        if other >= 0:
            for at, on in zip(token.at, offered[other].at, strict=True):
                places[at] = on
    _fill_gaps(wanted, offered, partner, places)
    return places


def letters_of(text: str) -> list[int]:
    """Positions of what a place is judged by: letters and digits, addresses of links apart."""
    plain = _TARGET.sub(lambda target: " " * len(target[0]), text)
    return [at for at, character in enumerate(plain) if character.isalnum()]


def _tokens(text: str, start: int = 0) -> list[_Token]:
    return [
        _Token(_folded(match[0]), range(start + match.start(), start + match.end()))
        for match in _TOKEN.finditer(text)
    ]


def _folded(word: str) -> str:
    folded = lowered(word).lower()
    return folded if len(folded) == len(word) else word


def _tokens_by_line(shown: str, lines: Sequence[int]) -> list[_Token]:
    turns = (at for at in range(1, len(lines)) if lines[at] != lines[at - 1])
    return [
        token
        for low, high in pairwise([0, *turns, len(shown)])
        for token in _tokens(shown[low:high], low)
    ]


def _rejoined(tokens: list[_Token], lines: Sequence[int], vocabulary: set[str]) -> list[_Token]:
    """Make one token of a word broken at a line's end, where the text has it as one.

    So what the reader has decided is read off, and not decided again.
    """
    joined: list[_Token] = []
    for token in tokens:
        if len(joined) > 1 and joined[-1].word in _BREAKS:
            first, hyphen = joined[-2], joined[-1]
            word = first.word + token.word
            if lines[hyphen.at[-1]] != lines[token.at[0]] and word in vocabulary:
                joined[-2:] = [_Token(word, [*first.at, *token.at])]
                continue
        joined.append(token)
    return joined


class _Moved:
    """Matches runs of words that stand in another order: the longest first, of equals the nearest.

    What is found is put into `partner`, the place of each word's equal among the others, -1 for
    none.
    """

    def __init__(self, words: Sequence[str], others: Sequence[str], partner: list[int]) -> None:
        self._words, self._others, self._partner = words, others, partner
        self._taken = set(partner)
        self._expected = _expected(partner)
        self._heap: list[tuple[int, int, int, int]] = []

    def find(self) -> None:
        """Put what is found into `partner`."""
        places: dict[str, list[int]] = defaultdict(list)
        for other, word in enumerate(self._others):
            places[word].append(other)
        for position, word in enumerate(self._words):
            if self._partner[position] < 0:
                middle = bisect_left(places[word], self._expected[position])
                for other in places[word][max(0, middle - SEEN // 2) : middle + SEEN // 2]:
                    if not (position and other and self._fits(position - 1, other - 1)):
                        self._offer(position, other)
        for _ in range(ROUNDS):
            if self._heap:
                self._take(*heapq.heappop(self._heap))

    def _fits(self, position: int, other: int) -> bool:
        return (
            self._partner[position] < 0
            and other not in self._taken
            and self._words[position] == self._others[other]
        )

    def _offer(self, position: int, other: int) -> None:
        size, most = 0, min(len(self._words) - position, len(self._others) - other)
        while size < most and self._fits(position + size, other + size):
            size += 1
        if size > 1 or (size and self._words[position].isalnum()):
            heapq.heappush(
                self._heap, (-size, abs(other - self._expected[position]), position, other)
            )

    def _take(self, negative: int, _: int, position: int, other: int) -> None:
        free = [step for step in range(-negative) if self._fits(position + step, other + step)]
        if len(free) == -negative:
            self._partner[position : position - negative] = range(other, other - negative)
            self._taken.update(range(other, other - negative))
        elif free:  # a longer one has taken a part of it
            self._offer(position + free[0], other + free[0])


def _expected(partner: Sequence[int]) -> list[int]:
    expected, last = [], -1
    for other in partner:
        last = other if other >= 0 else last + 1
        expected.append(last)
    return expected


def _fill_gaps(
    wanted: Sequence[_Token], offered: Sequence[_Token], partner: Sequence[int], places: list[int]
) -> None:
    """Match by characters what is left between two words that were found next to each other."""
    taken = {other for other in partner if other >= 0}
    for low, high in _gaps(partner):
        first = partner[low - 1] + 1 if low else 0
        last = partner[high] if high < len(partner) else len(offered)
        if first > last:  # they stand in another order; what follows the first is near enough
            last = next((at for at in range(first, len(offered)) if at in taken), len(offered))
        spare = [offered[at] for at in range(first, last) if at not in taken]
        text = [at for token in wanted[low:high] for at in token.at]
        page = [at for token in spare for at in token.at]
        letters = "".join(token.word for token in wanted[low:high])
        shown = "".join(token.word for token in spare)
        matcher = SequenceMatcher(None, letters, shown, autojunk=False)
        for start, other, size in matcher.get_matching_blocks():
            if size >= LEAST or size == min(len(text), len(page)):
                for step in range(size):
                    places[text[start + step]] = page[other + step]


def _gaps(partner: Sequence[int]) -> Iterator[tuple[int, int]]:
    low = None
    for at, other in enumerate([*partner, 0]):
        if other < 0 and low is None:
            low = at
        elif other >= 0 and low is not None:
            yield low, at
            low = None
