"""Links of a page in, marks on the words they cover out; and the marks as Markdown."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.readers.markup import link
from rag_nodes.readers.pdf.engines.geometry import holds
from rag_nodes.readers.pdf.nearby import ByBand, ByHeight, middle_of
from rag_nodes.text.superscripts import lowered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers.pdf.engines.protocol import Area, Word
    from rag_nodes.readers.pdf.layout import Line

_AROUND = "()[]<>{}.,;:/\"'"
_ADDRESS_MARK = re.compile(r"[./@:]")
_OPEN_END = re.compile(r"\]\((\S+)\)$")
_LABEL = re.compile(r"\[((?:[^\]\\]|\\.)+)\]\((\S+?)\)")


def with_links(
    lines: Sequence[Line], areas: Sequence[Area], words: Sequence[Word]
) -> tuple[Line, ...]:
    """Mark on each line the words that a link to somewhere else covers."""
    if not areas:
        return tuple(lines)
    marked = list(lines)
    by_height = ByHeight(middle_of(word)[1] for word in words)
    by_band = ByBand((line.top, line.bottom) for line in lines)
    for left, top, right, bottom, address in areas:
        near = [words[number] for number in by_height.between(top, bottom)]
        box = left, top, right, bottom
        covered = [word for word in near if holds(box, *middle_of(word))]
        for index, here in sorted(_by_line(covered, lines, by_band).items()):
            line = marked[index]
            if place := _place(line, here):
                marked[index] = replace(line, links=(*line.links, (*place, address)))
    return tuple(marked)


def _by_line(
    words: Sequence[Word], lines: Sequence[Line], by_band: ByBand
) -> dict[int, list[Word]]:
    """Return the words that stand in each line, by the number of the line."""
    by_line: dict[int, list[Word]] = defaultdict(list)
    for word in words:
        for index in by_band.near(middle_of(word)[1]):
            if holds(lines[index].box, *middle_of(word)):
                by_line[index].append(word)
    return by_line


def linked(line: Line) -> str:
    """The text of a line with its links in Markdown; words that are an address stay as they are."""
    text = line.text
    for start, stop, address in sorted(line.links, reverse=True):
        words = text[start:stop]
        if not _shows(words, address):
            text = text[:start] + link(words, address) + text[stop:]
    return text


def _shows(words: str, address: str) -> bool:
    """Return True if the words are the address, a piece of it, or hold it."""
    shown = "".join(words.split()).strip(_AROUND)
    is_piece = _ADDRESS_MARK.search(shown) is not None and shown in address
    return is_piece or address.strip(_AROUND) in shown


def without_seam(before: str, after: str) -> tuple[str, str]:
    """Open the end of one line and the start of the next where one link runs over both."""
    end, start = _OPEN_END.search(before), _LABEL.match(after)
    if end and start and end[1] == start[2]:
        return before[: end.start()], after[1:]
    return before, after


def _place(line: Line, words: Sequence[Word]) -> tuple[int, int] | None:
    """Return the place of these words in the text of the line; of several, the best fit."""
    phrase = lowered(" ".join(word[4] for word in words))
    share = (words[0][0] - line.left) / max(1.0, line.right - line.left)
    starts = [match.start() for match in re.finditer(re.escape(phrase), lowered(line.text))]
    if not starts:
        return None
    start = min(starts, key=lambda at: abs(at / len(line.text) - share))
    taken = any(start < stop and begin < start + len(phrase) for begin, stop, _ in line.links)
    return None if taken else (start, start + len(phrase))
