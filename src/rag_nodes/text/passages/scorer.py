"""Selection of the passages of retrieved text to read, best first, until a budget is full.

Multi-scale BM25: each sentence is scored by the question's words in windows around it, from the
sentence alone to all that may be read, so that no width has to be chosen. The best sentences grow
into passages. The weight of a word in a window is that of BM25 (Robertson and Zaragoza, "The
Probabilistic Relevance Framework", 2009). How rare a word is counts again at each width, among the
candidates only: one that fills every wide window says nothing there, and the narrow ones decide.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.text.passages.repeats import Repeats
from rag_nodes.text.passages.units import TextRun, Units, units_of
from rag_nodes.text.passages.weights import Similarity, coverage, similarity_weights
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]


NARROWEST = 200
"""Letters of the narrowest window above a single unit; each further one is twice as wide."""
_WIDEST_IN_TRANSCRIPTS = 4
"""Times that the widest window counts in transcripts, where answers are long."""
_K1, _B = 1.2, 0.75


class MultiWidthScorer:
    """Scores of units at every width, each computed once."""

    def __init__(self, units: Units) -> None:
        self._units = units
        self._before = _sums(np.column_stack([units.letters, units.counts]))
        self._ends = np.cumsum(units.letters)
        self._scores: dict[int, Floats] = {}

    def scores(self, widest: int) -> Floats:
        """Return the sum over all widths up to the widest.

        In transcripts the widest counts four times, and the sum is scaled down to that of others.
        """
        widths = list(_widths(widest))
        scores = sum((self._at(width) for width in widths), np.zeros(len(self._units.spans)))
        spoken, number = self._units.transcripts, len(widths)
        longer = scores[spoken] + (_WIDEST_IN_TRANSCRIPTS - 1) * self._at(widest)[spoken]
        scores[spoken] = longer * number / (number + _WIDEST_IN_TRANSCRIPTS - 1)
        return scores

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
        scores: Floats = (rarity * (_K1 + 1) * counts / (counts + norm[:, None])).sum(1)
        return scores

    def _windows(self, width: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the first unit of each unit's window, and the one behind the last."""
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
    before = np.zeros((len(values) + 1, values.shape[1]))
    np.cumsum(values, axis=0, out=before[1:])
    return before


def _widths(widest: int) -> Iterator[int]:
    """0 for the unit alone, then doubling, and the whole budget."""
    yield 0
    width = NARROWEST
    while width < widest:
        yield width
        width *= 2
    yield widest


LETTERS_PER_TOKEN = 4
"""Letters of a token, for the width of the widest window."""
_ALIKE = 1e-6
"""Standard deviation below which all are equally near."""
GROWTH = 0.85
"""Share of the score of its best sentence that a neighbour must have to join a passage."""
GROWTH_IN_TRANSCRIPTS = 0.5
"""The same in transcripts, where an answer goes on over several turns."""


_LISTED = 1e-6
"""Factor of the scores of reference lists: they come behind everything else, in their own order."""


class Read(NamedTuple):
    """A passage of a run that is worth reading, by its characters in the run's document.

    The score is that of its best sentence, and `best` the characters of that.
    """

    run: int
    span: Span
    score: float
    best: Span


class PassageRanker:
    """Retrieved text whose sentences are scored once, for any number of budgets.

    The runs have no gaps within and no overlap between them. Without a `similarity` words decide
    alone. A sentence that repeats another one is read once, see `repeats`. Of the documents in
    `within` only sentences that begin in those parts are read; if none does, those that touch one.
    """

    def __init__(
        self,
        question: str,
        runs: Sequence[TextRun],
        similarity: Similarity | None = None,
        within: Mapping[str, Sequence[Span]] | None = None,
    ) -> None:
        self._runs = runs
        self._units = units_of(question, runs)
        self.repeats = Repeats(
            runs, zip(self._units.runs.tolist(), self._units.bodies, strict=True)
        )
        self._scorer = MultiWidthScorer(self._units) if self._units.spans else None
        self._pull = self._pulled(similarity) if similarity and self._scorer else None
        self._limits = {
            document: self._limit(document, parts) for document, parts in (within or {}).items()
        }

    def passages(self, budget: int) -> list[Read]:
        """Return disjoint passages to read, best first, more than fit in so many tokens.

        Those behind are single sentences, to be read in place of one that does not fit.
        """
        if self._scorer is None:
            return []
        scores = self._scorer.scores(budget * LETTERS_PER_TOKEN)
        if self._pull is not None:
            # If the words say the same of all units, similarity decides.
            spread = scores.std() if scores.std() > _ALIKE else scores.mean()
            scores += spread * self._pull
            scores -= scores.min()
        scores[self._units.listed] *= _LISTED
        return self._packed(scores, budget)

    def sentences(self, document: str, span: Span) -> list[Span]:
        """Return the sentences and rows that share characters with a span of a document."""
        own, shared = self._units.sentences.get(document, []), list[Span]()
        for part in self.limited(document, span):
            low = bisect_right(own, part.start, key=attrgetter("end"))
            shared += own[low : bisect_left(own, part.end, key=attrgetter("start"))]
        return shared

    def limited(self, document: str, span: Span) -> list[Span]:
        """Return the parts of a span that may be read."""
        limits = self._limits.get(document)
        return [span] if limits is None else list(filter(None, map(span.common, limits)))

    def _limit(self, document: str, parts: Sequence[Span]) -> list[Span]:
        """Return the sentences that begin in parts of a document, with the headings in these."""
        own, begun, touched = self._units.sentences.get(document, []), list[Span](), list[Span]()
        for part in parts:
            low, high = (bisect_left(own, at, key=attrgetter("start")) for at in part)
            before = own[low - 1].end if low else 0
            if low < high:
                begun.append(Span(max(part.start, before), own[high - 1].end))
            else:
                touched.append(own[low - 1] if before > part.start else part)
        return begun or touched

    def _pulled(self, similarity: Similarity) -> Floats | None:
        """Return the weighted similarity of each unit, in standard deviations; None if all equal.

        Also None if similarity has no weight in any language that was found.
        """
        units = self._units
        places = zip(units.runs.tolist(), units.spans, strict=True)
        runs = ((self._runs[number], span.start) for number, span in places)
        near = np.array([similarity.near(run, run.start + start) for run, start in runs])
        spread = near.std()
        if spread < _ALIKE:
            return None
        by_language = {
            language: similarity.largest(language) for language in set(units.languages.values())
        }
        of_runs = [by_language[units.languages[run.document]] for run in self._runs]
        largest = np.array(of_runs)[units.runs]
        if not largest.any():
            return None
        weights = similarity_weights(
            coverage(units.counts * ~units.listed[:, None], units.runs), largest
        )
        pull: Floats = weights * (near - near.mean()) / spread
        return pull

    def _packed(self, scores: Floats, budget: int) -> list[Read]:
        """Passages grown around the best sentences, until they fill the budget twice."""
        units, values = self._units, scores.tolist()
        taken = np.array([not self._may_read(unit) for unit in range(len(values))], bool)
        passages: list[Read] = []
        left = budget
        for seed in np.argsort(-scores, kind="stable").tolist():
            if left <= -budget:
                break
            if taken[seed]:
                continue
            low, high = self._grown(seed, values, taken, left * LETTERS_PER_TOKEN)
            taken[low:high] = True
            number = int(units.runs[seed])
            run = self._runs[number]
            start, end = units.spans[low].start, units.spans[high - 1].end
            span, best = map(run.in_document, (Span(start, end), units.spans[seed]))
            if limited := self.limited(run.document, span):
                span = limited[0].union(limited[-1])
            taken[self.repeats.units(run.document, span)] = True
            passages.append(Read(number, span, values[seed], best))
            left -= count_tokens(run.text[start:end])
        return passages

    def _may_read(self, unit: int) -> bool:
        run = self._runs[int(self._units.runs[unit])]
        body = run.in_document(self._units.bodies[unit])
        return bool(self.limited(run.document, body))

    def _grown(
        self, seed: int, scores: Sequence[float], taken: NDArray[np.bool_], letters: float
    ) -> tuple[int, int]:
        """The units around a seed: the better neighbour joins while it is good enough."""
        low, high = seed, seed + 1
        growth = GROWTH_IN_TRANSCRIPTS if self._units.transcripts[seed] else GROWTH
        enough = growth * scores[seed]
        size = self._units.letters[seed]
        while size < letters:
            before = scores[low - 1] if self._free(low - 1, seed, taken) else -1.0
            after = scores[high] if self._free(high, seed, taken) else -1.0
            if max(before, after) < enough:
                break
            joining = low - 1 if before >= after else high
            low, high = min(low, joining), max(high, joining + 1)
            size += self._units.letters[joining]
        return low, high

    def _free(self, at: int, seed: int, taken: NDArray[np.bool_]) -> bool:
        """Return True if a unit exists, belongs to the same run, and is in no passage yet."""
        runs = self._units.runs
        return bool(0 <= at < len(taken) and runs[at] == runs[seed] and not taken[at])
