"""Collections of a folder of qdrant-client's local mode in a folder of ours."""

import os
import pickle
import sqlite3
import tomllib
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from packaging.requirements import Requirement
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest
from stored_nodes import MakeNode

from rag_nodes.errors import ConfigurationError, StoreDamagedError, StoreError
from rag_nodes.store import Query, Store, importing, open_store
from rag_nodes.store.bm25 import document_vectors
from rag_nodes.store.copying import CopyFailure, CopyStep
from rag_nodes.store.engine import DENSE, SPARSE, Layout
from rag_nodes.store.importing import ImportReport, import_collections
from rag_nodes.store.payload import payload_of

TWO = rest.VectorParams(size=2, distance=rest.Distance.COSINE)


@pytest.fixture
def ours(tmp_path: Path) -> Any:
    with open_store(tmp_path / "ours") as store:
        yield store


def written(tmp_path: Path, fill: Callable[[QdrantClient], object]) -> Path:
    folder = tmp_path / "theirs"
    with closing(QdrantClient(path=str(folder))) as client:
        fill(client)
    return folder


def of_two(client: QdrantClient, name: str = "two", count: int = 5) -> None:
    client.create_collection(name, vectors_config=TWO)
    points = [
        rest.PointStruct(id=one, vector=[one, 1.0], payload={"n": one})
        for one in range(1, count + 1)
    ]
    client.upsert(name, points)


def of(store: Store, name: str) -> Any:
    found = store.engine.collection(name)
    assert found is not None
    return found


def imported(
    folder: Path, store: Store, progress: Callable[[CopyStep], None] | None = None
) -> list[ImportReport | CopyFailure]:
    return list(import_collections(folder, store, progress))


def test_ids_payloads_and_all_vectors_are_there_afterwards(
    tmp_path: Path, ours: Store, collection: str, make_node: MakeNode
) -> None:
    nodes = [
        make_node("the red fox", [1.0, 0.0, 0.0], flag=True),
        make_node("a blue whale", [0.0, 1.0, 0.0]),
    ]
    weighed = zip(nodes, *document_vectors(node.text for node in nodes), strict=True)

    def fill(client: QdrantClient) -> None:
        client.create_collection(
            collection,
            vectors_config={
                name: rest.VectorParams(size=size, distance=rest.Distance.COSINE)
                for name, size in {DENSE: 3, "text-heading": 2}.items()
            },
            sparse_vectors_config={SPARSE: rest.SparseVectorParams(modifier=rest.Modifier.IDF)},
        )
        for node, indices, values in weighed:
            words = rest.SparseVector(indices=indices, values=values)
            vectors = {DENSE: node.get_embedding(), SPARSE: words, "text-heading": [0.6, 0.8]}
            point = rest.PointStruct(id=node.node_id, vector=vectors, payload=payload_of(node))
            client.upsert(collection, [point])

    assert imported(written(tmp_path, fill), ours) == [ImportReport(collection, 2, ())]
    [best, *_] = ours.search(collection, Query(vector=[1.0, 0.0, 0.0], text="red", limit=2))
    assert (best.node.node_id, best.node.text) == (nodes[0].node_id, "the red fox")
    assert best.node.metadata["flag"] is True
    assert best.keyword_score
    [point] = of(ours, collection).read([nodes[0].node_id], vectors=True)
    assert point.named == {"text-heading": pytest.approx([0.6, 0.8])}
    ours.add(collection, [make_node("a third", [1.0, 0.0, 0.0])])
    assert ours.count(collection) == 3


def test_a_folder_is_read_as_it_is_also_while_its_program_writes_to_it(
    tmp_path: Path, ours: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "PAGE", 2)
    steps: list[CopyStep] = []
    folder = tmp_path / "theirs"
    with closing(QdrantClient(path=str(folder))) as client:
        of_two(client)
        files = [one for one in folder.rglob("*") if one.is_file()]
        before = {one: (one.read_bytes(), one.stat().st_mtime_ns) for one in files}
        assert imported(folder, ours, steps.append) == [ImportReport("two", 5, ())]
        after = [one for one in folder.rglob("*") if one.is_file()]
        assert {one: (one.read_bytes(), one.stat().st_mtime_ns) for one in after} == before
        client.delete("two", [1])
        assert client.count("two").count == 4
    assert [(one.done, one.total) for one in steps] == [(2, 5), (4, 5), (5, 5)]


def test_only_an_empty_collection_makes_room_and_what_is_refused_keeps_nothing_else_from_it(
    tmp_path: Path, ours: Store, make_node: MakeNode
) -> None:
    ours.engine.create("empty", Layout(7))
    for name in ("filled", "c"):
        ours.add(name, [make_node("one", [1.0, 0.0])])
    ours.point_alias("alias", "c")
    words = {SPARSE: rest.SparseVectorParams()}

    def fill(client: QdrantClient) -> None:
        for name in ("empty", "filled", "alias"):
            of_two(client, name)
        client.create_collection("w", vectors_config={DENSE: TWO}, sparse_vectors_config=words)

    done, *refused, left_out = imported(written(tmp_path, fill), ours)
    assert (done, left_out) == (ImportReport("empty", 5, ()), ImportReport("w", 0, (SPARSE,)))
    said = [str(one.error) for one in refused if isinstance(one, CopyFailure)]
    assert "'filled' is there already, with 1 points; import into another folder" in said[0]
    assert "'alias' is an alias there" in said[1]
    assert of(ours, "filled").count(None) == 1


def test_ids_of_both_kinds_and_points_that_were_written_again_are_there_once(
    tmp_path: Path, ours: Store
) -> None:
    own = str(UUID(int=5))

    def fill(client: QdrantClient) -> None:
        of_two(client, count=1)
        for text in ("old", "new"):
            point = rest.PointStruct(id=own, vector=[0.0, 1.0], payload={"text": text})
            client.upsert("two", [point])

    assert imported(written(tmp_path, fill), ours) == [ImportReport("two", 2, ())]
    points = {one.node_id: one.payload for one in of(ours, "two").read(["1", own])}
    assert points == {"1": {"n": 1}, own: {"text": "new"}}


def test_an_import_that_was_killed_is_made_anew(
    tmp_path: Path, ours: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written(tmp_path, of_two)
    with monkeypatch.context() as killed:
        killed.setattr(type(ours.engine), "drop", lambda *_: None)

        def ended(_: object) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            imported(folder, ours, ended)
    assert of(ours, "two").count(None) == 5
    assert imported(folder, ours) == [ImportReport("two", 5, ())]
    assert of(ours, "two").marks() == {}


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (rest.VectorParams(size=4, distance=rest.Distance.EUCLID), "compares vectors by Euclid"),
        (
            {
                name: rest.VectorParams(size=4, distance=rest.Distance.COSINE)
                for name in ("title", "body")
            },
            "has 2 kinds of vectors (title, body)",
        ),
        (
            rest.VectorParams(
                size=4,
                distance=rest.Distance.COSINE,
                multivector_config=rest.MultiVectorConfig(
                    comparator=rest.MultiVectorComparator.MAX_SIM
                ),
            ),
            "compares vectors several per chunk",
        ),
    ],
    ids=["euclid", "two", "many"],
)
def test_vectors_that_cannot_be_ranked_here_are_named(
    tmp_path: Path, ours: Store, vectors: Any, said: str
) -> None:
    folder = written(
        tmp_path, lambda client: client.create_collection("theirs", vectors_config=vectors)
    )
    [refused] = imported(folder, ours)
    assert isinstance(refused, CopyFailure)
    assert said in str(refused.error)
    assert "ingest the documents" in str(refused.error)
    assert ours.engine.names() == []


def test_a_store_without_a_folder_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, of_two)
    with open_store() as memory, pytest.raises(ConfigurationError, match="into a folder"):
        imported(folder, memory)


def test_the_installed_client_is_within_the_bound_that_was_tried() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    extra = map(Requirement, project["optional-dependencies"]["qdrant"])
    [bound] = [one for one in extra if one.name == "qdrant-client"]
    assert "<" in str(bound.specifier)
    assert bound.specifier.contains(version("qdrant-client"))


def test_a_point_that_would_run_something_is_refused(tmp_path: Path, ours: Store) -> None:
    class Evil:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(tmp_path / "ran"),)

    folder = written(tmp_path, of_two)
    with closing(sqlite3.connect(folder / "collection" / "two" / "storage.sqlite")) as rows, rows:
        rows.execute("INSERT INTO points VALUES ('x', ?)", [pickle.dumps(Evil())])
    [failed] = imported(folder, ours)
    assert isinstance(failed, CopyFailure)
    assert "holds a posix" in str(failed.error)
    assert not (tmp_path / "ran").exists()
    assert ours.engine.names() == []


@pytest.mark.parametrize(
    ("told", "error", "said"),
    [
        ("{", StoreDamagedError, r"meta\.json: it cannot be read"),
        ('{"title": "Notes"}', StoreDamagedError, r"meta\.json: it cannot be read"),
        (None, StoreError, "no folder of qdrant-client's local mode"),
    ],
)
def test_a_folder_whose_list_of_collections_is_lost_or_torn_is_named(
    tmp_path: Path, ours: Store, told: str | None, error: type[StoreError], said: str
) -> None:
    if told:
        (tmp_path / "meta.json").write_text(told)
    with pytest.raises(error, match=said):
        imported(tmp_path, ours)
