"""Ends of pieces of text that are as long as allowed and read as a whole."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from rag_nodes.text.formats import Format, HeadingTree, blocks_of, format_of
from rag_nodes.text.graphemes import Flags, boundary_at_or_after, boundary_at_or_before
from rag_nodes.text.languages import guess_language
from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.sentences import AUTO, Bounds, sentence_bounds
from rag_nodes.text.spans import Span, trimmed, with_indentation
from rag_nodes.text.tokens import DEFAULT_ENCODING, LengthIndex, SliceIndex, TokenIndex, token_index
from rag_nodes.text.wrapping import soft_breaks

BY_LINE = frozenset({Kind.TABLE, Kind.LIST, Kind.CODE, Kind.HTML, Kind.FRONT_MATTER})
"""Blocks whose natural inner boundaries are line ends; all others have sentences."""
_CACHED_BLOCKS = 256
"""Blocks whose sentences are kept: all of a short text, which several parsers may try."""
_VISIBLE = re.compile(r"\S")
_MARK = re.compile(r" {0,3}[#=-]")
_LOWER_MARK = re.compile(r"\n {0,3}[#=-]")
"""Start of a heading, or of the line that underlines one."""
_SENTENCE_END = re.compile(r"[.?!…。！？।][^\w\n]*+\s*\S")  # noqa: RUF001 -- of other scripts
"""Possible ends of a sentence before the end of a text."""


class Packer:
    """Chooses the ends of pieces: block, then sentence, then line, then word, then grapheme.

    Measured by the tokenizer `encoding`. The language of sentence rules is guessed where it is
    "auto", the format judged by the text where it is None.
    """

    def __init__(
        self,
        text: str,
        *,
        encoding: str = DEFAULT_ENCODING,
        language: str = AUTO,
        text_format: Format | None = None,
        blocks: Sequence[Block] | None = None,
    ) -> None:
        self.text = text
        self.text_format = text_format or format_of(text)
        self._encoding = encoding
        self._language = language
        self._known_blocks = blocks
        self._bounds: dict[int, Bounds] = {}

    @cached_property
    def tokens(self) -> TokenIndex | LengthIndex | SliceIndex:
        """Token counts."""
        return token_index(self.text, self._encoding)

    @cached_property
    def blocks(self) -> Sequence[Block]:
        """Blocks, as the format marks them."""
        blocks = self._known_blocks
        return blocks_of(self.text, self.text_format) if blocks is None else blocks

    @cached_property
    def language(self) -> str:
        """ISO 639-1 code, guessed where it was not given."""
        return guess_language(self.text) if self._language == AUTO else self._language

    @cached_property
    def headings(self) -> HeadingTree:
        """The tree of headings."""
        text = self.text.replace("\r", "\n") if "\r" in self.text else self.text
        # Whether any line could be a heading or its underline is far cheaper than finding out.
        can_hold_any = "blocks" in self.__dict__ or _MARK.match(text) or _LOWER_MARK.search(text)
        return HeadingTree(self.text, self.blocks if can_hold_any else ())

    @cached_property
    def soft_breaks(self) -> frozenset[int]:
        """Offsets at which a line continues the running text of the line above."""
        return frozenset(soft_breaks(self.text))

    @cached_property
    def _flags(self) -> Flags:
        return Flags(self.text)

    @cached_property
    def _starts(self) -> list[int]:
        return [block.start for block in self.blocks]

    @cached_property
    def _ends(self) -> list[int]:
        return [block.end for block in self.blocks]

    @cached_property
    def _closing(self) -> list[int]:
        """Ends of blocks at which a piece may end: a heading belongs to what follows it."""
        return [block.end for block in self.blocks if block.kind is not Kind.HEADING]

    @property
    def start(self) -> int:
        """Offset of the first block; 0 for a blank text."""
        return self._starts[0] if self._starts else 0

    @property
    def end(self) -> int:
        """Offset after the last block; 0 for a blank text."""
        return self._ends[-1] if self._ends else 0

    def count(self, start: int, end: int) -> int:
        """Tokens of a span, exact."""
        return self.tokens.count(start, end)

    def block_at(self, offset: int) -> Block:
        """The block that holds `offset`, or the first one after it."""
        return self.blocks[min(bisect_right(self._ends, offset), len(self.blocks) - 1)]

    def blocks_between(self, start: int, end: int) -> Sequence[Block]:
        """Blocks that share characters with `start:end`."""
        return self.blocks[bisect_right(self._ends, start) : bisect_left(self._starts, end)]

    def visible_from(self, offset: int) -> int:
        """The first visible character at or after `offset`; the indentation of its line is kept."""
        block = self.block_at(offset)
        if offset <= block.start:
            return block.start
        match = _VISIBLE.search(self.text, offset, max(offset, block.end))
        if match is None:
            return offset
        keeps = block.kind in BY_LINE
        return with_indentation(self.text, offset, match.start()) if keeps else match.start()

    def end_of_piece(self, start: int, after: int, stop: int, limit: int) -> int:
        """The best end for a piece from `start` that must hold something beyond `after`.

        At most `limit` tokens, and not beyond `stop`, the end of a block; `after` when nothing
        fits. Without overlap `after` is `start`, else where the piece before it ended.
        """
        reach = self.tokens.reach(start, limit, stop)
        if reach >= stop and self.count(start, stop) <= limit:
            return stop
        return (
            self._block_or_unit_end(start, after, reach, limit)
            or self._last_fitting(self._ends, start, after, reach, limit)
            or self._line_end(start, after, reach, limit)
            or self._word_end(start, after, reach, limit)
            or self._grapheme_end(start, after, reach, limit)
            or after
        )

    def pieces(self, span: Span, limit: int, most: int | None = None) -> Iterator[Span]:
        """A span split into pieces of at most `limit` tokens, where its text allows it best.

        An indentation that alone exceeds the limit is in none of them, and a cluster of characters
        that does is a piece of its own up to `most` tokens.
        """
        position = span.start
        while position < span.end:
            cut = self.end_of_piece(position, position, span.end, limit)
            cut = cut if cut > position else self.cluster_end(position, most or limit)
            piece = Span(position, trimmed(self.text, position, cut).end)
            if piece.length:
                yield piece
            if cut >= span.end:
                return
            position = self.visible_from(cut)

    def _block_or_unit_end(self, start: int, after: int, reach: int, limit: int) -> int:
        """The last block end, or a sentence or line end beyond it; 0 if none fits.

        A block that would have to be split anyway is begun here rather than leave a short piece,
        and so are the lines of a sentence, which is what text without full stops is taken for.
        """
        whole = self._last_fitting(self._closing, start, after, reach, limit)
        block = self.block_at(min(reach, self.end - 1))
        if whole and self.tokens.estimate(block.start, block.end) <= limit:
            return whole
        starts, ends = self.bounds_of(block)
        low = max(after, whole)
        end = self._last_fitting(ends, start, low, reach, limit) or whole
        unit = bisect_right(ends, reach)
        if unit < len(ends) and ends[unit] - starts[unit] > limit:  # else it cannot be over it
            low = max(low, end)
            if starts[unit] < reach and self.tokens.estimate(starts[unit], ends[unit]) > limit:
                return self._line_end(start, low, reach, limit) or end
        return end

    def unit_starts(self, low: int, end: int) -> list[int]:
        """Starts of sentences (or lines of tables, lists and code) inside `low..end`, sorted."""
        offsets: list[int] = []
        for block in self.blocks_between(low, end):
            starts = self.bounds_of(block).starts
            offsets += starts[bisect_left(starts, low) : bisect_left(starts, end)]
        return offsets

    def unit_end(self, offset: int) -> int:
        """End of the sentence or line that holds `offset`, or of the first one after it."""
        block = self.block_at(offset)
        ends = self.bounds_of(block).ends
        position = bisect_right(ends, offset)
        return ends[position] if position < len(ends) else block.end

    def units_of(self, block: Block) -> list[Span]:
        """The sentences of a block, or its lines, as spans."""
        return list(map(Span, *self.bounds_of(block)))

    def lines_of(self, span: Span) -> list[Span]:
        """The visible lines of a span, with their indentation."""
        return list(map(Span, *_lines(self.text, *span)))

    def bounds_of(self, block: Block) -> Bounds:
        """The sentences of a block, or its lines where it is a table, a list or code."""
        if (bounds := self._bounds.get(block.start)) is not None:
            return bounds
        if len(self._bounds) >= _CACHED_BLOCKS:
            self._bounds.clear()
        if block.kind is Kind.HEADING:  # one thought, whatever full stops are in it
            bounds = Bounds([block.start], [block.end])
        elif block.kind is Kind.LIST:
            bounds = self._items(block)
        elif block.kind in BY_LINE:
            bounds = _lines(self.text, block.start, block.end)
        else:
            bounds = sentence_bounds(self.text, block.start, block.end, self.language)
        self._bounds[block.start] = bounds
        return bounds

    def _items(self, block: Block) -> Bounds:
        """The lines of a list; of an item that is wrapped over several lines, the sentences."""
        lines = _lines(self.text, block.start, block.end)
        wrapped = {block.start + at for at in soft_breaks(self.text[block.start : block.end])}
        if not wrapped:
            return lines
        items = Bounds([], [])
        first = 0
        for following, begin in enumerate([*lines.starts[1:], block.end], start=1):
            if begin in wrapped:
                continue
            start, end = lines.starts[first], lines.ends[following - 1]
            items.starts.append(start)
            if following > first + 1 and _SENTENCE_END.search(self.text, start, end):
                sentences = sentence_bounds(self.text, start, end, self.language)
                items.starts.extend(sentences.starts[1:])
                items.ends.extend(sentences.ends)
            else:
                items.ends.append(end)
            first = following
        return items

    def _last_fitting(
        self, ends: Sequence[int], start: int, after: int, reach: int, limit: int
    ) -> int:
        """The last of `ends` in `after..reach` that keeps the limit; 0 if there is none."""
        position = bisect_right(ends, reach) - 1
        while position >= 0 and ends[position] > after:
            # A shorter text can hold a token more than a longer one, so each end is counted.
            if self.count(start, ends[position]) <= limit:
                return ends[position]
            position -= 1
        return 0

    def _line_end(self, start: int, after: int, reach: int, limit: int) -> int:
        """The last line end in `after..reach` that keeps the limit; 0 if there is none."""
        text, low = self.text, self.visible_from(after)
        cut = reach + 1
        while (cut := max(text.rfind("\n", low, cut), text.rfind("\r", low, cut))) >= 0:
            if end := self._fitting_end(start, low, cut, limit):
                return end
        return 0

    def _word_end(self, start: int, after: int, reach: int, limit: int) -> int:
        """The last word end in `after..reach` that keeps the limit; 0 if there is none."""
        text, low = self.text, self.visible_from(after)
        for cut in range(reach, low, -1):
            if (cut == len(text) or text[cut].isspace()) and (
                end := self._fitting_end(start, low, cut, limit)
            ):
                return end
        return 0

    def _fitting_end(self, start: int, low: int, cut: int, limit: int) -> int:
        """The last visible end in the range; 0 where there is none, or the limit is passed."""
        end = trimmed(self.text, low, cut).end
        return end if end > low and self.count(start, end) <= limit else 0

    def _grapheme_end(self, start: int, after: int, reach: int, limit: int) -> int:
        """The last cluster end in `after..reach` that keeps the limit; 0 if there is none."""
        following = self.visible_from(after)
        # A piece must hold more than the indentation of a block.
        match = _VISIBLE.search(self.text, following)
        visible = match.start() if match else following
        cut = boundary_at_or_before(self.text, max(reach, following), following)
        while cut > visible:
            if (excess := self.count(start, cut) - limit) <= 0:
                return cut
            nearer = min(cut - 1, self.tokens.before(cut, excess))
            cut = boundary_at_or_before(self.text, max(nearer, following), following)
        # A reach is an estimate when it falls inside a cluster: the whole one may still fit.
        cluster = boundary_at_or_after(self.text, visible + 1, following)
        return cluster if self.count(start, cluster) <= limit else 0

    def cluster_boundary(self, offset: int, floor: int) -> int:
        """The first boundary of a cluster at or after `offset`, however far back `floor` is.

        `floor <= offset` must be a boundary.
        """
        near = self._flags.nearest_floor(offset, floor)
        return boundary_at_or_after(self.text, offset, near)

    def cluster_end(self, start: int, limit: int) -> int:
        """The end of the cluster at `start`, or a place inside it if it is over `limit`.

        The one case in which a cluster is split: alone it exceeds the limit, and the limit holds.
        """
        cluster = boundary_at_or_after(self.text, start + 1, start)
        if self.count(start, cluster) <= limit:
            return cluster
        return max(start + 1, self.tokens.fit(start, limit, cluster))


def _lines(text: str, start: int, end: int) -> Bounds:
    lines = Bounds([], [])
    position = start
    for line in text[start:end].splitlines(keepends=True):
        visible = line.rstrip()
        if visible:
            lines.starts.append(position)
            lines.ends.append(position + len(visible))
        position += len(line)
    return lines
