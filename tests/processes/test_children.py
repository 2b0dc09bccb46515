"""Child processes end when what they are for has ended, however it did."""

import signal
from pathlib import Path

import pytest

from rag_nodes.processes import Child

LEFT = """
from threading import Event, Thread
from rag_nodes.processes import serving
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
