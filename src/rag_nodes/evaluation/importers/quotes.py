"""Places of a quote in one document: word for word, spelt otherwise, nearly, or in parts."""

from __future__ import annotations

from bisect import bisect_left
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import regex

from rag_nodes.core.errors import MissingExtraError
from rag_nodes.core.metadata import PAGE_LABEL, page_number
from rag_nodes.evaluation.dataset import trimmed_passage
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.parsers.foreign.placing import Visible
from rag_nodes.text.spans import PageMap, Span, trimmed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.evaluation.importers.formats import Quote

MOST_LOOKED_AT = 1000
"""Places of one quote, or of the first part of it, among which the right one is looked for."""
_LIKE = 0.85
"""Share of a quote's characters that must be in the text, in order, for it to be found nearly."""
_FEWEST = 20
"""Visible characters of a quote that is looked for in other ways than word for word."""
_WITHIN_WORD = regex.compile(
    r"[[\p{L}\p{N}]--[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]]{2}",
    regex.V1,
)
"""Two characters between which no word ends; scripts without spaces do not say."""
_SAME = str.maketrans("‘’‚‛“”„‟«»‐‑‒–—―\u00a0", '\'\'\'\'""""""------ ')  # noqa: RUF001 -- characters that nobody distinguishes
"""Marks that programs replace as they like."""

Chain = tuple[bool, int, list[Span]]
"""Sort key of places: whether no part of the quote is on its pages, their characters, and where
they stand. The smallest of several is meant."""


class FoundQuote(NamedTuple):
    """A passage, and how surely it is the one that was meant, from 0 to 1.

    `off_page` says where its quote stands if that is not the page that the label names.
    """

    passage: Passage
    confidence: float = 1.0
    off_page: str = ""


class SearchedDocument:
    """One document, and its text in other spellings, which are made when they are needed."""

    def __init__(self, document: Document) -> None:
        self.id, self.text, self._metadata = document.id_, document.text, document.metadata
        self._page = page_number(document.metadata.get(PAGE_LABEL))

    def at(self, span: Span, confidence: float = 1.0) -> FoundQuote:
        """A place in this document, without blank space at its ends."""
        return FoundQuote(trimmed_passage(Passage(self.id, span), self.text), confidence)

    def claimed(self, quote: Quote) -> FoundQuote | None:
        """The place a quote says it has, if it is there."""
        start, end = quote.start, quote.end
        if start is None or end is None or not 0 <= start < end <= len(self.text):
            return None
        text = self.text[start:end].strip()
        is_meant = text and quote.text.strip() in ("", text)
        return self.at(Span(start, end)) if is_meant else None

    def pages(self, pages: tuple[int, int]) -> Span:
        """The text from one page to another; empty for a document without them."""
        page_map = PageMap.of(self._metadata)
        if page_map and page_map.starts:
            return page_map.span(*pages, len(self.text)) or Span(0, 0)
        is_meant = self._page is not None and pages[0] <= self._page <= pages[1]
        return Span(0, len(self.text) if is_meant else 0)

    def page_of(self, offset: int) -> int | None:
        """The number of the page that an offset is on; None for a document without pages."""
        page_map = PageMap.of(self._metadata)
        return page_map.page_of(offset) if page_map and page_map.starts else self._page

    def as_written(self, quote: str) -> Iterator[Iterator[Span]]:
        """Every place of a quote, in each of several ways, one less strict than the other."""
        yield filter(self._is_whole, _occurrences(quote.strip(), self.text))  # no ten in often
        yield _occurrences(quote.strip(), self.text)
        yield filter(self._is_whole, _occurrences(_folded(quote.strip()), self._plain))
        yield self.loosely(quote)

    def loosely(self, quote: str) -> Iterator[Span]:
        """Every place with other blank space, quotation marks, dashes or case."""
        wanted = _folded("".join(quote.split()))
        if len(wanted) >= _FEWEST:
            for letters in _occurrences(wanted, self._letters):
                yield self._visible.span(letters, quote)

    def nearly(self, quote: str) -> FoundQuote | None:
        """The place with the most of the characters in order, if there are enough of them."""
        wanted = _folded("".join(quote.split()))
        if not _FEWEST <= len(wanted) <= len(self._letters):
            return None  # of a longer one the document would be looked for in the quote
        try:
            from rapidfuzz import fuzz
        except ImportError as error:
            raise MissingExtraError("rapidfuzz", "evaluate") from error
        alignment = fuzz.partial_ratio_alignment(wanted, self._letters, score_cutoff=_LIKE * 100)
        if alignment is None or alignment.dest_end <= alignment.dest_start:
            return None
        span = self._visible.span(Span(alignment.dest_start, alignment.dest_end), quote)
        return self.at(_whole_words(self.text, span), alignment.score / 100)

    def in_order(self, parts: Sequence[str], pages: tuple[int, int] | None) -> Chain | None:
        """Return the spans of the parts of a quote, in order and as close together as possible."""
        spans = {part: [*_occurrences(part, self.text)] or [*self.loosely(part)] for part in parts}
        chains, on = list[Chain](), self.pages(pages) if pages else None
        for first in islice(spans[parts[0]], MOST_LOOKED_AT):
            chain = [first]
            for part in parts[1:]:
                # The nearest place behind the one before.
                at = bisect_left(spans[part], chain[-1].end, key=lambda span: span.start)
                if at == len(spans[part]):
                    return min(chains, default=None)  # nor behind any later place of the first
                chain.append(spans[part][at])
            off = on is not None and not any(map(on.overlap, chain))
            chains.append((off, chain[-1].end - first.start, chain))
        return min(chains, default=None)

    def _is_whole(self, span: Span) -> bool:
        around = (self.text[at - 1 : at + 1] for at in span if at > 0)
        return not any(map(_WITHIN_WORD.fullmatch, around))

    @cached_property
    def _plain(self) -> str:
        return _folded(self.text)

    @cached_property
    def _visible(self) -> Visible:
        return Visible(self.text)

    @cached_property
    def _letters(self) -> str:
        return _folded(self._visible.letters)


def _occurrences(wanted: str, text: str) -> Iterator[Span]:
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
