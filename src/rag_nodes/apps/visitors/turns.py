"""A visitor's questions: what came of each, and what the visitor thought of it."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

from rag_nodes.query.types import Cancelled, Delta, Last, Retrieved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from rag_nodes.core.settings import Settings
    from rag_nodes.evaluation.compare import Column, ComparisonReport
    from rag_nodes.query.types import Event
    from rag_nodes.text.edges import Edges

Level = Literal["strong", "fair", "weak", "unknown"]
"""In words, so that colour is never the only sign."""

_MEASURED = {
    "text-embedding-ada-002": (0.85, 0.75),
    "text-embedding-3-small": (0.50, 0.35),
    "text-embedding-3-large": (0.50, 0.35),
}
"""Cosines of strong and fair matches by model: ada-002 puts any two texts near 0.7,
its successors start near 0.1."""
_LEXICAL = (0.20, 0.10)
"""The same for the offline embedding, which shares words and not meanings."""
_SHARES = (0.85, 0.75)
"""For models nobody has measured: shares of the best match of the question."""
_CONFIGURABLE = frozenset({"high_similarity", "medium_similarity"})
MOST_TURNS = 200
"""Questions that are kept; older ones are dropped."""
_VERDICTS = {"yes": True, "no": False}


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and what came of it.

    Attributes:
        number: counted from 1, never reused within a session.
        question: as typed.
        report: the answers; None when no parser could answer.
        error: why not; None otherwise.
        scale: how the similarities of this turn's embedding model read.
        edges: what the retrieved chunks split in two, by id of their node.
        stopped: what had arrived of the answers the visitor stopped, by parser.
        marks: whether an answer was helpful, by parser.
        searched: the standalone question that a follow-up was condensed to; "" for any other.
    """

    number: int
    question: str
    report: ComparisonReport | None
    error: str | None
    scale: SimilarityScale | None
    stopped: Mapping[str, str] = field(default_factory=dict)
    edges: Mapping[str, Edges] = field(default_factory=dict)
    marks: Mapping[str, bool] = field(default_factory=dict)
    searched: str = ""

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns as they stand on the page."""
        return self.report.columns if self.report else ()

    def column_at(self, position: int) -> Column | None:
        """The column at a place on the page, counted from 1; None where there is none."""
        return self.columns[position - 1] if 1 <= position <= len(self.columns) else None


@dataclass(frozen=True, slots=True)
class Growing:
    """One column while its answer is being written.

    `chunk_count` is the number of retrieved chunks, None before that, and `text` what has arrived
    of the answer; `stopped` has `ended` because the visitor wanted no more.
    """

    name: str
    chunk_count: int | None = None
    text: str = ""
    ended: bool = False
    stopped: bool = False

    def after(self, event: Event) -> Growing:
        """The column after one more event."""
        if isinstance(event, Retrieved):
            return replace(self, chunk_count=len(event.hits))
        if isinstance(event, Delta):
            return replace(self, text=self.text + event.text)
        if isinstance(event, Last):
            return replace(self, ended=True, stopped=isinstance(event, Cancelled))
        return self


@dataclass(frozen=True, slots=True)
class Asking:
    """A question that is being answered, with the number of the turn it becomes and its columns.

    `quoted` says that sentences of the documents are what is written.
    """

    number: int
    question: str
    growing: tuple[Growing, ...]
    quoted: bool = False

    def after(self, name: str, event: Event) -> Asking:
        """The question after one more event of a parser."""
        growing = (
            column.after(event) if column.name == name else column for column in self.growing
        )
        return replace(self, growing=tuple(growing))


class Turns:
    """The questions of one visitor, oldest first; safe from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: tuple[Turn, ...] = ()

    @property
    def all(self) -> tuple[Turn, ...]:
        """Those that are kept."""
        return self._turns

    def numbered(self, number: int) -> Turn | None:
        """Return the turn of a number; None if it is not kept."""
        return next((turn for turn in self._turns if turn.number == number), None)

    def add(self, turn: Turn) -> None:
        """Remember one more; with too many the oldest goes."""
        with self._lock:
            self._turns = (*self._turns, turn)[-MOST_TURNS:]

    def change(self, number: int, change: Callable[[Turn], Turn]) -> Turn | None:
        """Replace one turn by what `change` makes of it.

        Returns:
            What it is now; None where there is no turn of that number.
        """
        with self._lock:
            for position, turn in enumerate(self._turns):
                if turn.number == number:
                    changed = change(turn)
                    before, after = self._turns[:position], self._turns[position + 1 :]
                    self._turns = (*before, changed, *after)
                    return changed
        return None

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._turns = ()


def rate(turns: Turns, number: int, column: int, verdict: str) -> bool:
    """Remember whether an answer was helpful; the same said twice takes it back.

    Returns:
        False where turn, answer or verdict do not exist.
    """
    helpful = _VERDICTS.get(verdict)
    rated: list[str] = []

    def change(turn: Turn) -> Turn:
        rated_column = turn.column_at(column)
        if rated_column is None or rated_column.answer is None or helpful is None:
            return turn
        rated.append(rated_column.name)
        marks = {name: mark for name, mark in turn.marks.items() if name != rated_column.name}
        if turn.marks.get(rated_column.name) is not helpful:
            marks[rated_column.name] = helpful
        return replace(turn, marks=marks)

    turns.change(number, change)
    return bool(rated)


class ColumnTally(NamedTuple):
    """Numbers of a column's answers that were rated, and rated helpful."""

    name: str
    helpful: int
    rated: int


def tally(turns: Iterable[Turn]) -> list[ColumnTally]:
    """One row for each column that was rated."""
    marks = [mark for turn in turns for mark in turn.marks.items()]
    rated, helpful = Counter(name for name, _ in marks), Counter(name for name, yes in marks if yes)
    return [ColumnTally(name, helpful[name], number) for name, number in rated.items()]


@dataclass(frozen=True, slots=True)
class SimilarityScale:
    """From which similarity on a chunk is a strong or a fair match.

    Attributes:
        high: least similarity of a strong match.
        medium: least similarity of a fair match.
        relative: both are shares of the best match of the question, not cosines.
        model: the embedding model they are for.
    """

    high: float
    medium: float
    relative: bool
    model: str

    def level(self, similarity: float | None, best: float | None) -> Level:
        """The word for one chunk.

        Args:
            similarity: cosine of question and chunk; None where it was not computed.
            best: largest similarity any column found for the question.
        """
        if similarity is None:
            return "unknown"
        value = similarity
        if self.relative:
            if best is None or best <= 0:
                return "weak"
            value = similarity / best
        if value >= self.high:
            return "strong"
        return "fair" if value >= self.medium else "weak"

    def explain(self) -> str:
        """One sentence for a tooltip."""
        if self.relative:
            return (
                f"{self.model} has no known thresholds: strong is at least {self.high:.0%} of the "
                f"best match of this question, fair at least {self.medium:.0%}."
            )
        return (
            f"Thresholds for {self.model}: strong from {self.high:.2f}, "
            f"fair from {self.medium:.2f}."
        )


def scale_for(embedding_name: str, settings: Settings) -> SimilarityScale:
    """The scale of an embedding model; one the user configured wins.

    Args:
        embedding_name: as in `Models.embedding_name`, perhaps with `@host`.
        settings: `high_similarity` and `medium_similarity` count where they were set.
    """
    name = embedding_name.partition("@")[0]
    if settings.model_fields_set & _CONFIGURABLE:
        high, medium = settings.high_similarity, settings.medium_similarity
        return SimilarityScale(high, medium, relative=False, model=name)
    if name.startswith("lexical"):
        return SimilarityScale(*_LEXICAL, relative=False, model=name)
    if name in _MEASURED:
        return SimilarityScale(*_MEASURED[name], relative=False, model=name)
    return relative_scale(name)


def relative_scale(name: str) -> SimilarityScale:
    """Return the scale of scores that nobody has measured: shares of the best one."""
    return SimilarityScale(*_SHARES, relative=True, model=name)
