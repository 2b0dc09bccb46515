"""Whole sentences, so many to a node or so many as fit a size, with their neighbours if wanted."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import ClassVar, Literal

from llama_index.core.bridge.pydantic import Field

from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.sizes import MIN_TOKENS, finer_starts, scaled, sizer_of, visible_from
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.text.graphemes import boundary_at_or_after, boundary_at_or_before
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span, trimmed


class SentenceNodeParser(SpanNodeParser):
    """Packs whole sentences: ten to a node, two shared, or as many as fit a size.

    A heading, a list item on one line, a table row and a line of code count as one sentence each. A
    list item that is wrapped over several lines has sentences as any other text. A sentence
    that exceeds the size is split between its lines, a line between words, and each piece counts as
    a sentence.

    With `window`, every node also carries the sentences around it under the metadata keys that
    LlamaIndex's `MetadataReplacementPostProcessor` expects, so that one can search by a single
    sentence and answer from its surroundings. The window is a slice of the document too.

    Args:
        chunk_size: maximum size of a node, in `unit`.
        chunk_overlap: maximum overlap of neighbouring nodes, in `unit`, in whole sentences. If
            no sentence fits into a number of characters or tokens, neighbours share lines or words.
        unit: unit of the sizes, "sentences", "characters" or "tokens".
        scale_by_script: True reads a size in characters as one of Latin text, about four to a
            token. Text in a script with more tokens per character gets fewer characters, and its
            metadata says how many. Presets set it. False uses `chunk_size` as it is.
        max_tokens: maximum tokens of a node if `unit` is "sentences"; a node then holds fewer
            sentences. It has no effect on the other units.
        window: number of sentences before and after the node that the metadata key `window` holds
            with it; 0 for none. The key `original_text` holds the node's own text, and
            `window_place` the offsets, pages and headings of the window. Neither the embedding
            model nor the LLM sees these keys.

    Raises:
        ConfigurationError: the overlap is not smaller than the size.

    Examples:
        >>> from rag_nodes import SentenceNodeParser
        >>> parser = SentenceNodeParser(chunk_size=2, chunk_overlap=1)
        >>> parser.split_text("One here. Two there. Three.")
        ['One here. Two there.', 'Two there. Three.']
    """

    output_version: ClassVar[int] = 4
    """4: neighbours share a word that just fits into a number of characters."""

    chunk_size: int = Field(default=10, ge=1)
    chunk_overlap: int = Field(default=2, ge=0)
    unit: Literal["sentences", "characters", "tokens"] = Field(default="sentences")
    scale_by_script: bool = Field(default=False)
    max_tokens: int = Field(default=1000, ge=MIN_TOKENS)
    window: int = Field(default=0, ge=0)

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Groups of sentences."""
        if self.scale_by_script and self.unit == "characters":
            return scaled(self, source)
        return self._grouped(source)

    def _grouped(self, source: SourceText) -> Iterator[ChunkSpan]:
        groups = _Groups(source, self)
        for start, first, last in groups:
            yield ChunkSpan(
                start, groups.ends[last], window=self._window(groups, start, first, last)
            )

    def _window(self, groups: _Groups, start: int, first: int, last: int) -> Span | None:
        if not self.window:
            return None
        low = min(start, groups.starts[max(0, first - self.window)])
        return Span(low, groups.ends[min(len(groups.ends) - 1, last + self.window)])


class _Groups:
    """The sentences of a text by their starts and ends, and which of them share a node."""

    def __init__(self, source: SourceText, parser: SentenceNodeParser) -> None:
        self.text, self.packer = source.text, source.packer
        self.most = parser.chunk_size if parser.unit == "sentences" else None
        self.overlap = parser.chunk_overlap
        if parser.unit == "sentences":
            self.limit, self.measure = parser.max_tokens, sizer_of(source, "tokens")
        else:
            self.limit, self.measure = parser.chunk_size, sizer_of(source, parser.unit)
        self.starts, self.ends = array("q"), array("q")
        # What a piece of a sentence leaves free is what it can share with the one before.
        shared = self.overlap if self.most is None else 0
        self._room = max(1, self.limit - shared, self.limit // 2)
        self._cut = _cut_at_characters if parser.unit == "characters" else Packer.pieces
        sentences = (
            sentence for block in self.packer.blocks for sentence in self.packer.units_of(block)
        )
        for sentence in sentences:
            for span in self._fitting(sentence):
                self.starts.append(span.start)
                self.ends.append(span.end)

    def _fitting(self, sentence: Span) -> Iterator[Span]:
        """A sentence; its lines, and their pieces, where it is over the size."""
        if self.measure.fits(*sentence, self.limit):
            yield sentence
            return
        for line in self.packer.lines_of(sentence):
            if self.measure.fits(*line, self.limit):
                yield line
            else:
                yield from self._cut(self.packer, line, self._room, self.limit)

    def __iter__(self) -> Iterator[tuple[int, int, int]]:
        """Yield the start of each node, and its first and last sentence not held before."""
        first, last = 0, -1
        start = self.starts[0] if self.starts else 0
        while first < len(self.ends):
            last = self._last(start, first, last + 1)
            yield start, first, last
            start, first = self._next(start, last)

    def _last(self, start: int, first: int, least: int) -> int:
        """The last sentence that fits a node from `start` on; `least` is known to fit."""
        measure = self.measure
        stop = len(self.ends)
        if self.most is not None:
            stop = min(stop, first + self.most)
        reach = measure.reach(start, self.limit, self.ends[stop - 1])
        last = max(least, bisect_right(self.ends, reach, first, stop) - 1)
        while last > least and not measure.fits(start, self.ends[last], self.limit):
            last -= 1
        return last

    def _next(self, start: int, last: int) -> tuple[int, int]:
        """Start and first sentence of the node after one from `start` to the sentence `last`.

        As far back as the overlap and the size allow: whole sentences where one fits, else lines
        or words of the last one.
        """
        following = last + 1
        if following == len(self.ends):
            return self.ends[last], following
        if not self.overlap:
            return self.starts[following], following
        needed, end = self.ends[following], self.ends[last]
        low = self.measure.back(start, needed, self.limit)
        if self.most is None:
            low = max(low, self.measure.back(start, end, self.overlap))
        candidate = max(bisect_right(self.starts, start), bisect_left(self.starts, low))
        if self.most is not None:
            candidate = max(candidate, following - self.overlap)
        while candidate < following and not self._may_start(self.starts[candidate], end, needed):
            candidate += 1
        if candidate < following or self.most is not None:
            return self.starts[candidate], candidate
        return self._inside(max(low, start + 1), end, needed) or self.starts[following], following

    def _inside(self, low: int, end: int, needed: int) -> int:
        """The first line or word from `low` on with which a node may start; 0 if there is none."""
        for starts in finer_starts(self.packer, low, end):
            for start in starts:
                if self._may_start(start, end, needed):
                    return start
        return 0

    def _may_start(self, start: int, end: int, needed: int) -> bool:
        """Return True if a node from `start` keeps the overlap and has room up to `needed`."""
        fits = self.measure.fits
        shared = self.most is not None or fits(start, end, self.overlap)
        return shared and fits(start, needed, self.limit)


def _cut_at_characters(packer: Packer, span: Span, limit: int, most: int) -> Iterator[Span]:
    """Pieces of at most `limit` characters; clusters up to `most` are whole."""
    text, position = packer.text, span.start
    while span.end - position > limit:
        cut = _word_end(text, position, position + limit, min(position + most, span.end))
        piece = Span(position, trimmed(text, position, cut).end)
        if piece.length:  # not just an indentation that alone exceeds the size
            yield piece
        position = visible_from(text, cut, span.end)
    yield Span(position, span.end)


def _word_end(text: str, start: int, reach: int, most: int) -> int:
    """The last blank in `start..reach`, else the last cluster boundary; of a cluster its end."""
    for offset in range(reach, start, -1):
        if text[offset].isspace():
            return offset
    boundary = boundary_at_or_before(text, reach, start)
    if boundary == start:
        boundary = boundary_at_or_after(text, reach, start)
    return boundary if boundary <= most else reach
