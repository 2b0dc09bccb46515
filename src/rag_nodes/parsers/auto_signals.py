"""What a text gives away about how to cut it, and how well cuts suit it, without labels."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from rag_nodes.parsers.source import Cut, SourceText
from rag_nodes.text.blocks import Block, Kind
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import trimmed
from rag_nodes.text.words import words

_WHOLE = frozenset({Kind.CODE, Kind.TABLE, Kind.LIST})
"""Blocks that should not be cut where they fit."""
_SPEAKER = re.compile(
    r"(?:[*_\[(]*\d[\d:.,\])]*\s*)?[*_\[(]*[^\W\d_][\w .'-]{0,30}[*_\])]*:[*_]*\s"
)
"""A name and a colon at the start of a line, maybe after a time."""
_MEANINGFUL = 4
"""Letters from which a word is counted for cohesion; shorter ones are mostly grammar."""
_NEIGHBOURS = 3
"""Sentences compared on either side of a gap."""
_MOST_UNITS = 3000
"""Sentences looked at; no sample has more that tell anything new."""
_STRETCHES = 3
_STRETCH = 16_000
"""Characters of each stretch of a sample, and their number: beginning, middle and end."""


@dataclass(frozen=True, slots=True)
class Signals:
    """Facts of one document; shares are of its characters, 0 to 1.

    Attributes:
        tokens: tokens of the whole document.
        headings: number of headings.
        levels: number of different heading levels.
        section_tokens: median tokens from one heading to the next; 0 without headings.
        under_headings: share of the text that stands under a heading.
        table_share: share in tables.
        code_share: share in code.
        paragraph_tokens: tokens of the paragraph the middle of all prose stands in.
        sentence_tokens: the same of sentences.
        speaker_share: share of lines that begin with a name and a colon.
        cohesion: share of meaningful words that groups of neighbouring sentences have in common.
    """

    tokens: int
    headings: int
    levels: int
    section_tokens: int
    under_headings: float
    table_share: float
    code_share: float
    paragraph_tokens: int
    sentence_tokens: int
    speaker_share: float
    cohesion: float


@dataclass(frozen=True, slots=True)
class Measures:
    """How well a list of cuts suits a text, without a question asked; each 0 to 1, 1 is best.

    Attributes:
        sizes: share of nodes between the least and the most tokens.
        boundaries: share of node ends where a sentence or block ends.
        intact: share of the tables, lists and code blocks that fit into a node and are not cut.
        openings: share of the headings that stand in the first half of their node.
        unique: share of the nodes' characters that is not repeated from the node before.
    """

    sizes: float
    boundaries: float
    intact: float
    openings: float
    unique: float

    @property
    def score(self) -> float:
        """All of it in one number: sizes and boundaries count twice."""
        parts = (2 * self.sizes, 2 * self.boundaries, self.intact, self.openings, self.unique)
        return round(sum(parts) / 7, 3)


def sample_of(source: SourceText, *, encoding: str, language: str) -> SourceText:
    """The source itself, or of a long one its beginning, middle and end."""
    packer = source.packer
    visible = trimmed(source.text, packer.start, packer.end)
    length = visible.length
    if length <= _STRETCHES * _STRETCH:
        return source
    step = (length - _STRETCH) // (_STRETCHES - 1)
    stretches = [_stretch(packer, visible.start + step * number) for number in range(_STRETCHES)]
    sample = "\n\n".join(stretches)
    return SourceText(
        sample,
        title=source.title,
        encoding=encoding,
        language=language,
        text_format=source.text_format,
    )


def _stretch(packer: Packer, start: int) -> str:
    """Text from the first block after `start`, unless none begins soon, to the last that fits."""
    stop = start + _STRETCH
    blocks = [b for b in packer.blocks_between(start, stop) if start <= b.start and b.end <= stop]
    enough = blocks and blocks[-1].end - blocks[0].start > _STRETCH // 2
    return packer.text[blocks[0].start : blocks[-1].end] if enough else packer.text[start:stop]


def signals_of(packer: Packer, sample: Packer) -> Signals:
    """Signals of a text; those of its sentences from the sample."""
    length = max(packer.end - packer.start, 1)
    per_character = len(packer.tokens) / length
    headings = [block for block in packer.blocks if block.kind is Kind.HEADING]
    starts = [block.start for block in headings]
    sections = [right - left for left, right in pairwise([*starts, packer.end])]
    units = _sentences(sample)
    return Signals(
        tokens=len(packer.tokens),
        headings=len(headings),
        levels=len({block.level for block in headings}),
        section_tokens=round(median(sections) * per_character) if sections else 0,
        under_headings=round((packer.end - starts[0]) / length, 3) if starts else 0.0,
        table_share=_share(packer.blocks, Kind.TABLE, length),
        code_share=_share(packer.blocks, Kind.CODE, length),
        paragraph_tokens=round(_middle(_prose(packer)) * per_character),
        sentence_tokens=round(_middle([len(unit) for unit in units]) * per_character),
        speaker_share=_speaker_share(sample),
        cohesion=_cohesion(units),
    )


def _share(blocks: Iterable[Block], kind: Kind, length: int) -> float:
    return round(sum(block.end - block.start for block in blocks if block.kind is kind) / length, 3)


def _prose(packer: Packer) -> list[int]:
    return [b.end - b.start for b in packer.blocks if b.kind in {Kind.PARAGRAPH, Kind.QUOTE}]


def _middle(lengths: Sequence[int]) -> int:
    """The length that half of all characters stand in pieces of at least."""
    seen, half = 0, sum(lengths) / 2
    for length in sorted(lengths):
        seen += length
        if seen >= half:
            return length
    return 0


def _sentences(packer: Packer) -> list[str]:
    found: list[str] = []
    for block in packer.blocks:
        if block.kind in {Kind.PARAGRAPH, Kind.QUOTE, Kind.LIST}:
            found += [unit.of(packer.text) for unit in packer.units_of(block)]
        if len(found) >= _MOST_UNITS:
            break
    return found[:_MOST_UNITS]


def _speaker_share(packer: Packer) -> float:
    lines = [line for line in packer.text.splitlines() if line.strip()]
    return round(sum(map(bool, map(_SPEAKER.match, lines))) / max(len(lines), 1), 3)


def _cohesion(units: Sequence[str]) -> float:
    """Mean overlap of the words on both sides of each gap."""
    known = [{word for word in words(unit) if len(word) >= _MEANINGFUL} for unit in units]
    overlaps = []
    for gap in range(1, len(known)):
        left = set().union(*known[max(0, gap - _NEIGHBOURS) : gap])
        right = set().union(*known[gap : gap + _NEIGHBOURS])
        if left and right:
            overlaps.append(len(left & right) / min(len(left), len(right)))
    return round(sum(overlaps) / len(overlaps), 3) if overlaps else 0.0


def measures_of(source: SourceText, cuts: Sequence[Cut], least: int, most: int) -> Measures:
    """How well the cuts suit the text.

    Args:
        source: the text.
        cuts: where a parser cuts it; at least one.
        least: tokens a node should hold.
        most: tokens a node may hold.
    """
    packer = source.packer
    sizes = [least <= source.count(cut.start, cut.end) <= most for cut in cuts]
    fitting = [
        block
        for block in packer.blocks
        if block.kind in _WHOLE and packer.tokens.estimate(block.start, block.end) <= most
    ]
    repeated = sum(max(0, left.end - right.start) for left, right in pairwise(cuts))
    return Measures(
        sizes=_mean(sizes),
        boundaries=_mean([packer.unit_end(cut.end - 1) == cut.end for cut in cuts]),
        intact=_mean([_in_one(cuts, block) for block in fitting]),
        openings=_mean([_opens(cuts, b) for b in packer.blocks if b.kind is Kind.HEADING]),
        unique=1.0 - repeated / sum(cut.end - cut.start for cut in cuts),
    )


def _mean(facts: Sequence[bool]) -> float:
    return sum(facts) / len(facts) if facts else 1.0


def _holder(cuts: Sequence[Cut], end: int) -> Cut:
    """The first node that reaches `end`."""
    return cuts[min(bisect_left(cuts, end, key=lambda cut: cut.end), len(cuts) - 1)]


def _in_one(cuts: Sequence[Cut], block: Block) -> bool:
    return _holder(cuts, block.end).start <= block.start


def _opens(cuts: Sequence[Cut], heading: Block) -> bool:
    cut = _holder(cuts, heading.end)
    return heading.start - cut.start <= (cut.end - cut.start) / 2
