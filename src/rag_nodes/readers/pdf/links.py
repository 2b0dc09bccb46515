"""Links of a page in, marks on the words they cover out; and the marks as Markdown."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.readers.markup import link

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers.pdf.layout import Line
    from rag_nodes.readers.pdf.tables import Word

Area = tuple[float, float, float, float, str]
"""Left, top, right, bottom and address of a link."""

_AROUND = "()[]<>{}.,;:/\"'"
_ADDRESS_MARK = re.compile(r"[./@:]")
_OPEN_END = re.compile(r"\]\((\S+)\)$")
_LABEL = re.compile(r"\[((?:[^\]\\]|\\.)+)\]\((\S+?)\)")


def with_links(
    lines: Sequence[Line], areas: Sequence[Area], words: Sequence[Word]
) -> tuple[Line, ...]:
    """Mark on each line the words that a link to somewhere else covers."""
    marked = list(lines)
    for left, top, right, bottom, address in areas:
        covered = [word for word in words if _holds((left, top, right, bottom), word)]
        for index, line in enumerate(marked):
            here = [word for word in covered if _holds(_box(line), word)]
            if here and (place := _place(line, here)):
                marked[index] = replace(line, links=(*line.links, (*place, address)))
    return tuple(marked)


def linked(line: Line) -> str:
    """The text of a line with its links in Markdown; words that are an address stay as they are."""
    text = line.text
    for start, stop, address in sorted(line.links, reverse=True):
        words = text[start:stop]
        if not _shows(words, address):
            text = text[:start] + link(words, address) + text[stop:]
    return text


def _shows(words: str, address: str) -> bool:
    """True where the words are the address, a piece of it, or hold it."""
    shown = "".join(words.split()).strip(_AROUND)
    is_piece = _ADDRESS_MARK.search(shown) is not None and shown in address
    return is_piece or address.strip(_AROUND) in shown


def without_seam(before: str, after: str) -> tuple[str, str]:
    """Open the end of one line and the start of the next where one link runs over both."""
    end, start = _OPEN_END.search(before), _LABEL.match(after)
    if end and start and end[1] == start[2]:
        return before[: end.start()], after[1:]
    return before, after


def _holds(box: tuple[float, float, float, float], word: Word) -> bool:
    left, top, right, bottom = box
    return left <= (word[0] + word[2]) / 2 <= right and top <= (word[1] + word[3]) / 2 <= bottom


def _box(line: Line) -> tuple[float, float, float, float]:
    return line.left, line.top, line.right, line.bottom


def _place(line: Line, words: Sequence[Word]) -> tuple[int, int] | None:
    """Where these words are in the text of the line: of several places, the one that fits best."""
    phrase = " ".join(word[4] for word in words)
    share = (words[0][0] - line.left) / max(1.0, line.right - line.left)
    starts = [match.start() for match in re.finditer(re.escape(phrase), line.text)]
    if not starts:
        return None
    start = min(starts, key=lambda one: abs(one / len(line.text) - share))
    taken = any(start < stop and begin < start + len(phrase) for begin, stop, _ in line.links)
    return None if taken else (start, start + len(phrase))
