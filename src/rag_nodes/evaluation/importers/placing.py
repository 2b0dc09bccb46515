"""Where a quote stands in one document: word for word, else nearly, in parts, or on its page."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import regex

from rag_nodes.errors import MissingExtraError
from rag_nodes.evaluation.dataset import trimmed_passage
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.parsers.foreign.placing import Visible
from rag_nodes.text.spans import PageMap, Span, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.importers.labels import Quote

MOST_LOOKED_AT = 1000
"""Places of one quote, or of the first part of it, among which the right one is looked for."""
_ELLIPSIS = re.compile(r"(?:[\[(]\s*)?(?:…|\.\s?\.\s?\.)[.…]*(?:\s*[\])])?")
"""What stands where somebody left words of a quote out. It begins with no blank: a search that may
begin at each of many takes the square of their time."""
_LEAST_PART = 3
"""Visible characters of a part of a quote between two ellipses."""
LIKE = 0.85
"""Share of a quote's characters that must be in the text, in order, for it to be found nearly."""
_FEWEST = 20
"""Visible characters of a quote that is looked for in other ways than word for word."""
_WITHIN_WORD = regex.compile(
    r"[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]{2}",
    regex.V1,
)
"""Two characters between which no word ends; scripts without spaces do not say."""
_SAME = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—―\u00a0", '\'\'\'\'""""""------ ')  # noqa: RUF001 -- what is told apart by nobody
"""Marks that programs replace as they like."""


class QuotePlace(NamedTuple):
    """A passage, and how surely it is the one that was meant, from 0 to 1."""

    passage: Passage
    confidence: float = 1.0


def parts_of(quote: str) -> list[str]:
    """What stands around the ellipses of a quote; nothing where it is ellipses alone."""
    pieces = [one.strip() for one in _ELLIPSIS.split(quote)]
    found = [one for one in pieces if len("".join(one.split())) >= _LEAST_PART]
    return found or ([quote.strip()] if any(pieces) else [])


class Book:
    """One document, and its text in another spelling, which is made when it is first needed."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._text = document.text

    def claimed(self, quote: Quote) -> QuotePlace | None:
        """The place a quote says it has, if it is there."""
        if quote.start is None or quote.end is None:
            return None
        span = Span(quote.start, quote.end)
        if not 0 <= span.start < span.end <= len(self._text):
            return None
        there = span.of(self._text).strip()
        return self.at(span) if there and quote.text.strip() in ("", there) else None

    def pages(self, pages: tuple[int, int]) -> Span | None:
        """The text from one page to another; None for a document without them."""
        known = PageMap.of(self.document.metadata)
        return known.span(*pages, len(self._text)) if known else None

    def is_on(self, span: Span, pages: tuple[int, int]) -> bool:
        """Whether a span is, in part at least, on some pages."""
        there = self.pages(pages)
        return there is not None and there.overlap(span) > 0

    def in_whole_words(self, quote: str) -> Iterator[Span]:
        """Every place word for word that does not begin or end within a word: no ten in often."""
        return filter(self._is_whole, self.exact(quote))

    def in_any_case(self, quote: str) -> Iterator[Span]:
        """Every place in whole words with other quotation marks, dashes or case."""
        return filter(self._is_whole, _places(_folded(quote.strip()), _folded(self._text)))

    def _is_whole(self, span: Span) -> bool:
        around = (self._text[at - 1 : at + 1] for at in span if at > 0)
        return not any(map(_WITHIN_WORD.fullmatch, around))

    def exact(self, quote: str) -> Iterator[Span]:
        """Every place word for word."""
        return _places(quote.strip(), self._text)

    def loosely(self, quote: str) -> Iterator[Span]:
        """Every place with other blank space, quotation marks, dashes or case."""
        wanted = _folded("".join(quote.split()))
        if len(wanted) >= _FEWEST:
            for letters in _places(wanted, self._letters):
                yield self._visible.span(letters, quote)

    def nearly(self, quote: str) -> QuotePlace | None:
        """The place with the most of the characters in order, if there are enough of them.

        Raises:
            MissingExtraError: rapidfuzz is not installed.
        """
        wanted = _folded("".join(quote.split()))
        if not _FEWEST <= len(wanted) <= len(self._letters):
            return None  # of a longer one the document would be looked for in the quote
        try:
            from rapidfuzz import fuzz
        except ImportError as error:
            raise MissingExtraError("rapidfuzz", "evaluate") from error
        found = fuzz.partial_ratio_alignment(wanted, self._letters, score_cutoff=LIKE * 100)
        if found is None or found.dest_end <= found.dest_start:
            return None
        span = self._visible.span(Span(found.dest_start, found.dest_end), quote)
        return self.at(_whole_words(self._text, span), found.score / 100)

    def in_order(
        self, parts: Sequence[str], pages: tuple[int, int] | None
    ) -> tuple[bool, int, list[Span]] | None:
        """Where parts of a quote stand, one behind the other and as close together as they do.

        Returns:
            Whether none of them is on the pages, the characters they take, and the spans: what is
            smallest is meant. None where they do not stand in this order.
        """
        spans = {one: [*self.exact(one)] or [*self.loosely(one)] for one in parts}
        best: tuple[bool, int, list[Span]] | None = None
        for first in islice(spans[parts[0]], MOST_LOOKED_AT):
            chain = [first]
            for part in parts[1:]:
                # The nearest place behind the one before.
                at = bisect_left(spans[part], chain[-1].end, key=lambda one: one.start)
                if at == len(spans[part]):
                    return best  # nor behind any later place of the first
                chain.append(spans[part][at])
            off = pages is not None and not any(self.is_on(one, pages) for one in chain)
            found = off, chain[-1].end - first.start, chain
            best = found if best is None or found < best else best
        return best

    def at(self, span: Span, confidence: float = 1.0) -> QuotePlace:
        """A place in this document, without blank space at its ends."""
        return QuotePlace(trimmed_passage(Passage(self.document.id_, span), self._text), confidence)

    @cached_property
    def _visible(self) -> Visible:
        return Visible(self._text)

    @cached_property
    def _letters(self) -> str:
        return _folded(self._visible.letters)


def _places(wanted: str, text: str) -> Iterator[Span]:
    start = text.find(wanted)
    while start >= 0:
        yield Span(start, start + len(wanted))
        start = text.find(wanted, start + len(wanted))


def _folded(text: str) -> str:
    """The text without case and without marks that nobody tells apart; as long as it was."""
    plain = text.translate(_SAME)
    lower = plain.lower()
    return lower if len(lower) == len(plain) else plain


def _whole_words(text: str, span: Span) -> Span:
    """The span with the rest of the words it begins and ends in."""
    start, end = span
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return trimmed(text, start, end)
