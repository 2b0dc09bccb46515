"""A few at once: who waits can be ended, and a fork waits for nobody."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.processes import Interrupt, Leases, interruptible, pause


class Telling(Interrupt):
    """Tells when somebody has begun to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waits = threading.Event()

    @contextmanager
    def killing(self, kill: Callable[[], None]) -> Iterator[None]:
        with super().killing(kill):
            self.waits.set()
            yield


def test_who_waits_for_others_can_be_ended() -> None:
    leases, interrupt = Leases(1), Telling()

    def work() -> None:
        with interruptible(interrupt), leases.take("b.pdf: reading it"):
            raise AssertionError("the only place is taken")

    with ThreadPoolExecutor(1) as threads, leases.take("a.pdf: reading it"):
        waiting = threads.submit(work)
        assert interrupt.waits.wait(timeout=60)
        interrupt.set()
        with pytest.raises(CancelledError, match=r"b\.pdf: reading it was cancelled"):
            waiting.result(timeout=60)


def test_a_pause_is_over_with_the_work_it_is_part_of() -> None:
    interrupt = Telling()

    def work() -> None:
        with interruptible(interrupt):
            pause(3600)

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(work)
        assert interrupt.waits.wait(timeout=60)
        interrupt.set()
        with pytest.raises(CancelledError, match="waiting to ask again was cancelled"):
            waiting.result(timeout=60)
    pause(0)


def test_who_was_ended_before_takes_no_place() -> None:
    leases, interrupt = Leases(1), Interrupt()
    interrupt.set()
    with pytest.raises(CancelledError), interruptible(interrupt), leases.take("work"):
        raise AssertionError("it was ended before")
    with leases.take("work"):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_waits_for_no_thread_of_its_parent() -> None:
    leases = Leases(1)
    with leases.take("work"):
        pid = os.fork()
        if pid == 0:
            signal.alarm(60)  # ends it where it would wait for ever
            with leases.take("work of the fork"):
                pass
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    with leases.take("work"):
        pass
