"""A large collection has an index of each key that a filter has named, and of few others."""

from pathlib import Path

import pytest
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
)
from stored_nodes import MakeNode

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError, StoreFullError
from rag_nodes.store import Filter, Query, Store, open_store
from rag_nodes.store.conditions import DOCUMENT_ID, INDEXES, keys_of
from rag_nodes.store.edge import collection as collections_
from rag_nodes.store.edge import shards
from rag_nodes.store.edge.collection import USUAL
from rag_nodes.store.vector_store import RagNodesVectorStore

X = [1.0, 0.0, 0.0]
PAGES = Filter(pages=(1, 2))
OF_PAGES = {keys.PAGE_START, keys.PAGE_END}
EVERYTHING = Filter(
    file_name="a.md",
    source="a.md",
    pages=(1, 2),
    heading="a",
    heading_path=tuple("abcdef"),
    document_ids=["d"],
)


@pytest.fixture(autouse=True)
def _four_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collections_, "INDEXED", 4)


def index_keys(store: Store) -> set[str]:
    return set(store.engine.collection("c").shard.info().payload_schema) - {"_collection"}


def page_node(make_node: MakeNode, number: int) -> TextNode:
    return make_node(f"{number}", X, **{keys.PAGE_START: number, keys.PAGE_END: number})


@pytest.mark.parametrize("in_memory", [False, True])
def test_few_keys_are_indexed_while_it_is_written_and_others_from_their_first_filter_on(
    in_memory: bool, tmp_path: Path, make_node: MakeNode
) -> None:
    with open_store(":memory:" if in_memory else tmp_path) as store:
        store.add("c", [page_node(make_node, number) for number in range(3)])
        assert len(store.search("c", Query(vector=X, text="", limit=9, filter=PAGES))) == 2
        assert not index_keys(store)
        store.add("c", [page_node(make_node, 3)])
        assert index_keys(store) == USUAL.keys()
        assert len(store.search("c", Query(vector=X, text="", limit=9, filter=PAGES))) == 2
        assert index_keys(store) == USUAL.keys() | OF_PAGES


def test_an_index_outlives_the_process_and_has_what_is_written_afterwards(
    tmp_path: Path, make_node: MakeNode
) -> None:
    with open_store(tmp_path) as store:
        store.add("c", [page_node(make_node, number) for number in range(5, 10)])
    with open_store(tmp_path) as store:
        assert not store.search("c", Query(vector=X, text="", limit=9, filter=PAGES))
    with open_store(tmp_path) as store:
        store.add("c", [page_node(make_node, 1)])
        assert index_keys(store) == USUAL.keys() | OF_PAGES
        assert len(store.search("c", Query(vector=X, text="", limit=9, filter=PAGES))) == 1


def test_filters_of_llamaindex_have_indexes_where_whole_texts_are_compared(
    make_node: MakeNode,
) -> None:
    asked = MetadataFilters(
        condition=FilterCondition.OR,
        filters=[
            MetadataFilter(key="team", value="blue"),
            MetadataFilter(key="size", value=7),
            MetadataFilter(key="day", value="2025-01-01", operator=FilterOperator.GT),
            MetadataFilter(key=keys.PAGE_START, value=1, operator=FilterOperator.GT),
            MetadataFilters(
                filters=[MetadataFilter(key="of", value=["a", "b"], operator=FilterOperator.IN)]
            ),
        ],
    )
    chunks = RagNodesVectorStore(collection="c")
    nodes = [make_node(f"{n}", X, team="blue" if n % 2 else 7, size=n) for n in range(8)]
    chunks.add(nodes)
    result = chunks.query(VectorStoreQuery(X, filters=asked, similarity_top_k=9))
    assert index_keys(chunks.client) == USUAL.keys() | {"team", "of", keys.PAGE_START}
    assert set(result.ids or ()) == {nodes[n].node_id for n in (1, 3, 5, 7)}
    seven = MetadataFilters(filters=[MetadataFilter(key="team", value=7)])
    assert {node.node_id for node in chunks.get_nodes(filters=seven)} == {
        nodes[n].node_id for n in (0, 2, 4, 6)
    }
    chunks.close()


@pytest.mark.parametrize("key", ["v", keys.FILE_NAME, keys.SOURCE, keys.BREADCRUMB])
def test_filters_of_llamaindex_find_the_same_whatever_was_asked_before(
    key: str, tmp_path: Path, make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = [1, 1.5, 2, -3, 0.0, "a", "b", "1", "2025-01-01", "2025-06-01T10:00:00Z"]
    others: list[object] = [["a", "b"], [1, 2.5], ["2024-01-01", "a"], True, False, [], None]
    nodes = [make_node(f"{n}", X, **{key: value}) for n, value in enumerate([*values, *others])]
    nodes.append(make_node("none", X))
    asked = [
        MetadataFilter(key=key, value=value, operator=operator)
        for operator in FilterOperator
        for value in [*values, ["a", "b"], ["2025-01-01"], [1, 2]]
    ]
    asked.append(MetadataFilter(key="no path", value="a"))
    plain, large = RagNodesVectorStore(collection="c"), RagNodesVectorStore(tmp_path, "c")
    large.add(nodes)
    large.get_nodes(filters=MetadataFilters(filters=[MetadataFilter(key=key, value="a")]))
    assert key in index_keys(large.client)
    monkeypatch.setattr(collections_, "INDEXED", 10**9)
    plain.add(nodes)
    for condition in asked:
        outcomes = []
        for store in (plain, large):
            try:
                hits = store.get_nodes(filters=MetadataFilters(filters=[condition]))
                outcomes.append({node.node_id for node in hits})
            except ConfigurationError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1], condition
    # Without an index of headings parts of words would be found.
    assert (key in index_keys(plain.client)) == (key == keys.BREADCRUMB)
    plain.close()
    large.close()


def test_a_disk_without_room_for_an_index_answers_by_a_look_at_every_chunk(
    tmp_path: Path, make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise StoreFullError("full")

    with open_store(tmp_path) as store:
        store.add("c", [page_node(make_node, number) for number in range(3)])
        with monkeypatch.context() as disk:
            disk.setattr(shards, "check_space", full)
            disk.setattr(collections_, "INDEXED", 3)
            assert len(store.stored("c", "doc-1")) == 3
            assert len(store.search("c", Query(vector=X, text="", limit=9, filter=PAGES))) == 2
            with pytest.raises(StoreFullError):
                # Without one, parts of words would be found.
                store.search("c", Query(vector=X, text="", limit=9, filter=Filter(heading="a")))
            assert not index_keys(store)
        assert len(store.stored("c", "doc-1")) == 3
        assert len(store.search("c", Query(vector=X, text="", limit=9, filter=PAGES))) == 2
        assert index_keys(store) == {DOCUMENT_ID, *OF_PAGES}


def test_every_key_that_a_filter_may_name_has_a_kind_of_index() -> None:
    assert keys_of(EVERYTHING.conditions()) == INDEXES
    assert not keys_of(Filter().conditions())
