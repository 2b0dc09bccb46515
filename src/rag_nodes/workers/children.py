"""Workers that are child processes of this one, on the same machine."""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from queue import SimpleQueue
from subprocess import PIPE
from typing import IO, Any, Generic

from rag_nodes.errors import EngineError
from rag_nodes.processes.children import await_end, ending_of, kill, start
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
from rag_nodes.workers.words import Hearing, LastWords

CHILD = "rag_nodes.workers.child"
"""What a child runs."""
_HELD = 4_000_000
"""Bytes of messages of each worker that are held here; further ones wait in the pipe."""
_END = None
_PATIENCE = 5.0
"""Seconds for the end of the threads that talk with processes which were killed."""


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
        self._arrived: Inbox[SaidT] = Inbox(_HELD * workers)
        self._children: dict[int, _Child[TaskT, SaidT]] = {}
        self._died: set[int] = set()
        self._hearing = Hearing(trade_at(recipe.trade).unpack)

    def submit(self, worker: int, task: TaskT) -> None:
        """See `Transport`; a child is started with its first task.

        Raises:
            EngineError: no process can be started.
        """
        if worker not in self._children:
            recipe = self._recipe.successor() if worker in self._died else self._recipe
            try:
                child: _Child[TaskT, SaidT] = _Child(
                    worker, recipe, self._module, self._hearing, self._arrived
                )
            except (OSError, RuntimeError) as error:  # no process, or no thread to talk with it
                raise EngineError(
                    f"a worker could not be started ({error}); look at free memory and at how many "
                    "processes may run, or ask for fewer workers"
                ) from error
            self._children[worker] = child
        self._children[worker].tasks.put(task)

    def wait(self, seconds: float) -> Arrived[SaidT] | None:
        """What comes next of any child."""
        return self._arrived.get(seconds)

    def replace(self, worker: int) -> None:
        """Let the next task start a new child."""
        self._children.pop(worker).end()
        self._died.add(worker)

    def close(self) -> None:
        """Kill all children."""
        children, self._children = self._children, {}
        self._arrived.close()
        for child in children.values():
            child.end()
        for child in children.values():
            child.thread.join(_PATIENCE)


class Inbox(Generic[SaidT]):
    """What has arrived, in order, until it is taken.

    Args:
        room: bytes that it holds; whoever brings more waits, unless there is nothing else.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._waiting: deque[tuple[Arrived[SaidT], int]] = deque()
        self._held = 0
        self._is_open = True
        self._changed = threading.Condition()

    def put(self, arrived: Arrived[SaidT], size: int = 0) -> None:
        """Bring something of so many bytes; when it is closed that is gone."""
        with self._changed:
            while self._is_open and self._waiting and self._held + size > self._room:
                self._changed.wait()
            if self._is_open:
                self._waiting.append((arrived, size))
                self._held += size
                self._changed.notify_all()

    def get(self, seconds: float) -> Arrived[SaidT] | None:
        """The first of what is there, waited for; None where nothing came in time."""
        with self._changed:
            if not self._waiting:
                self._changed.wait_for(lambda: self._waiting, seconds)
            if not self._waiting:
                return None
            arrived, size = self._waiting.popleft()
            self._held -= size
            self._changed.notify_all()
            return arrived

    def close(self) -> None:
        """Let nobody wait any more."""
        with self._changed:
            self._is_open = False
            self._waiting.clear()
            self._changed.notify_all()


class _Child(Generic[TaskT, SaidT]):
    """A child process, and the threads that talk with it, read its stderr and await its end.

    Attributes:
        tasks: what it is to do.
    """

    def __init__(
        self,
        number: int,
        recipe: WorkerRecipe,
        module: str,
        hearing: Hearing,
        arrived: Inbox[SaidT],
    ) -> None:
        self.tasks: SimpleQueue[TaskT | None] = SimpleQueue()
        self._number = number
        self._recipe, self._trade = recipe, trade_at(recipe.trade)
        self._hearing, self._arrived = hearing, arrived
        self._process = start(module, stderr=PIPE)
        self._last_words = LastWords(_piped(self._process.stderr), recipe.keys)
        threading.Thread(target=await_end, args=(self._process,), daemon=True).start()
        self.thread = threading.Thread(target=self._talk, name=f"worker {number}", daemon=True)
        self.thread.start()

    def end(self) -> None:
        """Kill the process, whatever it does."""
        kill(self._process)
        self._process.wait()
        self.tasks.put(_END)

    def _talk(self) -> None:
        """Pass tasks on, and what is said of them, until the process is gone or not trusted."""
        requests, answers = _piped(self._process.stdin), _piped(self._process.stdout)
        keys = {name: key.get_secret_value() for name, key in self._recipe.keys.items()}
        made = {"trade": self._recipe.trade, "recipe": self._recipe.plain(), "keys": keys}
        unsent: dict[str, Any] | None = made
        with suppress(OSError), requests, answers:  # what was not sent can be sent no more
            while (task := self.tasks.get()) is not _END:
                try:
                    if unsent:
                        send(requests, unsent)
                        unsent = None
                    self._do(task, requests, answers)
                except (EOFError, OSError):
                    self._bury(task)
                    return
                except Exception as error:  # noqa: BLE001 - whatever it said, it is not trusted now
                    self._bury(task, f"it said what is no message: {error}")
                    return

    def _do(self, task: TaskT, requests: IO[bytes], answers: IO[bytes]) -> None:
        send_bytes(requests, self._trade.pack_task(task))
        while True:
            data = receive_bytes(answers)
            message = self._hearing.message(data)
            if message is None:
                continue
            self._arrived.put(Arrived(self._number, task.number, message), len(data))
            if isinstance(message, self._trade.last):
                return

    def _bury(self, task: TaskT, reason: str | None = None) -> None:
        kill(self._process)
        died = Died(reason or self._last_words.after(ending_of(self._process)))
        self._arrived.put(Arrived(self._number, task.number, died))


def _piped(stream: IO[bytes] | None) -> IO[bytes]:
    assert stream is not None  # noqa: S101 - for the type checker: it was started with pipes
    return stream
