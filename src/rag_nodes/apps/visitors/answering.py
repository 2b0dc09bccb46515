"""A visitor's questions: each is answered by every column, in a thread that nobody has to watch."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.visitors.cuts import Cuts
from rag_nodes.apps.visitors.jobs import Job
from rag_nodes.apps.visitors.turns import AT_FIRST, Asking, Growing, Turn, Turns
from rag_nodes.core.errors import CancelledError, ConfigurationError, RagNodesError
from rag_nodes.core.processes import unless_interrupted
from rag_nodes.evaluation.compare import ComparisonStream
from rag_nodes.operations.workspace.session import Session
from rag_nodes.query.follow_ups import Condensed, standalone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.apps.visitors.turns import SimilarityScale
    from rag_nodes.core.settings import Settings


class AnsweringSession(Session):
    """A session that remembers what was asked of it; one question is answered at a time.

    Args:
        settings: of `Session`.
        answers: held while a question is answered, as not all visitors' can be at once.
        **options: of `Session`.

    Attributes:
        history: questions and answers, and what the visitor thought of them.
        asking: the question that is being answered; None while there is none.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        answers: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it holds nothing
        **options: Any,
    ) -> None:
        super().__init__(settings, **options)
        self._answers = answers
        self._beginning = threading.Lock()
        self._cutting = threading.Lock()
        self._cuts: Cuts | None = None
        self._scale: SimilarityScale | None = None
        self._answering: Job[Asking, None] | None = None
        self._asked = 0
        self._stream: ComparisonStream | None = None
        self.history = Turns()
        self.asking: Asking | None = None

    @property
    def cuts(self) -> Cuts | None:
        """The documents and what the parsers made of them; None while nothing is loaded.

        Without parsers, beside indexes that visitors bring, the documents have no chunks.
        """
        # Without the other lock, which a slow answer may hold: all are replaced as a whole.
        # In this order: a comparison is set after its documents.
        comparison, documents = self._comparison, self._documents
        with self._cutting:
            if comparison is None:
                self._cuts = None
            elif self._cuts is None or self._cuts.comparison is not comparison:
                self._cuts = Cuts(comparison, documents)
            return self._cuts

    @property
    def turns(self) -> list[Turn]:
        """Questions and answers, oldest first."""
        return list(self.history.all)

    def ask(self, question: str, *, follow_up: bool = False) -> Turn:
        """Answer with every parser and remember the turn; failures are part of it."""
        for _ in self.stream(question, follow_up=follow_up):
            pass
        return self.turns[-1]

    def stream(self, question: str, *, follow_up: bool = False) -> Iterator[tuple[Growing, ...]]:
        """Like `ask`, with a look at the columns whenever something has changed in one.

        Whoever stops reading stops nothing; see `stop`.

        Args:
            question: as typed.
            follow_up: it follows the last question, if there is any.

        Raises:
            ConfigurationError: another question is being answered; it does not wait for that.
        """
        with self._beginning:
            if self._answering is not None and not self._answering.done:
                raise ConfigurationError(
                    "a question is being answered: wait for the answers, or stop them"
                )
            answering = self._answering = Job()
        answering.start(partial(self._answer, question, follow_up, answering), self._answers)
        yield from self.looks()

    def looks(self) -> Iterator[tuple[Growing, ...]]:
        """The columns of the question that is being answered, whenever one has changed."""
        answering = self._answering
        if answering is not None:
            for asking in answering.looks():
                if asking is not None:
                    yield asking.growing
            answering.result()

    def _answer(
        self,
        question: str,
        follow_up: bool,  # noqa: FBT001 - passed on by `stream`
        answering: Job[Asking, None],
    ) -> None:
        with self.turn():
            report, error, asked = None, None, Condensed(question)
            stopped: dict[str, str] = {}
            self._asked += 1
            self.history.shown = AT_FIRST

            def show(asking: Asking) -> None:
                self.asking = asking
                answering.step(asking)

            try:
                if self._comparison is None:
                    raise ConfigurationError("no document yet: upload one first")
                growing = tuple(Growing(name) for name in self._comparison.names)
                quoted = self._comparison.models.llm is None
                asking = Asking(self._asked, question, growing, quoted)
                show(asking)
                earlier = self._earlier()
                if follow_up and earlier:
                    models, prices = self._comparison.models, self._comparison.options.prices
                    condense = partial(standalone, question, True, earlier, models, prices)  # noqa: FBT003
                    asked = unless_interrupted(condense, "the question")
                with ComparisonStream(self._comparison, asked, None) as self._stream:
                    for name, event in self._stream:
                        asking = asking.after(name, event)
                        show(asking)
                    report = self._stream.report()
                stopped = {one.name: one.text for one in asking.growing if one.stopped}
            except CancelledError:
                raise
            except RagNodesError as failure:
                error = str(failure)
            finally:
                self._stream, self.asking = None, None
                turn = Turn(self._asked, question, report, error, self._scale, stopped)
                searched = asked.question if asked.question != question else ""
                turn = replace(turn, searched=searched)
                cuts = self.cuts
                edges = cuts.edges(report) if cuts and report else {}
                self.history.add(replace(turn, edges=edges))

    def _earlier(self) -> list[tuple[str, str]]:
        """Earlier questions as they were searched for, with the first answer to each."""
        return [
            (turn.searched or turn.question, one.answer.text)
            for turn in self.turns
            for one in [one for one in turn.columns if one.answer][:1]
            if one.answer
        ]

    def stop(self) -> None:
        """End the answers that are being written; what has ended stays."""
        asking = self.asking
        for column in range(len(asking.growing) if asking else 0):
            self.stop_one(asking.number if asking else 0, column + 1)

    def stop_one(self, turn: int, column: int) -> None:
        """End one answer that is being written; the others go on.

        Args:
            turn: number of the question; nothing happens where it is not being answered.
            column: its place on the page, counted from 1; anything else is ignored.
        """
        asking, running = self.asking, self._stream
        if asking is None or running is None or asking.number != turn:
            return
        if 1 <= column <= len(asking.growing):
            running.cancel(asking.growing[column - 1].name)

    def clear(self) -> None:
        """Forget the questions, but not one that is being answered; documents stay."""
        self.history.clear()

    def _forget(self) -> None:
        super()._forget()
        self._cuts = None
        self.history.clear()
