"""Parents are stored beside their children, to be read, and no search ranks them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo

from rag_nodes.errors import ConfigurationError
from rag_nodes.models import get_embedding
from rag_nodes.store import is_complete, open_store
from rag_nodes.store.engine import DENSE, SPARSE, Layout

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from llama_index.core.schema import TextNode

    from rag_nodes.store import SearchMode, Store

X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


def family(make_node: Callable[..., TextNode], *, embedding: list[float] | None) -> list[TextNode]:
    """A parent, here first as a pipeline writes it, and its two children."""
    children = [
        make_node("zebra grass", X, total_chunks=2, level=1),
        make_node("lion meat", Y, total_chunks=2, level=1),
    ]
    parent = make_node("zebra grass lion meat", X, total_chunks=1, level=0)
    parent.embedding = embedding
    infos = [RelatedNodeInfo(node_id=child.node_id) for child in children]
    for child in children:
        child.relationships[NodeRelationship.PARENT] = RelatedNodeInfo(node_id=parent.node_id)
    parent.relationships[NodeRelationship.CHILD] = infos
    return [parent, *children]


@pytest.mark.parametrize("embedding", [None, X])
@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_a_parent_never_competes_with_its_children(
    store: Store,
    collection: str,
    make_node: Callable[..., TextNode],
    mode: SearchMode,
    embedding: list[float] | None,
) -> None:
    parent, *children = family(make_node, embedding=embedding)
    store.vector_store(collection).add([parent, *children])
    hits = store.search(collection, vector=X, text="zebra lion", limit=9, mode=mode)
    assert {hit.node.node_id for hit in hits} == {child.node_id for child in children}
    assert store.count(collection) == 2
    assert [info.points for info in store.collections()] == [2]


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


def test_a_document_is_complete_only_with_all_of_both_levels(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    parent, *children = family(make_node, embedding=None)
    store.vector_store(collection).add([parent, *children])
    stored = store.catalogue(collection)("doc-1")
    assert is_complete(stored, "hash-1")
    assert [one.is_parent for one in stored.values()].count(True) == 1
    for lost in (parent, children[0]):
        left = {node_id: one for node_id, one in stored.items() if node_id != lost.node_id}
        assert not is_complete(left, "hash-1")
    store.delete(collection, [parent.node_id])
    assert store.fetch(collection, [parent.node_id]) == {}


def test_a_parent_that_was_ranked_by_an_earlier_release_is_not_after_it_is_written_again(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    parent, *children = family(make_node, embedding=X)
    infos = parent.relationships.pop(NodeRelationship.CHILD)
    store.vector_store(collection).add([parent, *children])
    assert store.count(collection) == 3
    parent.relationships[NodeRelationship.CHILD] = infos
    store.vector_store(collection).add([parent])
    assert store.count(collection) == 2
    hits = store.search(collection, vector=X, text="zebra", limit=9)
    assert {hit.node.node_id for hit in hits} == {child.node_id for child in children}


def test_parents_stay_unranked_in_a_folder_that_is_opened_again(
    tmp_path: Path, collection: str, make_node: Callable[..., TextNode]
) -> None:
    parent, *children = family(make_node, embedding=None)
    with open_store(tmp_path / "kept") as store:
        store.vector_store(collection).add([parent, *children])
    with open_store(tmp_path / "kept") as store:
        hits = store.search(collection, vector=X, text="zebra lion", limit=9)
        assert {hit.node.node_id for hit in hits} == {child.node_id for child in children}


def test_both_ways_of_reading_vectors_leave_parents_out(
    collection: str, make_node: Callable[..., TextNode]
) -> None:
    with open_store() as store:
        nodes = family(make_node, embedding=None)
        store.add(collection, nodes)
        layout = Layout(DENSE, 3, SPARSE)
        assert len(store._engine.index(collection, layout).ids) == 2
        assert len(store._engine.arrays(collection, layout)[0]) == 2


def test_only_parents_may_lack_an_embedding_and_only_beside_children(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    parent, child, _ = family(make_node, embedding=None)
    with pytest.raises(ConfigurationError, match="together with their children"):
        store.vector_store(collection).add([parent])
    child.embedding = None
    with pytest.raises(ConfigurationError, match="embed it first"):
        store.vector_store(collection).add([parent, child])
