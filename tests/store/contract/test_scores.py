"""Scores of every store are those that Qdrant's own client gives: the oracle."""

import tempfile
from collections.abc import Sequence
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llama_index.core.schema import TextNode
from memory_clients import memory_client
from qdrant_client.http import models as rest
from stored_nodes import MakeNode

from rag_nodes.core.metadata import FILE_NAME
from rag_nodes.store import Query, SearchMode, Store, open_store
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.engine import DENSE, SPARSE

TEXTS = ("the red fox runs", "a red house", "the fox, the fox and the hound", "nothing of it", "—")
QUESTION = "which red fox"
VECTOR = [0.3, -0.4, 0.8]


@pytest.fixture
def nodes(make_node: MakeNode) -> list[TextNode]:
    return [make_node(text, [1.0, n - 2.0, n * 0.5]) for n, text in enumerate(TEXTS)]


def by_client(nodes: Sequence[TextNode], vector: Any, name: str) -> dict[str, float]:
    """What qdrant-client's local mode says, which no code of ours has a part in."""
    client = memory_client()
    size = len(nodes[0].get_embedding())
    client.create_collection(
        "c",
        vectors_config={DENSE: rest.VectorParams(size=size, distance=rest.Distance.COSINE)},
        sparse_vectors_config={SPARSE: rest.SparseVectorParams(modifier=rest.Modifier.IDF)},
    )
    words = zip(*document_vectors(node.text for node in nodes), strict=True)
    points = [
        rest.PointStruct(
            id=node.node_id,
            vector={
                DENSE: node.get_embedding(),
                SPARSE: rest.SparseVector(indices=indices, values=values),
            },
        )
        for node, (indices, values) in zip(nodes, words, strict=True)
    ]
    client.upsert("c", points)
    response = client.query_points("c", query=vector, using=name, limit=100)
    client.close()
    return {str(point.id): point.score for point in response.points}


def test_scores_of_a_store_are_those_of_qdrant(
    store: Store, collection: str, nodes: list[TextNode]
) -> None:
    store.add(collection, nodes)
    hits = store.search(collection, Query(vector=VECTOR, text=QUESTION, limit=100))
    similar = {hit.node.node_id: hit.similarity for hit in hits}
    assert similar == pytest.approx(by_client(nodes, VECTOR, DENSE), abs=1e-6)
    (numbers,), (values,) = query_vectors([QUESTION])
    words = rest.SparseVector(indices=numbers, values=values)
    # A text without any word is no document to the embedded engine, so there are four of them.
    is_embedded = store.location != "a dictionary" and "://" not in store.location
    expected = by_client(nodes[:-1] if is_embedded else nodes, words, SPARSE)
    scores = {hit.node.node_id: hit.keyword_score for hit in hits if hit.keyword_score}
    assert scores == pytest.approx(expected, abs=1e-5)


def test_the_next_search_sees_written_and_deleted_chunks(
    store: Store, collection: str, nodes: list[TextNode], make_node: MakeNode
) -> None:
    store.add(collection, nodes)

    def texts() -> set[str]:
        hits = store.search(collection, Query(vector=VECTOR, text="fox", limit=100))
        return {hit.node.text for hit in hits}

    assert texts() == set(TEXTS)
    added = make_node("a late fox", [1.0, 0.0, 0.0], document="doc-2")
    store.add(collection, [added])
    assert texts() == {*TEXTS, "a late fox"}
    store.delete(collection, [])
    store.delete(collection, [node.node_id for node in nodes])
    assert texts() == {"a late fox"}


def test_a_question_of_unknown_words_or_no_direction_scores_nothing(
    store: Store, collection: str, nodes: list[TextNode]
) -> None:
    store.add(collection, nodes)
    for text in ("zebra", "?!"):
        hits = store.search(collection, Query(vector=[0.0, 0.0, 0.0], text=text, limit=100))
        assert {(hit.similarity, hit.keyword_score) for hit in hits} == {(0.0, 0.0)}
        assert store.search(collection, Query(vector=None, text=text, limit=1, mode="sparse")) == []


def test_breadcrumbs_are_embedded_but_stay_out_of_bm25(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    node = make_node("grass is green", [1.0, 0.0], Heading="Zebra > Food")
    assert node.get_content(metadata_mode="embed").startswith("Heading: Zebra > Food")  # type: ignore[arg-type]
    store.add(collection, [node])
    for text, count in (("grass", 1), ("zebra food heading", 0)):
        hits = store.search(collection, Query(vector=None, text=text, limit=1, mode="sparse"))
        assert len(hits) == count


NUMBERS = st.floats(-50, 50, width=32).filter(lambda number: abs(number) > 1e-3 or number == 0)
VECTORS = st.lists(NUMBERS, min_size=3, max_size=3)


@settings(max_examples=4)
@given(vectors=st.lists(VECTORS, min_size=1, max_size=8), question=VECTORS.filter(any))
def test_vectors_of_any_length_score_as_by_qdrant_fresh_and_reopened(
    vectors: list[list[float]], question: list[float]
) -> None:
    nodes = [TextNode(text=f"number {n}", embedding=vector) for n, vector in enumerate(vectors)]
    expected = by_client(nodes, question, DENSE)
    with tempfile.TemporaryDirectory() as folder:
        for opened in ("fresh", "reopened"):
            with open_store(folder) as store:
                if opened == "fresh":
                    store.vector_store("any").add(list(nodes))
                hits = store.search(
                    "any", Query(vector=question, text=None, limit=99, mode="dense")
                )
                similarities = {hit.node.node_id: hit.similarity for hit in hits}
            assert similarities == pytest.approx(expected, abs=1e-5), opened


@pytest.mark.parametrize("mode", ["sparse", "dense", "hybrid"])
def test_equal_scores_come_in_the_order_of_reading_whatever_their_ids(
    store: Store, collection: str, mode: SearchMode
) -> None:
    places = [(file, start) for file in ("a.md", "b.md") for start in range(0, 200, 10)]
    nodes = [
        TextNode(
            id_=str(UUID(int=len(places) - n)),
            text="the red fox runs",
            embedding=VECTOR,
            start_char_idx=start,
            metadata={FILE_NAME: file},
        )
        for n, (file, start) in enumerate(places)
    ]
    store.add(collection, [nodes[n % 40] for n in range(7, 47)])
    hits = store.search(collection, Query(vector=VECTOR, text=QUESTION, limit=12, mode=mode))
    order = [(hit.node.metadata[FILE_NAME], hit.node.start_char_idx) for hit in hits]
    assert order == places[:12]
