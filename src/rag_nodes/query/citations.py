"""Source numbers in an answer, traced back to node, page and characters."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.metadata import (
    FILE_NAME,
    HEADING_PATH,
    HEADINGS_INSIDE,
    PAGE_BREAKS,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.query.types import Citation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.query.types import Hit, Source

_BRACKETS = re.compile(r"\[([^\[\]\n]{1,120})\](?!\()")
"""Text in square brackets that is not a link (`[1](url)`)."""
_UNFINISHED = re.compile(r"\[[^\[\]\n]{0,120}\]?")
"""The beginning of such a bracket, or all of it where what follows is not known yet."""
_INDEXED = re.compile(r"[A-Za-z0-9_]")
"""Before bare brackets this means an index, as in `row[1]`."""
_NAMED = re.compile(r"\s*sources?\b\s*(?P<rest>.*)", re.IGNORECASE)
_PAGE = re.compile(r"\bp(?:p|ages?)?\b\.?\s*\d+(?:\s*[-\u2013\u2014]\s*\d+)?", re.IGNORECASE)
_NUMBERS_ONLY = re.compile(r"\s*#?\d{1,2}(?:\s*(?:[,;&]|and)\s*#?\d{1,2})*\s*", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,;&]|\band\b|\bsources?\b", re.IGNORECASE)
_ENTRY = re.compile(r"#?(\d{1,3})(?:\s*[-\u2013\u2014:(].*)?", re.DOTALL)
"""A number, alone or with the rest of a source's label behind it."""
_RANGE = re.compile(r"(\d{1,3})\s*[-\u2013\u2014]\s*(\d{1,3})")


class Cited(NamedTuple):
    """The sources an answer names.

    Attributes:
        known: numbers of given sources, in order of first mention.
        unknown: numbers that no source has, in order of first mention.
    """

    known: tuple[int, ...]
    unknown: tuple[int, ...]


def cited_numbers(answer: str, given: Iterable[int]) -> Cited:
    """Which sources an answer cites.

    Understood are `[Source 1]`, `[Source 1 - Page 5]`, `[Sources 1, 2]`, `[Sources 1-3]`,
    `[Source 1; Source 2]` and the bare `[1]`, `[1, 2]`; a page number is not a source number.

    Args:
        answer: as the model wrote it.
        given: numbers of the sources the model was given.
    """
    reader = CitationReader()
    numbers = [*reader.read(answer), *reader.end()]
    available = set(given)
    return Cited(
        known=tuple(number for number in numbers if number in available),
        unknown=tuple(number for number in numbers if number not in available),
    )


class CitationReader:
    """Finds the source numbers of an answer that arrives in pieces, wherever it is split.

    A bracket counts once the character behind it is known: `[1](url)` is a link. What cannot be
    part of a citation any more is forgotten, so the cost does not grow with the answer.
    """

    def __init__(self) -> None:
        self._open = ""
        self._seen: set[int] = set()

    def read(self, piece: str) -> list[int]:
        """The numbers that became certain with this piece and were not named before, in order."""
        self._open += piece
        return self._new(at_end=False)

    def end(self) -> list[int]:
        """The numbers in a bracket that was the very end of the answer."""
        return self._new(at_end=True)

    def _new(self, *, at_end: bool) -> list[int]:
        done, found = 0, list[int]()
        for match in _BRACKETS.finditer(self._open):
            if match.end() == len(self._open) and not at_end:
                break
            done = match.end()
            before = self._open[max(0, match.start() - 1) : match.start()]
            found.extend(_mentioned(match[1], before))
        self._forget(done)
        fresh = [number for number in dict.fromkeys(found) if number not in self._seen]
        self._seen.update(fresh)
        return fresh

    def _forget(self, done: int) -> None:
        """Keep the last bracket if it may still become a citation, and the character before."""
        start = self._open.rfind("[", done)
        if start < 0 or not _UNFINISHED.fullmatch(self._open, start):
            start = len(self._open)
        self._open = self._open[max(0, start - 1) :]


def cite_sources(numbers: Iterable[int], sources: Sequence[Source]) -> tuple[Citation, ...]:
    """One citation per cited source: its best hit, whole."""
    by_number = {source.number: source for source in sources}
    citations = []
    for number in numbers:
        best = min(by_number[number].hits, key=lambda hit: hit.rank)
        citations.append(cite_passage(number, best, 0, len(best.node.text)))
    return tuple(citations)


def cite_passage(number: int, hit: Hit, start: int, end: int) -> Citation:
    """The citation of some characters of a hit.

    Args:
        number: of the source.
        hit: where the passage is.
        start: offset of the passage inside the node's text.
        end: offset one past it.
    """
    node = hit.node
    metadata = node.metadata
    base = node.start_char_idx
    pages = _pages(node, start, end)
    return Citation(
        number=number,
        node_id=node.node_id,
        file_name=str(metadata.get(FILE_NAME) or ""),
        source=str(metadata.get(SOURCE) or ""),
        page=pages[0],
        page_end=pages[1],
        heading_path=_heading_path(node, start),
        start=None if base is None else base + start,
        end=None if base is None else base + end,
        quote=node.text[start:end],
    )


def _mentioned(inside: str, before: str) -> Iterator[int]:
    """The source numbers of one bracket.

    Args:
        inside: what stands in it.
        before: the character in front of it, if any.
    """
    named = _NAMED.fullmatch(inside)
    if named:
        yield from _listed(named["rest"])
    elif _NUMBERS_ONLY.fullmatch(inside) and not _INDEXED.match(before):
        yield from _listed(inside)


def _listed(text: str) -> Iterator[int]:
    """The numbers of a list, ranges spelled out, pages and titles left aside."""
    for part in _SEPARATOR.split(_PAGE.sub(" ", text)):
        entry = part.strip()
        span = _RANGE.fullmatch(entry)
        if span and int(span[1]) <= int(span[2]):
            yield from range(int(span[1]), int(span[2]) + 1)
        elif number := _ENTRY.fullmatch(entry):
            yield int(number[1])


def _heading_path(node: TextNode, start: int) -> tuple[str, ...]:
    """Headings above an offset inside a node."""
    path = node.metadata.get(HEADING_PATH) or ()
    if start and node.start_char_idx is not None:
        for offset, inner in node.metadata.get(HEADINGS_INSIDE) or ():
            if offset <= node.start_char_idx + start:
                path = inner
    return tuple(path)


def _pages(node: TextNode, start: int, end: int) -> tuple[int | None, int | None]:
    """First and last page of some characters of a node."""
    first = node.metadata.get(PAGE_START)
    if first is None:
        return None, None
    if node.start_char_idx is None:
        return int(first), int(node.metadata.get(PAGE_END) or first)
    breaks: list[int] = node.metadata.get(PAGE_BREAKS) or []
    base = node.start_char_idx
    last = max(start, end - 1)
    return (
        int(first) + bisect_right(breaks, base + start),
        int(first) + bisect_right(breaks, base + last),
    )
