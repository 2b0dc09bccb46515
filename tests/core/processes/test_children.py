"""Child processes end when what they are for has ended, however it did."""

import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag_nodes.core.processes import Child, children

LEFT = """
from threading import Event, Thread
from rag_nodes.core.processes import serving
serving.GRACE = 0.05
def main():
    Thread(target=Event().wait).start()
    {end}
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the kernel of Windows ends nobody")
@pytest.mark.parametrize("end", ["return", "raise BrokenPipeError"])
def test_a_thread_that_waits_for_ever_does_not_keep_a_child_whose_work_is_over(
    end: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "child_with_thread.py").write_text(LEFT.format(end=end))
    monkeypatch.syspath_prepend(str(tmp_path))
    child = Child("child_with_thread")
    child.requests.close()
    assert child.answers.read() == b""
    assert child.ending() == "SIGALRM"


SLOW = """
from threading import Event
from rag_nodes.core.processes.serving import serve
def work(request):
    for number in range(3):
        yield number
        Event().wait(0.2)
def main():
    serve(work)
"""


def test_the_time_limit_is_that_of_each_result_and_stands_while_the_caller_works_on_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_child.py").write_text(SLOW)
    monkeypatch.syspath_prepend(str(tmp_path))
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(children, "time", SimpleNamespace(monotonic=lambda: clock.now))
    child, given = Child("slow_child"), []
    try:
        for result in child.results({"seconds": 60}, 60, lambda: None):
            given.append(result)
            clock.now += 100
    finally:
        child.end()
    assert given == [0, 1, 2]
