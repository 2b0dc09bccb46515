"""Every parser's answer as it grows, in order of arrival, each stoppable on its own."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from queue import SimpleQueue
from threading import Lock, RLock
from typing import TYPE_CHECKING, Self

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.processes import BackgroundThread
from rag_nodes.core.several import several
from rag_nodes.evaluation.compare.columns import as_failure
from rag_nodes.query import RagNodesQueryEngine
from rag_nodes.query.follow_ups import Condensed
from rag_nodes.query.preparing import QuestionVector
from rag_nodes.query.types import Cancelled, Delta, Event, Failed, Finished, Last

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from rag_nodes.evaluation.compare.columns import ColumnEngines
    from rag_nodes.evaluation.compare.report import Column, ComparisonReport
    from rag_nodes.evaluation.engines import AnsweringEngine

    Named = tuple[str, Event]


class ComparisonStream:
    """Pairs of a parser's name and an event, in order of arrival.

    Work starts at once, one thread per parser; the first one there embeds the question for all.
    Each parser ends with exactly one of `Finished`, `Failed` and `Cancelled`. Leaving a `with`
    block, or `close`, stops what still runs at its next event.

    Args:
        compared: what to ask.
        question: not blank; or one that was condensed, which every answer counts.
        document_ids: search only these documents; None for all.
        whole: have every parser answer at once, so that the only events are the last ones.
    """

    def __init__(
        self,
        compared: ColumnEngines,
        question: str | Condensed,
        document_ids: str | Sequence[str] | None,
        *,
        whole: bool = False,
    ) -> None:
        self._compared = compared
        self._whole = whole
        self._condensed = question if isinstance(question, Condensed) else Condensed(question)
        self._question = self._condensed.question
        self._document_ids = several(document_ids)
        self._started = time.perf_counter()
        self._queue: SimpleQueue[Named | None] = SimpleQueue()
        self._lock = RLock()
        self._texts: dict[str, list[str]] = {name: [] for name in compared.names}
        self._ends: dict[str, tuple[Finished | Failed | Cancelled, float]] = {}
        self._waiting = set(compared.names)
        self._closed = False
        self._embedding = Lock()
        self._embedded: tuple[QuestionVector, float] | None = None
        self._embedding_failed: Exception | None = None
        for name in compared.names:
            BackgroundThread(partial(self._run, name), f"ask {name}", end=self.close).start()

    def __enter__(self) -> Self:
        """The stream itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stop what still runs."""
        self.close()

    def __iter__(self) -> Self:
        """The stream itself; it can be read once."""
        return self

    def __next__(self) -> Named:
        """The next event of any parser, waiting for it."""
        named = self.take()
        if named is None:
            raise StopIteration
        return named

    def take(self) -> Named | None:
        """The next event of any parser, waiting for it; None after the last one."""
        if not self._waiting or self._closed:
            return None
        named = self._queue.get()
        if named is not None and isinstance(named[1], Last):
            self._waiting.discard(named[0])
        return named

    def cancel(self, name: str) -> None:
        """End one parser's answer with `Cancelled`; the others go on. Safe from any thread.

        A parser that has ended already stays as it is.

        Raises:
            ConfigurationError: there is no parser of that name.
        """
        if name not in self._texts:
            names = ", ".join(self._texts)
            raise ConfigurationError(f"no parser '{name}' in this comparison; there are: {names}")
        with self._lock:
            self._put(name, Cancelled("".join(self._texts[name])))

    def close(self) -> None:
        """Stop all that still runs, without further events."""
        with self._lock:
            self._closed = True
        self._queue.put(None)

    def report(self) -> ComparisonReport:
        """All columns as `Comparison.ask` gives them; a cancelled one has that as its error.

        Raises:
            ConfigurationError: some parser has not ended yet.
        """
        running = [name for name in self._texts if name not in self._ends]
        if running:
            raise ConfigurationError(
                f"{', '.join(running)} did not answer yet; read the stream to its end first"
            )
        columns = tuple(self._column(name) for name in self._texts)
        last = max(ended for _, ended in self._ends.values())
        return self._compared.report(self._question, columns, last - self._started)

    def wait(self) -> ComparisonReport:
        """Wait for all columns and report them.

        Raises:
            RagNodesError: the question could not be embedded, so no parser can answer.
        """
        while self.take():
            pass
        answered = (isinstance(event, Finished) for event, _ in self._ends.values())
        if self._embedding_failed and not any(answered):
            raise self._embedding_failed
        return self.report()

    def _column(self, name: str) -> Column:
        event, ended = self._ends[name]
        answer = event.answer if isinstance(event, Finished) else None
        error = str(event.error) if isinstance(event, Failed) else None
        if isinstance(event, Cancelled):
            error = "cancelled before it had answered"
        seconds = {"total": ended - self._started}
        if answer and answer.mode not in {"", "sparse"} and self._embedded:
            seconds["embed"] = self._embedded[1]
        column = self._compared.column(name, answer, error, seconds)
        return replace(column, partial="" if isinstance(event, Finished) else event.text)

    def _run(self, name: str) -> None:
        """One parser's thread."""
        try:
            engine = self._compared.engine(name, document_ids=self._document_ids)
            with closing(self._events(engine)) as events:
                for event in events:
                    if isinstance(event, Failed):
                        as_failure(name, event.error)
                    if isinstance(event, Finished):
                        event = Finished(self._condensed.counted_in(event.answer))  # noqa: PLW2901
                    if not self._put(name, event):
                        return
        except Exception as error:  # noqa: BLE001 - one column must never take the others down
            self._put(name, Failed(as_failure(name, error), "".join(self._texts[name])))

    def _events(self, engine: RagNodesQueryEngine | AnsweringEngine) -> Generator[Event]:
        needed = isinstance(engine, RagNodesQueryEngine) and engine.retriever.mode != "sparse"
        vector = self._vector() if needed else QuestionVector(None)
        if self._whole:
            yield Finished(engine.answer(self._question, question_vector=vector))
        else:
            yield from engine.stream(self._question, question_vector=vector)

    def _vector(self) -> QuestionVector:
        """The question's vector: embedded by the first thread, waited for by the others."""
        with self._embedding:
            if self._embedding_failed is not None:
                raise self._embedding_failed
            if self._embedded is None:
                started = time.perf_counter()
                try:
                    vector = self._compared.question_vector(self._question)
                except Exception as error:
                    self._embedding_failed = error
                    raise
                self._embedded = (vector, time.perf_counter() - started)
            return self._embedded[0]

    def _remember(self) -> None:
        """Note the question once the last parser has ended, if any has answered."""
        if len(self._ends) < len(self._texts):
            return
        ends = (self._ends[name][0] for name in self._texts)
        answers = (event.answer.text for event in ends if isinstance(event, Finished))
        if (answer := next(answers, None)) is not None:
            self._compared.remember(self._question, answer)

    def _put(self, name: str, event: Event) -> bool:
        """Pass an event on; False where nobody wants more of this parser."""
        with self._lock:
            if self._closed or name in self._ends:
                return False
            if isinstance(event, Delta):
                self._texts[name].append(event.text)
            if isinstance(event, Last):
                self._ends[name] = (event, time.perf_counter())
                self._remember()
            self._queue.put((name, event))
            return True
