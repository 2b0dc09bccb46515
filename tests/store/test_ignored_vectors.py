"""Further vectors that an earlier release stored beside each chunk's own: ignored, and named."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import qdrant_edge as edge
from qdrant_client.http import models as rest
from stored_nodes import MakeNode

from rag_nodes.store import Query, Store, open_store
from rag_nodes.store.copying import copy_collection
from rag_nodes.store.edge import folder
from rag_nodes.store.engine import DENSE, SPARSE

X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


@pytest.fixture(params=["folder", "server"])
def older(
    request: pytest.FixtureRequest, tmp_path: Path, collection: str, make_node: MakeNode
) -> Iterator[Store]:
    """A store in which a red and a blue chunk have the plain vector of each other."""
    nodes = [make_node("red", X), make_node("blue", Y)]
    further = {nodes[0].node_id: Y, nodes[1].node_id: X}
    if request.param == "server":
        with open_store(request.getfixturevalue("server_url")) as store:
            client: Any = store.engine
            size = rest.VectorParams(size=3, distance=rest.Distance.COSINE)
            client.client.create_collection(
                collection,
                vectors_config={DENSE: size, "text-plain": size},
                sparse_vectors_config={SPARSE: rest.SparseVectorParams(modifier="idf")},
            )
            store.add(collection, nodes)
            yield store
        return
    with open_store(tmp_path / "older") as store:
        store.add(collection, nodes)
        there: Any = store.engine.collection(collection)
        change = edge.UpdateOperation
        there.shard.update(change.create_dense_vector("text-plain", 3, edge.Distance.Cosine))
        points = [
            edge.Point(
                node_id,
                {DENSE: own, "text-plain": further[node_id]},
                there.read([node_id])[0].payload,
            )
            for node_id, own in ((nodes[0].node_id, X), (nodes[1].node_id, Y))
        ]
        there.shard.update(change.upsert_points(points))
        about = there._disk / folder.ABOUT
        known = json.loads(about.read_bytes())
        folder.replace_json(about, {**known, "named": {"text-plain": 3}})
    with open_store(tmp_path / "older") as store:
        yield store


def test_further_vectors_are_named_and_a_question_is_compared_with_the_others(
    older: Store, collection: str, make_node: MakeNode
) -> None:
    assert older.ignored_vectors(collection) == ("text-plain",)
    asked = Query(vector=X, text=None, limit=9, mode="dense")
    assert [hit.node.text for hit in older.search(collection, asked)] == ["red", "blue"]
    older.add(collection, [make_node("green", [1.0, 0.1, 0.0])])
    assert [hit.node.text for hit in older.search(collection, asked)] == ["red", "green", "blue"]
    assert older.count(collection) == 3


def test_a_copy_has_no_further_vectors(older: Store, collection: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "copy") as target:
        assert copy_collection(collection, older, target).sent == 2
        assert target.ignored_vectors(collection) == ()
        asked = Query(vector=Y, text=None, limit=1, mode="dense")
        assert [hit.node.text for hit in target.search(collection, asked)] == ["blue"]


def test_nothing_is_ignored_in_a_new_collection(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    assert store.ignored_vectors(collection) == ()
    store.add(collection, [make_node("red", X)])
    assert store.ignored_vectors(collection) == ()
