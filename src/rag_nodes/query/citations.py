"""Source numbers in an answer, traced back to node, page and characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.metadata import (
    FILE_PATH,
    HEADING_PATH,
    HEADINGS_INSIDE,
    PAGE_END,
    PAGE_LABEL,
    PAGE_START,
    SOURCE,
    display_name,
)
from rag_nodes.query.types import Citation
from rag_nodes.text.pages import PageMap
from rag_nodes.text.spans import Span

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
    """One citation per cited source: what was found by its best hit, as far as it was read."""
    by_number = {source.number: source for source in sources}
    return tuple(_cited(by_number[number]) for number in numbers)


def cite_passage(number: int, hit: Hit, start: int, end: int) -> Citation:
    """The citation of some characters that were read because of a hit.

    Args:
        number: of the source.
        hit: what was found.
        start: offset of the passage inside `hit.read.text`.
        end: offset one past it.
    """
    node = hit.read
    metadata = node.metadata
    base = node.start_char_idx
    pages = pages_of(node, start, end)
    return Citation(
        number=number,
        node_id=hit.node.node_id,
        file_name=display_name(metadata),
        source=str(metadata.get(SOURCE) or metadata.get(FILE_PATH) or ""),
        page=pages[0],
        page_end=pages[1],
        heading_path=_heading_path(node, start),
        start=None if base is None else base + start,
        end=None if base is None else base + end,
        quote=node.text[start:end],
    )


def cite_quote(hit: Hit, start: int, end: int, sources: Sequence[Source]) -> Citation:
    """The citation of a quote, of the source that holds it and the hit that found it.

    Args:
        hit: whose text was read.
        start: offset of the quote inside `hit.read.text`.
        end: offset one past it.
        sources: all that is read; one of them holds the hit.
    """
    holding = [source for source in sources if any(one is hit for one in source.hits)]
    base = hit.read.start_char_idx
    if base is None:
        return cite_passage(holding[0].number, hit, start, end)
    quote = Span(base + start, base + end)
    source = next((one for one in holding if _holds(one, quote.start)), holding[0])
    finders = (one for one in source.hits if _found(one, quote))
    finder = min(finders, key=lambda one: one.rank, default=hit)
    shift = base - (finder.read.start_char_idx or 0)
    return cite_passage(source.number, finder, start + shift, end + shift)


def _holds(source: Source, offset: int) -> bool:
    spans = (excerpt.span for excerpt in source.excerpts)
    return any(span and span.start <= offset < span.end for span in spans)


def _found(hit: Hit, quote: Span) -> bool:
    """Whether the quote lies in the node that was found, not only around it."""
    start, end = hit.node.start_char_idx, hit.node.end_char_idx
    if start is None or end is None or hit.read.start_char_idx is None:
        return False
    return start <= quote.start and quote.end <= end


def _cited(source: Source) -> Citation:
    best = min(source.hits, key=lambda hit: hit.rank)
    if found := _read_of(best, source):
        return cite_passage(source.number, best, *found)
    own = (excerpt for excerpt in source.excerpts if excerpt.hit is best)
    excerpt = next(own, source.excerpts[0])
    return cite_passage(source.number, excerpt.hit, excerpt.start, excerpt.end)


def _read_of(hit: Hit, source: Source) -> tuple[int, int] | None:
    """What of the found node a source holds, inside `hit.read.text`; None where nothing."""
    start, end, base = hit.node.start_char_idx, hit.node.end_char_idx, hit.read.start_char_idx
    if start is None or end is None or base is None:
        return None
    found = Span(start, end)
    read = [one.span for one in source.excerpts if one.span and one.span.overlap(found)]
    if not read:
        return None
    first, last = min(span.start for span in read), max(span.end for span in read)
    return max(start, first) - base, min(end, last) - base


def _heading_path(node: TextNode, start: int) -> tuple[str, ...]:
    """Headings above an offset inside a node."""
    path = node.metadata.get(HEADING_PATH) or ()
    if start and node.start_char_idx is not None:
        for offset, inner in node.metadata.get(HEADINGS_INSIDE) or ():
            if offset <= node.start_char_idx + start:
                path = inner
    return tuple(path)


def pages_of(node: TextNode, start: int, end: int) -> tuple[int | None, int | None]:
    """First and last page of some characters of a node."""
    pages = PageMap.of(node.metadata)
    if pages is None:
        page = _foreign_page(node.metadata.get(PAGE_LABEL))
        return page, page
    if node.start_char_idx is None:
        first = int(node.metadata[PAGE_START])
        return first, int(node.metadata.get(PAGE_END) or first)
    found = pages.facts(node.start_char_idx + start, node.start_char_idx + end)
    return found[PAGE_START], found[PAGE_END]


def _foreign_page(label: object) -> int | None:
    """The page that a reader of LlamaIndex notes: documents are pages there, named as printed."""
    text = str(label or "")
    return int(text) if text.isascii() and text.isdecimal() and int(text) > 0 else None
