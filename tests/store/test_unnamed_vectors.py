"""Collections of a stock dense `QdrantVectorStore`, whose vector has no name."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from rag_nodes.store import open_store
from rag_nodes.store.filters import Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store

NODES = {"near": [3.0, 0.0], "middle": [2.0, 2.0], "far": [0.0, 5.0]}


@pytest.fixture
def filled(make_node: Callable[..., TextNode], server_url: str) -> Iterator[Store]:
    """What LlamaIndex's own store wrote on a server."""
    nodes = [make_node(text, vector, document=text) for text, vector in NODES.items()]
    for node in nodes:
        node.metadata["file_name"] = f"{node.text}.txt"
    with closing(QdrantClient(server_url, check_compatibility=False)) as client:
        QdrantVectorStore("stock", client=client, index_doc_id=False).add(nodes)
    with open_store(server_url) as store:
        yield store


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


def test_it_is_named_as_of_another_program(filled: Store) -> None:
    assert filled.collections() == []
    assert filled.foreign() == ["stock"]
