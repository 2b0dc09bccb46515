"""A passage in, the spans worth quoting out: sentences, list items and table rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Iterator

FEWEST_WORDS = 4
"""A quote of fewer words is a fragment, used only where there is nothing else."""

_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(?P<title>.+)")
_FENCE = re.compile(r"\s{0,3}(?:`{3,}[^`\n]*|~{3,}[^\n]*)\s*\Z")
_ITEM = re.compile(r"\s*(?:[-*+•▪]|\(?\d{1,3}[.)]|\(?[a-z][.)])\s+")
_ROW = re.compile(r"\s*\|")
_NOISE = re.compile(
    r"[\W_]*"  # rules, table rules, blank lines
    r"|(?:page|seite|p\.)?\s*\d+\s*(?:(?:of|von|sur|de|/)\s*\d+)?"  # page numbers
    r"|(?:https?://|www\.)\S+"
    r"|!\[[^\]]*\]\([^)]*\)"
    r"|<!--.*-->",
    re.IGNORECASE,
)
_LEADERS = "....."
"""Ends the text of a line in a table of contents, before the page."""
_PRONOUNS = frozenset(
    words(
        "it its he she they their this these those such er sie es diese dieser dies ihre il elle "
        "ils elles ce cette ces ello ella ellos ellas este esta estos estas esso essa essi esse "
        "questo questa"
    )
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One span worth quoting.

    Attributes:
        passage: index of its passage.
        start: offset of its first character.
        end: offset one past its last.
        words: its words, folded.
        around: words of the heading above and of the sentence before.
        before: start of the sentence before, where both can be quoted as one; None otherwise.
    """

    passage: int
    start: int
    end: int
    words: tuple[str, ...]
    around: tuple[str, ...] = ()
    before: int | None = None

    def with_antecedent(self) -> Candidate:
        """Widened by the sentence before if it opens with a pronoun that refers to it."""
        if self.before is None or self.words[0] not in _PRONOUNS:
            return self
        return replace(self, start=self.before, before=None)


def candidates(passage: int, text: str) -> list[Candidate]:
    """Everything in a passage that reads as a statement, in order; fragments only if all are.

    Args:
        passage: index to note in each candidate.
        text: of the passage.
    """
    found = list(_with_surroundings(passage, text))
    whole = [one for one in found if len(one.words) >= FEWEST_WORDS]
    return whole or found


def _with_surroundings(passage: int, text: str) -> Iterator[Candidate]:
    heading: tuple[str, ...] = ()
    previous: Candidate | None = None
    for start, end, is_heading in _pieces(text):
        found = tuple(words(text[start:end]))
        if is_heading:
            heading, previous = found, None
        elif found:
            around, before = heading, None
            if previous is not None and _follows(text[previous.end : start]):
                around, before = heading + previous.words, previous.start
            previous = Candidate(passage, start, end, found, around, before)
            yield previous


def _pieces(text: str) -> Iterator[tuple[int, int, bool]]:
    """Start and end of each heading (True) and each statement (False).

    A fence without a partner hides nothing: the cut of a chunk may have taken the other.
    """
    fences = 0
    blocks = list(_blocks(text))
    paired = sum(_is_fence(text[start:end]) for start, end in blocks) // 2 * 2
    for block_start, block_end in blocks:
        block = text[block_start:block_end]
        if _is_fence(block):
            fences += 1
        elif (fences % 2 and fences < paired) or _is_noise(block):
            continue
        elif heading := _HEADING.match(block):
            yield block_start + heading.start("title"), block_start + heading.end("title"), True
        else:
            marker = _ITEM.match(block)
            body = block_start + (marker.end() if marker else 0)
            for span in sentence_spans(text[body:block_end]):
                yield body + span.start, body + span.end, False


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Lines that belong together: a paragraph, a list item, or one line that stands alone."""
    start = position = 0
    for line in text.splitlines(keepends=True):
        alone = bool(
            _HEADING.match(line) or _FENCE.match(line) or _ROW.match(line) or _NOISE.fullmatch(line)
        )
        if (alone or _ITEM.match(line)) and start < position:
            yield start, position
            start = position
        position += len(line)
        if alone:
            yield start, position
            start = position
    if start < position:
        yield start, position


def _is_fence(line: str) -> bool:
    return _FENCE.match(line) is not None


def _is_noise(line: str) -> bool:
    stripped = line.strip()
    bare = stripped.rstrip("0123456789 \t")
    return bare.endswith(_LEADERS) or _NOISE.fullmatch(stripped) is not None


def _follows(gap: str) -> bool:
    """True where nothing but at most one line break stands between two sentences."""
    return not gap.strip() and gap.count("\n") <= 1
