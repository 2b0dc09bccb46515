"""Background threads that have ended before the interpreter does: the only ones of this package.

The interpreter does not wait for a daemon thread. Until Python 3.13 it ends such a thread at its
next step, and the process aborts (exit code 134) if that step was called from Rust or C++, as every
validator of pydantic is. It does wait for all other threads, so one silent model server would keep
the process alive. These threads are daemons, and the exit stops them and waits a little.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

logger = logging.getLogger(__name__)

EXIT_SECONDS = 2.0
"""Seconds that the end of a process waits for all background threads together."""


class BackgroundThread(threading.Thread):
    """Daemon thread that is stopped and waited for before the interpreter ends.

    A thread that is still busy after `EXIT_SECONDS` is left behind. It waits for something outside
    this process, such as a server, and will not take another step in the moment that is left.

    Args:
        work: what the thread does.
        name: name of the thread.
        end: called from another thread at exit to make the work end soon; None if nothing can.
        delay: seconds before the work begins; `cancel` prevents it until then.

    Attributes:
        is_given_up: True once the thread was waited for in vain.
    """

    def __init__(
        self,
        work: Callable[[], object],
        name: str,
        *,
        end: Callable[[], object] | None = None,
        delay: float = 0.0,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._work, self._end, self._delay = work, end, delay
        self._cancelled = threading.Event()
        self.is_given_up = False

    def run(self) -> None:
        """Wait for the delay to pass and do the work."""
        if not self._cancelled.wait(self._delay):
            self._work()

    def cancel(self) -> None:
        """Do not begin the work; without effect once it has begun."""
        self._cancelled.set()

    def end(self) -> None:
        """Cancel the work, or make it end soon if it has begun."""
        self.cancel()
        if self._end is not None:
            try:
                self._end()
            except Exception:
                logger.exception("the thread %r could not be ended", self.name)


class BackgroundExecutor(ThreadPoolExecutor):
    """Executor whose calls run in background threads, so that no exit waits for a call that hangs.

    An event loop takes only a `ThreadPoolExecutor` as its default. Nothing needs to be shut down: a
    thread ends when no call is waiting.

    Args:
        most: calls that run at the same time.
        name: name of the threads.
    """

    def __init__(self, most: int, name: str) -> None:
        super().__init__(1)  # it starts no thread of its own
        self._most, self._name = most, name
        self._lock, self._waiting, self._count = threading.Lock(), deque[Any](), 0

    def submit(
        self,
        fn: Callable[Parameters, Result],
        /,
        *args: Parameters.args,
        **kwargs: Parameters.kwargs,
    ) -> Future[Result]:
        """Run a call as soon as a thread is free."""
        answer = Future[Result]()
        with self._lock:
            self._waiting.append(partial(_run, answer, partial(fn, *args, **kwargs)))
            if self._count < self._most:
                BackgroundThread(self._work, self._name, end=self._waiting.clear).start()
                self._count += 1
        return answer

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._count -= 1
                    return
                call = self._waiting.popleft()
            call()


def _run(answer: Future[Result], call: Callable[[], Result]) -> None:
    if not answer.set_running_or_notify_cancel():
        return
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - it is raised again where it is waited for
        answer.set_exception(error)
    else:
        answer.set_result(result)


def end_background_threads(seconds: float = EXIT_SECONDS) -> None:
    """End all background threads and wait for them, for some seconds in total.

    It runs at exit, where threads that end may still start others. A thread that was waited for in
    vain is not waited for again.
    """
    until = time.monotonic() + seconds
    asked: set[threading.Thread] = set()
    while threads := _running():
        for thread in threads:
            if thread not in asked:
                asked.add(thread)
                thread.end()
        threads[0].join(max(0.0, until - time.monotonic()))
        threads[0].is_given_up = threads[0].is_alive()


def _running() -> list[BackgroundThread]:
    threads = (thread for thread in threading.enumerate() if isinstance(thread, BackgroundThread))
    return [thread for thread in threads if not thread.is_given_up]


atexit.register(end_background_threads)
