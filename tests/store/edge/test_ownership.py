"""Whose a folder is: no store is opened where another program or person keeps something."""

import hashlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest
from stored_nodes import MakeNode

from rag_nodes.core.errors import StoreForeignError
from rag_nodes.store import open_store
from rag_nodes.store.edge.folder import contents_of
from rag_nodes.store.vector_store import RagNodesVectorStore

# A collection that qdrant-client creates leaves its database open, which Python 3.13 reports.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")

OPENING = [open_store, RagNodesVectorStore, contents_of]
WAYS = ["open_store", "RagNodesVectorStore", "a look from outside"]


def content(folder: Path) -> dict[str, str]:
    """Every file with a hash of its bytes, and every folder."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else ""
        for path in folder.rglob("*")
    }


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    """What a program of the user's own wrote by qdrant-client."""
    folder = tmp_path / "their data"
    with closing(QdrantClient(path=str(folder))) as client:
        params = rest.VectorParams(size=2, distance=rest.Distance.COSINE)
        client.create_collection("notes", vectors_config=params)
        client.upsert("notes", [rest.PointStruct(id=1, vector=[3.0, 4.0], payload={"n": 1})])
    return folder


@pytest.mark.parametrize("opened", OPENING, ids=WAYS)
def test_a_folder_of_local_mode_is_refused_and_left_unchanged(
    theirs: Path, opened: Callable[[Path], object]
) -> None:
    before = content(theirs)
    with pytest.raises(StoreForeignError) as refused:
        opened(theirs)
    assert "name another folder for the store" in str(refused.value)
    assert content(theirs) == before
    with closing(QdrantClient(path=str(theirs))) as client:
        assert client.count("notes").count == 1


@pytest.mark.parametrize("left", ["meta.json", "collection"])
def test_a_folder_of_local_mode_is_known_by_what_is_left_of_it(theirs: Path, left: str) -> None:
    other = {"meta.json": "collection/notes/storage.sqlite", "collection": "meta.json"}[left]
    (theirs / other).unlink()
    with pytest.raises(StoreForeignError, match="local mode"):
        open_store(theirs)


@pytest.mark.parametrize(
    "file",
    ["report.pdf", "meta.json", "collections/notes/0/segments/x", "sub/deep.txt"],
    ids=["documents", "a file called meta.json", "storage of a server", "a folder"],
)
@pytest.mark.parametrize("opened", OPENING, ids=WAYS)
def test_a_folder_that_holds_something_else_is_refused_unchanged_with_what_it_holds(
    tmp_path: Path, file: str, opened: Callable[[Path], object]
) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("[]", encoding="utf-8")
    before, first = content(tmp_path), file.split("/", maxsplit=1)[0]
    with pytest.raises(StoreForeignError, match=f"holds {first}; choose a new"):
        opened(tmp_path)
    assert content(tmp_path) == before


def test_the_first_of_many_files_are_named_and_the_others_counted(tmp_path: Path) -> None:
    for name in "abcde":
        (tmp_path / name).touch()
    with pytest.raises(StoreForeignError, match="holds a, b, c and 2 more;"):
        open_store(tmp_path)


@pytest.mark.parametrize("file", [".lock", ".gitignore", ".DS_Store", "lost+found/x"])
def test_files_of_the_operating_system_leave_a_folder_usable(tmp_path: Path, file: str) -> None:
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).touch()
    with open_store(tmp_path) as store:
        assert store.collections() == []


def test_a_folder_of_ours_stays_ours_whatever_is_put_beside(
    tmp_path: Path, make_node: MakeNode
) -> None:
    with open_store(tmp_path) as store:
        store.add("c", [make_node("one", [1.0, 0.0])])
    with closing(QdrantClient(path=str(tmp_path))):
        pass
    (tmp_path / "notes.txt").touch()
    with open_store(tmp_path) as store:
        assert store.count("c") == 1


def test_a_folder_of_ours_that_lost_its_marker_is_known_by_its_collections(
    tmp_path: Path, make_node: MakeNode
) -> None:
    with open_store(tmp_path) as store:
        store.add("c", [make_node("one", [1.0, 0.0])])
    (tmp_path / "store.json").unlink()
    with open_store(tmp_path) as store:
        assert store.count("c") == 1
