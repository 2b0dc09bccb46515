"""Cuts that never fall inside what a reader sees as one character (Unicode UAX #29)."""

from __future__ import annotations

import re

import regex

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


def _plain_boundary(text: str, offset: int) -> bool:
    """Whether two plain characters meet at `offset`, so that it is a boundary for certain."""
    return _PLAIN_PAIR.match(text, offset - 1) is not None


def boundary_at_or_before(text: str, offset: int, floor: int) -> int:
    """The last cluster boundary in `floor..offset`; `floor` must be one itself.

    Looks back no further than `floor`, so that walking a text from cut to cut stays linear.
    """
    if offset <= floor:
        return floor
    if offset >= len(text):
        return len(text)
    if _plain_boundary(text, offset):
        return offset
    anchor = _certain_boundary_before(text, offset, floor)
    return _last_start(text, anchor, offset)


def boundary_at_or_after(text: str, offset: int, floor: int) -> int:
    """The first cluster boundary at or after `offset`; `floor <= offset` must be a boundary."""
    before = boundary_at_or_before(text, offset, floor)
    if before == offset or before >= len(text):
        return before
    cluster = _CLUSTER.match(text, before)
    return int(cluster.end()) if cluster else len(text)


def _certain_boundary_before(text: str, offset: int, floor: int) -> int:
    anchor = offset - 1
    while anchor > floor and not _plain_boundary(text, anchor):
        anchor -= 1
    return max(anchor, floor)


def _last_start(text: str, anchor: int, offset: int) -> int:
    """Walk whole clusters from `anchor`; the last boundary that is not beyond `offset`."""
    boundary = anchor
    for cluster in _CLUSTER.finditer(text, anchor):
        if cluster.end() > offset:
            return boundary
        boundary = cluster.end()
        if boundary == offset:
            return boundary
    return boundary
