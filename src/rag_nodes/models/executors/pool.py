"""Units done by processes of this machine, each of them a child with pipes of its own.

Not by a `ProcessPoolExecutor`: where one of its processes dies it ends all others, and what they
had in hand is lost, and nobody knows which unit it was.
"""

from __future__ import annotations

import os
import pickle
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from threading import Lock
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import EngineError
from rag_nodes.core.processes import Child, ends_with_parent, own_pipes, receive_bytes, send_bytes
from rag_nodes.models.executors.executor import POLL, Death, Dispatcher, UnitOutcome, WorkerJob

if TYPE_CHECKING:
    from collections.abc import Iterator


class Pool(Dispatcher):
    """See `Executor`: several processes of this machine.

    What a process prints goes to stderr. None outlives this one, even where it is killed: then its
    pipes close. Recipes, with whatever keys they hold, go through those pipes and nowhere else.

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
        self._job = job
        self._threads = ThreadPoolExecutor(self.workers, "workers")  # one speaks with each process
        self._lock, self._is_closed = Lock(), False
        self._children: list[Child] = []
        self._idle: list[Child] = []
        self._session.callback(self._end)

    def _submit(self, unit: bytes) -> Future[UnitOutcome | Death]:
        return self._threads.submit(self._do, unit)

    def _done(self) -> Iterator[tuple[Any, UnitOutcome | Death]]:
        flying: dict[Any, Any] = self._flying
        for one in wait(flying, POLL, FIRST_COMPLETED).done:
            yield one, one.result()

    def _end(self) -> None:
        with self._lock:
            self._is_closed = True
            for child in self._children:
                child.kill()
        self._threads.shutdown(cancel_futures=True)
        for child in self._children:
            child.end()

    def _do(self, unit: bytes) -> UnitOutcome | Death:
        """What comes of a unit, said by a process that is ready, or by a new one."""
        child, is_ready = self._taken()
        begun, part = False, None
        try:
            if not is_ready:
                send_bytes(child.requests, self._job)
                receive_bytes(child.answers)
            send_bytes(child.requests, unit)
            while not isinstance(said := pickle.loads(receive_bytes(child.answers)), UnitOutcome):  # noqa: S301 -- our own process
                begun, part = True, said
        except (EOFError, OSError):
            return Death(child.ending(), begun, part)
        self._idle.append(child)
        return said

    def _taken(self) -> tuple[Child, bool]:
        """A process, and whether it knows its job."""
        with self._lock:
            while self._idle:
                if (child := self._idle.pop()).is_alive():
                    return child, True
            if self._is_closed:
                raise EngineError("the workers were ended")
            try:
                child = Child(__name__, stderr=None, niceness=self._niceness)
                self._children.append(child)
            except OSError as error:
                raise EngineError(
                    f"a worker could not be started ({error}); look at free memory and at how "
                    "many processes may run, or ask for fewer workers"
                ) from error
            return child, False


def main() -> None:
    """What a process runs: one unit after another until whoever started it is gone."""
    units, answers = own_pipes()
    os.dup2(2, 1)

    def tell(part: int | None) -> None:
        send_bytes(answers, pickle.dumps(part))

    try:
        pickled = receive_bytes(units)
        with ends_with_parent(units):
            job = WorkerJob(pickled, tell)
        tell(None)
        while True:
            unit = receive_bytes(units)
            tell(None)  # it begins: a process that was killed before did not die of this unit
            with ends_with_parent(units):
                outcome = job.do(unit)
            send_bytes(answers, outcome)
    except (EOFError, OSError):
        os._exit(1)  # whatever threads there are
