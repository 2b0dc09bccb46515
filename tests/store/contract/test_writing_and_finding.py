from typing import Any

import pytest
from llama_index.core.schema import NodeRelationship, TextNode
from stored_nodes import MakeNode

from rag_nodes.core.errors import CollectionMissingError, ConfigurationError, DimensionError
from rag_nodes.store import Query, Store, is_complete

X, Y, Z = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]


def fill(store: Store, collection: str, *nodes: TextNode) -> None:
    store.add(collection, list(nodes))


def test_a_flush_changes_nothing_that_is_found_and_is_fine_before_there_is_anything(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    store.flush(collection)
    store.add(collection, [make_node("one", [1.0, 0.0, 0.0])])
    store.flush(collection)
    hits = store.search(collection, Query(vector=[1.0, 0.0, 0.0], text="one", limit=9))
    assert [hit.node.text for hit in hits] == ["one"]


def test_a_node_comes_back_as_it_was_written(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    node = make_node("the quick fox", X, page_start=3, heading_path=["A", "B"])
    fill(store, collection, node)
    [hit] = store.search(collection, Query(vector=X, text="fox", limit=1))
    assert hit.node.text == node.text
    assert hit.node.node_id == node.node_id
    assert (hit.node.start_char_idx, hit.node.end_char_idx) == (10, 23)
    assert hit.node.metadata == node.metadata
    assert hit.node.ref_doc_id == "doc-1"
    assert hit.node.relationships[NodeRelationship.NEXT].node_id == "next-one"
    assert hit.node.embedding is None
    assert node.embedding == X, "writing must not take the caller's embedding away"


def test_the_store_knows_what_it_holds_of_each_document(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    assert store.stored(collection, "one") == {}
    first = make_node("a b c", X, document="one", source_hash="h1", total_chunks=2)
    second = make_node("d", X, document="one", source_hash="h1", total_chunks=2)
    fill(store, collection, first, make_node("b", X, document="two"))
    assert list(store.stored(collection, "one")) == [first.node_id]
    assert not is_complete(store.stored(collection, "one"), "h1")
    fill(store, collection, second)
    nodes = store.stored(collection, "one")
    assert {node.tokens for node in nodes.values()} == {3, 1}
    assert is_complete(nodes, "h1")
    assert not is_complete(nodes, "another hash")


def test_foreign_values_in_metadata_break_no_other_document(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    fill(store, collection, make_node("a", X, document="one", source_hash="h1", total_chunks=1))
    for foreign in ("x", None, 2.5, [1], {"of": 2}):
        theirs = make_node("d", X, document=f"{foreign}", source_hash="h1")
        theirs.metadata |= {"total_chunks": foreign, "token_count": foreign}
        fill(store, collection, theirs)
        stored = store.stored(collection, f"{foreign}")
        [odd] = stored.values()
        assert (odd.total_chunks, odd.tokens) == (0, 0)
        assert not is_complete(stored, "h1")
    assert is_complete(store.stored(collection, "one"), "h1")


def test_collections_are_listed_and_dropped(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    fill(store, collection, make_node("one", X))
    store.add("foreign", [make_node("one", X)])
    assert store.foreign() == ["foreign"]
    [info] = store.collections()
    assert (info.name, info.points) == (collection, 1)
    assert info.corpus.startswith("tests")
    store.drop(collection)
    assert store.collections() == []
    assert store.count(collection) == 0
    with pytest.raises(CollectionMissingError, match="has no collection"):
        store.drop(collection)


def test_a_dropped_collection_can_be_filled_again_with_another_model(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    fill(store, collection, make_node("one", X))
    store.drop(collection)
    fill(store, collection, make_node("one", [1.0, 0.0]))
    assert (
        store.search(collection, Query(vector=[1.0, 0.0], text="one", limit=1))[0].similarity == 1.0
    )


def test_asking_where_nothing_was_ingested_names_the_remedy(store: Store, collection: str) -> None:
    with pytest.raises(CollectionMissingError, match="ingest documents first"):
        store.search(collection, Query(vector=X, text="one", limit=1))


def test_vectors_of_another_model_are_refused_before_anything_is_written(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    fill(store, collection, make_node("one", X))
    with pytest.raises(DimensionError, match="length 3, got 2"):
        fill(store, collection, make_node("two", X), make_node("three", [1.0, 0.0]))
    assert store.count(collection) == 1
    with pytest.raises(DimensionError, match="has 2"):
        store.search(collection, Query(vector=[1.0, 0.0], text="one", limit=1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"vector": None, "text": "q", "limit": 1}, "embedding"),
        ({"vector": X, "text": None, "limit": 1}, "text"),
        ({"vector": X, "text": "q", "limit": 0}, "at least 1"),
        ({"vector": X, "text": "q", "limit": 1, "mode": "fuzzy"}, "hybrid, dense or sparse"),
    ],
)
def test_impossible_searches_say_why(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Query(**options)
