"""Units to scores: BM25 of the question's words in windows of every width around each.

The weight of a word in a window is that of BM25 (Robertson and Zaragoza, "The Probabilistic
Relevance Framework", 2009). How rare a word is counts anew at each width, among the candidates
only: one that fills every wide window says nothing there, and the narrow ones decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.text.function_words import content_words
from rag_nodes.text.ladder.runs import Run
from rag_nodes.text.ladder.units import letters, units_in
from rag_nodes.text.sentences import guess_language
from rag_nodes.text.spans import Span
from rag_nodes.text.stemming import stemmed
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

FIRST_RUNG = 200
"""Letters of the narrowest window above a single unit; each further one is twice as wide."""
HEADING = 0.5
"""Times that a word in a heading counts for what stands under it."""
_K1, _B = 1.2, 0.75
_SAMPLE = 8_000


class Units(NamedTuple):
    """The units of all runs, one after another.

    Attributes:
        runs: number of the run of each.
        spans: characters of each in its run.
        letters: of each.
        counts: how often each has each word of the question.
    """

    runs: NDArray[np.intp]
    spans: list[Span]
    letters: Floats
    counts: Floats


class _Terms(dict[str, int]):
    """Which word of the question a word of a text is, by their stems; -1 for none."""

    def __init__(self, asked: Sequence[str], language: str) -> None:
        super().__init__()
        self._language = language
        self._number = len(asked)
        self._of_stems: dict[str, int] = {}
        for term, word in enumerate(asked):
            self._of_stems.setdefault(stemmed(word, language), term)
        self._above: dict[tuple[str, ...], Floats] = {}

    def __missing__(self, word: str) -> int:
        self[word] = term = self._of_stems.get(stemmed(word, self._language), -1)
        return term

    def counts(self, text: str) -> Floats:
        """How often a text has each word of the question."""
        found = [term for word in words(text) if (term := self[word]) >= 0]
        return np.bincount(found, minlength=self._number).astype(float)

    def above(self, headings: tuple[str, ...]) -> Floats:
        """The same of headings, counted once for all that stands under them."""
        if headings not in self._above:
            self._above[headings] = self.counts("\n".join(headings))
        return self._above[headings]


def units_of(question: str, runs: Sequence[Run]) -> Units:
    """Cut runs into units and count the question's words in each."""
    asked = list(dict.fromkeys(content_words(question)))
    languages = _languages(runs)
    terms = {language: _Terms(asked, language) for language in set(languages.values())}
    numbers: list[int] = []
    spans: list[Span] = []
    sizes: list[int] = []
    counts: list[Floats] = []
    for number, run in enumerate(runs):
        known = terms[languages[run.document]]
        for span, headings in units_in(run.text, languages[run.document]):
            text = span.of(run.text)
            numbers.append(number)
            spans.append(span)
            sizes.append(letters(text))
            counts.append(known.counts(text) + HEADING * known.above(headings))
    shape = (len(spans), len(asked))
    return Units(
        np.array(numbers, np.intp),
        spans,
        np.array(sizes, float),
        np.array(counts, float).reshape(shape),
    )


def _languages(runs: Sequence[Run]) -> dict[str, str]:
    """The language of each document, as what was retrieved of it shows."""
    samples: dict[str, str] = {}
    for run in runs:
        sample = samples.get(run.document, "")
        if len(sample) < _SAMPLE:
            samples[run.document] = f"{sample}\n{run.text[:_SAMPLE]}"
    return {document: guess_language(sample) for document, sample in samples.items()}


class Widths:
    """Scores of units at every width, each computed once."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self._before = _sums(np.column_stack([units.letters, units.counts]))
        self._ends = np.cumsum(units.letters)
        self._scores: dict[int, Floats] = {}

    def scores(self, widest: int) -> Floats:
        """The sum over all widths up to the widest."""
        return sum((self._at(width) for width in _rungs(widest)), np.zeros(len(self._units.spans)))

    def _at(self, width: int) -> Floats:
        if width not in self._scores:
            self._scores[width] = self._bm25(width)
        return self._scores[width]

    def _bm25(self, width: int) -> Floats:
        first, last = self._windows(width)
        sums = self._before[last] - self._before[first]
        lengths, counts = sums[:, 0], sums[:, 1:]
        holding = (counts > 0).sum(0)
        rarity = np.log(1 + (len(sums) - holding + 0.5) / (holding + 0.5))
        norm = _K1 * (1 - _B + _B * lengths / lengths.mean())
        found: Floats = (rarity * (_K1 + 1) * counts / (counts + norm[:, None])).sum(1)
        return found

    def _windows(self, width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Of each unit the first and behind the last unit whose middle is in its window."""
        numbers = np.arange(len(self._ends))
        if width == 0:
            return numbers, numbers + 1
        # Runs are put so far apart that no window reaches into another.
        apart = self._units.runs * (self._ends[-1] + 2.0 * width)
        middles = self._ends - self._units.letters / 2 + apart
        first = np.searchsorted(middles, middles - width / 2, "left")
        last = np.searchsorted(middles, middles + width / 2, "right")
        return first, last


def _sums(values: Floats) -> Floats:
    """What stands before each row, and all."""
    before = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=before[1:])
    return before


def _rungs(widest: int) -> Iterator[int]:
    """0 for the unit alone, then doubling, and the whole budget."""
    yield 0
    width = FIRST_RUNG
    while width < widest:
        yield width
        width *= 2
    yield widest
