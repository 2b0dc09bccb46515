"""Collections of a stock dense `QdrantVectorStore`, whose vector has no name, in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from llama_index.vector_stores.qdrant import QdrantVectorStore

from rag_nodes.store import inside_qdrant
from rag_nodes.store.engine import UNNAMED
from rag_nodes.store.filters import Filter

if TYPE_CHECKING:
    from collections.abc import Callable

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store

NODES = {"near": [3.0, 0.0], "middle": [2.0, 2.0], "far": [0.0, 5.0]}


@pytest.fixture
def filled(store: Store, make_node: Callable[..., TextNode]) -> Store:
    nodes = [make_node(text, vector, document=text) for text, vector in NODES.items()]
    for node in nodes:
        node.metadata["file_name"] = f"{node.text}.txt"
    QdrantVectorStore("stock", client=store._engine.client, index_doc_id=False).add(nodes)
    return store


def test_an_unnamed_vector_is_searched_by_cosine(filled: Store) -> None:
    hits = filled.search("stock", vector=[9.0, 0.0], text="near", limit=3)
    assert [hit.node.text for hit in hits] == ["near", "middle", "far"]
    assert [hit.similarity for hit in hits] == pytest.approx([1, 0.5**0.5, 0], abs=1e-6)
    assert [hit.score for hit in hits] == pytest.approx([1, 0.5**0.5, 0], abs=1e-6)


def test_filters_count_and_vectors_work_without_a_name(filled: Store) -> None:
    only = Filter(file_name="far.txt")
    [hit] = filled.search("stock", vector=[9.0, 0.0], text="x", limit=3, filter=only)
    assert hit.node.text == "far"
    assert filled.count("stock") == len(NODES)
    [(text, vector)] = filled.vectors("stock", [hit.node.node_id]).values()
    assert "far" in text
    assert vector == pytest.approx([0, 1])


@pytest.mark.parametrize("store", ["memory"], indirect=True)
def test_the_public_way_reads_the_same_arrays(filled: Store) -> None:
    engine = filled._engine
    layout = engine.layout("stock")
    assert layout.dense == UNNAMED
    known = inside_qdrant.arrays_of(engine.client.unlocked, "stock", UNNAMED, None)
    public = engine.arrays("stock", layout)
    assert known is not None
    assert sorted(known[0]) == sorted(public[0])
    assert known[2] == public[2] == ([[]] * len(NODES), [[]] * len(NODES))
    assert known[1].sum() == pytest.approx(public[1].sum())
