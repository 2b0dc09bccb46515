"""Files that take long give way to those of other people, and only to those."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from rag_nodes.errors import CancelledError, ReadTimeoutError
from rag_nodes.processes import Interrupt, interruptible
from rag_nodes.readers import Limits, Reading, isolation
from rag_nodes.readers.base import SLOWEST
from rag_nodes.readers.isolation import ReaderPool
from rag_nodes.workspace.workspace import FAIR_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHARED = Limits(seconds=600, share=0.2)
ALONE = Limits(seconds=600)


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReaderPool]:
    monkeypatch.setattr(isolation, "AT_ONCE", 2)
    made = ReaderPool("hostile_reader_child")
    yield made
    made.close()


def file(folder: Path, name: str) -> Path:
    path = folder / name
    path.write_text("anything", encoding="utf-8")
    return path


def test_four_files_that_hang_do_not_keep_a_fifth_from_being_read(
    pool: ReaderPool, tmp_path: Path
) -> None:
    end = Interrupt()

    def hang(number: int) -> None:
        with interruptible(end):
            pool.read(file(tmp_path, f"{number}.hangs"), SHARED)

    with ThreadPoolExecutor(4) as threads:
        hanging = [threads.submit(hang, number) for number in range(4)]
        try:
            good = [pool.read(file(tmp_path, f"{number}.answers"), SHARED) for number in range(2)]
        finally:
            end.set()
    assert all(isinstance(one, Reading) for (one,) in good)
    gave_way = [one for one in hanging if isinstance(one.exception(), ReadTimeoutError)]
    assert gave_way
    assert "longer than 0.2 s, and others wait" in str(gave_way[0].exception())


def test_a_visitor_who_cancels_is_told_so_and_not_that_others_wait(
    pool: ReaderPool, tmp_path: Path
) -> None:
    cancel = Interrupt()
    with interruptible(cancel), pytest.raises(CancelledError):
        pool.read(file(tmp_path, "a.hangs"), SHARED, started=cancel.set)


def test_large_files_get_a_larger_share_and_without_one_a_file_never_gives_way() -> None:
    assert SHARED.share_for(10 * SLOWEST) == 10.2
    assert ALONE.share_for(10 * SLOWEST) is None


def test_the_app_reads_with_a_share_of_seconds_and_not_of_minutes() -> None:
    assert FAIR_SHARE <= 20
