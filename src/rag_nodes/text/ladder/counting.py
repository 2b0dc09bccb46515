"""Retrieved text to units in which the question's words are counted."""

from __future__ import annotations

from collections.abc import Sequence
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

HEADING = 0.5
"""Times that a word in a heading counts for what stands under it."""
_SAMPLE = 8_000
"""Characters of a document its language is guessed from."""


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


def units_of(question: str, runs: Sequence[Run]) -> Units:
    """Cut runs into units and count the question's words in each."""
    asked = list(dict.fromkeys(content_words(question)))
    languages = _languages(runs)
    terms = {language: _Terms(asked, language) for language in set(languages.values())}
    numbers: list[int] = []
    spans: list[Span] = []
    sizes: list[int] = []
    own: list[tuple[int, int]] = []
    above: list[tuple[int, int]] = []
    for number, run in enumerate(runs):
        language = languages[run.document]
        known = terms[language]
        for unit, (span, headings) in enumerate(units_in(run.text, language), start=len(spans)):
            text = span.of(run.text)
            if found := known.of(text):
                own += [(unit, term) for term in found]
            if headings and (found := known.above(headings)):
                above += [(unit, term) for term in found]
            spans.append(span)
            sizes.append(letters(text))
        numbers += [number] * (len(spans) - len(numbers))
    shape = len(spans), len(asked)
    return Units(
        np.array(numbers, np.intp),
        spans,
        np.array(sizes, float),
        _counted(own, shape) + HEADING * _counted(above, shape),
    )


def _counted(places: Sequence[tuple[int, int]], shape: tuple[int, int]) -> Floats:
    """How often each row and column is among some places: most units have few of the words."""
    rows, columns = np.array(places, np.intp).reshape(-1, 2).T
    cells = rows * shape[1] + columns
    return np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape).astype(float)


def _languages(runs: Sequence[Run]) -> dict[str, str]:
    """The language of each document, as what was retrieved of it shows."""
    samples: dict[str, str] = {}
    for run in runs:
        sample = samples.get(run.document, "")
        if len(sample) < _SAMPLE:
            samples[run.document] = f"{sample}\n{run.text[:_SAMPLE]}"
    return {document: guess_language(sample) for document, sample in samples.items()}
