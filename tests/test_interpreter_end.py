"""Short-lived processes end with 0, whatever this package still does in the background."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

PROCESSES = 20
OPERATIONS = ("build_app", "Comparison", "ingest", "ask", "evaluate")
PATIENCE = 900
FORKED = """
import gc, os, sys
from pathlib import Path

import rag_nodes.apps.page  # imports are dear, and every process needs the same
from llama_index.core import Document
from rag_nodes import Comparison, evaluate, ingest
from rag_nodes.apps import build_app
from rag_nodes.evaluation import EvaluationPlan
from rag_nodes.evaluation.drafts.probes import probes
from rag_nodes.parsers import get_parser
from rag_nodes.store import open_store

folder = Path(sys.argv[1])
text = "# Ferry\\n\\nThe horn sounds twice before the ferry leaves. " + "Nobody swims here. " * 40
documents = [Document(text=text, id_="a")]
(folder / "a.md").write_text(text, "utf-8")


def ask():
    columns = {"a": get_parser("fixed"), "b": get_parser("retrieval")}
    comparison = Comparison(columns, documents=documents)
    assert comparison.ask("When does the horn sound?").columns


def stored():
    with open_store(":memory:") as store:
        assert ingest([folder / "a.md"], {"a": get_parser("retrieval")}, store).files


def measured():
    plan = EvaluationPlan(sizes=(), target=None, draws=100)
    evaluate(probes(documents, 100), {"a": get_parser("fixed")}, plan=plan)


work = {
    "build_app": build_app,
    "Comparison": lambda: Comparison({"a": get_parser("fixed")}),
    "ingest": stored,
    "ask": ask,
    "evaluate": measured,
}
gc.freeze()  # else most of a process's time goes for the search through what was imported
waiting, running, codes = [name for name in work for _ in range(int(sys.argv[2]))], {}, []
while waiting or running:
    if waiting and len(running) < 2:
        name = waiting.pop()
        process = os.fork()
        if not process:
            break
        running[process] = name
    else:
        process, status = os.wait()
        codes.append((running.pop(process), os.waitstatus_to_exitcode(status)))
else:
    print(*(f"{name} {code}" for name, code in codes), sep="\\n")
    sys.exit()
work[name]()
"""
BUSY = """
import threading
from pydantic import BaseModel, field_validator
from rag_nodes.core.processes import BackgroundThread

begun, ended = threading.Event(), threading.Event()


class Busy(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def check(cls, number: int) -> int:
        begun.set()
        return number + sum(range(100_000))


def work():
    while not ended.is_set():
        Busy(number=1)


BackgroundThread(work, "busy", end=ended.set).start()
begun.wait()
"""
HANGING = """
import threading
from rag_nodes.core.processes import BackgroundThread

BackgroundThread(threading.Event().wait, "hanging").start()
"""
INTERRUPTED = """
import asyncio, signal, threading
from rag_nodes.models.asking import awaited

main = threading.main_thread().ident


def hang():
    signal.pthread_kill(main, signal.SIGINT)
    threading.Event().wait()


try:
    awaited(asyncio.to_thread(hang))
except KeyboardInterrupt:
    pass
"""


def run_to_end(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a script in a process of its own; a process that does not end fails the test."""
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def test_short_lived_processes_end_with_0(tmp_path: Path) -> None:
    run = run_to_end(FORKED, str(tmp_path), str(PROCESSES))
    assert run.returncode == 0, run.stderr
    expected = Counter({f"{name} 0": PROCESSES for name in OPERATIONS})
    assert Counter(run.stdout.splitlines()) == expected, run.stderr


def test_a_thread_that_is_within_an_extension_ends_before_the_interpreter() -> None:
    run = run_to_end(BUSY)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.parametrize("script", [HANGING, INTERRUPTED])
def test_a_call_that_hangs_does_not_keep_the_process_alive(script: str) -> None:
    run = run_to_end(script)
    assert (run.returncode, run.stderr) == (0, "")
