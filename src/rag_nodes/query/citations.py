"""Citations: the marks of an answer, and the node, page and characters that each names.

One grammar decides what names a source: what would be read as a mark in an answer is unmade in what
a model reads, so that a document's own `[5]` can never become a citation by being copied.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from rag_nodes.core.own_metadata import own_metadata
from rag_nodes.query.cited import Citation, OtherPlace
from rag_nodes.query.locations import headings_of, span_of
from rag_nodes.query.types import Mark
from rag_nodes.text.passages import are_near_equal, equal_in
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from llama_index.core.schema import TextNode

    from rag_nodes.query.types import Source
    from rag_nodes.store import Hit


_MAX_MARK = 120
"""Characters between brackets above which nothing is a mark."""
_TOKEN = re.compile(rf"\n|`++|~{{3,}}+|\[(?P<inside>[^\[\]\n]{{1,{_MAX_MARK}}})\](?!\()")
"""Tokens that decide if a bracket is a mark: line ends, beginnings and ends of code, and brackets
that are no link (`[1](url)`)."""
_UNCERTAIN = re.compile(rf"(?:`++|~++|\[[^\[\]\n]{{0,{_MAX_MARK}}}\]?)\Z")
"""At the end of a piece, what the next one may change."""
_FENCE = 3
"""Backticks or tildes at the beginning of a line that begin or end a block of code."""
_INDEXED = re.compile(r"[A-Za-z0-9_]")
"""Before bare brackets this means an index, as in `row[1]`."""
_NAMED = re.compile(r"sources?\b\s*(?P<rest>.*)", re.IGNORECASE)
_PAGE = re.compile(r"\bp(?:p|ages?)?\b\.?\s*\d+(?:\s*[-\u2013\u2014]\s*\d+)?", re.IGNORECASE)
_BARE = re.compile(r"#?[1-9]\d?(?:\s*(?:[-\u2013\u2014,;&]|and)\s*#?[1-9]\d?)*", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,;&]|\band\b|\bsources?\b", re.IGNORECASE)
_ENTRY = re.compile(r"#?(\d{1,3})(?:\s*[-\u2013\u2014:(].*)?", re.DOTALL)
"""A number, alone or with the rest of a source's label behind it."""
_RANGE = re.compile(r"#?(\d{1,3})\s*[-\u2013\u2014]\s*#?(\d{1,3})")

_ANY = re.compile(r"(?P<open>\\?\[)(?P<inside>[^\[\]]{1,160}?)(?P<close>\\?\])")
"""Brackets in a document, which may be escaped or run over a line end."""
_LABEL = re.compile(r"\[(?=\W{0,9}sources?\b\W{0,9}\d)", re.IGNORECASE)
"""The bracket of what reads as a source's label, closed or not, such as `[Source 3 - Page 1]`."""
_BEFORE_FENCE = " \t>*+-.)0123456789"
"""Characters that may stand before a fence: blanks, and the marks of quotations and lists."""
_CODE = re.compile(
    rf"^[{re.escape(_BEFORE_FENCE)}]*(?P<fence>`{{3,}}+|~{{3,}}+)[^\n]*\n"
    r"[\s\S]*?^[ \t>]*(?P=fence)|`[^`\n]+`",
    re.MULTILINE,
)


def marks_of(answer: str) -> tuple[Mark, ...]:
    """The marks of a whole answer that a model wrote, see `MarkReader`."""
    reader = MarkReader()
    return (*reader.read(answer), *reader.end())


class MarkReader:
    """Finds the marks of an answer that arrives in pieces, wherever it is split.

    Understood are `[Source 1]`, `[Source 1 - Page 5]`, `[Sources 1, 2]`, `[Sources 1-3]`,
    `[Source 1; Source 2]` and the bare `[1]`, `[1, 2]`, `[1-3]`, `[1, p. 5]`; a page number is not
    a source number. No marks are brackets in code, links, an index as in `row[1]`, and numbers
    that blanks keep from their brackets.

    A bracket counts once the character behind it is known, and behind a backtick once the line
    has ended without another one. What is certain is forgotten, so the cost does not grow with
    the answer; only a run of backticks or tildes is kept as long as it goes on.
    """

    def __init__(self) -> None:
        self._text = ""
        self._offset = 0
        self._before = ""
        self._blank = True
        self._fence = ""
        self._ticks = ""
        self._held: list[Mark] = []

    def read(self, piece: str) -> list[Mark]:
        """The marks that became certain with this piece."""
        self._text += piece
        uncertain = _UNCERTAIN.search(self._text, max(0, len(self._text) - _MAX_MARK - 2))
        end = uncertain.start() if uncertain else len(self._text)
        if self._text[end : end + 1] in ("`", "~"):  # however long the run is that they end
            end = len(self._text[:end].rstrip(self._text[end]))
        return list(self._taken(end))

    def end(self) -> list[Mark]:
        """The marks that only the end of the answer made certain."""
        return [*self._taken(len(self._text)), *self._released()]

    def _taken(self, end: int) -> Iterator[Mark]:
        """The certain marks before an offset of the text that is kept, which is then dropped."""
        reached = 0
        for token in _TOKEN.finditer(self._text, 0, end):
            between = self._text[reached : token.start()]
            self._blank = self._blank and not between.strip(_BEFORE_FENCE)
            before = self._text[token.start() - 1] if token.start() else self._before
            yield from self._met(token, before)
            self._blank = token[0] == "\n"
            reached = token.end()
        self._blank = self._blank and not self._text[reached:end].strip(_BEFORE_FENCE)
        self._before = self._text[end - 1] if end else self._before
        self._text, self._offset = self._text[end:], self._offset + end

    def _met(self, token: re.Match[str], before: str) -> Iterator[Mark]:
        kind = token[0][0]
        if kind == "\n":
            self._ticks = ""
            yield from self._released()
        elif kind in "`~":
            self._code(token[0])
        elif token["inside"] and not self._fence:
            numbers = tuple(dict.fromkeys(_mentioned(token["inside"], before)))
            if numbers:
                start = self._offset + token.start()
                self._held.append(Mark(start, self._offset + token.end(), numbers))
            if not self._ticks:
                yield from self._released()

    def _code(self, run: str) -> None:
        """Backticks or tildes that begin code, end it, or do neither."""
        fences = self._blank and len(run) >= _FENCE
        if self._fence:
            if fences and run.startswith(self._fence):
                self._fence = ""
        elif fences:
            self._fence = run
        elif run[0] == "`" and not self._ticks:
            self._ticks = run
        elif run == self._ticks:
            self._ticks = ""
            self._held.clear()

    def _released(self) -> list[Mark]:
        """Return the marks behind a backtick that began no code."""
        held, self._held = self._held, []
        return held


def without_marks(text: str) -> str:
    """Document text for a model, in which no brackets read as a mark of ours.

    `Lustre [5]` becomes `Lustre (5)`. In code, where that could mean something else, a list such as
    `[1, 2]` gets blanks instead, which no mark has: `[ 1, 2 ]`.
    """
    done, pieces = 0, list[str]()
    for code in _CODE.finditer(text):
        pieces.append(_ANY.sub(_rounded, text[done : code.start()]))
        pieces.append(_ANY.sub(_spaced, code[0]))
        done = code.end()
    pieces.append(_ANY.sub(_rounded, text[done:]))
    # Across all pieces: brackets may open before code and close behind it.
    safe = _LABEL.sub("(", "".join(pieces))
    while marks := marks_of(safe):  # around brackets that are parentheses now
        letters = list(safe)
        for mark in marks:
            letters[mark.start], letters[mark.end - 1] = "()"
        safe = "".join(letters)
    return safe


def _rounded(match: re.Match[str]) -> str:
    return f"({match['inside']})" if _reads_as_mark(match["inside"]) else match[0]


def _spaced(match: re.Match[str]) -> str:
    inside = match["inside"]
    return f"[ {inside.strip()} ]" if _reads_as_mark(inside) else match[0]


def _reads_as_mark(inside: str) -> bool:
    """Return True if a bracket is a mark once a model has tidied up its blanks."""
    return any(True for _ in _mentioned(" ".join(inside.split()), ""))


def _mentioned(inside: str, before: str) -> Iterator[int]:
    """The source numbers of one bracket; `before` is the character in front of it, if any."""
    if named := _NAMED.fullmatch(inside):
        yield from _listed(named["rest"])
    elif not _INDEXED.match(before) and _BARE.fullmatch(_PAGE.sub("", inside).rstrip(" ,;-\u2013")):
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


def cited_numbers(
    marks: Iterable[Mark], given: Collection[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the numbers that marks name, in order of first mention: those `given`, and others."""
    named = dict.fromkeys(number for mark in marks for number in mark.numbers)
    cited = tuple(number for number in named if number in given)
    return cited, tuple(number for number in named if number not in given)


def cite_sources(numbers: Iterable[int], sources: Sequence[Source]) -> tuple[Citation, ...]:
    """One citation per cited source: what was found by its best hit, as far as it was read."""
    by_number = {source.number: source for source in sources}
    return tuple(_cited(by_number[number]) for number in numbers)


def cite_passage(number: int, hit: Hit, start: int, end: int) -> Citation:
    """The citation of the characters `start:end` of `hit.read.text`, as of source `number`."""
    node = hit.read
    place = OtherPlace.of(node, start, end)
    return Citation(
        number=number,
        node_id=hit.node.node_id,
        document_id=place.document_id,
        file_name=place.file_name,
        source=place.source,
        page=place.page,
        page_end=place.page_end,
        heading_path=headings_of(node, start),
        start=place.start,
        end=place.end,
        quote=place.quote,
        node=node,
        metadata=own_metadata(node.metadata),
        also=tuple(_places_of(place.quote, hit.also)),
    )


def _places_of(quote: str, nodes: Iterable[TextNode]) -> Iterator[OtherPlace]:
    """Yield the places of a quote in texts of other documents."""
    for node in nodes:
        if place := equal_in(quote, node.text):
            yield OtherPlace.of(node, *place)
        elif are_near_equal(quote, node.text):
            yield OtherPlace.of(node, 0, len(node.text))


def cite_quote(hit: Hit, start: int, end: int, sources: Sequence[Source]) -> Citation:
    """The citation of `start:end` of `hit.read.text`, of the source that holds it.

    And of the hit that found it; one of the sources holds `hit`.
    """
    holding = [source for source in sources if any(member is hit for member in source.hits)]
    base = hit.read.start_char_idx
    if base is None:
        return cite_passage(holding[0].number, hit, start, end)
    quote = Span(base + start, base + end)
    source = next(
        (candidate for candidate in holding if _holds(candidate, quote.start)), holding[0]
    )
    finders = (candidate for candidate in source.hits if _found(candidate, quote))
    finder = min(finders, key=lambda candidate: candidate.rank, default=hit)
    shift = base - (finder.read.start_char_idx or 0)
    return cite_passage(source.number, finder, start + shift, end + shift)


def _holds(source: Source, offset: int) -> bool:
    spans = (excerpt.span for excerpt in source.excerpts)
    return any(span and span.start <= offset < span.end for span in spans)


def _found(hit: Hit, quote: Span) -> bool:
    """Return True if the quote lies in the chunk that was found, not only around it."""
    chunk = span_of(hit.found)
    return chunk is not None and chunk.start <= quote.start and quote.end <= chunk.end


def _cited(source: Source) -> Citation:
    best = min(source.hits, key=lambda hit: hit.rank)
    if part := _read_of(best, source):
        return cite_passage(source.number, best, *part)
    own = (excerpt for excerpt in source.excerpts if excerpt.hit is best)
    excerpt = next(own, source.excerpts[0])
    return cite_passage(source.number, excerpt.hit, excerpt.start, excerpt.end)


def _read_of(hit: Hit, source: Source) -> tuple[int, int] | None:
    """Return the part of the found chunk that a source holds, inside `hit.read.text`, or None."""
    chunk, base = span_of(hit.found), hit.read.start_char_idx
    if chunk is None or base is None:
        return None
    read = [
        excerpt.span for excerpt in source.excerpts if excerpt.span and excerpt.span.overlap(chunk)
    ]
    if not read:
        return None
    first, last = min(span.start for span in read), max(span.end for span in read)
    return max(chunk.start, first) - base, min(chunk.end, last) - base
