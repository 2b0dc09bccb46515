"""Child processes that do what no worker should: nobody waits for them for ever."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from hostile_parsers import wait_until_gone
from own_models import LettersEmbedding

from rag_nodes.errors import EngineError
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.workers import Recipe, children
from rag_nodes.workers.children import ChildProcesses, Inbox
from rag_nodes.workers.messages import Batch
from rag_nodes.workers.transport import Arrived, Died

if TYPE_CHECKING:
    from pathlib import Path

Reason = Callable[..., str]
KEY = "not-like-a-key-but-one"


@pytest.fixture
def recipe() -> Recipe:
    return Recipe.of({"x": get_parser("fixed")}, Models.of(embed_model=LettersEmbedding()))


@pytest.fixture
def died_of(recipe: Recipe) -> Iterator[Reason]:
    """What a child died of that does what it is told."""
    transport = ChildProcesses(recipe, 1, module="hostile_worker_child")

    def reason(*words: str) -> str:
        transport.submit(0, Batch(0, words))
        arrived = transport.wait(60)
        assert arrived is not None
        assert isinstance(arrived.event, Died)
        return arrived.event.reason

    yield reason
    transport.close()


@pytest.mark.parametrize("words", ["nonsense", "depth", "torn"])
def test_what_is_no_message_is_the_end_of_who_said_it(died_of: Reason, words: str) -> None:
    assert died_of(words).startswith("it said what is no message: ")


def test_somebody_whom_a_worker_has_forked_ends_with_it(died_of: Reason, tmp_path: Path) -> None:
    note = tmp_path / "note"
    assert died_of("fork", str(note)) == "exit code 7"
    wait_until_gone(int(note.read_text("ascii")))


def test_the_last_words_of_a_worker_are_quoted_without_keys(
    died_of: Reason, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    said = died_of("abort", "early", f"asked with {KEY}", "or sk-1234567890", "\x1b[2Jcorrupted")
    assert said == "SIGABRT: asked with **** | or **** | [2Jcorrupted"


def test_a_worker_that_cannot_be_started_is_an_error_of_ours(
    recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(children, "start", refuse)
    transport = ChildProcesses(recipe, 1)
    with pytest.raises(EngineError, match=r"temporarily unavailable.*ask for fewer"):
        transport.submit(0, Batch(0, ("a.md",)))
    transport.close()


def test_a_worker_looks_for_cycles_in_what_tasks_leave_and_seldom() -> None:
    program = (
        "import gc; from rag_nodes.workers.child import collect_seldom; collect_seldom();"
        "print(gc.get_freeze_count() > 10_000, gc.get_threshold()[0] > 10_000, gc.isenabled())"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert said.stdout.split() == [b"True"] * 3


def arrived(number: int) -> Arrived[str]:
    return Arrived(0, number, "said")


def test_who_brings_more_than_there_is_room_for_waits_until_something_is_taken() -> None:
    inbox: Inbox[str] = Inbox(room=10)
    inbox.put(arrived(0), 11)  # there is nothing else, so it would wait for ever
    waiting = threading.Thread(target=inbox.put, args=(arrived(1), 1))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert inbox.get(1) == arrived(0)
    assert inbox.get(60) == arrived(1)
    waiting.join()
    assert inbox.get(0) is None


def test_nobody_waits_for_room_where_nothing_is_taken_any_more() -> None:
    inbox: Inbox[str] = Inbox(room=1)
    inbox.put(arrived(0), 1)
    waiting = threading.Thread(target=inbox.put, args=(arrived(1), 1))
    waiting.start()
    inbox.close()
    waiting.join()
    assert inbox.get(0) is None
