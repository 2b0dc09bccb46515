"""Source numbers in an answer, traced back to node, page and characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.metadata import FILE_PATH, SOURCE, display_name
from rag_nodes.query.places import found_in, headings_of, pages_of
from rag_nodes.query.types import Citation
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
        heading_path=headings_of(node, start),
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
    """Whether the quote lies in what was found, not only around it."""
    found = found_in(hit)
    return found is not None and found.start <= quote.start and quote.end <= found.end


def _cited(source: Source) -> Citation:
    best = min(source.hits, key=lambda hit: hit.rank)
    if found := _read_of(best, source):
        return cite_passage(source.number, best, *found)
    own = (excerpt for excerpt in source.excerpts if excerpt.hit is best)
    excerpt = next(own, source.excerpts[0])
    return cite_passage(source.number, excerpt.hit, excerpt.start, excerpt.end)


def _read_of(hit: Hit, source: Source) -> tuple[int, int] | None:
    """What a source holds of what was found, inside `hit.read.text`; None where nothing."""
    found, base = found_in(hit), hit.read.start_char_idx
    if found is None or base is None:
        return None
    read = [one.span for one in source.excerpts if one.span and one.span.overlap(found)]
    if not read:
        return None
    first, last = min(span.start for span in read), max(span.end for span in read)
    return max(found.start, first) - base, min(found.end, last) - base
