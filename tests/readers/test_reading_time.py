"""The seconds of a file are those of reading it, not of loading what reads it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rag_nodes.readers import Limits, files, read_all
from rag_nodes.readers.base import Reading
from rag_nodes.readers.isolation import pool


class Clock:
    """Time that passes only where a test says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    fake = Clock()
    monkeypatch.setattr(files, "time", fake)
    return fake


def test_importing_llama_index_is_not_part_of_reading_the_first_file(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_name: str) -> None:
        clock.now += 34

    def read_slowly(path: Path, _limits: Limits) -> Reading:
        clock.now += 2
        return Reading(text=path.read_text())

    monkeypatch.setattr(files, "import_module", load)
    monkeypatch.setitem(files.SUFFIXES, ".txt", read_slowly)
    for name in ("first.txt", "second.txt"):
        (tmp_path / name).write_text("Thirty-two characters of a text.")
    assert [result.seconds for result in read_all([tmp_path])] == [2, 2]


def test_a_child_process_that_starts_is_not_part_of_reading_its_first_file(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_in_child(
        _path: Path, _limits: Limits, *, started: Callable[[], None], **_: object
    ) -> Iterator[Reading]:
        clock.now += 34
        started()
        clock.now += 2
        yield Reading(text="one")
        clock.now += 3
        yield Reading(text="two")

    monkeypatch.setattr(pool, "stream", read_in_child)
    crawl = tmp_path / "crawl.json"
    crawl.write_text("[]")
    assert [result.seconds for result in read_all([crawl])] == [2, 3]


def test_a_child_says_when_it_begins_with_a_file(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text("<h1>Pumps</h1><p>They move water.</p>")
    messages: list[object] = []
    messages.extend(pool.stream(page, Limits(), started=lambda: messages.append("started")))
    assert messages[0] == "started"
    assert [type(message) for message in messages[1:]] == [Reading]
