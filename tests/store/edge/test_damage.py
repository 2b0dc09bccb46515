"""Every file of a closed store, damaged one by one: found before it is opened, or harmless."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from rag_nodes.errors import StoreDamagedError, StoreError
from rag_nodes.store import open_store
from rag_nodes.store.edge import collection as collections_
from rag_nodes.store.edge import sealing
from rag_nodes.store.points import Layout, Point
from rag_nodes.store.queries import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable

NUMBERS = 16
POINTS = 100
LARGE = 1 << 20
ASK_EVERYTHING = """
import sys
from rag_nodes.errors import RagNodesError
from rag_nodes.store import open_store
from rag_nodes.store.queries import EVERYTHING

def tried(what):
    try:
        what()
    except RagNodesError:
        pass

with open_store(sys.argv[1]) as store:
    for vectors in (False, True):
        def read():
            with store.engine.step("c"):
                opened = store.engine.collection("c")
                list(opened.select(EVERYTHING, None, vectors=vectors))
        tried(read)
    for mode in ("dense", "sparse", "hybrid"):
        vector = [1.0] * int(sys.argv[2])
        tried(lambda: store.search("c", vector=vector, text="tea", limit=200, mode=mode))
print("alive")
"""


@pytest.fixture
def closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of three sealed parts and one that is written to."""
    monkeypatch.setattr(sealing, "PART", 30)
    monkeypatch.setattr(sealing, "_LEAST", 1)
    monkeypatch.setattr(collections_, "CHECKPOINT", 10)
    drawn = random.Random(3)  # noqa: S311 -- no secret
    with open_store(tmp_path / "store") as store:
        store.engine.create("c", Layout(NUMBERS))
        for first in range(0, POINTS, 10):
            points = [
                Point(
                    str(UUID(int=number + 1)),
                    {"n": number},
                    [drawn.gauss() for _ in range(NUMBERS)],
                    ([number % 7, 9], [1.0, 0.5]),
                )
                for number in range(first, first + 10)
            ]
            store.put("c", points)
    return tmp_path / "store"


def found(folder: Path) -> list[tuple[str, list[float]]]:
    with open_store(folder) as store, store.engine.step("c"):
        points = store.engine.collection("c").select(EVERYTHING, None, vectors=True)  # type: ignore[union-attr]
        return sorted((one.node_id, list(one.vector)) for one in points)


def removed(file: Path) -> None:
    file.unlink()


def emptied(file: Path) -> None:
    os.truncate(file, 0)


def cut_in_half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def overwritten(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(random.Random(5).randbytes(min(100, file.stat().st_size)))  # noqa: S311


@pytest.mark.parametrize("damage", [removed, emptied, cut_in_half, overwritten])
def test_a_damaged_file_is_named_with_its_collection_before_the_engine_is_asked(
    closed: Path, damage: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard = closed / "collections" / "c" / "shard"
    names = [one.relative_to(shard) for one in shard.rglob("*") if one.is_file()]
    assert len(names) > 100
    monkeypatch.setattr(collections_, "Collection", None)  # nothing was loaded where this is made
    kept = tmp_path / "kept"

    for name in names:
        file = shard / name
        if not file.stat().st_size or (damage is overwritten and file.stat().st_size > LARGE):
            continue
        subprocess.run(["cp", "--sparse=always", file, kept], check=True)  # noqa: S607
        damage(file)
        with open_store(closed) as store, pytest.raises(StoreDamagedError, match="collections/c:"):
            store.engine.collection("c")
        assert (closed / "collections" / "c" / "manifest.json").exists()
        shutil.move(kept, file)

    monkeypatch.undo()
    assert len(found(closed)) == POINTS


def test_random_bytes_in_files_that_have_no_checksum_end_no_process(
    closed: Path, tmp_path: Path
) -> None:
    shard = closed / "collections" / "c" / "shard"
    large = [one for one in shard.rglob("*") if one.is_file() and one.stat().st_size > LARGE]
    assert large
    for number, file in enumerate(large):
        copy = tmp_path / f"copy {number}"
        subprocess.run(["cp", "-a", "--sparse=always", closed, copy], check=True)  # noqa: S607
        overwritten(copy / file.relative_to(closed))
        command = [sys.executable, "-c", ASK_EVERYTHING, str(copy), str(NUMBERS)]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stdout) == (0, "alive\n"), (file, ended.stderr)
        shutil.rmtree(copy)


def test_a_part_that_a_copy_over_it_left_behind_is_found(closed: Path) -> None:
    parts = closed / "collections" / "c" / "shard" / "segments"
    shutil.copytree(next(parts.iterdir()), parts / "00000000-0000-4000-8000-000000000000")
    with pytest.raises(StoreDamagedError, match="is not as it was"):
        found(closed)


def test_files_of_others_within_a_shard_are_in_nobodys_way(closed: Path) -> None:
    before = found(closed)
    (closed / "collections" / "c" / "shard" / ".DS_Store").write_bytes(b"x")
    (closed / "collections" / "c" / "shard" / "segments" / "notes.txt").write_text("x")
    assert found(closed) == before


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"[1]"])
def test_a_list_that_is_lost_or_torn_is_made_anew(closed: Path, content: bytes | None) -> None:
    before = found(closed)
    file = closed / "collections" / "c" / "manifest.json"
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    assert found(closed) == before
    assert "wal/first-index" in json.loads(file.read_bytes())


def test_what_was_opened_written_and_closed_again_and_again_is_as_it_was_closed(
    closed: Path,
) -> None:
    for number in range(POINTS, POINTS + 40):
        with open_store(closed) as store:
            store.put("c", [Point(str(UUID(int=number + 1)), {}, [1.0] * NUMBERS, ([1], [1.0]))])
    assert len(found(closed)) == POINTS + 40


def test_a_panic_of_the_engine_is_an_error_that_names_the_collection(closed: Path) -> None:
    class PanicException(BaseException):
        pass

    with open_store(closed) as store:
        with (
            pytest.raises(StoreDamagedError, match=r"'c' is damaged .*doctor"),
            store.engine.step("c"),
        ):
            raise PanicException("out of range")
        with pytest.raises(KeyboardInterrupt), store.engine.step("c"):
            raise KeyboardInterrupt
        with pytest.raises(StoreError, match="doctor"), store.engine.step("c"):
            raise Exception("Failed to decode")  # noqa: TRY002 - as the engine does
