"""Parents are stored beside their children, to be read, and no search ranks them."""

import pytest
from stored_nodes import MakeNode, X, family

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.store import Query, SearchMode, Store, is_complete


@pytest.mark.parametrize("embedding", [None, X])
def test_a_parent_never_competes_with_its_children(
    store: Store, collection: str, make_node: MakeNode, embedding: list[float] | None
) -> None:
    parent, *children = family(make_node, embedding=embedding)
    store.add(collection, [parent, *children])
    modes: tuple[SearchMode, ...] = ("hybrid", "dense", "sparse")
    for mode in modes:
        hits = store.search(collection, Query(vector=X, text="zebra lion", limit=9, mode=mode))
        assert {hit.node.node_id for hit in hits} == {child.node_id for child in children}
    assert store.count(collection) == 2
    assert [info.points for info in store.collections()] == [2]


def test_a_document_is_complete_only_with_all_of_both_levels(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    parent, *children = family(make_node, embedding=None)
    store.add(collection, [parent, *children])
    stored = store.stored(collection, "doc-1")
    assert is_complete(stored, "hash-1")
    assert [point.is_parent for point in stored.values()].count(True) == 1
    for lost in ([parent], children[:1], children):
        left = stored.keys() - {node.node_id for node in lost}
        assert not is_complete({node_id: stored[node_id] for node_id in left}, "hash-1")
    store.delete(collection, [parent.node_id])
    assert store.fetch(collection, [parent.node_id]) == {}


def test_only_parents_may_lack_an_embedding_and_only_beside_children(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    parent, child, _ = family(make_node, embedding=None)
    with pytest.raises(ConfigurationError, match="together with their children"):
        store.add(collection, [parent])
    child.embedding = None
    with pytest.raises(ConfigurationError, match="embed it first"):
        store.add(collection, [parent, child])
