"""Units done by processes of this machine, the same children that read files.

Not by a `ProcessPoolExecutor`: if one of its processes dies it ends all others, what they had in
hand is lost, and nobody knows which unit it was.
"""

from __future__ import annotations

import pickle
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import EngineError
from rag_nodes.core.processes import (
    Child,
    ChildDiedError,
    Children,
    Interrupt,
    Task,
    interruptible,
    serve,
)
from rag_nodes.models.executors.executor import POLL, Death, Dispatcher, UnitOutcome, WorkerJob

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Pool(Dispatcher):
    """See `Executor`: several processes of this machine.

    Output that a process prints goes to stderr. No process outlives this one, even if it is killed:
    then its pipes close. Recipes, with the keys they hold, go through those pipes and nowhere else.

    Args:
        workers: how many; None for the cores that may be used.
        niceness: up to 19, with which they give way to all other work of the machine.

    Raises:
        ConfigurationError: fewer than 1.
    """

    def __init__(self, workers: int | None = None, *, niceness: int = 0) -> None:
        super().__init__(workers)
        self._niceness = niceness

    def _begin(self, job: bytes) -> None:
        self._job, self._interrupt = job, Interrupt()
        start = partial(Child, __name__, stderr=None, niceness=self._niceness)
        self._children = Children(start, kept=self.workers)
        self._threads = ThreadPoolExecutor(self.workers, "workers")  # each waits for one process
        self._session.callback(self._end)

    def _submit(self, unit: bytes) -> Future[UnitOutcome | Death]:
        return self._threads.submit(self._do, unit)

    def _done(self) -> Iterator[tuple[Any, UnitOutcome | Death]]:
        flying: dict[Any, Any] = self._flying
        for future in wait(flying, POLL, FIRST_COMPLETED).done:
            yield future, future.result()

    def _end(self) -> None:
        self._interrupt.set()
        self._threads.shutdown(cancel_futures=True)
        self._children.close()

    def _do(self, unit: bytes) -> UnitOutcome | Death:
        """Have a process do a unit.

        A process that was killed before it began did not die of this unit.
        """
        parts: list[int | None] = []

        def hear(part: bytes) -> None:
            parts.append(pickle.loads(part))  # noqa: S301 -- our own process

        try:
            with interruptible(self._interrupt), self._children.take("the work") as child:
                if not child.used:
                    list(child.results(self._job))
                started = partial(parts.append, None)
                (outcome,) = child.results(unit, started=started, heard=hear)
        except ChildDiedError as error:
            return Death(str(error), begun=bool(parts), part=parts[-1] if parts else None)
        except OSError as error:
            raise EngineError(
                f"a worker could not be started ({error}); check free memory and the process "
                f"limit, or use fewer workers"
            ) from error
        return pickle.loads(outcome)  # type: ignore[no-any-return]  # noqa: S301 -- our own process


def main() -> None:
    """Do one unit after another; the first request is the job of them all, see `WorkerJob`."""
    jobs: list[WorkerJob] = []

    def begin(request: bytes, note: Callable[[bytes], None]) -> Task:
        if jobs:
            return Task(map(jobs[0].do, [request]))
        jobs.append(WorkerJob(request, lambda part: note(pickle.dumps(part))))
        return Task(())

    serve(begin)
