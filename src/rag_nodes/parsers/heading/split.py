"""Parts of a section that is over the size: by size, or by the meaning of its sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from typing import Any, NamedTuple

from llama_index.core.base.embeddings.base import BaseEmbedding

from rag_nodes.core import metadata as keys
from rag_nodes.parsers.heading.sections import kinds_of
from rag_nodes.parsers.sizes import best_start, starts_within, visible_from
from rag_nodes.parsers.topics.breaks import Breaks
from rag_nodes.parsers.topics.units import TopicUnits
from rag_nodes.text.cohesion import unit_rows
from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span, trimmed


class Stretch(NamedTuple):
    """Blocks of a section that are split alike; code over the size is one with its headings."""

    start: int
    end: int
    is_code: bool


@dataclass(frozen=True, slots=True)
class Splitter:
    """Splits stretches of a text into parts; code up to `ceiling` tokens stays whole."""

    packer: Packer
    size: int
    overlap: int
    ceiling: int

    def stretches(self, section: Span) -> Iterator[Stretch]:
        """The section's blocks of code over the size, and what stands between them."""
        packer = self.packer
        start = end = section.start
        for block in packer.blocks_between(*section):
            if block.kind is Kind.HEADING:
                continue
            if block.kind is Kind.CODE and packer.count(block.start, block.end) > self.size:
                if end > start:
                    yield Stretch(start, end, is_code=False)
                yield Stretch(packer.visible_from(end), block.end, is_code=True)
                start = packer.visible_from(block.end)
            end = block.end
        if start < section.end:
            yield Stretch(start, section.end, is_code=False)

    def facts(self, part: Span) -> dict[str, Any]:
        """Return the facts of a part: kinds of blocks, and what it needs to be read alone."""
        packer = self.packer
        blocks = packer.blocks_between(*part)
        facts = kinds_of(blocks)
        block = packer.block_at(part.start)
        if block.kind is Kind.CODE and part.start > block.start and block.info:
            facts[keys.CODE_LANGUAGE] = block.info.split()[0]
        if packer.count(*part) > self.size:
            facts[keys.OVERSIZED] = True
        code = [block for block in blocks if block.kind is Kind.CODE]
        if any(block.start < part.start or block.end > part.end for block in code):
            facts[keys.SPLIT_BLOCK] = True
        return facts

    def parts(self, stretch: Stretch) -> Iterator[Span]:
        """The parts of a stretch, the next sentence begun where the one before leaves room."""
        if not stretch.is_code:
            yield from self._prose(stretch)
        elif self.packer.count(stretch.start, stretch.end) <= self.ceiling:
            yield Span(stretch.start, stretch.end)
        else:
            yield from self._code(stretch)

    def _prose(self, stretch: Stretch) -> Iterator[Span]:
        packer, stop = self.packer, stretch.end
        start = after = stretch.start
        while after < stop:
            end = self._end(start, after, stop)
            if end <= after:
                # What comes next is larger than what the overlap leaves room for.
                start = packer.visible_from(after)
                end = self._end(start, start, stop)
                end = end if end > start else self._least_end(start, stop)
            part = Span(start, trimmed(packer.text, start, end).end)
            if part.length:  # not just an indentation that alone exceeds the size
                yield part
            if end >= stop:
                return
            start, after = best_start(packer, self.shared(part), end, self.size), end

    def _end(self, start: int, after: int, stop: int) -> int:
        """The best end within the size, before code that it would split, else `after`."""
        packer = self.packer
        while stop > after:
            end = packer.end_of_piece(start, after, stop, self.size)
            code = self._code_around(end)
            if code is None:
                return end
            before = reversed(packer.blocks_between(after, code.start))
            stop = next((block.end for block in before if block.kind is not Kind.HEADING), after)
        return after

    def _least_end(self, start: int, stop: int) -> int:
        """An end where code does not fit below its heading, or a cluster not at all."""
        packer = self.packer
        code = self._code_around(packer.end_of_piece(start, start, stop, self.size))
        if code is not None and code.start <= start:
            return code.end
        if code is not None:
            stop = packer.blocks_between(start, code.start)[-1].end
            if (end := packer.end_of_piece(start, start, stop, self.size)) > start:
                return end
        return packer.cluster_end(start, self.size)

    def _code_around(self, offset: int) -> Block | None:
        """The code that a split at `offset` would fall into."""
        block = self.packer.block_at(offset)
        return block if block.kind is Kind.CODE and block.start < offset < block.end else None

    def shared(self, part: Span) -> list[int]:
        """Return where the next part may start to share whole sentences, but no half code."""
        starts = starts_within(self.packer, part.start, part.end, self.overlap)
        return [start for start in starts if self._code_around(start) is None]

    def _code(self, stretch: Stretch) -> Iterator[Span]:
        """Code between its lines; a line over the size between words."""
        packer, stop = self.packer, stretch.end
        start = stretch.start
        while start < stop:
            end = packer.end_of_piece(start, start, stop, self.size)
            if end == start:
                end = packer.cluster_end(start, self.size)
            elif stop - self.size < end < stop:
                end = self._before_last_line(start, end, stop)
            part = Span(start, trimmed(packer.text, start, end).end)
            if part.length:
                yield part
            start = self._line_from(end, stop)

    def _before_last_line(self, start: int, end: int, stop: int) -> int:
        """One line earlier where only the closing fence would be left for the last part."""
        text = self.packer.text
        earlier = trimmed(text, start, max(start, text.rfind("\n", start, end))).end
        left = text[end:stop].strip("`~ \t\r\n")
        fits = start < earlier and self.packer.count(start, earlier) <= self.size
        return earlier if fits and not left else end

    def _line_from(self, offset: int, stop: int) -> int:
        """Return the start of the next line of code, with its indentation, or of the word."""
        text = self.packer.text
        first = visible_from(text, offset, stop)
        if first == stop:
            return stop
        line = max(text.rfind("\n", offset, first), text.rfind("\r", offset, first)) + 1
        return line or first


_WINDOW = 1000
"""Sentences embedded in one call."""


def breaks_of(
    splitter: Splitter, stretches: Iterable[Stretch], least: int
) -> dict[Stretch, Breaks]:
    """For each stretch to be split by meaning, its sentences; parts under `least` join another.

    Code over the size, and what fits anyway, is not among them.
    """
    packer, size = splitter.packer, splitter.size
    # Room for what neighbours share; at least one token, so that any sentence may stand alone.
    most = max(1, size - splitter.overlap)
    breaks: dict[Stretch, Breaks] = {}
    for stretch in stretches:
        if not stretch.is_code and packer.count(stretch.start, stretch.end) > size:
            blocks = packer.blocks_between(stretch.start, stretch.end)
            units = TopicUnits(packer, size, blocks=blocks)
            breaks[stretch] = Breaks(units, most, min(least, most))
    return breaks


def embed(every: Iterable[Breaks], model: BaseEmbedding) -> None:
    """Give each its vectors; one call to the model embeds sentences of many stretches."""
    sentences = (
        (breaks, text)
        for breaks in every
        for texts in breaks.units.texts(_WINDOW)
        for text in texts
    )
    while window := list(islice(sentences, _WINDOW)):
        rows = unit_rows(model.get_text_embedding_batch([text for _, text in window]), len(window))
        first = 0
        for breaks, group in groupby(window, key=itemgetter(0)):
            last = first + len(list(group))
            breaks.add(rows[first:last])
            first = last


def parts_by_meaning(splitter: Splitter, breaks: Breaks) -> Iterator[Span]:
    """The parts of a stretch, each of the closest sentences."""
    packer, size = splitter.packer, splitter.size
    before: Span | None = None
    for first, last in breaks.pieces():
        span = breaks.units.span(first, last)
        if packer.count(*span) > size:
            # Where the sum over the text misses the count of this very span.
            *others, before = splitter.parts(Stretch(*span, is_code=False))
            yield from others
        else:
            starts = splitter.shared(before) if before else []
            fitting = (start for start in starts if packer.count(start, span.end) <= size)
            before = Span(next(fitting, span.start), span.end)
        yield before
