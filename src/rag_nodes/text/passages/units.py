"""Retrieved text to units of reading, in which the question's words are counted.

Units are sentences, rows and lines, and parts of what goes on for longer.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import regex

from rag_nodes.text.graphemes import boundary_at_or_before
from rag_nodes.text.languages import content_words, guess_language, stemmed
from rag_nodes.text.markdown import Kind
from rag_nodes.text.packing import BY_LINE, Packer
from rag_nodes.text.passages.references import are_entries, asks_for_references, in_lists
from rag_nodes.text.passages.speakers import Speakers, is_transcript
from rag_nodes.text.spans import Span, trimmed
from rag_nodes.text.tables import Tables, column_names
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


class TextRun(NamedTuple):
    """Retrieved text without a gap, and what stands above it.

    Attributes:
        document: its id.
        start: offset of the first character in the document.
        text: the characters.
        headings: headings above the first character, outermost first.
        table_header: header rows of the table that the text begins inside of; "" for no table.
    """

    document: str
    start: int
    text: str
    headings: tuple[str, ...] = ()
    table_header: str = ""

    def in_document(self, span: Span) -> Span:
        """Return characters of the text as characters of the document."""
        return Span(self.start + span.start, self.start + span.end)


def joined_runs(pieces: Iterable[TextRun]) -> list[TextRun]:
    """Pieces of documents that overlap, or have nothing between them, as one run each.

    In the order of the documents' first pieces, and of the places in them.
    """
    by_document: dict[str, list[TextRun]] = {}
    for piece in pieces:
        by_document.setdefault(piece.document, []).append(piece)
    runs: list[TextRun] = []
    for own in by_document.values():
        runs += _joined(sorted(own, key=lambda piece: (piece.start, -len(piece.text))))
    return runs


def _joined(pieces: Sequence[TextRun]) -> Iterator[TextRun]:
    first, end, texts = pieces[0], pieces[0].start, [""]
    for piece in pieces:
        if piece.start > end:
            yield first._replace(text="".join(texts))
            first, end, texts = piece, piece.start, []
        if piece.start + len(piece.text) > end:
            texts.append(piece.text[end - piece.start :])
            end = piece.start + len(piece.text)
    yield first._replace(text="".join(texts))


LONGEST = 400
"""Letters from which a sentence is split: speech or a script without marks has none."""
PART = 200
"""Letters of the parts it is split in, about."""
SHORTEST_LINES = 100
"""Letters that lines of code, lists and tables have at least together: a brace is no thought."""
_DENSE = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}"
_DENSE_LETTERS = 3
"""Letters that one character of such a script stands for."""
_DENSE_LETTER = regex.compile(f"[{_DENSE}]")
_ENDS = (
    regex.compile(r"\n\s*+"),
    regex.compile(rf"[\p{{Po}}\p{{Pe}}\p{{Pf}}\p{{Pd}}]++(?:\s++|(?=[{_DENSE}]))"),
    regex.compile(r"\s++"),
)
"""Best ends of a part of a text: those of a line, a phrase, a word."""
_WORD = regex.compile(r"\w")


def units_in(packer: Packer) -> Iterator[Span]:
    """The units of a text in order, disjoint, each trimmed of blank space.

    A heading is no unit of its own: it belongs to what follows it.
    """
    heading: Span | None = None
    for block in packer.blocks:
        if block.kind is Kind.HEADING:
            own = Span(block.start, block.end)
            if heading is not None and heading.union(own).length > LONGEST:
                yield heading  # a table of contents, of which most is followed by nothing
                heading = None
            heading = own if heading is None else heading.union(own)
            continue
        whole: Iterable[Span] = packer.units_of(block)
        if block.kind in BY_LINE and not _is_wrapped(packer.text, whole):
            whole = _grouped(whole)
        for unit in whole:
            short = unit.length * _DENSE_LETTERS <= LONGEST
            for part in (unit,) if short else _parts(packer.text, unit):
                yield part if heading is None else heading.union(part)
                heading = None
    if heading is not None:
        yield heading


def bodies_in(packer: Packer, units: Iterable[Span]) -> Iterator[Span]:
    """Yield units of a text without the headings above them."""
    headings = {block.start: block.end for block in packer.blocks if block.kind is Kind.HEADING}
    for unit in units:
        start = unit.start
        while headings.get(start, unit.end) < unit.end:
            start = trimmed(packer.text, headings[start], unit.end).start
        yield Span(start, unit.end)


def sentences_in(packer: Packer, bodies: Iterable[Span]) -> Iterator[Span]:
    """Yield bodies of units, groups of rows and list items as these.

    Headings that nothing follows, header rows of tables and bodies without a word are none.
    """
    for body in bodies:
        block = packer.block_at(body.start)
        if block.kind in (Kind.TABLE, Kind.LIST):
            starts, ends = packer.bounds_of(block)
            low = bisect_left(starts, max(body.start, block.header_end))
            high = bisect_right(ends, body.end)
            lines = [*map(Span, starts[low:high], ends[low:high])]
            yield from lines or ([body] if body.end > block.header_end else [])  # a part of a line
        elif block.kind is not Kind.HEADING and _WORD.search(packer.text, *body):
            yield body


def letters(text: str) -> int:
    """The length of a text as if it were written in an alphabet."""
    if text.isascii():
        return len(text)
    return len(text) + (_DENSE_LETTERS - 1) * len(_DENSE_LETTER.findall(text))


def _is_wrapped(text: str, units: Iterable[Span]) -> bool:
    """Return True if the units of a list are sentences, as its items have wrapped lines."""
    return any("\n" in unit.of(text) or "\r" in unit.of(text) for unit in units)


def _grouped(lines: Iterable[Span]) -> Iterator[Span]:
    """Lines in groups that are long enough to be read, the last of them apart."""
    group: Span | None = None
    for line in lines:
        group = line if group is None else group.union(line)
        if group.length >= SHORTEST_LINES:
            yield group
            group = None
    if group is not None:
        yield group


def _parts(text: str, unit: Span) -> Iterator[Span]:
    size = letters(unit.of(text))
    if size <= LONGEST:
        yield unit
        return
    number = -(-size // PART)
    length = unit.length / number
    cuts = [unit.start]
    for cut in range(1, number):
        ideal, reach = round(unit.start + cut * length), round(length / 3)
        cuts.append(_cut(text, ideal, reach, cuts[-1]))
    for low, high in pairwise([*cuts, unit.end]):
        part = trimmed(text, low, high)
        if part.length:
            yield part


def _cut(text: str, ideal: int, reach: int, floor: int) -> int:
    """The best place to split near an offset; never inside what is seen as one character."""
    low = max(floor, ideal - reach)
    for ends in _ENDS:
        offsets = [match.end() for match in ends.finditer(text, low, ideal + reach)]
        if offsets:
            nearest = min(offsets, key=lambda at: abs(at - ideal))
            return boundary_at_or_before(text, nearest, floor)
    return boundary_at_or_before(text, ideal, floor)


HEADING = 0.5
"""Times that a word in a heading counts for what stands under it, one in the label of a speaker for
what is said behind it, and one in the header of a table for its rows."""
_SAMPLE = 8_000
"""Characters of a document its language is guessed from."""


class Units(NamedTuple):
    """The units of all runs, and the languages of their documents.

    Attributes:
        runs: number of the run of each unit.
        spans: characters of each unit in its run.
        bodies: the same without the headings above it.
        letters: length of each unit, see `letters`.
        counts: how often each unit has each word of the question.
        sentences: sentences and rows of each document, by its id, in order: units as they are
            read, apart from headings and not grouped.
        languages: language of each document, by its id.
        transcripts: True for units of a document that is a transcript.
        listed: True for entries of a reference list that the question does not ask for.
    """

    runs: NDArray[np.intp]
    spans: list[Span]
    bodies: list[Span]
    letters: Floats
    counts: Floats
    sentences: dict[str, list[Span]]
    languages: dict[str, str]
    transcripts: NDArray[np.bool_]
    listed: NDArray[np.bool_]


class _Terms(dict[str, int]):
    """Index of the question's word that a word of a text equals, by stem; -1 for none."""

    def __init__(self, asked: Sequence[str], language: str) -> None:
        super().__init__()
        self._language = language
        self._of_stems: dict[str, int] = {}
        for term, word in enumerate(asked):
            self._of_stems.setdefault(stemmed(word, language), term)
        self._above: dict[tuple[str, ...], list[int]] = {}

    def __missing__(self, word: str) -> int:
        self[word] = term = self._of_stems.get(stemmed(word, self._language), -1)
        return term

    def of(self, text: str) -> list[int]:
        """The words of the question in a text, each as often as it is there."""
        return [term for word in words(text) if (term := self[word]) >= 0]

    def above(self, headings: tuple[str, ...]) -> list[int]:
        """The same of headings, looked for once for all that stands under them."""
        if headings not in self._above:
            self._above[headings] = self.of("\n".join(headings))
        return self._above[headings]


class _Beside:
    """Words that hold for a unit beside its headings: its speaker, names of columns."""

    def __init__(self, run: TextRun, packer: Packer) -> None:
        self.speakers = Speakers(run.text)
        self._tables = Tables.of(run.text, packer.text_format, run.table_header)

    def at(self, start: int) -> tuple[str, ...]:
        """Return them for the unit that begins at an offset of the run."""
        header = self._tables.header_at(start)
        columns = (column_names(header),) if header else ()
        return (*self.speakers.at(start), *columns)


def units_of(question: str, runs: Sequence[TextRun]) -> Units:
    """Split runs into units and count the question's words in each."""
    asked = list(dict.fromkeys(content_words(question)))
    languages = _languages(runs)
    terms = {language: _Terms(asked, language) for language in set(languages.values())}
    numbers: list[int] = []
    spans: list[Span] = []
    bodies: list[Span] = []
    sentences: dict[str, list[Span]] = {}
    sizes: list[int] = []
    own: list[tuple[int, int]] = []
    above: list[tuple[int, int]] = []
    listed: list[bool] = []
    by_heading: dict[tuple[str, tuple[str, ...]], dict[int, str]] = {}
    spoken: dict[str, list[Speakers]] = {}
    for number, run in enumerate(runs):
        language = languages[run.document]
        vocabulary = terms[language]
        packer = Packer(run.text, language=language)
        headings, beside = packer.headings, _Beside(run, packer)
        spoken.setdefault(run.document, []).append(beside.speakers)
        texts: list[str] = []
        for unit, span in enumerate(units_in(packer), start=len(spans)):
            text = run.text[span.start : span.end]
            own += [(unit, term) for term in vocabulary.of(text)]
            texts.append(text)
            path = headings.path_at(span.start)
            over = (*path, *beside.at(span.start))
            above += [(unit, term) for term in vocabulary.above(over)]
            spans.append(span)
            sizes.append(letters(text))
            by_heading.setdefault((run.document, path or run.headings), {})[unit] = text
        own_bodies = [*bodies_in(packer, spans[len(bodies) :])]
        bodies += own_bodies
        read = map(run.in_document, sentences_in(packer, own_bodies))
        sentences.setdefault(run.document, []).extend(read)
        listed += are_entries(texts)
        numbers += [number] * (len(spans) - len(numbers))
    lists = set(in_lists(by_heading))
    listed = [own or unit in lists for unit, own in enumerate(listed)]
    transcripts = {document for document, parts in spoken.items() if is_transcript(parts)}
    entries = (spans[at].of(runs[numbers[at]].text) for at, own in enumerate(listed) if own)
    if asks_for_references(question, entries):
        listed = [False] * len(spans)
    shape = len(spans), len(asked)
    return Units(
        np.array(numbers, np.intp),
        spans,
        bodies,
        np.array(sizes, float),
        _counted(own, shape) + HEADING * _counted(above, shape),
        sentences,
        languages,
        np.array([runs[number].document in transcripts for number in numbers], bool),
        np.array(listed, bool),
    )


def _counted(places: Sequence[tuple[int, int]], shape: tuple[int, int]) -> Floats:
    """Count the pairs of row and column among positions: most units have few words."""
    rows, columns = np.array(places, np.intp).reshape(-1, 2).T
    cells = rows * shape[1] + columns
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def _languages(runs: Sequence[TextRun]) -> dict[str, str]:
    """The language of each document, as what was retrieved of it shows."""
    samples: dict[str, str] = {}
    for run in runs:
        sample = samples.get(run.document, "")
        if len(sample) < _SAMPLE:
            samples[run.document] = f"{sample}\n{run.text[:_SAMPLE]}"
    return {document: guess_language(sample) for document, sample in samples.items()}
