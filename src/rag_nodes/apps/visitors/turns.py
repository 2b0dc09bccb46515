"""A visitor's questions: what came of each, and what the visitor thought of it."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from secrets import SystemRandom, token_hex
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError
from rag_nodes.query.types import Cancelled, Delta, Last, Retrieved

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from rag_nodes.apps.visitors.scores import SimilarityScale
    from rag_nodes.compare import Column, ComparisonReport
    from rag_nodes.query.types import Event
    from rag_nodes.text.edges import Edges

MOST_TURNS = 200
"""Questions that are kept; older ones are dropped."""
MOST_VOTES = 200
"""Votes of one visitor that are kept on the disk; each click is one."""
AT_FIRST = 20
"""Questions on the page until a visitor asks for earlier ones, so that it stays quick."""
_TO_CHOOSE = 2
"""Answers without which there is nothing to choose between."""


_CHANCE = SystemRandom()
"""Decides the order of columns without names."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question and what came of it.

    Attributes:
        number: counted from 1, never reused within a session.
        question: as typed.
        report: the answers; None when no parser could answer.
        error: why not; None otherwise.
        scale: how the similarities of this turn's embedding model read.
        order: parsers in the order of their letters; empty where names were never hidden.
        edges: what the chunks that were found cut in two, by id of their node.
        stopped: what had arrived of the answers the visitor stopped, by parser.
        marks: whether an answer was helpful, by parser.
        winners: parsers voted the best, all for a tie, none for all poor; None before the vote.
        ballot: what the turn is called in votes.
    """

    number: int
    question: str
    report: ComparisonReport | None
    error: str | None
    scale: SimilarityScale | None
    order: tuple[str, ...] = ()
    stopped: Mapping[str, str] = field(default_factory=dict)
    edges: Mapping[str, Edges] = field(default_factory=dict)
    marks: Mapping[str, bool] = field(default_factory=dict)
    winners: tuple[str, ...] | None = None
    ballot: str = field(default_factory=lambda: token_hex(8))

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns as they stand on the page."""
        columns = self.report.columns if self.report else ()
        if not self.order:
            return columns
        return tuple(sorted(columns, key=lambda one: self.order.index(one.name)))

    def column_at(self, position: int) -> Column | None:
        """The column at a place on the page, counted from 1; None where there is none."""
        return self.columns[position - 1] if 1 <= position <= len(self.columns) else None

    @property
    def hidden(self) -> bool:
        """True while the parsers' names wait for the vote; never without a choice."""
        if not self.order or self.winners is not None:
            return False
        answers = [one for one in self.columns if one.answer or self.stopped.get(one.name)]
        return len(answers) >= _TO_CHOOSE


@dataclass(frozen=True, slots=True)
class Growing:
    """One column while its answer is being written.

    Attributes:
        name: the parser.
        found: chunks retrieved; None before that.
        text: what has arrived of the answer.
        ended: nothing more will come.
        stopped: because the visitor wanted no more.
    """

    name: str
    found: int | None = None
    text: str = ""
    ended: bool = False
    stopped: bool = False

    def after(self, event: Event) -> Growing:
        """The column after one more event."""
        if isinstance(event, Retrieved):
            return replace(self, found=len(event.hits))
        if isinstance(event, Delta):
            return replace(self, text=self.text + event.text)
        if isinstance(event, Last):
            return replace(self, ended=True, stopped=isinstance(event, Cancelled))
        return self


@dataclass(frozen=True, slots=True)
class Asking:
    """A question that is being answered.

    Attributes:
        number: of the turn it becomes.
        question: as typed.
        growing: the columns as they stand on the page.
        blind: their names are hidden.
        quoted: what is written are sentences of the documents.
    """

    number: int
    question: str
    growing: tuple[Growing, ...]
    blind: bool = False
    quoted: bool = False

    def after(self, name: str, event: Event) -> Asking:
        """The question after one more event of a parser."""
        growing = (one.after(event) if one.name == name else one for one in self.growing)
        return replace(self, growing=tuple(growing))


class Turns:
    """The questions of one visitor, oldest first; safe from any thread.

    Attributes:
        shown: how many of the latest are on the page.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: tuple[Turn, ...] = ()
        self._votes = 0
        self.shown = AT_FIRST

    @property
    def all(self) -> tuple[Turn, ...]:
        """Those that are kept."""
        return self._turns

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

    def count_vote(self) -> bool:
        """Count one more vote; clearing does not start again.

        Returns:
            False where that is one too many.
        """
        with self._lock:
            self._votes += 1
            return self._votes <= MOST_VOTES

    def forget_marks(self) -> None:
        """No answer was helpful or not; choices between answers stay, their names are known."""
        with self._lock:
            self._turns = tuple(replace(turn, marks={}) for turn in self._turns)

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._turns, self.shown = (), AT_FIRST


def mixed(parsers: Iterable[str]) -> tuple[str, ...]:
    """The parsers in any order; nothing where there is no choice between them."""
    names = list(parsers)
    _CHANCE.shuffle(names)
    return tuple(names) if len(names) > 1 else ()


@contextmanager
def only_one(question: threading.Lock) -> Iterator[None]:
    """Hold a lock, unless that means to wait.

    Raises:
        ConfigurationError: somebody else holds it.
    """
    if not question.acquire(blocking=False):
        raise ConfigurationError("a question is being answered: wait for the answers, or stop them")
    try:
        yield
    finally:
        question.release()
