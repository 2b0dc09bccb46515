"""Reading that another thread ends: the process is killed, whatever it is doing."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.readers.conftest import file

from rag_nodes.core.errors import CancelledError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.readers import Limits, Reading
from rag_nodes.readers.isolation import ReaderPool

LIMITS = Limits()


class _Telling(Interrupt):
    """Tells when there is a process to kill."""

    def __init__(self) -> None:
        super().__init__()
        self.started = threading.Event()

    @contextmanager
    def killing(self, kill: Callable[[], None]) -> Iterator[None]:
        with super().killing(kill):
            self.started.set()
            yield


def _read_file(pool: ReaderPool, path: Path, interrupt: Interrupt) -> list[object]:
    with interruptible(interrupt):
        return [*pool.read(path, LIMITS)]


def test_a_file_that_hangs_is_ended_from_another_thread(pool: ReaderPool, tmp_path: Path) -> None:
    interrupt, path = _Telling(), file(tmp_path, "a.hangs")
    with ThreadPoolExecutor(1) as threads:
        running = threads.submit(_read_file, pool, path, interrupt)
        assert interrupt.started.wait(timeout=60)
        interrupt.set()
        with pytest.raises(CancelledError, match=r"a\.hangs: reading it was cancelled"):
            running.result(timeout=60)


def test_one_that_was_ended_before_it_began_is_not_read(pool: ReaderPool, tmp_path: Path) -> None:
    interrupt = Interrupt()
    interrupt.set()
    path = file(tmp_path, "a.answers")
    (before,) = pool.read(path, LIMITS)
    with pytest.raises(CancelledError):
        _read_file(pool, path, interrupt)
    assert pool.read(path, LIMITS) == [before], "and costs no process"


def test_the_next_file_is_read_by_another_process(pool: ReaderPool, tmp_path: Path) -> None:
    interrupt, path = Interrupt(), file(tmp_path, "a.answers")
    (before,) = pool.read(path, LIMITS)
    with interruptible(interrupt), pytest.raises(CancelledError):
        pool.read(file(tmp_path, "b.hangs"), LIMITS, started=interrupt.set)
    (after,) = pool.read(path, LIMITS)
    assert isinstance(before, Reading)
    assert isinstance(after, Reading)
    assert after.text != before.text


def test_an_interrupt_reaches_only_the_thread_it_was_made_for(
    pool: ReaderPool, tmp_path: Path
) -> None:
    interrupt, path = Interrupt(), file(tmp_path, "a.answers")
    interrupt.set()
    with interruptible(interrupt), ThreadPoolExecutor(1) as threads:
        (reading,) = threads.submit(pool.read, path, LIMITS).result(timeout=60)
    assert isinstance(reading, Reading)
