"""Embedded Qdrant: what its users count on beyond the contract of every store."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from stored_nodes import MakeNode

from rag_nodes.core.errors import ConfigurationError, DimensionError, StoreError, StoreFullError
from rag_nodes.store import Query, open_store
from rag_nodes.store.edge import shards
from rag_nodes.store.engine import Point

X = [1.0, 0.0, 0.0]
Usage = namedtuple("Usage", "total used free")  # noqa: PYI024 -- as shutil's

WRITE_AND_DIE = """
import os, sys
from functools import partial
from uuid import uuid4
from rag_nodes.store import Point, open_store
from rag_nodes.store.edge import shards
_, folder, name, logged = sys.argv
shards.made = partial(shards.made, temporary=not logged)
store = open_store(folder)
store.put(name, [Point(str(uuid4()), {}, [1.0, n, 0.0]) for n in range(100)])
if not logged:
    store.flush(name)
    store.put(name, [Point(str(uuid4()), {}, [1.0, n, 0.0]) for n in range(50)])
os.kill(os.getpid(), 9)
"""


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Makes the disk look full from then on."""

    def fill() -> None:
        monkeypatch.setattr(shards.shutil, "disk_usage", lambda _: Usage(1 << 40, 1 << 40, 1 << 20))

    return fill


def test_a_full_disk_is_an_error_before_anything_is_written_and_what_is_stored_stays(
    tmp_path: Path, collection: str, make_node: MakeNode, full: Callable[[], None]
) -> None:
    with open_store(tmp_path) as store:
        store.add(collection, [make_node("one", X)])
        full()
        with pytest.raises(StoreFullError, match=r"1 MB are free.*free some space"):
            store.add(collection, [make_node("two", X)])
        with pytest.raises(StoreFullError, match=str(tmp_path)):
            store.add(collection.replace("tests", "other"), [make_node("two", X)])
        [hit] = store.search(collection, Query(vector=X, text="one", limit=9))
        assert hit.node.text == "one"
    # To open it would end the process.
    with open_store(tmp_path) as store, pytest.raises(StoreFullError):
        store.count(collection)


def test_a_full_disk_names_no_command_on_another_store_for_one_in_memory_and_leaves_no_folder(
    tmp_path: Path,
    collection: str,
    make_node: MakeNode,
    full: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    remedy = r"free some space, or set TMPDIR to a folder on another disk$"
    with open_store() as store:
        full()
        with pytest.raises(StoreFullError, match=remedy):
            store.add(collection, [make_node("one", X)])
        assert list(tmp_path.iterdir()) == []
        monkeypatch.undo()
        store.add(collection, [make_node("one", X)])
        full()
        with pytest.raises(StoreFullError, match=remedy):
            store.add(collection, [make_node("two", X)])


def test_a_batch_with_one_bad_point_stores_none_of_it(
    tmp_path: Path, collection: str, make_node: MakeNode
) -> None:
    deep: Any = 1
    for _ in range(150):
        deep = {"a": deep}
    bad = {
        "no number": make_node("bad", [float("nan"), 0.0, 0.0]),
        "endless": make_node("bad", [float("inf"), 0.0, 0.0]),
        "too long": make_node("bad", [1e30, 0.0, 0.0]),
        "deep": make_node("bad", X, deep=deep),
    }
    with open_store(tmp_path) as store:
        store.add(collection, [make_node("first", X)])
        for name, node in bad.items():
            many = [make_node(f"{name} {n}", X) for n in range(100)]
            with pytest.raises(ConfigurationError, match=node.node_id):
                store.add(collection, [*many, node])
        with pytest.raises(DimensionError):
            store.add(collection, [make_node("short", [1.0])])
        named = make_node("named", X)
        named.id_ = "chapter-1"
        with pytest.raises(ConfigurationError, match="is not a UUID"):
            store.add(collection, [named])
        assert store.count(collection) == 1


@pytest.mark.parametrize("logged", ["logged", ""], ids=["acknowledged", "flushed, without a log"])
def test_acknowledged_and_flushed_writes_survive_the_end_of_the_process(
    tmp_path: Path, collection: str, logged: str
) -> None:
    command = [sys.executable, "-c", WRITE_AND_DIE, str(tmp_path), collection, logged]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    with open_store(tmp_path) as store:
        assert store.count(collection) == 100


def test_a_collection_that_was_interrupted_is_neither_there_nor_in_the_way(
    tmp_path: Path, collection: str, make_node: MakeNode
) -> None:
    with open_store(tmp_path) as store:
        store.add(collection, [make_node("one", X)])
    [folder] = (tmp_path / "collections").iterdir()
    shutil.copytree(folder, folder.with_name(folder.name + ".new"))
    folder.rename(folder.with_name(folder.name + ".gone"))
    with open_store(tmp_path) as store:
        assert store.collections() == []
        store.add(collection, [make_node("two", X)])
        assert store.count(collection) == 1
    assert len(list((tmp_path / "collections").iterdir())) == 1


def test_a_newer_format_is_refused_and_left_alone(tmp_path: Path) -> None:
    with open_store(tmp_path):
        pass
    (tmp_path / "store.json").write_text('{"format": 99}')
    with pytest.raises(StoreError, match="newer release"):
        open_store(tmp_path)
    (tmp_path / "store.json").write_text('{"format": 1}')
    open_store(tmp_path).close()


def test_collections_whose_names_differ_in_case_only_are_two(
    tmp_path: Path, make_node: MakeNode
) -> None:
    names = ["Docs", "docs", "a/b", "a%2Fb", "x" * 300, "日本", ".."]
    with open_store(tmp_path) as store:
        for name in names:
            store.add(name, [make_node(name, X)])
    with open_store(tmp_path) as store:
        for name in names:
            [hit] = store.search(name, Query(vector=X, text="?", limit=9, mode="dense"))
            assert hit.node.text == name


def test_the_same_nodes_in_many_stores_in_memory_never_meet(
    make_node: MakeNode, collection: str
) -> None:
    node = make_node("zebra", X)
    stores = [open_store() for _ in range(20)]
    for number, store in enumerate(stores):
        store.add(collection, [node, *(make_node(f"zebra {n}", X) for n in range(number))])
    for number, store in enumerate(stores):
        hits = store.search(collection, Query(vector=X, text="zebra", limit=99))
        assert len(hits) == store.count(collection) == number + 1
        assert node.node_id in {hit.node.node_id for hit in hits}
        # How rare a word is, is counted in one's own collection.
        best = max(hit.keyword_score or 0 for hit in hits)
        assert (best > 0.8) == (number == 0), number  # 0.97 alone, 0.61 where two have it
    stores[0].drop(collection)
    assert stores[1].count(collection) == 2
    for store in stores:
        store.close()


def test_memory_leaves_no_file_behind(
    make_node: MakeNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "from uuid import uuid4; from rag_nodes.store import Point, open_store;"
        "s = open_store(); s.put('c', [Point(str(uuid4()), {}, [1.0, 0.0])]);"
        "import os; print(len(os.listdir(os.environ['TMPDIR'])))"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) >= 1
    assert not [path for path in tmp_path.iterdir() if path.name.startswith("rag-nodes-")]
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with open_store() as store:
        store.add("c", [make_node("x", [1.0] * 17)])
        assert len(list(tmp_path.glob("rag-nodes-*"))) == 1
    assert not list(tmp_path.glob("rag-nodes-*"))


def test_numbers_of_any_kind_are_a_vector(tmp_path: Path, make_node: MakeNode) -> None:
    kinds = [[1, 2, 2], [np.float32(1), 2.0, 2.0], np.array([1, 2, 2], np.float32)]
    points = [Point(make_node(f"n {n}", X).node_id, {}, vector) for n, vector in enumerate(kinds)]
    with open_store(tmp_path) as store:
        store.put("c", points)
        collection = store.engine.collection("c")
        assert collection is not None
        read = collection.read([point.node_id for point in points], vectors=True)
    assert [point.vector for point in read] == [pytest.approx([1 / 3, 2 / 3, 2 / 3])] * 3
