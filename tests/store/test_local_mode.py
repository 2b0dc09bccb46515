"""What we assume about qdrant-client's insides; raise its upper bound when all of this passes.

Each test fails with what breaks for our users where the assumption no longer holds.
"""

from __future__ import annotations

import gc
import os
import pickle
import sqlite3
import tomllib
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest

from rag_nodes.errors import StoreDamagedError, StoreError, StoreLockedError
from rag_nodes.store.local_mode import LocalFolder

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
POINTS = {1: [3.0, 4.0], 2: [0.0, 2.0], 3: [1.0, 0.0]}
WORDS = rest.SparseVector(indices=[7, 9], values=[0.5, 1.5])


def fill(client: QdrantClient) -> None:
    """Three points with vectors, one of them deleted again, and a parent without any."""
    client.create_collection(
        "c",
        vectors_config={"dense": rest.VectorParams(size=2, distance=rest.Distance.COSINE)},
        sparse_vectors_config={"words": rest.SparseVectorParams()},
    )
    points = [
        rest.PointStruct(id=one, vector={"dense": vector, "words": WORDS}, payload={"n": one})
        for one, vector in POINTS.items()
    ]
    client.upsert("c", [*points, rest.PointStruct(id=4, vector={})])
    client.delete("c", [2])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with closing(QdrantClient(path=str(tmp_path))) as client:
        fill(client)
    return tmp_path


def put(folder: Path, value: bytes) -> None:
    """A row as another version of qdrant-client may have written it."""
    with closing(sqlite3.connect(folder / "collection" / "c" / "storage.sqlite")) as opened, opened:
        opened.execute("INSERT OR REPLACE INTO points VALUES ('x', ?)", [value])


def test_the_installed_client_is_within_the_bound_that_was_tried() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    [bound] = [one for one in map(Requirement, extras["qdrant"]) if one.name == "qdrant-client"]
    assert "<" in str(bound.specifier)
    assert bound.specifier.contains(version("qdrant-client"))


def test_collections_their_vectors_and_their_points_are_read_as_they_were_written(
    folder: Path,
) -> None:
    with LocalFolder(folder) as theirs:
        assert theirs.names == ["c"], "collections are named in one file"
        params = theirs.params("c")
        points = {one.id: one for one in theirs.points("c")}
        assert theirs.count("c") == len(points)
    assert (params.vectors["dense"].size, params.vectors["dense"].distance) == (2, "Cosine")
    assert params.sparse_vectors["words"].modifier is None
    assert [points[one].payload for one in (1, 3, 4)] == [{"n": 1}, {"n": 3}, None]
    assert points[1].vector == {"dense": POINTS[1], "words": WORDS}
    assert points[4].vector == {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_folder_that_a_program_has_open_is_refused_and_one_that_is_read_is_held(
    folder: Path,
) -> None:
    with closing(QdrantClient(path=str(folder))), pytest.raises(StoreLockedError, match="open"):
        LocalFolder(folder)
    with LocalFolder(folder), pytest.raises(RuntimeError, match="already accessed"):
        QdrantClient(path=str(folder))
    gc.collect()  # the client that was refused leaves its lock file open
    QdrantClient(path=str(folder)).close()


def test_a_folder_that_nobody_may_write_to_is_read_without_a_lock_of_ours(folder: Path) -> None:
    (folder / ".lock").unlink()
    with LocalFolder(folder) as theirs:
        assert len(list(theirs.points("c"))) == 3
    assert not (folder / ".lock").exists()


def test_a_point_that_would_run_something_is_refused(folder: Path, tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    put(folder, pickle.dumps(Evil()))
    with LocalFolder(folder) as theirs, pytest.raises(StoreDamagedError, match="holds a posix"):
        list(theirs.points("c"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("told", ["{", '{"collections": {"c": 5}}'])
def test_a_damaged_list_of_collections_is_named_and_holds_no_lock(folder: Path, told: str) -> None:
    (folder / "meta.json").write_text(told)
    with pytest.raises(StoreDamagedError, match=r"meta\.json: it cannot be read"):
        LocalFolder(folder)
    (folder / "meta.json").unlink()
    with closing(QdrantClient(path=str(folder))) as client:
        assert client.get_collections().collections == []


def test_a_folder_of_something_else_is_no_folder_of_local_mode(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text('{"title": "Notes"}')
    with pytest.raises(StoreError, match="no folder of qdrant-client's local mode"):
        LocalFolder(tmp_path)
