"""Pieces of a row, broken words and lines that run on, joined again."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.readers.pdf.layout import Line

HYPHENS = "-\u2010"
"""Characters that end a line inside a word; a soft hyphen, which is never real, apart."""
SOFT_HYPHEN = "\u00ad"
COMPOUND_PARTS = 4
"""Letters each part of a compound must have to be believed without having seen the compound;
shorter parts are words by accident ("to-gether", "be-come")."""
LONG_PART = 7
"""Letters of an unseen second part after "high-", "non-" and their like: no syllable is as long."""
LEADS = 2
"""Different compounds with the same first part after which it is taken for a compounding one."""

_ALWAYS_HYPHENATED = frozenset({"self", "well", "quasi", "vice", "e", "x", "t"})
_OFTEN_HYPHENATED = frozenset({"post", "non", "cross", "half", "high", "low", "semi"})
_SUSPENDED = re.compile(r"(?:and|und|oder|bis|sowie|als|wie|noch|bzw\.)\s", re.IGNORECASE)
_PERHAPS_SUSPENDED = re.compile(r"(?:to|or|et|ou|y|o|e)\s", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010'\u2019][^\W\d_]+)*")
_LAST_WORD = re.compile(r"(?:[^\W\d_]+[-\u2010])*([^\W\d_]+)$")
_FIRST_WORD = re.compile(r"[^\W\d_]+(?:[-\u2010'\u2019][^\W\d_]+)*")
_ADDRESS = re.compile(r"://|^www\.|[@\\_]|^\W*/|/.*/|\w\.\w\w")
_CJK = re.compile(
    "[\u2e80-\u303f\u3040-\u30ff\u3100-\u312f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uf900-\ufaff\uff01-\uff60\U00020000-\U0003134f]"
)


class Joint(NamedTuple):
    """Joint of two lines: characters to take off the end of the first, and the glue."""

    drop: int
    glue: str


SPACE = Joint(0, " ")
TOUCHING = Joint(0, "")
UNHYPHENATED = Joint(1, "")


class Vocabulary:
    """Words inside the lines of a document: evidence for the two halves of a broken word.

    Words broken between two lines are not counted, neither half of them.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._exact: Counter[str] = Counter()
        self._tails: set[str] = set()
        leads: dict[str, set[str]] = {}
        broken = False
        for line in lines:
            words = _WORD.findall(line)
            inner = words[1:] if broken else words
            broken = line.endswith((*HYPHENS, SOFT_HYPHEN))
            self._exact.update(inner[:-1] if broken else inner)
        self._folded: Counter[str] = Counter()
        for word, count in self._exact.items():
            plain = word.replace("\u2010", "-")
            self._folded[plain.casefold()] += count
            first, hyphen, rest = plain.partition("-")
            if hyphen and rest[0].islower():
                leads.setdefault(first.casefold(), set()).add(rest)
                self._tails.add(rest)
        self._leads = {first for first, rests in leads.items() if len(rests) >= LEADS}

    def knows(self, word: str) -> bool:
        """Return True if a word stands alone somewhere in the document."""
        return self._folded[word.casefold()] > 0

    def is_compound(self, left: str, right: str) -> bool:
        """Decide whether the hyphen between two halves belongs to the word.

        What the document says elsewhere decides: the word with or without hyphen, whichever is more
        frequent. Unseen words keep the hyphen where both halves are words of their own, or one of
        them is known to form compounds; else the hyphen was only the line's.
        """
        compound = self._folded[f"{left}-{right}".casefold().replace("\u2010", "-")]
        last = re.split(f"[{HYPHENS}]", left)[-1]
        joined = max(self._folded[(part + right).casefold()] for part in (last, left))
        if compound or joined:
            return compound > joined
        return right[0].isupper() or self._looks_compound(left, last, right)

    def _looks_compound(self, left: str, last: str, right: str) -> bool:
        folded = last.casefold()
        if folded in _ALWAYS_HYPHENATED or (last.isupper() and len(last) > 1):
            return True
        if right in self._tails and self._folded[folded]:
            return True  # "short" and "long-term" make "short-term" likely
        if not self._exact[right]:
            return folded in _OFTEN_HYPHENATED and len(right) >= LONG_PART
        if folded in _OFTEN_HYPHENATED or (folded in self._leads and self._folded[folded]):
            return True
        long = min(len(last), len(right)) >= COMPOUND_PARTS
        return bool(self._folded[folded]) and (long or last != left)


def joint(before: str, after: str, vocabulary: Vocabulary) -> Joint:
    """Decide how a line continues on the next one; neither is empty."""
    if before.endswith(SOFT_HYPHEN):
        return UNHYPHENATED
    if before[-1] in HYPHENS and before[-2:-1].strip():
        return _at_hyphen(before[:-1], after, vocabulary)
    if _CJK.match(before[-1]) or _CJK.match(after):
        return TOUCHING
    if "://" in _last_token(before) and before[-1] in "/=&?_":
        return TOUCHING
    return SPACE


def _at_hyphen(before: str, after: str, vocabulary: Vocabulary) -> Joint:
    left, right = _LAST_WORD.search(before[-200:]), _FIRST_WORD.match(after)
    if _SUSPENDED.match(after) or (
        left and _PERHAPS_SUSPENDED.match(after) and vocabulary.knows(left.group())
    ):
        return SPACE  # "short- and long-term", "two- to threefold", but not "toma-to"
    if before[-1] == "/":
        return UNHYPHENATED  # "GNU/-Linux": the hyphen shows the break, not the word
    if left is None or right is None or _ADDRESS.search(_last_token(before)):
        return TOUCHING
    return TOUCHING if vocabulary.is_compound(left.group(), right.group()) else UNHYPHENATED


def _last_token(text: str) -> str:
    return text[-200:].rsplit(maxsplit=1)[-1]


SAME_BASELINE = 0.35
"""Font sizes within which two baselines are one row."""
CELL_GAP = 2.0
"""Font sizes between two pieces from which they are cells of a table, not justified text."""
CELL_SEPARATOR = "  "
"""Text between two cells."""

_MARKER = re.compile(r"[\[(]?\w{1,3}[.)\]]|[^\w\s]")
"""A number, letter or bullet before a list item, however wide the gap after it."""


def merge_rows(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Join neighbours in reading order that share a baseline and run from left to right.

    Pieces of one block are joined, and pieces of different blocks where each block is a single row,
    as PDF libraries make of tables. The last line of one column and the first line of the next are
    never joined, even at equal height. Joined lines carry the block of their first piece, and `row`
    if a gap between pieces is wide.
    """
    single = _single_row_blocks(lines)
    merged: list[Line] = []
    last_block = -1
    for line in lines:
        previous = merged[-1] if merged else None
        blocks = {last_block, line.block}
        together = len(blocks) == 1 or blocks <= single
        if previous is not None and together and _side_by_side(previous, line):
            merged[-1] = _joined(previous, line)
        else:
            merged.append(line)
        last_block = line.block
    return tuple(merged)


def _single_row_blocks(lines: Iterable[Line]) -> set[int]:
    baselines: dict[int, list[float]] = defaultdict(list)
    for line in lines:
        baselines[line.block].append(line.baseline)
    return {block for block, values in baselines.items() if max(values) - min(values) < 1}


def _side_by_side(left: Line, right: Line) -> bool:
    size = min(left.size, right.size)
    return (
        not (left.cells or right.cells)
        and left.upright
        and right.upright
        and abs(left.baseline - right.baseline) <= SAME_BASELINE * size
        and right.left >= left.right - size / 2
    )


def _joined(left: Line, right: Line) -> Line:
    wide = right.left - left.right > CELL_GAP * max(left.size, right.size)
    wide = wide and _MARKER.fullmatch(left.text) is None
    text = left.text + (CELL_SEPARATOR if wide else " ")
    shifted = ((start + len(text), stop + len(text), to) for start, stop, to in right.links)
    major, minor = (left, right) if len(left.text) > len(right.text) else (right, left)
    return replace(
        left,
        text=text + right.text,
        top=min(left.top, right.top),
        right=max(left.right, right.right),
        bottom=max(left.bottom, right.bottom),
        size=major.size,
        bold=major.bold if minor.text[:1].isdigit() else left.bold and right.bold,
        mono=left.mono and right.mono,
        row=wide or left.row,
        links=(*left.links, *shifted),
    )
