"""Windows of a fixed size that slide over the text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from llama_index.core.bridge.pydantic import Field

from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.sizes import scaled, sizer_of
from rag_nodes.parsers.source import ChunkSpan, SourceText
from rag_nodes.text.graphemes import boundary_at_or_after, boundary_at_or_before
from rag_nodes.text.spans import with_indentation


class FixedSizeNodeParser(SpanNodeParser):
    """Splits every `chunk_size` characters or tokens, wherever that falls.

    The window advances by `chunk_size - chunk_overlap`. It never splits inside what a reader sees
    as one character, unless that alone exceeds the size. Blank windows are left out.

    Args:
        chunk_size: size of the window, in `unit`.
        chunk_overlap: maximum overlap of neighbouring nodes, in `unit`.
        unit: unit of the sizes, "characters" or "tokens".
        scale_by_script: True reads a size in characters as one of Latin text, about four to a
            token. Text in a script with more tokens per character gets fewer characters, and its
            metadata says how many. Presets set it. False uses `chunk_size` as it is.

    Raises:
        ConfigurationError: the overlap is not smaller than the size.

    Examples:
        >>> from rag_nodes import FixedSizeNodeParser
        >>> FixedSizeNodeParser(chunk_size=8, chunk_overlap=3).split_text("one two three")
        ['one two ', 'wo three']
    """

    chunk_size: int = Field(default=1000, ge=1)
    chunk_overlap: int = Field(default=200, ge=0)
    unit: Literal["characters", "tokens"] = Field(default="characters")
    scale_by_script: bool = Field(default=False)

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """Windows from the first line with something visible to the last visible character."""
        if self.scale_by_script and self.unit == "characters":
            return scaled(self, source)
        return self._windows(source)

    def _windows(self, source: SourceText) -> Iterator[ChunkSpan]:
        text = source.text
        start = with_indentation(text, 0, len(text) - len(text.lstrip()))
        stop = len(text.rstrip())
        after = start
        while start < stop:
            end = self._end(source, start, stop)
            if end <= after:
                # One cluster is larger than what the overlap leaves room for.
                start = after
                end = self._end(source, start, stop)
            if not text[start:end].isspace():
                yield ChunkSpan(start, end)
            if end >= stop:
                return
            start, after = self._next_start(source, start, end), end

    def _end(self, source: SourceText, start: int, stop: int) -> int:
        text, size, measure = source.text, self.chunk_size, sizer_of(source, self.unit)
        reach = measure.reach(start, size, stop)
        if reach >= stop:
            return stop
        end = boundary_at_or_before(text, reach, start)
        while start < end and not measure.fits(start, end, size):
            end = boundary_at_or_before(text, end - 1, start)
        if end > start:
            return end
        return reach if self.unit == "characters" else source.packer.cluster_end(start, size)

    def _next_start(self, source: SourceText, start: int, end: int) -> int:
        """The earliest boundary whose text up to `end` is within the overlap."""
        text, overlap, low = source.text, self.chunk_overlap, end - self.chunk_overlap
        if not overlap:
            return end
        measure = sizer_of(source, self.unit)
        if self.unit == "tokens":
            tokens = source.packer.tokens
            low = tokens.fit(start, max(0, tokens.estimate(start, end) - overlap), end)
        following = boundary_at_or_after(text, max(low, start + 1), start)
        while following < end and not measure.fits(following, end, overlap):
            following = boundary_at_or_after(text, following + 1, following)
        return min(following, end)
