"""A collection from one store to another: point for point, gone on with, and looked at again."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.schema import TextNode
from stored_nodes import MakeNode

from rag_nodes.core.errors import (
    CollectionMissingError,
    ConfigurationError,
    DimensionError,
    StoreError,
    StoreUnreachableError,
)
from rag_nodes.core.metadata import SOURCE_HASH
from rag_nodes.store import Query, Store, copying, open_store
from rag_nodes.store.copying import CopyReport, CopyStep, copy_collection
from rag_nodes.store.edge.collection import Collection
from rag_nodes.store.engine import Point
from rag_nodes.store.server.engine import ServedCollection


def nodes_of(make_node: MakeNode, count: int, **metadata: Any) -> list[TextNode]:
    return [
        make_node(f"sentence number {i}", [0.3, float(i), 2.0], ü="ß🙂", half=0.5, **metadata)
        for i in range(count)
    ]


def collection_of(store: Store, collection: str) -> Any:
    opened = store.engine.collection(collection)
    assert opened is not None
    return opened


def content(store: Store, collection: str) -> list[Point]:
    points = collection_of(store, collection).select(None, None, vectors=True)
    return sorted(points, key=lambda node: node.node_id)


def is_copy(source: Store, target: Store, collection: str) -> bool:
    sides = [content(store, collection) for store in (source, target)]
    ours, theirs = (
        [point._replace(vector=None, words=([], [])) for point in side] for side in sides
    )
    vectors, others = ([[*(gate.vector or ()), *gate.words[1]] for gate in side] for side in sides)
    return ours == theirs and all(
        vector == pytest.approx(two, abs=1e-6) for vector, two in zip(vectors, others, strict=True)
    )


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "PAGE", 16)


@pytest.fixture
def folder(tmp_path: Path, collection: str, make_node: MakeNode) -> Iterator[Store]:
    with open_store(tmp_path / "folder") as store:
        store.add(collection, nodes_of(make_node, 40))
        yield store


@pytest.fixture(params=["folder", "server"])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    is_folder = request.param == "folder"
    place = str(tmp_path / "target") if is_folder else request.getfixturevalue("server_url")
    with open_store(place) as store:
        yield store


@pytest.fixture
def server(server_url: str) -> Iterator[Store]:
    with open_store(server_url) as store:
        yield store


def numbers(report: CopyReport) -> tuple[int, ...]:
    return report.points, report.sent, report.unchanged, report.deleted, report.extra


def test_a_copy_holds_the_same_points_and_answers_alike(
    folder: Store, target: Store, collection: str
) -> None:
    steps: list[CopyStep] = []
    report = copy_collection(collection, folder, target, steps.append)
    assert [(step.done, step.total) for step in steps] == [(16, 40), (32, 40), (40, 40)]
    assert numbers(report) == (40, 40, 0, 0, 0)
    assert is_copy(folder, target, collection)
    asked: dict[str, Any] = {"vector": [0.3, 7.0, 2.0], "text": "number 7", "limit": 5}
    copies, same = (
        [(hit.node.node_id, hit.node.text) for hit in store.search(collection, Query(**asked))]
        for store in (folder, target)
    )
    assert copies == same


def test_an_interrupted_copy_goes_on_where_it_ended(
    folder: Store,
    server: Store,
    collection: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write, calls = ServedCollection.write, []

    def failing(self: Any, points: list[Point]) -> None:
        calls.append(len(points))
        if len(calls) > 1:
            raise StoreUnreachableError("the server has left")
        write(self, points)

    monkeypatch.setattr(ServedCollection, "write", failing)
    with pytest.raises(StoreUnreachableError):
        copy_collection(collection, folder, server)
    monkeypatch.undo()
    report = copy_collection(collection, folder, server)
    assert numbers(report) == (40, 40 - calls[0], calls[0], 0, 0)
    assert is_copy(folder, server, collection)


def test_previous_chunks_of_a_document_go_and_documents_of_others_stay(
    folder: Store, target: Store, collection: str, make_node: MakeNode
) -> None:
    old = make_node("a former sentence", [1.0, 0.0, 0.0], source_hash="older")
    other = make_node("a sentence of others", [0.0, 1.0, 0.0], document="doc-9")
    target.add(collection, [old, other])
    report = copy_collection(collection, folder, target)
    assert numbers(report) == (40, 40, 0, 1, 1)
    assert target.stored(collection, "doc-9").keys() == {other.node_id}
    assert target.stored(collection, "doc-1").keys() == folder.stored(collection, "doc-1").keys()
    pruned = copy_collection(collection, folder, target, prune=True)
    assert numbers(pruned) == (40, 0, 40, 1, 0)
    assert is_copy(folder, target, collection)


def test_points_that_differ_in_the_target_are_sent_again(
    folder: Store, target: Store, collection: str
) -> None:
    copy_collection(collection, folder, target)
    first, *_ = content(folder, collection)
    collection_of(target, collection).write(
        [first._replace(payload={**first.payload, SOURCE_HASH: "of before"})]
    )
    assert numbers(copy_collection(collection, folder, target)) == (40, 1, 39, 0, 0)
    assert is_copy(folder, target, collection)


@pytest.mark.parametrize("spoilt", [[], [{"payload": {"doc_id": "doc-1"}}]], ids=["lost", "other"])
def test_a_target_that_holds_something_else_afterwards_is_an_error(
    folder: Store,
    target: Store,
    collection: str,
    spoilt: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = ServedCollection if "://" in target.location else Collection
    write, first = kind.write, content(folder, collection)[0]

    def spoiling(self: Any, points: list[Point]) -> None:
        others = [point for point in points if point.node_id != first.node_id]
        write(self, [*others, *(first._replace(**other) for other in spoilt if first in points)])

    monkeypatch.setattr(kind, "write", spoiling)
    with pytest.raises(StoreError, match=r"differs .* in 1 of 40 points; .* run this again"):
        copy_collection(collection, folder, target)


def test_embeddings_of_another_length_are_refused_before_anything_is_written(
    folder: Store, target: Store, collection: str, make_node: MakeNode
) -> None:
    target.add(collection, [make_node("short", [1.0, 0.0])])
    with pytest.raises(DimensionError, match=r"length 2, that of .* 3"):
        copy_collection(collection, folder, target)
    assert target.count(collection) == 1


def test_a_collection_of_another_program_is_refused(
    folder: Store, server: Store, collection: str
) -> None:
    from qdrant_client.http import models as rest

    client: Any = server.engine.client  # type: ignore[attr-defined]
    client.create_collection(collection, rest.VectorParams(size=3, distance=rest.Distance.COSINE))
    with pytest.raises(ConfigurationError, match="another program"):
        copy_collection(collection, folder, server)
    with open_store() as empty:
        with pytest.raises(ConfigurationError, match="another program"):
            copy_collection(collection, server, empty)
        assert empty.engine.names() == []


def test_a_store_is_not_copied_to_itself(folder: Store, collection: str) -> None:
    with (
        open_store(folder.location) as same,
        pytest.raises(ConfigurationError, match="itself"),
    ):
        copy_collection(collection, folder, same)


def test_a_missing_collection_makes_none_in_the_target(folder: Store, target: Store) -> None:
    with pytest.raises(CollectionMissingError):
        copy_collection("none", folder, target)
    assert target.engine.names() == []
