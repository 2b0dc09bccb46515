"""Separators tried from the coarsest to the finest, and their pieces merged up to a size."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice, pairwise
from typing import Any, Literal

import regex
from llama_index.core.bridge.pydantic import Field, field_validator

from rag_nodes.core.several import several
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.boundaries import MAX_PATTERN_LENGTH, boundaries, compiled_boundary
from rag_nodes.parsers.sizes import scaled, sizer_of, visible_from
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.text.graphemes import boundary_at_or_after, boundary_at_or_before
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import trimmed, with_indentation

_CLUSTER = regex.compile(r"\X")
_JOINERS = frozenset("\u200c\u200d")
_SEPARATORS = ("\n\n", "\n", ". ", " ", "")
_MOST_SEPARATORS = 100
_NEAR = 32
"""Characters looked at beyond an estimate."""
_TRIES = 16
"""Number of separators examined for a split before a finer one is taken: time stays linear."""


class RecursiveNodeParser(SpanNodeParser):
    r"""Splits at the coarsest separator whose pieces fit, then merges them up to the size.

    Paragraphs first; one that is too long is split into its lines, a line into sentences, a
    sentence into words, a word between characters. Pieces of one kind are merged as long as they
    fit and are never mixed with those of a longer piece that had to be split finer: what users of
    LangChain's RecursiveCharacterTextSplitter know. In contrast to it a separator stays with the
    piece *before* it, so that a sentence keeps its full stop, `\n` stands for any line end, the
    size is that of the finished node, and blank space at its ends is left out but not lost.

    Neighbours share whole pieces: those the node before ends with, or finer ones (never part of a
    word, unless words had to be split) where one piece is more than the overlap.

    Args:
        separators: plain strings, the coarsest first. The last resort is always `""`, a split
            between any two characters, even if you leave it out.
        chunk_size: maximum size of a node, in `unit`.
        chunk_overlap: maximum overlap of neighbouring nodes, in `unit`.
        unit: unit of the sizes, "characters" or "tokens".
        scale_by_script: True reads a size in characters as one of Latin text, about four to a
            token. Text in a script with more tokens per character gets fewer characters, and its
            metadata says how many. Presets set it. False uses `chunk_size` as it is.
        join_wrapped_lines: True treats a line break inside running text as a space. Wrapped
            paragraphs are then split between sentences, and between lines only if one sentence
            exceeds the size. The preset `retrieval` sets it. It has no effect if you set
            `separators`.
        always_at: regular expression; a new chunk begins at each of its matches, and no overlap
            reaches across one. The syntax is that of the package `regex`: `^` and `$` match at
            every line, `\n` matches any line end. None sets no such boundaries.

    Raises:
        ConfigurationError: the overlap is not smaller than the size, `separators` is empty,
            repeats itself or has `""` before its end, or `always_at` is no regular expression.
        ParseError: matching `always_at` takes too long, because the expression backtracks.

    Examples:
        >>> from rag_nodes import RecursiveNodeParser
        >>> parser = RecursiveNodeParser(chunk_size=16, chunk_overlap=0)
        >>> parser.split_text("Short.\n\nToo long. In all.\n\nEnd.\n\nOver.")
        ['Short.', 'Too long.', 'In all.', 'End.\n\nOver.']
        >>> RecursiveNodeParser(always_at=r"^\*\*\*").split_text("A\n*** B\n*** C")
        ['A', '*** B', '*** C']
    """

    separators: str | tuple[str, ...] = Field(
        default=_SEPARATORS, min_length=1, max_length=_MOST_SEPARATORS
    )
    chunk_size: int = Field(default=1000, ge=1)
    chunk_overlap: int = Field(default=200, ge=0)
    unit: Literal["characters", "tokens"] = Field(default="characters")
    scale_by_script: bool = Field(default=False)
    join_wrapped_lines: bool = Field(default=False)
    always_at: str | None = Field(default=None, min_length=1, max_length=MAX_PATTERN_LENGTH)

    @field_validator("separators", mode="before")
    @classmethod
    def _single_separator(cls, separators: Any) -> Any:
        return several(separators)

    @field_validator("separators")
    @classmethod
    def _each_is_finer(cls, separators: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(separators)) < len(separators):
            raise ValueError("each separator may be named once")
        if "" in separators[:-1]:
            raise ValueError('"" splits anywhere, so it must come last')
        return separators

    @field_validator("always_at")
    @classmethod
    def _is_a_pattern(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            compiled_boundary(pattern)
        return pattern

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Merged pieces from the first visible character to the last."""
        if self.scale_by_script and self.unit == "characters":
            return scaled(self, source)
        hard = boundaries(self.always_at, source.text) if self.always_at else ()
        return _Cutter(source, self).regions(hard)


class _Separator:
    """Ends of pieces: after each occurrence of a separator, outside of grapheme clusters.

    With a packer, not after line breaks inside running text.
    """

    def __init__(self, separator: str, text: str, packer: Packer | None = None) -> None:
        self._text = text
        self._packer = packer
        self._spellings = [separator]
        if "\n" in separator and "\r" in text:
            self._spellings = [separator.replace("\n", end) for end in ("\r\n", "\n", "\r")]
        self._pattern = _pattern_of(tuple(self._spellings))
        self.width = len(self._spellings[0])

    @property
    def _passed(self) -> Container[int]:
        """Offsets at which no piece ends; the lines are looked at only when a text needs it."""
        return self._packer.soft_breaks if self._packer else ()

    def ends(self, low: int, high: int) -> Iterator[int]:
        """Ends of the first few occurrences inside `low..high`, in order."""
        text, passed = self._text, self._passed
        every = (match.end() for match in self._pattern.finditer(text, low, high))
        candidates = islice((end for end in every if end not in passed), _TRIES)
        return (end for end in candidates if _may_cut(text, end, low))

    def last_ends(self, low: int, high: int) -> Iterator[int]:
        """Ends of the last few occurrences inside `low..high`, the last one first."""
        text, passed, tries = self._text, self._passed, 0
        while tries < _TRIES:
            starts = ((text.rfind(s, low, high), len(s)) for s in self._spellings)
            high = max((start + width for start, width in starts if start >= 0), default=low)
            if high <= low:
                return
            if high not in passed:
                tries += 1
                if _may_cut(text, high, low):
                    yield high
            high -= 1


@lru_cache(maxsize=_MOST_SEPARATORS)
def _pattern_of(spellings: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern that finds a separator in any spelling; the same for all documents."""
    return re.compile("|".join(map(re.escape, spellings)))


def _may_cut(text: str, offset: int, floor: int) -> bool:
    """Return True if a split at `offset` leaves every grapheme cluster after `floor` whole."""
    if offset >= len(text):
        return True
    following = text[offset]
    if following in _JOINERS or (
        not following.isascii() and unicodedata.category(following).startswith("M")
    ):
        return False
    return boundary_at_or_before(text, offset, floor) == offset


class _Cutter:
    """Splits one text; remembers the node before, for the overlap."""

    def __init__(self, source: SourceText, parser: RecursiveNodeParser) -> None:
        self.text = source.text
        self.measure = sizer_of(source, parser.unit)
        self.size = parser.chunk_size
        self.overlap = parser.chunk_overlap
        self.separators = [_Separator(s, self.text) for s in parser.separators if s]
        if parser.join_wrapped_lines and parser.separators == _SEPARATORS:
            # Line breaks inside running text are tried after the ends of sentences, not before.
            paragraph, line, sentence, word = self.separators
            separate = _Separator("\n", self.text, source.packer)
            self.separators = [paragraph, separate, sentence, line, word]
        self.floor = -1
        self.before: tuple[int, int, int] | None = None

    def regions(self, hard: Iterable[int]) -> Iterator[ChunkSpan]:
        """Nodes of the text between `hard` boundaries, none of which shares text with another's."""
        for low, high in pairwise(chain([0], hard, [len(self.text)])):
            self.floor, self.before = low - 1, None
            yield from self.cuts(low, trimmed(self.text, low, high).end, 0)

    def cuts(self, low: int, high: int, level: int) -> Iterator[ChunkSpan]:
        """Nodes of `low..high` (which ends visibly), in pieces of one level of separators."""
        if level == len(self.separators):
            yield from self._anywhere(low, high)
            return
        separator = self.separators[level]
        after = low
        while (following := visible_from(self.text, after, high)) < high:
            first = self._first_end(separator, following, high)
            if first:
                start = self._start(following, first)
                after = self._last_end(separator, start, first, high)
                yield self._cut(start, after, level)
            else:
                after = next(separator.ends(following, high), high)
                stop = trimmed(self.text, following, after).end
                yield from self.cuts(following, stop, level + 1)

    def _anywhere(self, low: int, high: int) -> Iterator[ChunkSpan]:
        text, fits = self.text, self.measure.fits
        after = low
        while (following := visible_from(self.text, after, high)) < high:
            first = self._cluster_end(following, high)
            start = self._start(following, first)
            after = self.measure.reach(start, self.size, high)
            if after < high:
                after = max(first, boundary_at_or_before(text, after, following))
            while after > first and not fits(start, after, self.size):
                after = max(first, boundary_at_or_before(text, after - 1, following))
            yield self._cut(start, after, len(self.separators))

    def _cut(self, start: int, after: int, level: int) -> ChunkSpan:
        end = trimmed(self.text, start, after).end
        start = self._with_indentation(start, end)
        self.before = start, end, level
        return ChunkSpan(start, end)

    def _with_indentation(self, start: int, end: int) -> int:
        """`start`, or where its line starts, if size and overlap leave room for that."""
        floor, before, _ = self.before or (self.floor, 0, 0)
        line = with_indentation(self.text, max(floor + 1, start - self.size), start)
        if line == start:
            return start
        fits = self.measure.fits(line, end, self.size) and (
            line >= before or self.measure.fits(line, before, self.overlap)
        )
        return line if fits else start

    def _first_end(self, separator: _Separator, following: int, high: int) -> int:
        """The end of the piece at `following`; 0 where that does not fit a node."""
        reach = self.measure.reach(following, self.size, high)
        for end in separator.ends(following, min(high, reach + separator.width)):
            visible = trimmed(self.text, following, end).end
            return end if self.measure.fits(following, visible, self.size) else 0
        return high if reach >= high else 0

    def _last_end(self, separator: _Separator, start: int, first: int, high: int) -> int:
        """The end of the last piece that fits a node from `start`; `first` is known to."""
        reach = self.measure.reach(start, self.size, high)
        if reach >= high:
            return high
        for end in separator.last_ends(first, min(high, reach + separator.width)):
            if self.measure.fits(start, trimmed(self.text, start, end).end, self.size):
                return end
        return first

    def _cluster_end(self, start: int, high: int) -> int:
        """The end of the grapheme cluster at `start`; less where that alone exceeds the size."""
        reach = max(start + 1, self.measure.reach(start, self.size, high))
        # A reach in tokens may fall a little short where it lies inside a cluster.
        window = min(high, reach + _NEAR)
        match = _CLUSTER.match(self.text[start:window])  # the rest would be walked back through
        end = start + int(match.end()) if match else reach
        if end <= reach or self.measure.fits(start, end, self.size):
            return end
        return reach

    def _start(self, following: int, first: int) -> int:
        """Return the start of a node that must hold `following..first`: earlier by the overlap."""
        if not self.overlap or self.before is None:
            return following
        floor, end, level = self.before
        needed = trimmed(self.text, following, first).end
        low = max(
            floor + 1,
            self.measure.back(floor, end, self.overlap),
            self.measure.back(floor, needed, self.size),
        )
        for start in self._piece_starts(low, end, floor, self.separators[level:]):
            if self.measure.fits(start, end, self.overlap) and (
                self.measure.fits(start, needed, self.size)
            ):
                return start
        return following

    def _piece_starts(
        self, low: int, end: int, floor: int, separators: Sequence[_Separator]
    ) -> Iterator[int]:
        """Starts of pieces inside `low..end`, the farthest first, coarse pieces before fine."""
        if not separators:
            yield from self._cluster_starts(low, end, floor)
        for separator in separators:
            for cut in separator.ends(max(floor, low - separator.width), end):
                start = visible_from(self.text, cut, end)
                if low <= start < end:
                    yield start

    def _cluster_starts(self, low: int, end: int, floor: int) -> Iterator[int]:
        start = low - 1
        for _ in range(_TRIES):
            start = visible_from(self.text, boundary_at_or_after(self.text, start + 1, floor), end)
            if start >= end:
                return
            yield start
