"""Folders for `QdrantClient(path=…)`: the same points and results, or no folder at all."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.vector_stores import VectorStoreQuery
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest

from rag_nodes import get_embedding, get_parser, ingest
from rag_nodes.core.errors import CollectionMissingError, ConfigurationError, StoreError
from rag_nodes.store import Query, Store, document_vectors, open_store, query_vectors
from rag_nodes.store.copying import CopyStep
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.exporting import export_folder
from rag_nodes.store.server.inside_local_mode import write_without_waiting

MANUAL = Path(__file__).parents[2] / "examples/corpus/manual.md"
QUESTION = "How far may probe cables be extended?"


def fill(store: Store) -> None:
    ingest([MANUAL], {name: get_parser(name) for name in ("heading", "parent-child")}, store)


@pytest.fixture(params=["folder", "server"])
def filled(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    is_folder = request.param == "folder"
    place = str(tmp_path / "store") if is_folder else request.getfixturevalue("server_url")
    with open_store(place) as store:
        fill(store)
        yield store


@pytest.fixture
def in_memory() -> Iterator[Store]:
    with open_store() as store:
        fill(store)
        yield store


def names_of(store: Store) -> list[str]:
    return [info.name for info in store.collections()]


def test_a_stock_client_reads_the_same_points(filled: Store, tmp_path: Path) -> None:
    steps: list[CopyStep] = []
    reports = export_folder(filled, tmp_path / "out", progress=steps.append)
    assert [step.name for step in steps if step.done == step.total] == names_of(filled)
    with closing(QdrantClient(path=str(tmp_path / "out"))) as client:
        assert {collection.name for collection in client.get_collections().collections} == {
            *names_of(filled)
        }
        for report in reports:
            wanted = filled.select(report.collection, None, None, vectors=True)
            ids = [point.node_id for point in wanted]
            records = client.retrieve(report.collection, ids, with_vectors=True)
            assert client.count(report.collection).count == len(wanted) == report.points
            for point, record in zip(wanted, records, strict=True):
                vectors: Any = record.vector
                assert (record.id, record.payload) == (point.node_id, point.payload)
                if point.vector is None:  # a parent
                    assert not vectors
                    continue
                assert vectors["text-dense"] == pytest.approx(list(point.vector), abs=1e-6)
                words = vectors["text-words-stems"]
                assert words.indices == point.words[0]
                assert words.values == pytest.approx(point.words[1], abs=1e-6)


@pytest.mark.parametrize("mode", [VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.SPARSE])
def test_a_stock_vector_store_finds_the_same_with_the_same_scores(
    filled: Store, tmp_path: Path, mode: VectorStoreQueryMode
) -> None:
    export_folder(filled, tmp_path / "out")
    vector = get_embedding("lexical").get_query_embedding(QUESTION)
    is_sparse = mode == VectorStoreQueryMode.SPARSE
    with closing(QdrantClient(path=str(tmp_path / "out"))) as client:
        for name in names_of(filled):
            stock = QdrantVectorStore(
                name,
                client=client,
                enable_hybrid=is_sparse,
                sparse_vector_name="text-words-stems",
                sparse_doc_fn=document_vectors,
                sparse_query_fn=query_vectors,
            )
            result = stock.query(
                VectorStoreQuery(
                    query_embedding=vector, query_str=QUESTION, similarity_top_k=5, mode=mode
                )
            )
            hits = filled.search(
                name, Query(vector, QUESTION, 5, "sparse" if is_sparse else "dense")
            )
            scores = [hit.keyword_score if is_sparse else hit.similarity for hit in hits]
            assert result.similarities == pytest.approx(scores, rel=1e-4)
            assert {*(result.ids or ())} == {hit.node.node_id for hit in hits}


def test_only_the_named_collection_is_written_into_an_empty_folder(
    in_memory: Store, tmp_path: Path
) -> None:
    first, _ = names_of(in_memory)
    (tmp_path / "out").mkdir()
    export_folder(in_memory, tmp_path / "out", first)
    with closing(QdrantClient(path=str(tmp_path / "out"))) as client:
        assert [collection.name for collection in client.get_collections().collections] == [first]


def test_an_alias_names_its_collection(server_url: str, tmp_path: Path) -> None:
    with open_store(server_url) as store:
        fill(store)
        first, _ = names_of(store)
        alias = rest.CreateAlias(alias_name="handbook", collection_name=first)
        client: Any = store.engine.client  # type: ignore[attr-defined]
        client.update_collection_aliases([rest.CreateAliasOperation(create_alias=alias)])
        [report] = export_folder(store, tmp_path / "out", ["handbook", first])
    assert report.collection == first


def test_places_that_are_no_empty_folders_stay_as_they_are(
    in_memory: Store, tmp_path: Path
) -> None:
    note = tmp_path / "note.txt"
    note.write_text("mine")
    for place in (tmp_path, note):
        with pytest.raises(ConfigurationError, match="name a new folder, or delete this one"):
            export_folder(in_memory, place)
    for place in (":memory:", "http://localhost:6333"):
        with pytest.raises(ConfigurationError, match="store push URL"):
            export_folder(in_memory, place)
    assert [*tmp_path.iterdir()] == [note]


def test_a_failed_export_leaves_nothing(
    in_memory: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CollectionMissingError):
        export_folder(in_memory, tmp_path / "out", [names_of(in_memory)[0], "none"])

    def failing(*_: Any, **__: Any) -> Any:
        raise StoreError("the disk is gone")

    monkeypatch.setattr(Collection, "read", failing)
    with pytest.raises(StoreError, match="the disk is gone"):
        export_folder(in_memory, tmp_path / "out")
    with open_store() as empty, pytest.raises(CollectionMissingError, match="ingest documents"):
        export_folder(empty, tmp_path / "out")
    assert [*tmp_path.iterdir()] == []


def test_local_mode_waits_for_the_disk_at_each_point_unless_it_is_told_not_to(
    tmp_path: Path,
) -> None:
    size = rest.VectorParams(size=2, distance=rest.Distance.COSINE)
    with closing(QdrantClient(path=str(tmp_path / "out"))) as client:
        client.create_collection("some", vectors_config=size)
        inside: Any = client
        sqlite = inside._client.collections["some"].storage.storage
        waits = [sqlite.execute("PRAGMA synchronous").fetchone()[0]]
        write_without_waiting(client, "some")
        waits += [sqlite.execute("PRAGMA synchronous").fetchone()[0]]
    full, off = 2, 0
    assert waits == [full, off]


def test_a_folder_that_cannot_be_written_is_named(in_memory: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="out: the export cannot be written"):
        export_folder(in_memory, tmp_path / "file" / "out")


KILLED = """
import os, signal, sys
from rag_nodes.store import open_store
from rag_nodes.store.exporting import export_folder
with open_store(sys.argv[1]) as store:
    export_folder(store, sys.argv[2], progress=lambda _: os.kill(os.getpid(), signal.SIGKILL))
"""


def test_a_killed_export_leaves_no_folder_and_says_what_to_delete(tmp_path: Path) -> None:
    source, out, part = (tmp_path / name for name in ("store", "out", "out.part"))
    with open_store(source) as store:
        fill(store)
    ended = subprocess.run([sys.executable, "-c", KILLED, source, out], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not out.exists()
    with open_store(source) as store:
        with pytest.raises(ConfigurationError, match=r"out\.part: .* delete this folder and run"):
            export_folder(store, out)
        assert part.is_dir()
        part.rename(tmp_path / "deleted")
        assert len(export_folder(store, out)) == len(names_of(store))
    assert not part.exists()
