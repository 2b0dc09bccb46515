"""A passage in, the spans worth quoting out: sentences, list items and table rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.text.formats import blocks_of, format_of
from rag_nodes.text.markdown import Block, Kind
from rag_nodes.text.markdown.lines import FENCE, closing_fence
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span, with_line_feeds
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MIN_WORDS = 4
"""A quote of fewer words is a fragment, used only where there is nothing else."""

_ITEM = re.compile(r"\s*(?:[-*+•▪]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+")
_NOISE = re.compile(
    r"[\W_]*"  # rules, table rules, blank lines
    r"|(?:page|seite|p\.)?\s*\d+\s*(?:(?:of|von|sur|de|/)\s*\d+)?"  # page numbers
    r"|(?:https?://|www\.)\S+"
    r"|!\[[^\]]*\]\([^)]*\)"
    r"|<!--.*-->",
    re.IGNORECASE,
)
_INDENT = re.compile(r" {0,3}")
_INNER_INDENT = re.compile(r"[\s>]*")
"""Marks that may stand before a fence, and before one in a list or quote."""
_NEVER_QUOTED = frozenset({Kind.RULE, Kind.FRONT_MATTER})
_MAX_SCANS = 4
"""Fences without a partner that are looked behind; more are hardly chance."""
_LEADERS = re.compile(
    r"(?<![.…])(?<![.…] )(?:(?:\.{5,}+|(?:\. ){4,}+\.?)\s*\d*"
    r"|(?:\.{3,}+|…++|(?:\. ){3,}+)(?:\s*\d+|\s+[ivxlc]+)(?:, ?\d+)*)[\s|*_)]*\Z",
    re.IGNORECASE,
)
"""Ends a line in a table of contents or an index; a few dots are leaders only before a page."""
_PRONOUNS = frozenset(
    words(
        "it its he she they their this these those such er sie es diese dieser dies ihre il elle "
        "ils elles ce cette ces ello ella ellos ellas este esta estos estas esso essa essi esse "
        "questo questa"
    )
)


@dataclass(frozen=True, slots=True)
class CandidateSentence:
    """One span worth quoting of the passage of a number, with its words, folded.

    `around` are words of the heading above and of the sentence before, and `before` where that
    starts, if both can be quoted as one.
    """

    passage: int
    start: int
    end: int
    words: tuple[str, ...]
    around: tuple[str, ...] = ()
    before: int | None = None

    def with_antecedent(self) -> CandidateSentence:
        """Widened by the sentence before if it opens with a pronoun that refers to it."""
        if self.before is None or self.words[0] not in _PRONOUNS:
            return self
        return replace(self, start=self.before, before=None)


def candidates(passage: int, text: str) -> list[CandidateSentence]:
    """Everything in a passage that reads as a statement, in order; fragments only if all are.

    Args:
        passage: index to note in each candidate.
        text: of the passage.
    """
    statements = list(_with_surroundings(passage, text))
    whole = [candidate for candidate in statements if len(candidate.words) >= MIN_WORDS]
    return whole or statements


def _with_surroundings(passage: int, text: str) -> Iterator[CandidateSentence]:
    heading: tuple[str, ...] = ()
    previous: CandidateSentence | None = None
    for start, end, is_heading in _pieces(text):
        terms = tuple(words(text[start:end]))
        if is_heading:
            heading, previous = terms, None
        elif terms:
            around, before = heading, None
            if previous is not None and _follows(text[previous.end : start]):
                around, before = heading + previous.words, previous.start
            previous = CandidateSentence(passage, start, end, terms, around, before)
            yield previous


def _pieces(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each heading (True) and each statement (False)."""
    for block in _blocks(text):
        if block.kind is Kind.HEADING:
            yield *block.title, True
            continue
        for start, end in _lines_together(text, block):
            marker = _ITEM.match(text, start, end)
            body = marker.end() if marker else start
            for span in sentence_spans(text[body:end]):
                yield body + span.start, body + span.end, False


def _blocks(text: str) -> Iterator[Block]:
    """Blocks of which something may be quoted.

    A fence without a partner hides nothing: the split of a chunk may have taken the other.
    """
    text = with_line_feeds(text)
    text_format = format_of(text)
    start = 0
    for _ in range(_MAX_SCANS):
        unclosed = 0
        for block in blocks_of(text[start:], text_format):
            low, high = start + block.start, start + block.end
            fence = _fence(_INDENT, text, low) if block.kind is Kind.CODE else None
            if fence:
                if not closing_fence(text, fence[1] or fence[3], fence.end(), high):
                    unclosed = fence.end()
                    break
            elif block.kind not in _NEVER_QUOTED and not text.startswith("<!--", low):
                title = Span(start + block.title.start, start + block.title.end)
                yield block._replace(start=low, end=high, title=title)
        if not unclosed:
            return
        start = unclosed


def _lines_together(text: str, block: Block) -> Iterator[tuple[int, int]]:
    """Lines that belong together: a paragraph, a list item, or one row of a table; no noise."""
    start = at = block.start
    lines = text[block.start : block.end].splitlines(keepends=True)
    code = _code_in(lines) if block.kind in {Kind.LIST, Kind.QUOTE} else frozenset()
    for number, line in enumerate(lines):
        noise = number in code or _is_noise(line)
        if (noise or block.kind is Kind.TABLE or _ITEM.match(line)) and start < at:
            yield start, at
            start = at
        at += len(line)
        if noise:
            start = at
    if start < at:
        yield start, at


def _code_in(lines: Sequence[str]) -> frozenset[int]:
    """Numbers of the lines of fenced code in a list or quote, which the scanner sees as one."""
    fences = [number for number, line in enumerate(lines) if _fence(_INNER_INDENT, line)]
    pairs = zip(fences[::2], fences[1::2], strict=False)
    return frozenset(fences).union(*(range(first, last) for first, last in pairs))


def _fence(indent: re.Pattern[str], text: str, start: int = 0) -> re.Match[str] | None:
    """The fence on the line that starts there, as the grammar of Markdown has it."""
    before = indent.match(text, start)
    return FENCE.match(text, before.end() if before else start)


def _is_noise(line: str) -> bool:
    stripped = line.strip()
    return is_entry(stripped) or _NOISE.fullmatch(stripped) is not None


def is_entry(line: str) -> bool:
    """Return True if a line is an entry of contents or an index: it ends with dots and a page."""
    return _LEADERS.search(line) is not None


def _follows(gap: str) -> bool:
    """True where nothing but at most one line break stands between two sentences."""
    return not gap.strip() and gap.count("\n") <= 1
