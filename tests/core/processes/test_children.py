"""Child processes end when what they are for has ended, however it did."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from rag_nodes.core.processes import Child, children

LEFT = """
from threading import Event, Thread
def main():
    Thread(target=Event().wait).start()
    {end}
"""


@pytest.mark.parametrize(
    ("end", "code"), [("return", 0), ("raise BrokenPipeError", 1), ("raise SystemExit", 1)]
)
def test_a_thread_that_waits_for_ever_does_not_keep_a_child_whose_work_is_over(
    end: str, code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "child_with_thread.py").write_text(LEFT.format(end=end))
    monkeypatch.syspath_prepend(str(tmp_path))
    child = Child("child_with_thread")
    child.requests.close()
    assert child.answers.read() == b""
    assert child.ending() == f"exit code {code}"


SLOW = """
from threading import Event
from rag_nodes.core.processes import Task, serve
def work():
    for number in b"012":
        yield bytes([number])
        Event().wait(0.2)
def main():
    serve(lambda request, note: Task(work()))
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
        for result in child.results(b"", seconds=60):
            given.append(result)
            clock.now += 100
    finally:
        child.end()
    assert given == [b"0", b"1", b"2"]
