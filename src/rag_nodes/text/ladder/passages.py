"""What of retrieved text to read for a question, best first, until a budget is full.

Each sentence is scored by the question's words in windows around it, from the sentence alone to all
that may be read: a ladder of widths, so that none has to be chosen. The best sentences grow into
passages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.text.ladder.counting import units_of
from rag_nodes.text.ladder.runs import Run
from rag_nodes.text.ladder.widths import Widths
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LETTERS_PER_TOKEN = 4
"""Letters of a token, for the width of the widest window."""
NEARNESS = 0.4
"""Weight of nearness in meaning beside that of the words, both in standard deviations."""
_ALIKE = 1e-6
"""Standard deviation below which all are equally near."""
GROWTH = 0.85
"""Share of the score of its best sentence that a neighbour must have to join a passage."""


class Read(NamedTuple):
    """A passage that is worth reading.

    Attributes:
        run: number of its run.
        span: its characters in the run's document.
        score: of its best sentence.
        best: the characters of that sentence.
    """

    run: int
    span: Span
    score: float
    best: Span


def best_passages(question: str, runs: Sequence[Run], budget: int) -> list[Read]:
    """What to read of retrieved text for a question, best first, until a budget is full.

    Args:
        question: in the user's words.
        runs: what was retrieved, without gaps within and without overlap between them.
        budget: tokens of all passages together.

    Returns:
        Disjoint passages; of the last one only what fits is worth its tokens.
    """
    return Ladder(question, runs).passages(budget)


class Ladder:
    """Retrieved text whose sentences are scored once, for any number of budgets.

    Args:
        question: in the user's words.
        runs: what was retrieved, without gaps within and without overlap between them.
        near: how near in meaning to the question the text is that begins at an offset of the
            document of a run, such as the cosine of its chunk; None to go by words alone.
    """

    def __init__(
        self,
        question: str,
        runs: Sequence[Run],
        near: Callable[[Run, int], float] | None = None,
    ) -> None:
        self._runs = runs
        self._units = units_of(question, runs)
        self._widths = Widths(self._units) if self._units.spans else None
        self._near = self._deviations(near) if near and self._widths else None

    def passages(self, budget: int) -> list[Read]:
        """What to read, best first: disjoint passages of so many tokens.

        Of the last one only what fits is worth its tokens.
        """
        if self._widths is None:
            return []
        scores = self._widths.scores(budget * LETTERS_PER_TOKEN)
        if self._near is not None:
            # Where the words say the same of all, nearness decides; of none, nothing does.
            spread = scores.std() if scores.std() > _ALIKE else scores.mean()
            scores += NEARNESS * spread * self._near
            scores -= scores.min()
        return self._packed(scores, budget)

    def _deviations(self, near: Callable[[Run, int], float]) -> Floats | None:
        """By how many standard deviations each unit is nearer than their mean; None where alike."""
        places = zip(self._units.runs.tolist(), self._units.spans, strict=True)
        runs = ((self._runs[number], span.start) for number, span in places)
        found = np.array([near(run, run.start + start) for run, start in runs])
        spread = found.std()
        return None if spread < _ALIKE else (found - found.mean()) / spread

    def _packed(self, scores: Floats, budget: int) -> list[Read]:
        """Passages grown around the best sentences, until they fill the budget."""
        units, values = self._units, scores.tolist()
        taken = np.zeros(len(values), bool)
        passages: list[Read] = []
        left = budget
        for seed in np.argsort(-scores, kind="stable").tolist():
            if left <= 0:
                break
            if taken[seed]:
                continue
            low, high = self._grown(seed, values, taken, left * LETTERS_PER_TOKEN)
            taken[low:high] = True
            number = int(units.runs[seed])
            run = self._runs[number]
            start, end = units.spans[low].start, units.spans[high - 1].end
            span, best = (
                Span(run.start + one.start, run.start + one.end)
                for one in (Span(start, end), units.spans[seed])
            )
            passages.append(Read(number, span, values[seed], best))
            left -= count_tokens(run.text[start:end])
        return passages

    def _grown(
        self, seed: int, scores: Sequence[float], taken: NDArray[np.bool_], letters: float
    ) -> tuple[int, int]:
        """The units around a seed: the better neighbour joins while it is good enough."""
        low, high = seed, seed + 1
        enough = GROWTH * scores[seed]
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
        """Whether a unit is there, of the same run, and in no passage yet."""
        runs = self._units.runs
        return bool(0 <= at < len(taken) and runs[at] == runs[seed] and not taken[at])
