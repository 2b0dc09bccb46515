"""Parents in Qdrant: read by their ids, also by LlamaIndex, and ranked by nobody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llama_index.core import VectorStoreIndex
from stored_nodes import X, family

from rag_nodes.models import get_embedding
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store


def test_a_parent_is_read_by_its_id_here_and_by_llama_index(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    parent, *children = family(make_node, embedding=None)
    store.vector_store(collection).add([parent, *children])
    assert store.fetch(collection, [parent.node_id])[parent.node_id].text == parent.text
    [found] = store.vector_store(collection).get_nodes([parent.node_id])
    assert found.get_content() == parent.text
    assert len(found.child_nodes or []) == 2


def test_a_stock_retriever_finds_children_only(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    embedding = get_embedding("lexical")
    nodes = embedding(family(make_node, embedding=None))
    store.vector_store(collection).add(nodes)
    index = VectorStoreIndex.from_vector_store(
        store.vector_store(collection), embed_model=embedding
    )
    for mode in ("default", "hybrid", "sparse"):
        retriever = index.as_retriever(
            similarity_top_k=9, sparse_top_k=9, vector_store_query_mode=mode
        )
        found = {hit.node.node_id for hit in retriever.retrieve("zebra lion")}
        assert found == {node.node_id for node in nodes[1:]}


def test_parents_stay_unranked_in_a_folder_that_is_opened_again(
    tmp_path: Path, collection: str, make_node: Callable[..., TextNode]
) -> None:
    parent, *children = family(make_node, embedding=None)
    with open_store(tmp_path / "kept") as store:
        store.vector_store(collection).add([parent, *children])
    with open_store(tmp_path / "kept") as store:
        hits = store.search(collection, vector=X, text="zebra lion", limit=9)
        assert {hit.node.node_id for hit in hits} == {child.node_id for child in children}
