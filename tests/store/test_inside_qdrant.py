"""What we assume about qdrant-client's insides; raise its upper bound when all of this passes.

Each test fails with what breaks for our users where the assumption no longer holds.
"""

from __future__ import annotations

import gc
import json
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest
from qdrant_client.local.qdrant_local import QdrantLocal

from rag_nodes.errors import StoreLockedError
from rag_nodes.store import inside_qdrant

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
POINTS = {1: [3.0, 4.0], 2: [0.0, 2.0], 3: [1.0, 0.0]}


def fill(client: QdrantClient) -> None:
    """Three points with vectors, one of them deleted again, and a parent without any."""
    client.create_collection(
        "c",
        vectors_config={"dense": rest.VectorParams(size=2, distance=rest.Distance.COSINE)},
        sparse_vectors_config={"words": rest.SparseVectorParams()},
    )
    words = rest.SparseVector(indices=[7, 9], values=[0.5, 1.5])
    points = [
        rest.PointStruct(id=one, vector={"dense": vector, "words": words})
        for one, vector in POINTS.items()
    ]
    client.upsert("c", [*points, rest.PointStruct(id=4, vector={})])
    client.delete("c", [2])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    client = inside_qdrant.open_folder(tmp_path)
    fill(client)
    client.close()
    return tmp_path


def test_the_installed_client_is_within_the_bound_that_was_tried() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    [bound] = [one for one in map(Requirement, extras["qdrant"]) if one.name == "qdrant-client"]
    assert "<" in str(bound.specifier)
    assert bound.specifier.contains(version("qdrant-client"))


def test_collections_are_named_in_one_file_and_stand_in_one_folder_each(folder: Path) -> None:
    told = "a folder that lost a file opens as if nothing had been in it"
    assert list(json.loads((folder / "meta.json").read_bytes())["collections"]) == ["c"], told
    assert (folder / "collection" / "c" / "storage.sqlite").exists(), told


def test_an_open_folder_holds_a_lock_on_a_file(tmp_path: Path) -> None:
    client = inside_qdrant.open_folder(tmp_path)
    # Else another process loads all of a folder before it is refused, if it is.
    with pytest.raises(StoreLockedError):
        inside_qdrant._check_free(tmp_path)
    client.close()
    inside_qdrant._check_free(tmp_path)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_whoever_comes_between_looking_and_opening_is_known_by_the_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = inside_qdrant.open_folder(tmp_path)
    monkeypatch.setattr(inside_qdrant, "_check_free", lambda _folder: None)
    # Else users are told to delete a folder that is only in use.
    with pytest.raises(StoreLockedError):
        inside_qdrant.open_folder(tmp_path)
    client.close()
    gc.collect()  # the client that was refused leaves its lock file open


def test_qdrants_own_warning_about_size_stays_silent(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QdrantLocal, "LARGE_DATA_THRESHOLD", 1)
    with pytest.warns(UserWarning, match="Local mode is not recommended"):
        QdrantClient(path=str(folder)).close()
    inside_qdrant.open_folder(folder).close()  # a warning fails the test
