"""Collections of a stock dense `QdrantVectorStore`, whose vector has no name, in every store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from llama_index.vector_stores.qdrant import QdrantVectorStore

from rag_nodes.store import local_index
from rag_nodes.store.filters import Filter
from rag_nodes.store.layout import UNNAMED, layout_of

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
    client, dense = filled._engine.client, layout_of(filled._engine, "stock").dense
    assert dense == UNNAMED
    peeked = local_index._peeked(client, "stock", dense, None)
    scrolled = local_index._scrolled(client, "stock", dense, None)
    assert peeked is not None
    assert sorted(peeked[0]) == sorted(scrolled[0])
    assert peeked[2] == scrolled[2] == [None] * len(NODES)
    assert peeked[1].sum() == pytest.approx(scrolled[1].sum())
