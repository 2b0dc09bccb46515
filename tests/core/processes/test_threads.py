"""Background threads are stopped at the end, and waited for once."""

import threading

import pytest

from rag_nodes.core.processes import BackgroundExecutor, BackgroundThread, threads
from rag_nodes.core.processes.threads import end_background_threads
from rag_nodes.models.asking import awaited

PATIENCE = 60


@pytest.fixture(autouse=True)
def _only_the_threads_of_the_test_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests beside these, of the same process, keep their threads."""
    before, running = set(threading.enumerate()), threads._running
    monkeypatch.setattr(
        threads, "_running", lambda: [process for process in running() if process not in before]
    )


def test_a_thread_is_asked_to_end_and_waited_for() -> None:
    ended = threading.Event()
    thread = BackgroundThread(ended.wait, "waits", end=ended.set)
    thread.start()
    end_background_threads(PATIENCE)
    assert not thread.is_alive()


def test_work_that_has_not_begun_does_not_begin() -> None:
    begun = threading.Event()
    thread = BackgroundThread(begun.set, "later", delay=PATIENCE)
    thread.start()
    end_background_threads(PATIENCE)
    assert not thread.is_alive()
    assert not begun.is_set()


def test_a_thread_that_hangs_is_given_up_and_not_waited_for_again() -> None:
    hangs = threading.Event()
    thread = BackgroundThread(hangs.wait, "hangs")
    thread.start()
    end_background_threads(0)
    assert thread.is_given_up
    end_background_threads(10 * PATIENCE)  # returns at once, as nothing is left to wait for
    assert thread.is_alive()
    hangs.set()
    thread.join(PATIENCE)


def test_an_executor_runs_a_few_calls_at_a_time_and_leaves_no_thread() -> None:
    executor, together = BackgroundExecutor(2, "few"), threading.Barrier(2)
    answers = [executor.submit(together.wait, PATIENCE) for _ in range(6)]
    assert sorted(answer.result(PATIENCE) for answer in answers) == [0, 0, 0, 1, 1, 1]
    assert sum(thread.name == "few" for thread in threading.enumerate()) <= 2
    with pytest.raises(ZeroDivisionError):
        executor.submit(lambda: 1 // 0).result(PATIENCE)


def test_awaiting_after_the_threads_have_ended_starts_another_loop() -> None:
    async def answer() -> str:
        return "yes"

    assert awaited(answer()) == "yes"
    end_background_threads(PATIENCE)
    assert awaited(answer()) == "yes"
