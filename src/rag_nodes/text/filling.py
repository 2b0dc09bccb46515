"""Ranked passages to what is read of them: each character once, the budget of tokens filled.

The one rule for the context of an answer and for measures at an equal number of tokens. An answer
may leave a little of its budget empty to end with a sentence; what is measured is filled to a
token.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import Span, merge
from rag_nodes.text.tokens import count_tokens, token_index

MOST_LOST = 0.02
"""Share of the budget that an answer may leave empty: for the end of a sentence, and before it
counts as full; 30 of 1500 tokens hold most sentences."""
_WORD = re.compile(r"(?<!\S)\S")
_VISIBLE = re.compile(r"\S")


class Lead(NamedTuple):
    """A line that is read before a part that begins inside a table.

    Attributes:
        span: characters of the document; a part that begins at any of them is read with the line.
        text: the line, without its end.
        place: source that the part is read in; each source has the line once.
    """

    span: Span
    text: str
    place: str


def lead_tokens(text: str) -> int:
    """Return the tokens of the text of a lead and of the end of its line."""
    return count_tokens(f"{text}\n")


class Repeat(NamedTuple):
    """Characters of a document that repeat those of another one.

    `is_equal` is False if they are near-equal only.
    """

    document: str
    span: Span
    is_equal: bool = True


class Ranked(NamedTuple):
    """A passage that was found; passages of the same document share characters.

    `text` is that of `span`. Its `core` is what matched, kept where not all of it fits. `leads` are
    in order and disjoint. `repeats` are not read once the passage is; those in the passage itself
    are later copies of its sentences. `sentences` are its sentences and rows without the headings
    above them, in order; if they are known, nothing but whole ones is read.
    """

    document: str
    span: Span
    text: str
    core: Span | None = None
    leads: tuple[Lead, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    sentences: tuple[Span, ...] = ()

    def lead_at(self, offset: int) -> Lead | None:
        """Return the line for a part that begins at an offset; None if there is none."""
        return next(
            (lead for lead in self.leads if lead.span.start <= offset < lead.span.end), None
        )


class Filled(NamedTuple):
    """Text that fills a budget: for each passage in rank order, the parts read because of it.

    Parts are disjoint from all others, and empty where passages before it hold it; passages that
    came too late have none. `tokens` is the sum of the parts' own and of the lines before them;
    `truncated` says that the last passage is read in part only.
    """

    parts: tuple[tuple[Span, ...], ...]
    tokens: int
    truncated: bool = False


def fill(
    ranked: Iterable[Ranked],
    budget: int | None,
    *,
    exact: bool = False,
    repeats_leads: bool = False,
) -> Filled:
    """Read passages in rank order until the budget is full; characters are paid for once.

    What repeats a passage that was read, there or elsewhere, is not read again.

    If the sentences of a passage are known, it is read in whole sentences: those around its core
    that fit, or nothing, and the passages behind it follow. Only if not even a sentence of the
    first core fits is that one truncated, as other passages are.

    Another passage that does not fit is the last one and is truncated: after a sentence (or a line
    of a table, list or code) where that leaves at most `MOST_LOST` of the budget empty, else after
    a word, else after a token, never inside what a reader sees as one character. It is split at its
    end; at its beginning only where its core would be lost. A line before a part that begins inside
    a table is paid for once in each source, see `Lead`; with `repeats_leads`, in each part.

    A budget of None is for everything. With `exact`, nothing is left empty: the last passage is
    split at the last character that fits.
    """
    read: dict[str, list[Span]] = defaultdict(list)
    parts: list[tuple[Span, ...]] = []
    used = 0
    leads = _Leads(repeats=repeats_leads)
    lost = None if exact else int((budget or 0) * MOST_LOST)
    for passage in ranked:
        if budget is not None and budget - used <= (lost or 0):
            break
        taken: list[Span] = []
        for span in _unread(passage, read[passage.document]):
            part, tokens = span, count_tokens(_text(passage, span)) + leads.due(passage, span.start)
            is_truncated = False
            if budget is not None and tokens > budget - used:
                room = budget - used - leads.most_due(passage, span)
                part, is_truncated = _fitting(passage, span, room, lost, is_first=not used)
                tokens = count_tokens(_text(passage, part)) + leads.due(passage, part.start)
            if part.length:
                taken.append(part)
                used += tokens
                leads.pay(passage, part.start)
            if is_truncated:
                return Filled((*parts, tuple(sorted(taken))), used, truncated=True)
        repeats = [(repeat.document, repeat.span) for repeat in passage.repeats if taken]
        for document, span in (*((passage.document, own) for own in taken), *repeats):
            near = _touching(read[document], span)
            read[document][near] = merge([*read[document][near], span])
        parts.append(tuple(sorted(taken)))
    return Filled(tuple(parts), used)


class _Leads:
    """The lines that are paid for, by document, source and text; none if each part repeats them."""

    def __init__(self, *, repeats: bool) -> None:
        self._paid: set[tuple[str, str, str]] = set()
        self._repeats = repeats

    def due(self, passage: Ranked, start: int) -> int:
        """Return the tokens of the line for a part that begins at `start`; 0 if it is paid for."""
        lead = passage.lead_at(start)
        return lead_tokens(lead.text) if lead and self._key(passage, lead) not in self._paid else 0

    def most_due(self, passage: Ranked, span: Span) -> int:
        """Return the most that a part of a span can cost, wherever it begins."""
        own = [lead for lead in passage.leads if lead.span.overlap(span)]
        return max((self.due(passage, lead.span.start) for lead in own), default=0)

    def pay(self, passage: Ranked, start: int) -> None:
        """Note that the line for a part that begins at `start` is read."""
        if not self._repeats and (lead := passage.lead_at(start)):
            self._paid.add(self._key(passage, lead))

    @staticmethod
    def _key(passage: Ranked, lead: Lead) -> tuple[str, str, str]:
        return passage.document, lead.place, lead.text


def _unread(passage: Ranked, read: Sequence[Span]) -> list[Span]:
    """Return the unread parts of a passage, the part with its core first, without white space.

    If its sentences are known, parts end with one: a heading alone is nothing to read.
    """
    parts: list[Span] = []
    reached, end = passage.span
    again = (repeat.span for repeat in passage.repeats if repeat.document == passage.document)
    for piece in (*merge([*read[_touching(read, passage.span)], *again]), Span(end, end)):
        if piece.start > reached and reached < end:
            parts.append(Span(reached, min(piece.start, end)))
        reached = max(reached, piece.end)
    if passage.sentences:
        own = [(span.start, _sentences_in(passage, span)) for span in parts]
        parts = [
            Span(_top(passage, start, sentences[0]), sentences[-1].end)
            for start, sentences in own
            if sentences
        ]
    visible = [span for span in parts if not _text(passage, span).isspace()]
    core = passage.core or passage.span
    return sorted(visible, key=lambda span: not span.overlap(core))


def _touching(read: Sequence[Span], span: Span) -> slice:
    """Return where those of sorted, disjoint spans stand that overlap or touch another span."""
    low = bisect_left(read, span.start, key=lambda own: own.end)
    return slice(low, bisect_right(read, span.end, low, key=lambda own: own.start))


def _fitting(
    passage: Ranked, span: Span, limit: int, lost: int | None, *, is_first: bool
) -> tuple[Span, bool]:
    """Return what fits of a span, and True if it is truncated, so that nothing follows it."""
    part = Span(span.start, span.start)
    if passage.sentences and lost is not None:
        part = _in_whole_sentences(passage, span, limit)
        if part.length or not is_first:
            return part, False
    return _cut(passage, span, limit, lost) if limit > 0 else part, True


def _sentences_in(passage: Ranked, span: Span) -> list[Span]:
    return [own for own in passage.sentences if span.start <= own.start and own.end <= span.end]


def _top(passage: Ranked, low: int, sentence: Span) -> int:
    """Return where the headings above a sentence begin, which stand behind `low`."""
    base = passage.span.start
    visible = _VISIBLE.search(passage.text, low - base, sentence.end - base)
    return min(sentence.start, base + visible.start()) if visible else sentence.start


def _in_whole_sentences(passage: Ranked, span: Span, limit: int) -> Span:
    """Return the sentences of a span that fit with one of the core; empty if that one does not.

    A sentence comes with the headings above it, or without if there is no room for them.
    """
    sentences = _sentences_in(passage, span)
    core = passage.core or span
    best = [at for at, own in enumerate(sentences) if own.overlap(core)] or [0]
    lows = [span.start, *(own.end for own in sentences)]
    tops = [_top(passage, low, own) for low, own in zip(lows, sentences, strict=False)]

    tokens = token_index(_text(passage, span))

    def fits(start: int, last: int) -> bool:
        return tokens.count(start - span.start, sentences[last].end - span.start) <= limit

    ways = [(tops[0], best[-1])]
    for at in best:
        ways += [(tops[at], at), (sentences[at].start, at)]
    start, last = next((way for way in ways if fits(*way)), (span.start, -1))
    if last < 0:
        return Span(span.start, span.start)
    while last + 1 < len(sentences) and fits(start, last + 1):
        last += 1
    before = [top for top in tops if top < start]
    while last + 1 == len(sentences) and before and fits(before[-1], last):
        start = before.pop()
    return Span(start, sentences[last].end)


def _text(passage: Ranked, span: Span) -> str:
    return passage.text[span.start - passage.span.start : span.end - passage.span.start]


def _cut(passage: Ranked, span: Span, limit: int, lost: int | None) -> Span:
    """The best part of a span with at most `limit` tokens, of which `lost` may stay empty."""
    packer = Packer(_text(passage, span))
    length, core = span.length, passage.core
    start, end = 0, _end(packer, 0, limit, lost)
    if core is not None and span.start + end < core.end:
        start = boundary_at_or_before(packer.text, core.start - span.start, 0)
        if packer.count(start, length) <= limit:
            start, end = _start(packer, limit, lost), length
        else:
            end = _end(packer, start, limit, lost)
    return Span(span.start + start, span.start + end)


def _end(packer: Packer, start: int, limit: int, lost: int | None) -> int:
    """Return the end of a part from `start`: kinds of boundary are tried until little is lost."""
    end, stop = start, len(packer.text)
    if lost is None:
        return boundary_at_or_before(packer.text, packer.tokens.fit(start, limit), start)
    while packer.count(start, end) < limit - lost:
        further = packer.end_of_piece(start, end, stop, limit)
        if further <= end:
            return end
        end = further
    return end


def _start(packer: Packer, limit: int, lost: int | None) -> int:
    """Return the start of a part that ends with the text, by the order that `_end` follows."""
    stop = len(packer.text)
    low = packer.tokens.back(stop, limit)
    start = stop
    for starts in _starts(packer, low, stop):
        start = next((at for at in starts if packer.count(at, stop) <= limit), stop)
        if lost is not None and packer.count(start, stop) >= limit - lost:
            return start
    return start


def _starts(packer: Packer, low: int, stop: int) -> Iterator[Iterable[int]]:
    yield packer.unit_starts(low, stop)
    yield (word.start() for word in _WORD.finditer(packer.text, low, stop))
    yield (packer.cluster_boundary(at, 0) for at in range(low, stop))
