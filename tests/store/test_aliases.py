"""Another name for a collection, so that a new one takes its place from one moment to the next."""

from contextlib import closing
from pathlib import Path

import pytest
from llama_index.core.vector_stores.types import VectorStoreQuery
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from stored_nodes import MakeNode

from rag_nodes.errors import CollectionMissingError, ConfigurationError, StoreDamagedError
from rag_nodes.store import Filter, Query, Store, open_store
from rag_nodes.store.engine import DENSE

X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
ALIAS = "docs-of-tests"


@pytest.fixture
def newer(collection: str) -> str:
    return collection.replace(".FakeParser.", ".NewParser.")


@pytest.fixture
def filled(store: Store, collection: str, newer: str, make_node: MakeNode) -> Store:
    store.add(collection, [make_node("old zebra", X)])
    store.add(newer, [make_node("new zebra", X), make_node("new lion", Y)])
    store.point_alias(ALIAS, collection)
    return store


def found(store: Store, name: str = ALIAS) -> list[str]:
    scope = Filter(document_ids=["doc-1"])
    hits = store.search(name, Query(vector=X, text="zebra", limit=5, filter=scope))
    return [hit.node.text for hit in hits]


def test_all_that_reads_takes_an_alias(filled: Store, collection: str, make_node: MakeNode) -> None:
    node = make_node("old zebra", X).node_id
    assert filled.aliases()[ALIAS] == collection
    assert found(filled) == ["old zebra"]
    assert filled.count(ALIAS) == 1
    assert filled.fetch(ALIAS, [node])[node].text == "old zebra"
    assert filled.stored(ALIAS, "doc-1").keys() == {node}
    vectors = filled.vector_store(ALIAS)
    answer = vectors.query(VectorStoreQuery(query_embedding=X, similarity_top_k=1))
    assert [one.get_content() for one in answer.nodes or ()] == ["old zebra"]


def test_a_switch_is_seen_at_once_by_whoever_asks_by_the_alias(filled: Store, newer: str) -> None:
    vectors = filled.vector_store(ALIAS)
    asked = VectorStoreQuery(query_embedding=X, similarity_top_k=1)
    assert vectors.query(asked).ids == list(filled.stored(ALIAS, "doc-1"))
    filled.point_alias(ALIAS, newer)
    assert found(filled) == ["new zebra", "new lion"]
    assert [node.get_content() for node in vectors.query(asked).nodes or ()] == ["new zebra"]
    assert filled.aliases()[ALIAS] == newer


def test_a_stock_vector_store_of_llama_index_reads_what_an_alias_means(
    server_url: str, collection: str, newer: str, make_node: MakeNode
) -> None:
    asked = VectorStoreQuery(query_embedding=X, similarity_top_k=1)
    stock_client = closing(QdrantClient(server_url, check_compatibility=False))
    with open_store(server_url) as store, stock_client as client:
        store.add(collection, [make_node("old zebra", X)])
        store.add(newer, [make_node("new zebra", X)])
        store.point_alias(ALIAS, collection)
        stock = QdrantVectorStore(ALIAS, client=client, dense_vector_name=DENSE)
        assert [one.get_content() for one in stock.query(asked).nodes or ()] == ["old zebra"]
        store.point_alias(ALIAS, newer)
        assert [one.get_content() for one in stock.query(asked).nodes or ()] == ["new zebra"]


def test_an_alias_may_come_to_mean_embeddings_of_another_length(
    filled: Store, collection: str, make_node: MakeNode
) -> None:
    other = collection.replace(".fake-3.", ".fake-2.")
    assert found(filled) == ["old zebra"]
    filled.add(other, [make_node("short zebra", [1.0, 0.0])])
    filled.point_alias(ALIAS, other)
    [hit] = filled.search(ALIAS, Query(vector=[1.0, 0.0], text="zebra", limit=5))
    assert hit.node.text == "short zebra"


def test_what_is_written_to_an_alias_is_in_what_it_means(
    filled: Store, collection: str, make_node: MakeNode
) -> None:
    filled.add(ALIAS, [make_node("old lion", Y)])
    assert filled.count(collection) == 2
    filled.delete(ALIAS, [make_node("old zebra", X).node_id])
    assert found(filled, collection) == ["old lion"]
    assert ALIAS not in {info.name for info in filled.collections()}


def test_an_alias_goes_alone_and_with_its_collection(
    filled: Store, collection: str, newer: str
) -> None:
    filled.point_alias(ALIAS, None)
    assert ALIAS not in filled.aliases()
    assert filled.count(collection) == 1
    with pytest.raises(CollectionMissingError, match=ALIAS):
        filled.point_alias(ALIAS, None)
    with pytest.raises(CollectionMissingError, match=ALIAS):
        found(filled)
    filled.point_alias(ALIAS, newer)
    with pytest.raises(CollectionMissingError, match=ALIAS):
        filled.drop(ALIAS)
    filled.drop(newer)
    assert ALIAS not in filled.aliases()


def test_an_alias_has_a_name_of_its_own_and_means_what_is_there(
    filled: Store, collection: str, newer: str
) -> None:
    for name in ("", "a/b", "x" * 101, newer, "two words"):
        with pytest.raises(ConfigurationError):
            filled.point_alias(name, collection)
    for target in ("not-there", ALIAS):
        with pytest.raises(CollectionMissingError, match=target):
            filled.point_alias("other", target)
    assert filled.aliases()[ALIAS] == collection


def test_a_folder_keeps_its_aliases_and_a_switch_that_was_interrupted_never_happened(
    tmp_path: Path, collection: str, make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(tmp_path) as store:
        store.add(collection, [make_node("old zebra", X)])
        store.point_alias(ALIAS, collection)

        def killed(_: int) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr("rag_nodes.store.edge.folder.os.fsync", killed)
            with pytest.raises(KeyboardInterrupt):
                store.point_alias("other", collection)
        assert store.aliases() == {ALIAS: collection}
    with open_store(tmp_path) as store:
        assert store.aliases() == {ALIAS: collection}
        assert found(store) == ["old zebra"]
    (tmp_path / "aliases.json").write_text("[")
    with pytest.raises(StoreDamagedError, match=r"aliases\.json"):
        open_store(tmp_path)
