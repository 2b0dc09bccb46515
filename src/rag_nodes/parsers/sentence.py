"""Whole sentences, so many to a node or so many as fit a size, with their neighbours if wanted."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import ClassVar, Literal

from llama_index.core.bridge.pydantic import Field

from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.measure import measure_of
from rag_nodes.parsers.sizes import LEAST_TOKENS
from rag_nodes.parsers.source import Cut, SourceText
from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span, trimmed

_VISIBLE = re.compile(r"\S")


class SentenceNodeParser(SpanNodeParser):
    """Packs whole sentences: ten to a node, two shared (S3-04), or as many as fit a size (S4-08).

    A heading, a list item, a table row and a line of code count as one sentence each. A sentence
    that exceeds the size is cut between words, and each piece counts as a sentence.

    With `window`, every node also carries the sentences around it under the metadata keys that
    LlamaIndex's `MetadataReplacementPostProcessor` expects, so that one can search by a single
    sentence and answer from its surroundings (S2-24). The window is a slice of the document too.

    Args:
        chunk_size: what a node may hold, in `unit`.
        chunk_overlap: what neighbours share at most, in `unit` and in whole sentences.
        unit: "sentences", "characters" or "tokens".
        max_tokens: with `unit="sentences"`, tokens a node may hold however many sentences that
            leaves; a size in characters or tokens needs no second bound.
        window: sentences before and after the node that go into the metadata key `window`, the
            node's own text into `original_text`, offsets, pages and headings of the window into
            `window_place`; none is seen by the embedding model or the LLM. 0 adds none.

    Raises:
        ConfigurationError: the overlap is not smaller than the size.

    Example:
        >>> parser = SentenceNodeParser(chunk_size=2, chunk_overlap=1)
        >>> parser.split_text("One here. Two there. Three.")
        ['One here. Two there.', 'Two there. Three.']
    """

    output_version: ClassVar[int] = 2
    """2: a window knows its place."""

    chunk_size: int = Field(default=10, ge=1)
    chunk_overlap: int = Field(default=2, ge=0)
    unit: Literal["sentences", "characters", "tokens"] = Field(default="sentences")
    max_tokens: int = Field(default=1000, ge=LEAST_TOKENS)
    window: int = Field(default=0, ge=0)

    def spans(self, source: SourceText) -> Iterator[Cut]:
        """Groups of sentences."""
        groups = _Groups(source, self)
        for first, last in groups:
            start, end = groups.starts[first], groups.ends[last]
            yield Cut(start, end, window=self._window(groups, first, last))

    def _window(self, groups: _Groups, first: int, last: int) -> Span | None:
        if not self.window:
            return None
        start = groups.starts[max(0, first - self.window)]
        end = groups.ends[min(len(groups.ends) - 1, last + self.window)]
        return Span(start, end)


class _Groups:
    """The sentences of a text, and which of them share a node.

    Attributes:
        starts: where each sentence starts.
        ends: where each ends.
    """

    def __init__(self, source: SourceText, parser: SentenceNodeParser) -> None:
        self.text = source.text
        self.most = parser.chunk_size if parser.unit == "sentences" else None
        self.overlap = parser.chunk_overlap
        if parser.unit == "sentences":
            self.limit, self.measure = parser.max_tokens, measure_of(source, "tokens")
        else:
            self.limit, self.measure = parser.chunk_size, measure_of(source, parser.unit)
        self.starts, self.ends = array("q"), array("q")
        cut = _cut_at_characters if parser.unit == "characters" else Packer.pieces
        for sentence in _sentences(source.packer):
            whole = self.measure.fits(*sentence, self.limit)
            for span in (sentence,) if whole else cut(source.packer, sentence, self.limit):
                self.starts.append(span.start)
                self.ends.append(span.end)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """First and last sentence of each node."""
        first, last = 0, -1
        while first < len(self.ends):
            last = self._last(first, last + 1)
            yield first, last
            first = self._next_first(first, last)

    def _last(self, first: int, least: int) -> int:
        """The last sentence that fits a node from `first` on; `least` is known to fit."""
        start, measure = self.starts[first], self.measure
        stop = len(self.ends)
        if self.most is not None:
            stop = min(stop, first + self.most)
        reach = measure.reach(start, self.limit, self.ends[stop - 1])
        last = max(least, bisect_right(self.ends, reach, first, stop) - 1)
        while last > least and not measure.fits(start, self.ends[last], self.limit):
            last -= 1
        return last

    def _next_first(self, first: int, last: int) -> int:
        """The first sentence of the next node: as far back as the overlap and the size allow."""
        following = last + 1
        if not self.overlap or following == len(self.ends):
            return following
        needed = self.ends[following]
        low = self.measure.back(self.starts[first], needed, self.limit)
        if self.most is None:
            low = max(low, self.measure.back(self.starts[first], self.ends[last], self.overlap))
        candidate = max(first + 1, bisect_left(self.starts, low, first, following))
        if self.most is not None:
            candidate = max(candidate, following - self.overlap)
        while candidate < following and not self._may_start(candidate, last, needed):
            candidate += 1
        return candidate

    def _may_start(self, candidate: int, last: int, needed: int) -> bool:
        """Whether a node from `candidate` keeps the overlap and has room up to `needed`."""
        start, fits = self.starts[candidate], self.measure.fits
        shared = self.most is not None or fits(start, self.ends[last], self.overlap)
        return shared and fits(start, needed, self.limit)


def _sentences(packer: Packer) -> Iterator[Span]:
    for block in packer.blocks:
        yield from packer.units_of(block)


def _cut_at_characters(packer: Packer, span: Span, limit: int) -> Iterator[Span]:
    """Pieces of at most `limit` characters."""
    text, position = packer.text, span.start
    while span.end - position > limit:
        cut = _word_end(text, position, position + limit)
        piece = Span(position, trimmed(text, position, cut).end)
        if piece.length:  # not just an indentation that alone exceeds the size
            yield piece
        position = _visible_from(text, cut, span.end)
    yield Span(position, span.end)


def _visible_from(text: str, offset: int, stop: int) -> int:
    found = _VISIBLE.search(text, offset, stop)
    return found.start() if found else stop


def _word_end(text: str, start: int, reach: int) -> int:
    """The last blank in `start..reach`, else the last cluster boundary, else `reach`."""
    for offset in range(reach, start, -1):
        if text[offset].isspace():
            return offset
    boundary = boundary_at_or_before(text, reach, start)
    return boundary if boundary > start else reach
