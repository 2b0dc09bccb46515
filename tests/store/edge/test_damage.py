"""Every file of a closed store, damaged one by one: found before it is opened, or harmless."""

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from rag_nodes.core.errors import StoreDamagedError, StoreError
from rag_nodes.store import open_store
from rag_nodes.store.edge import collection as collections_
from rag_nodes.store.edge import folder, shards
from rag_nodes.store.engine import Layout, Point

NUMBERS = 16
POINTS = 40
LARGE = 1 << 20
ASK_EVERYTHING = """
import sys
from rag_nodes.core.errors import RagNodesError
from rag_nodes.store import Query, open_store

def tried(what):
    try:
        what()
    except RagNodesError:
        pass

for folder in sys.argv[2:]:
    print(folder, flush=True)
    with open_store(folder) as store:
        for vectors in (False, True):
            def read():
                with store.engine.step("c"):
                    opened = store.engine.collection("c")
                    list(opened.select(None, None, vectors=vectors))
            tried(read)
        for mode in ("dense", "sparse", "hybrid"):
            vector = [1.0] * int(sys.argv[1])
            tried(lambda: store.search("c", Query(vector, "tea", 200, mode)))
"""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of a sealed part and one that is written to."""
    place = tmp_path_factory.mktemp("made") / "store"
    drawn = random.Random(3)  # noqa: S311 -- no secret
    with pytest.MonkeyPatch.context() as patched, open_store(place) as store:
        patched.setattr(shards, "SEGMENT", 30)
        patched.setattr(shards, "_LEAST", 1)
        patched.setattr(collections_, "CHECKPOINT", 10)
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
    return place


@pytest.fixture
def closed(template: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return copy_store(template, tmp_path / "store")


def copy_store(store: Path, to: Path) -> Path:
    subprocess.run(["cp", "-a", "--sparse=always", store, to], check=True)  # noqa: S607
    return to


def files_of_each_kind(shard: Path) -> list[Path]:
    """Files of a shard, one of each kind: segments have the same ones."""
    every = [path for path in sorted(shard.rglob("*")) if path.is_file()]
    return list(
        {"/".join(path.relative_to(shard).parts[2:]) or path: path for path in every}.values()
    )


def contents_of(folder: Path) -> list[tuple[str, list[float]]]:
    with open_store(folder) as store, store.engine.step("c"):
        points = store.engine.collection("c").select(None, None, vectors=True)  # type: ignore[union-attr]
        return sorted((point.node_id, list(point.vector)) for point in points)


def leave_nothing(file: Path, size: int) -> None:
    """Leave nothing."""


def empty_file(file: Path, size: int) -> None:  # noqa: ARG001
    file.touch()


def cut_in_half(file: Path, size: int) -> None:
    file.touch()
    os.truncate(file, size // 2)


def overwrite_file(file: Path, size: int) -> None:
    file.write_bytes(random.Random(5).randbytes(size))  # noqa: S311 -- no secret


@pytest.mark.parametrize("damage", [leave_nothing, empty_file, cut_in_half, overwrite_file])
def test_a_damaged_file_is_named_before_the_engine_is_asked(
    closed: Path, damage: Callable[[Path, int], None], tmp_path: Path
) -> None:
    shard = closed / "collections" / "c" / "shard"
    names = files_of_each_kind(shard)
    assert len(names) > 25
    for file in names:
        size = file.stat().st_size
        if not size or (damage is overwrite_file and size > LARGE):
            continue
        file.rename(tmp_path / "kept")
        damage(file, size)
        with pytest.raises(ValueError, match=f"{file.name} is"):
            folder.check_manifest(shard)
        (tmp_path / "kept").replace(file)
    (shard / "edge_config.json").write_text("{}")
    with open_store(closed) as store, pytest.raises(StoreDamagedError, match="collections/c:"):
        store.engine.collection("c")
    assert (closed / "collections" / "c" / "manifest.json").exists()


def test_random_bytes_in_files_that_have_no_checksum_end_no_process(
    closed: Path, tmp_path: Path
) -> None:
    shard = closed / "collections" / "c" / "shard"
    large = [path for path in files_of_each_kind(shard) if path.stat().st_size > LARGE]
    assert len(large) > 1
    copies = []
    for number, file in enumerate(large):
        copies.append(copy_store(closed, tmp_path / f"copy {number} {file.name}"))
        with (copies[-1] / file.relative_to(closed)).open("r+b") as opened:
            opened.write(random.Random(5).randbytes(100))  # noqa: S311 -- no secret
    command = [sys.executable, "-c", ASK_EVERYTHING, str(NUMBERS), *map(str, copies)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    last = ended.stdout.splitlines()[-1:]
    assert (ended.returncode, last) == (0, [str(copies[-1])]), ended.stderr


def test_a_part_that_a_copy_over_it_left_behind_is_found(closed: Path) -> None:
    parts = closed / "collections" / "c" / "shard" / "segments"
    shutil.copytree(next(parts.iterdir()), parts / "00000000-0000-4000-8000-000000000000")
    with pytest.raises(StoreDamagedError, match="is not as it was"):
        contents_of(closed)


def test_files_of_others_within_a_shard_are_in_nobodys_way(closed: Path) -> None:
    before = contents_of(closed)
    (closed / "collections" / "c" / "shard" / ".DS_Store").write_bytes(b"x")
    (closed / "collections" / "c" / "shard" / "segments" / "notes.txt").write_text("x")
    assert contents_of(closed) == before


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe", b"[1]"])
def test_a_list_that_is_lost_or_torn_is_made_again(closed: Path, content: bytes | None) -> None:
    before = contents_of(closed)
    file = closed / "collections" / "c" / "manifest.json"
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    assert contents_of(closed) == before
    assert "wal/first-index" in json.loads(file.read_bytes())


def test_a_panic_of_the_engine_is_an_error_that_names_the_collection(closed: Path) -> None:
    class PanicException(BaseException):
        pass

    with open_store(closed) as store:
        with (
            pytest.raises(StoreDamagedError, match=r"'c' is damaged .*clear --parser c --yes"),
            store.engine.step("c"),
        ):
            raise PanicException("out of range")
        with pytest.raises(KeyboardInterrupt), store.engine.step("c"):
            raise KeyboardInterrupt
        with pytest.raises(StoreDamagedError, match="damaged"), store.engine.step("c"):
            raise Exception("Failed to decode")  # noqa: TRY002 - as the engine does
        with pytest.raises(StoreError, match="doctor"), store.engine.step("c"):
            raise Exception("Service error")  # noqa: TRY002 - as the engine does
