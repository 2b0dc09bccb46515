"""Exact token counts for any span of a text that is encoded only once."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.text.tokens.encodings import DEFAULT_ENCODING, encodable, load_encoder

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rag_nodes.text.tokens.encodings import Encoder

_LETTER_BEFORE_MARK = re.compile(r"(?<=[^\W\d_])(?=[,.;:!?)\]}。、，！？；：…])")  # noqa: RUF001 -- CJK marks are meant
_FRESH_SPACE = re.compile(r"(?<!\s) ")
"""A space behind something visible: every pattern of tiktoken splits here."""
_EDGE = 400
"""Characters searched for a place where tokens start afresh before encoding the whole span."""
_EDGE_TOKENS = 4
"""Tokens by which a span's own count may differ from the text's at its ends."""
_REMEMBERED = 256
"""Counts kept, because the same few spans are asked for while a split is chosen."""


class TokenEnds:
    """Ends of the tokens of a text, never decreasing; near the ends of its parts' tokens."""

    __slots__ = ("_view", "ends")

    def __init__(self, ends: NDArray[np.int64]) -> None:
        self.ends: NDArray[np.int64] = ends
        # One by one, a view gives numbers in a third of the time the array itself takes.
        self._view: memoryview[int] = memoryview(ends)  # type: ignore[arg-type] # it is a buffer

    def __len__(self) -> int:
        return len(self._view)

    def estimate(self, start: int, end: int) -> int:
        """Tokens of `text[start:end]` from the text's own encoding, off by a few at the ends."""
        return self._tokens_before(end) - self._tokens_before(start)

    def reach(self, start: int, limit: int, end: int) -> int:
        """An offset up to `end` that text from `start` with `limit` tokens does not get beyond.

        Cheap and a little too far: what is to end there must be counted.
        """
        wanted = self._tokens_before(start) + limit + _EDGE_TOKENS
        return end if wanted >= len(self._view) else min(self._view[wanted], end)

    def back(self, end: int, limit: int) -> int:
        """An offset that text up to `end` with `limit` tokens does not start before."""
        return self.before(end, limit + _EDGE_TOKENS)

    def before(self, offset: int, count: int) -> int:
        """Return the end of the token that lies `count` tokens before `offset`."""
        wanted = self._tokens_before(offset) - count
        return self._view[wanted - 1] if wanted > 0 else 0

    def _tokens_before(self, offset: int) -> int:
        return bisect_right(self._view, offset)


class TokenIndex(TokenEnds):
    """Ends of the tokens of a text, so that any span can be counted without encoding it again.

    The count of a span is exact: what the encoding gives for the slice on its own. Inside a text,
    tokens start afresh at certain places (before a space, after a line's end), on either side of
    which the encoding does not look; only the few characters between the ends of a span and the
    nearest such place are encoded again. Lone surrogates count as U+FFFD.
    """

    __slots__ = ("_counted", "_encoder", "encoding", "text")

    def __init__(self, text: str, encoding: str = DEFAULT_ENCODING) -> None:
        self.text: str = encodable(text)
        self.encoding: str = encoding
        self._encoder = load_encoder(encoding)
        super().__init__(_character_ends(self.text, self._encoder))
        self._counted: dict[tuple[int, int], int] = {}

    def count(self, start: int = 0, end: int | None = None) -> int:
        """Tokens of `text[start:end]`, exactly as if it were encoded alone."""
        end = len(self.text) if end is None else end
        if start >= end:
            return 0
        if (count := self._counted.get((start, end))) is not None:
            return count
        if len(self._counted) >= _REMEMBERED:
            self._counted.clear()
        count = self._counted[start, end] = self._count(start, end)
        return count

    def _count(self, start: int, end: int) -> int:
        if end - start <= self._encoder.quick:
            return self._encode(start, end)
        text = self.text
        first = start if _starts_afresh(text, start) else self._fresh_after(start, end)
        if first is None:
            return self._encode(start, end)
        last = end if _ends_cleanly(text, end) else self._fresh_before(first, end)
        if last is None:
            return self._encode(start, end)
        count = self._tokens_before(last) - self._tokens_before(first)
        if first > start:
            count += self._encode(start, first)
        if end > last:
            count += self._encode(last, end)
        return count

    def fit(self, start: int, limit: int, end: int | None = None) -> int:
        """The furthest offset up to `end` whose text from `start` holds at most `limit` tokens.

        Offsets are token ends; `start` itself when not even one character fits.
        """
        stop = len(self.text) if end is None else end
        wanted = self._tokens_before(start) + limit
        ends = self._view
        while True:
            offset = stop if wanted >= len(ends) else min(ends[wanted - 1], stop)
            if offset <= start:
                return start
            excess = self.count(start, offset) - limit
            if excess <= 0:
                return offset
            wanted = min(wanted, len(ends), self._tokens_before(offset)) - excess
            if wanted <= 0:
                return start

    def _encode(self, start: int, end: int) -> int:
        return len(self._encoder.encode(self.text[start:end]))

    def _fresh_after(self, start: int, end: int) -> int | None:
        """The first offset in `start..end` at which tokens start afresh."""
        text = self.text
        stop = min(end, start + _EDGE)
        space = _FRESH_SPACE.search(text, start, stop)
        match = space or _LETTER_BEFORE_MARK.search(text, start + 1, stop)
        return match.start() if match else None

    def _fresh_before(self, start: int, end: int) -> int | None:
        """The last offset in `start..end` at which tokens start afresh."""
        text = self.text
        stop = max(start, end - _EDGE)
        space = text.rfind(" ", stop, end)
        while space >= 0:
            if space == 0 or not text[space - 1].isspace():
                return space
            space = text.rfind(" ", stop, space)
        last = None
        for mark in _LETTER_BEFORE_MARK.finditer(text, max(stop, start + 1), end):
            last = mark.start()
        if last is None and stop == start:
            return start
        return last


def _starts_afresh(text: str, offset: int) -> bool:
    """Return True if the tokens from `offset` on are those of the rest encoded alone."""
    if offset == 0:
        return True
    character = text[offset]
    if text[offset - 1] == "\n":
        # o200k glues slashes to line ends; a blank after a line end may belong to the line end.
        return character != "/" and not character.isspace()
    return character == " " and not text[offset - 1].isspace()


def _ends_cleanly(text: str, offset: int) -> bool:
    """Return True if the tokens up to `offset` are those of the part before encoded alone."""
    if offset >= len(text):
        return True
    before, after = text[offset - 1], text[offset]
    if after == " ":
        return not before.isspace()
    return after in "\n\r" and before.isalnum()


def _character_ends(text: str, encoder: Encoder) -> NDArray[np.int64]:
    """Offset at which each token's last character ends; a token may end inside a character."""
    begun = encoder.characters.take(encoder.encode(text))
    return begun.cumsum(dtype=np.int64)
