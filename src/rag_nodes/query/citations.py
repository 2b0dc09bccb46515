"""Source numbers in an answer, traced back to node, page and characters."""

from __future__ import annotations

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
    from collections.abc import Iterable, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.query.marks import Mark
    from rag_nodes.query.types import Hit, Source


class Cited(NamedTuple):
    """The sources an answer names.

    Attributes:
        known: numbers of given sources, in order of first mention.
        unknown: numbers that no source has, in order of first mention.
    """

    known: tuple[int, ...]
    unknown: tuple[int, ...]


def cited_numbers(marks: Iterable[Mark], given: Iterable[int]) -> Cited:
    """Which sources the marks of an answer name.

    Args:
        marks: in order.
        given: numbers of the sources the model was given.
    """
    available = set(given)
    numbers = dict.fromkeys(number for mark in marks for number in mark.numbers)
    return Cited(
        known=tuple(number for number in numbers if number in available),
        unknown=tuple(number for number in numbers if number not in available),
    )


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
