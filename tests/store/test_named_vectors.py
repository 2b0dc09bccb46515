"""Chunks embedded in further ways: named vectors of one collection, asked one at a time."""

from pathlib import Path

import pytest
from llama_index.core.schema import TextNode
from stored_nodes import MakeNode

from rag_nodes.errors import ConfigurationError, DimensionError
from rag_nodes.metadata import NAMED_VECTORS
from rag_nodes.store import Query, Store, open_store

X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


@pytest.fixture
def make(make_node: MakeNode) -> MakeNode:
    """A node with a usual embedding, and a plain one where it is given."""

    def made(text: str, usual: list[float], plain: list[float] | None = None) -> TextNode:
        node = make_node(text, usual, **({NAMED_VECTORS: {"plain": plain}} if plain else {}))
        node.excluded_embed_metadata_keys.append(NAMED_VECTORS)
        return node

    return made


def first(store: Store, collection: str, using: str, vector: list[float]) -> str:
    hits = store.search(
        collection, Query(vector=vector, text=None, limit=9, mode="dense", using=using)
    )
    assert hits[0].similarity == pytest.approx(1.0)
    return hits[0].node.text


def test_a_question_is_asked_by_one_of_the_embeddings(
    store: Store, collection: str, make: MakeNode
) -> None:
    store.add(collection, [make("red", X, Y), make("blue", Y, X)])
    assert first(store, collection, "heading", X) == "red"
    assert first(store, collection, "plain", X) == "blue"
    [hit, _] = store.search(collection, Query(vector=X, text="red", limit=2, using="plain"))
    assert hit.node.metadata[NAMED_VECTORS] == ["plain"], "vectors are no metadata"


def test_an_embedding_can_be_added_to_what_is_stored(
    store: Store, collection: str, make: MakeNode
) -> None:
    store.add(collection, [make("red", X), make("blue", Y)])
    with pytest.raises(ConfigurationError, match=r"no vectors 'plain'.*--vector plain"):
        store.search(collection, Query(vector=X, text="red", limit=2, using="plain"))
    store.add(collection, [make("red", X, Y)])
    assert first(store, collection, "plain", Y) == "red"
    assert first(store, collection, "heading", Y) == "blue"
    assert store.count(collection) == 2


def test_a_chunk_without_that_embedding_is_found_by_its_words(
    store: Store, collection: str, make: MakeNode
) -> None:
    store.add(collection, [make("red zebra", X), make("blue lion", Y, X)])
    hits = store.search(collection, Query(vector=X, text="zebra", limit=9, using="plain"))
    assert {hit.node.text: hit.similarity for hit in hits} == {"red zebra": None, "blue lion": 1.0}


def test_an_embedding_of_another_length_is_refused(
    store: Store, collection: str, make: MakeNode
) -> None:
    store.add(collection, [make("red", X, Y)])
    with pytest.raises(DimensionError):
        store.search(collection, Query(vector=[1.0], text="red", limit=1, using="plain"))
    with pytest.raises(ConfigurationError, match="unknown vector 'flat'; choose heading, plain"):
        store.search(collection, Query(vector=X, text="red", limit=1, using="flat"))


def test_what_nodes_were_embedded_as_is_known_of_each_embedding(
    store: Store, collection: str, make: MakeNode
) -> None:
    node = make("red", X, Y)
    node.metadata["Heading"] = "Colours"
    store.add(collection, [node, make("blue", Y)])
    assert store.vectors(collection, [node.node_id]) == {
        node.node_id: ("Heading: Colours\n\nred", X)
    }
    ids = list(store.stored(collection, "doc-1"))
    assert store.vectors(collection, ids, "plain") == {node.node_id: ("red", Y)}


def test_one_that_was_made_and_never_noted_does_no_harm(
    tmp_path: Path, collection: str, make: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rag_nodes.store.edge import folder

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with open_store(tmp_path) as store:
        store.add(collection, [make("red", X)])
        with monkeypatch.context() as patched:
            patched.setattr(folder, "describe", killed)
            with pytest.raises(KeyboardInterrupt):
                store.add(collection, [make("red", X, Y)])
    with open_store(tmp_path) as store:
        assert first(store, collection, "heading", X) == "red"
        store.add(collection, [make("red", X, Y)])
        assert first(store, collection, "plain", Y) == "red"


def test_collections_in_memory_that_share_a_shard_have_embeddings_of_their_own(
    make: MakeNode,
) -> None:
    with open_store() as one, open_store() as other:
        one.add("c", [make("red", X)])
        other.add("c", [make("blue", X)])
        one.add("c", [make("red", X, Y)])
        with pytest.raises(ConfigurationError, match="no vectors 'plain'"):
            other.search("c", Query(vector=X, text="blue", limit=1, using="plain"))
        other.add("c", [make("blue", X, Y)])
        assert (first(one, "c", "plain", Y), first(other, "c", "plain", Y)) == ("red", "blue")
