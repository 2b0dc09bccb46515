"""Further vectors that another program keeps beside each chunk's own: ignored, and named."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from qdrant_client.http import models as rest
from stored_nodes import MakeNode

from rag_nodes.store import Query, Store, open_store
from rag_nodes.store.copying import copy_collection
from rag_nodes.store.engine import DENSE, SPARSE

X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


@pytest.fixture
def served(server_url: str, collection: str, make_node: MakeNode) -> Iterator[Store]:
    """A store on a server whose collection has room for another vector of each chunk."""
    with open_store(server_url) as store:
        client: Any = store.engine
        size = rest.VectorParams(size=3, distance=rest.Distance.COSINE)
        client.client.create_collection(
            collection,
            vectors_config={DENSE: size, "text-plain": size},
            sparse_vectors_config={SPARSE: rest.SparseVectorParams(modifier="idf")},
        )
        store.add(collection, [make_node("red", X), make_node("blue", Y)])
        yield store


def test_further_vectors_are_named_and_a_question_is_compared_with_the_others(
    served: Store, collection: str
) -> None:
    assert served.ignored_vectors(collection) == ("text-plain",)
    asked = Query(vector=X, text=None, limit=9, mode="dense")
    assert [hit.node.text for hit in served.search(collection, asked)] == ["red", "blue"]


def test_a_copy_has_no_further_vectors(served: Store, collection: str, tmp_path: Path) -> None:
    with open_store(tmp_path / "copy") as target:
        assert copy_collection(collection, served, target).sent == 2
        assert target.ignored_vectors(collection) == ()
        asked = Query(vector=Y, text=None, limit=1, mode="dense")
        assert [hit.node.text for hit in target.search(collection, asked)] == ["blue"]
