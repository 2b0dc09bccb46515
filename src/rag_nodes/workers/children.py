"""Workers that are child processes of this one, on the same machine."""

from __future__ import annotations

import threading
from contextlib import suppress
from queue import Empty, Queue, SimpleQueue
from typing import IO, TYPE_CHECKING, Generic

from rag_nodes.processes.children import ending_of, start
from rag_nodes.processes.wire import receive_bytes, send, send_bytes
from rag_nodes.workers.transport import (
    Arrived,
    Died,
    SaidT,
    TaskT,
    Transport,
    WorkerRecipe,
    trade_at,
)

if TYPE_CHECKING:
    from subprocess import Popen


CHILD = "rag_nodes.workers.child"
"""What a child runs."""
_HELD = 2
"""Messages for each worker that are held here; further ones wait in the pipe, and the worker."""
_END = None


class ChildProcesses(Transport[TaskT, SaidT]):
    """Plain subprocesses, no `multiprocessing` ones: see `rag_nodes.processes.children`.

    They end with this process, also where it is killed: the kernel ends what works on a task when
    its pipe closes, and what waits for one reads the end of it.

    Args:
        recipe: what each worker is made of; its keys go through the pipe and nowhere else.
        workers: how many.
        module: what a child runs: a module whose `main` does as that of `CHILD`.
    """

    def __init__(self, recipe: WorkerRecipe, workers: int, *, module: str = CHILD) -> None:
        self.workers = workers
        self._recipe = recipe
        self._module = module
        self._arrived: Queue[Arrived[SaidT]] = Queue(maxsize=_HELD * workers)
        self._children: dict[int, _Child[TaskT, SaidT]] = {}
        self._died: set[int] = set()

    def submit(self, worker: int, task: TaskT) -> None:
        """Give an idle child a task; it is started with its first one."""
        if worker not in self._children:
            recipe = self._recipe.successor() if worker in self._died else self._recipe
            self._children[worker] = _Child(worker, recipe, self._module, self._arrived)
        self._children[worker].tasks.put(task)

    def wait(self, seconds: float) -> Arrived[SaidT] | None:
        """What comes next of any child."""
        try:
            return self._arrived.get(timeout=seconds)
        except Empty:
            return None

    def replace(self, worker: int) -> None:
        """Let the next task start a new child."""
        self._children.pop(worker).end()
        self._died.add(worker)

    def close(self) -> None:
        """Kill all children."""
        children, self._children = self._children, {}
        for child in children.values():
            child.end()
        for child in children.values():
            while child.thread.is_alive():
                with suppress(Empty):  # it may wait for room
                    self._arrived.get(timeout=0.01)
                child.thread.join(0.01)


class _Child(Generic[TaskT, SaidT]):
    """A child process, and the thread that talks with it.

    Attributes:
        tasks: what it is to do.
    """

    def __init__(
        self, number: int, recipe: WorkerRecipe, module: str, arrived: Queue[Arrived[SaidT]]
    ) -> None:
        self.tasks: SimpleQueue[TaskT | None] = SimpleQueue()
        self._number = number
        self._recipe, self._trade = recipe, trade_at(recipe.trade)
        self._arrived = arrived
        self._process = start(module)
        self.thread = threading.Thread(target=self._talk, name=f"worker {number}", daemon=True)
        self.thread.start()

    def end(self) -> None:
        """Kill the process, whatever it does."""
        self._process.kill()
        self._process.wait()
        self.tasks.put(_END)

    def _talk(self) -> None:
        """Pass tasks on, and what is said of them, until the process is gone."""
        requests, answers = _pipes(self._process)
        with requests, answers:
            keys = {name: key.get_secret_value() for name, key in self._recipe.keys.items()}
            with suppress(OSError):  # the next task finds out that it died
                made = {"trade": self._recipe.trade, "recipe": self._recipe.plain()}
                send(requests, {**made, "keys": keys})
            while (task := self.tasks.get()) is not _END:
                try:
                    self._do(task, requests, answers)
                except (EOFError, OSError, ValueError) as error:
                    self._process.kill()
                    said = str(error) if isinstance(error, ValueError) else ""
                    reason = said or ending_of(self._process)
                    self._arrived.put(Arrived(self._number, task.number, Died(reason)))

    def _do(self, task: TaskT, requests: IO[bytes], answers: IO[bytes]) -> None:
        send_bytes(requests, self._trade.pack_task(task))
        while True:
            message = self._trade.unpack(receive_bytes(answers))
            self._arrived.put(Arrived(self._number, task.number, message))
            if isinstance(message, self._trade.last):
                return


def _pipes(process: Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    requests, answers = process.stdin, process.stdout
    assert requests is not None  # noqa: S101 - for the type checker: it was started with pipes
    assert answers is not None  # noqa: S101 - likewise
    return requests, answers
