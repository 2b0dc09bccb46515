"""The questions of one visitor: each is answered by every column, in a thread of its own."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from rag_nodes.apps.visitors.jobs import Job
from rag_nodes.apps.visitors.turns import Asking, Growing, Turn, Turns
from rag_nodes.core.errors import CancelledError, ConfigurationError, RagNodesError

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.evaluation.compare import ComparisonReport, ComparisonStream

NO_DOCUMENT = "No document yet: add one first."
BUSY = "A question is being answered: wait for the answers, or stop them."


class Conversation:
    """Questions and answers of one visitor; one question is answered at a time.

    Args:
        session: documents and columns that answer.
        changed: called with the number of a question whenever there is more to see of it.
        room: held while a question is answered, because not all visitors' can be at once.

    Attributes:
        turns: answered questions, and whether the answers were helpful.
        asking: the question that is being answered; None if there is none.
    """

    def __init__(
        self,
        session: PageSession,
        changed: Callable[[int], None],
        room: AbstractContextManager[Any] = nullcontext(),  # noqa: B008 - it holds nothing
    ) -> None:
        self._session = session
        self._changed = changed
        self._room = room
        self._beginning = threading.Lock()
        self._job: Job[None, None] | None = None
        self._stream: ComparisonStream | None = None
        self._asked = 0
        self.turns = Turns()
        self.asking: Asking | None = None

    @property
    def is_busy(self) -> bool:
        """True while a question is answered, or waits for documents that are loaded."""
        return self._job is not None and not self._job.done

    def start(self, question: str, *, follow_up: bool = False) -> Job[None, None]:
        """Answer a question with every column; what is loaded now is waited for.

        Args:
            question: as typed.
            follow_up: the question follows the last one.

        Raises:
            ConfigurationError: nothing is loaded, another question is being answered, or there is
                no question to follow.
        """
        if not self._session.ready and not self._session.loading:
            raise ConfigurationError(NO_DOCUMENT)
        if follow_up and not self.turns.all:
            raise ConfigurationError("There is no earlier question: untick the follow-up.")
        with self._beginning:
            if self.asking is not None:
                raise ConfigurationError(BUSY)
            self._asked += 1
            self.asking = Asking(self._asked, question, ())
            job = self._job = Job[None, None]()
        self._changed(self._asked)
        job.start(partial(self._answer, question, follow_up), self._room)
        return job

    def ask(self, question: str, *, follow_up: bool = False) -> Turn:
        """Answer a question, and wait for the answers; failures are part of the turn."""
        self.start(question, follow_up=follow_up).result()
        return self.turns.all[-1]

    def stop(self) -> None:
        """End the answers that are being written; what has ended stays."""
        asking = self.asking
        for column in range(len(asking.growing) if asking else 0):
            self.stop_column(asking.number if asking else 0, column + 1)

    def stop_column(self, turn: int, column: int) -> None:
        """End one answer that is being written; the others go on.

        Args:
            turn: number of the question; nothing happens if it is not being answered.
            column: its place on the page, counted from 1; anything else is ignored.
        """
        asking, running = self.asking, self._stream
        if asking is None or running is None or asking.number != turn:
            return
        if 1 <= column <= len(asking.growing):
            running.cancel(asking.growing[column - 1].name)

    def clear(self) -> None:
        """Forget the answered questions; documents stay."""
        self.turns.clear()

    def _answer(self, question: str, follow_up: bool) -> None:  # noqa: FBT001 - bound by `start`
        report, error, stopped = None, "", dict[str, str]()
        try:
            self._wait_for_documents()
            with self._session.turn():
                report, stopped = self._streamed(question, follow_up=follow_up)
        except CancelledError as failure:
            error = str(failure)
            raise
        except RagNodesError as failure:
            error = str(failure)
        except Exception as failure:
            error = f"stopped by a fault of the app ({type(failure).__name__}); you can ask on"
            raise
        finally:
            asking, self._stream, self.asking = self.asking, None, None
            number = asking.number if asking else self._asked
            searched = report.question if report and report.question != question else ""
            cuts = self._session.cuts
            edges = cuts.edges(report) if cuts and report else {}
            scale = self._session.scale
            self.turns.add(
                Turn(number, question, report, error or None, scale, stopped, edges, {}, searched)
            )
            self._changed(number)

    def _wait_for_documents(self) -> None:
        """Wait until nothing is loaded any more.

        Raises:
            RagNodesError: loading failed, or it was cancelled and nothing was loaded before.
        """
        while (loading := self._session.last_loading) is not None and not loading.done:
            try:
                loading.result()
            except CancelledError:
                # Another loading took over, which is waited for, or what was before stays.
                if self._session.last_loading in (None, loading) and not self._session.ready:
                    raise

    def _streamed(
        self, question: str, *, follow_up: bool
    ) -> tuple[ComparisonReport, dict[str, str]]:
        """Read the answers as they arrive; gives the report and what arrived of stopped ones."""
        comparison = self._session.comparison
        if comparison is None or self.asking is None:
            raise ConfigurationError(NO_DOCUMENT)
        growing = tuple(Growing(name) for name in comparison.names)
        quoted = comparison.models.llm is None
        asking = self.asking = Asking(self.asking.number, question, growing, quoted)
        with comparison.stream(question, follow_up=follow_up) as self._stream:
            for name, event in self._stream:
                asking = self.asking = asking.after(name, event)
                self._changed(asking.number)
            report = self._stream.report()
        return report, {column.name: column.text for column in asking.growing if column.stopped}
