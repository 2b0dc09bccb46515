"""Splits that never fall inside what a reader sees as one character (Unicode UAX #29)."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from operator import itemgetter

import regex

LONGEST_CLUSTER = 256
"""Characters of a cluster that are kept together.

Families of emoji have eleven, a letter with marks of four scripts fewer; what is longer is a run of
joiners or marks without end, which no reader sees as one character, and which would have to be
walked through for every split.
"""
_CLUSTER = regex.compile(r"\X")
_PLAIN = (
    r"\x00-\u02ff"
    r"\u0370-\u0482"  # Greek, Cyrillic
    r"\u2010-\u2027"  # dashes, quotes, ellipsis
    r"\u3001-\u3020"  # CJK punctuation
    r"\u3041-\u3096"  # Hiragana
    r"\u30a1-\u30fa"  # Katakana
    r"\u4e00-\u9fff"  # Han
    r"\uff01-\uff60"  # full-width forms
)
"""Characters of which no two ever form a cluster, CR LF apart."""
_PLAIN_PAIR = re.compile(rf"(?!\r\n)[{_PLAIN}][{_PLAIN}]")
_REGIONAL = "".join(map(chr, range(0x1F1E6, 0x1F200)))
"""Letters of which every two, counted from where their run starts, are one flag."""
_LONG_RUN = re.compile(rf"[{_REGIONAL}]{{{LONGEST_CLUSTER},}}")
_GOES_ON = regex.compile(
    r"[\p{GCB=Extend}\u200d]"
    r"[\p{ExtPict}\u0900-\u1cff\ua800-\uabff\U00011000-\U00011fff]"
)
"""A joiner or a mark, and an emoji or an Indic letter: what stands before them decides."""


class Flags:
    """Starts of the long runs of regional indicators (letters of flags) in a text, found once.

    Which two letters are one flag is counted from there. Whoever looks for many boundaries from one
    floor would otherwise walk back to it each time.
    """

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        return [run.span() for run in _LONG_RUN.finditer(self._text)]

    def nearest_floor(self, offset: int, floor: int) -> int:
        """The floor, or an offset nearer to `offset` that leads to the same boundaries.

        Nothing but letters of flags is looked at farther back than a cluster may be long. So
        twice that is far enough, an even number of letters after their run starts.
        """
        near = offset - 2 * LONGEST_CLUSTER
        if near <= floor:
            return floor
        if self._text[near] not in _REGIONAL:
            return near
        before = bisect_right(self._runs, near, key=itemgetter(0)) - 1
        start, end = self._runs[before] if before >= 0 else (0, 0)
        return near - (near - max(start, floor)) % 2 if near < end else near


def boundary_at_or_before(text: str, offset: int, floor: int) -> int:
    """The last cluster boundary in `floor..offset`; `floor` must be one itself.

    Looks back no further than a cluster may be long, and never beyond `floor`. Inside a longer
    cluster every offset is a boundary.
    """
    if offset <= floor:
        return floor
    if offset >= len(text):
        return len(text)
    if _PLAIN_PAIR.match(text, offset - 1):
        return offset
    lowest = max(floor, offset - LONGEST_CLUSTER)
    anchor = _certain_boundary(text, offset, floor, lowest)
    boundary = _last_start(text[anchor : offset + 1], offset - anchor) + anchor
    endless = boundary == anchor == lowest > floor
    return offset if endless else boundary


def boundary_at_or_after(text: str, offset: int, floor: int) -> int:
    """The first cluster boundary at or after `offset`; `floor <= offset` must be a boundary."""
    before = boundary_at_or_before(text, offset, floor)
    if before == offset or before >= len(text):
        return before
    # No cluster is looked at beyond its longest, and no flag beyond its two letters.
    cluster = _CLUSTER.match(text[before : max(before + LONGEST_CLUSTER, offset)])
    return before + int(cluster.end()) if cluster else len(text)


def _certain_boundary(text: str, offset: int, floor: int, lowest: int) -> int:
    """The last offset in `lowest..offset` at which a cluster ends whatever stands before it."""
    for anchor in range(offset, lowest, -1):
        pair = text[anchor - 1 : anchor + 1]
        if pair[0] in _REGIONAL and pair[1] in _REGIONAL:
            if _letters_before(text, anchor, floor) % 2 == 0:
                return anchor
        elif not _CLUSTER.fullmatch(pair) and not _GOES_ON.match(pair):
            return anchor
    return lowest


def _letters_before(text: str, offset: int, floor: int) -> int:
    """Letters of flags that end at `offset`, counted from `floor` on."""
    piece = text[floor:offset]
    return len(piece) - len(piece.rstrip(_REGIONAL))


def _last_start(text: str, offset: int) -> int:
    """The last cluster boundary of `text` up to `offset`."""
    boundary = 0
    for cluster in _CLUSTER.finditer(text):
        if cluster.end() > offset:
            break
        boundary = cluster.end()
    return boundary
