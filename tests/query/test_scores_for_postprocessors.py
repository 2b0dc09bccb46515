"""Scores that stock postprocessors understand: from 0 to 1, in our order, the raw ones beside."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.models import Models
from rag_nodes.query import Hit, QueryOptions, RagNodesQueryEngine, RagNodesRetriever
from rag_nodes.store import Store
from rag_nodes.store.fusion import Scores, fuse
from rag_nodes.store.queries import FUSIONS

QUESTION = "What starts the generator when the grid is down?"
BROAD = f"{QUESTION} What moves water?"
WAYS: list[dict[str, Any]] = [
    {"mode": "dense"},
    {"mode": "sparse"},
    *({"mode": "hybrid", "fusion": fusion} for fusion in FUSIONS),
]
scores = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(-1, 1), max_size=8)
words = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0.01, 60), max_size=8)


def hits_of(
    store: Store, collection: str, models: Models, question: str = QUESTION, **options: Any
) -> list[NodeWithScore]:
    retriever = RagNodesRetriever(
        store=store, collection=collection, models=models, options=QueryOptions(**options)
    )
    return retriever.retrieve(question)


def falling(nodes: Sequence[NodeWithScore]) -> bool:
    return all(node.get_score() >= other.get_score() for node, other in pairwise(nodes))


@pytest.mark.parametrize("way", WAYS, ids=lambda way: "-".join(way.values()))
def test_scores_lie_between_0_and_1_in_the_order_of_the_ranking(
    store: Store, collection: str, offline: Models, way: dict[str, Any]
) -> None:
    nodes = hits_of(store, collection, offline, BROAD, top_k=50, **way)
    assert len(nodes) > 2
    assert all(0 <= node.get_score() <= 1 for node in nodes)
    assert falling(nodes)
    assert nodes[0].get_score() > nodes[-1].get_score()


@pytest.mark.parametrize("fusion", FUSIONS)
@given(dense=scores, sparse=words)
def test_every_fusion_has_its_scores_between_0_and_1_in_its_own_order(
    fusion: Any, dense: dict[str, float], sparse: dict[str, float]
) -> None:
    ranking = fuse(Scores(dense, sparse), fusion)
    places = [ranking.share(score) for _, score in ranking.pairs]
    assert all(0 <= place <= 1 for place in places)
    assert places == sorted(places, reverse=True)


@pytest.mark.parametrize("mode", ["dense", "sparse", "hybrid"])
def test_a_cutoff_of_a_stock_postprocessor_drops_what_has_little_to_do_with_the_question(
    store: Store, collection: str, offline: Models, mode: str
) -> None:
    nodes = hits_of(store, collection, offline, top_k=50, mode=mode)
    kept = SimilarityPostprocessor(similarity_cutoff=0.2).postprocess_nodes(nodes)
    assert 0 < len(kept) < len(nodes)
    assert [node.node_id for node in kept] == [node.node_id for node in nodes[: len(kept)]]


def test_a_dense_score_is_the_cosine_and_the_best_words_score_1(
    store: Store, collection: str, offline: Models
) -> None:
    for node in hits_of(store, collection, offline, top_k=50, mode="dense"):
        assert node.score == max(0, node.metadata[keys.RETRIEVAL_SIMILARITY])
    first, second, *_ = hits_of(store, collection, offline, top_k=50, mode="sparse")
    assert first.score == 1
    best = first.metadata[keys.RETRIEVAL_KEYWORD_SCORE]
    assert second.score == pytest.approx(second.metadata[keys.RETRIEVAL_KEYWORD_SCORE] / best)


def test_a_hybrid_score_is_a_mean_of_cosine_and_share_of_the_best_words() -> None:
    dense = {"near": 0.8, "both": 0.6, "words": 0.1, "none": 0.0}
    sparse = {"words": 20.0, "both": 15.0}
    ranking = fuse(Scores(dense, sparse))
    placed = {node: ranking.share(score) for node, score in ranking.pairs}
    assert placed["none"] == pytest.approx(0)
    weight = placed["near"] / dense["near"]
    assert 0 < weight < 1
    for node, place in placed.items():
        share = sparse.get(node, 0.0) / 20
        assert place == pytest.approx(weight * dense[node] + (1 - weight) * share)


def test_chunks_that_are_all_alike_score_as_similar_as_they_are() -> None:
    ranking = fuse(Scores({"a": 0.6, "b": 0.6}, {"a": 2.0, "b": 2.0}))
    assert [ranking.share(score) for _, score in ranking.pairs] == pytest.approx([0.6, 0.6])


def test_raw_scores_are_in_the_metadata_and_neither_embedded_nor_read(
    store: Store, collection: str, offline: Models
) -> None:
    [first, *_] = hits_of(store, collection, offline, mode="hybrid")
    raw = {key for key in first.metadata if key in keys.SCORES}
    assert raw == {
        keys.RETRIEVAL_SIMILARITY,
        keys.RETRIEVAL_KEYWORD_SCORE,
        keys.RETRIEVAL_FUSED_SCORE,
    }
    for mode in (MetadataMode.EMBED, MetadataMode.LLM):
        assert "retrieval_" not in first.node.get_content(mode)


def test_nodes_of_other_parsers_hide_the_scores_too(store: Store, offline: Models) -> None:
    node = TextNode(text="A spare battery starts the generator.", metadata={"kind": "note"})
    node.embedding = offline.embedding.get_text_embedding(node.text)
    store.vector_store("foreign").add([node])
    [only] = hits_of(store, "foreign", offline)
    assert only.node.get_content(MetadataMode.LLM) == f"kind: note\n\n{node.text}"


def test_raw_scores_are_never_stored_back(store: Store, collection: str, offline: Models) -> None:
    [first, *_] = hits_of(store, collection, offline, granularity="chunks")
    node = first.node
    node.embedding = offline.embedding.get_text_embedding(first.text)
    store.vector_store("second").add([node])
    [stored] = store.fetch("second", [node.node_id]).values()
    assert set(stored.metadata) == set(node.metadata) - set(keys.SCORES)
    [again] = store.fetch(collection, [node.node_id]).values()
    assert not set(again.metadata) & set(keys.SCORES)


def test_the_sources_of_a_response_have_the_same_scores(
    store: Store, collection: str, offline: Models
) -> None:
    options = QueryOptions(mode="hybrid")
    engine = RagNodesQueryEngine(
        store=store, collection=collection, models=offline, options=options
    )
    nodes = engine.query(QUESTION).source_nodes
    assert [node.score for node in nodes] == [hit.score for hit in engine.answer(QUESTION).hits]
    assert all(keys.RETRIEVAL_SIMILARITY in node.metadata for node in nodes)


def test_a_stock_engine_with_a_cutoff_works_on_our_retriever(
    store: Store, collection: str, offline: Models
) -> None:
    from llama_index.core.llms import MockLLM

    whole = QueryOptions(granularity="chunks")
    retriever = RagNodesRetriever(store=store, collection=collection, models=offline, options=whole)
    engine = RetrieverQueryEngine(
        retriever,
        response_synthesizer=get_response_synthesizer(llm=MockLLM()),
        node_postprocessors=[SimilarityPostprocessor(similarity_cutoff=0.2)],
    )
    nodes = engine.query(QUESTION).source_nodes
    assert 0 < len(nodes) < len(retriever.retrieve(QUESTION))


def test_a_stock_retriever_gets_hybrid_scores_between_0_and_1_as_well(
    store: Store, collection: str, offline: Models
) -> None:
    index = VectorStoreIndex.from_vector_store(
        store.vector_store(collection), embed_model=offline.embedding
    )
    retriever = index.as_retriever(similarity_top_k=9, vector_store_query_mode="hybrid")
    nodes = retriever.retrieve(QUESTION)
    assert all(0 <= node.get_score() <= 1 for node in nodes)
    assert falling(nodes)


class Logits(BaseNodePostprocessor):
    """As cross-encoders score: any sign, any size."""

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        del query_bundle
        turned = nodes[::-1]
        for place, node in enumerate(turned):
            node.score = 4.0 - 3 * place
        return turned


def test_the_scores_of_a_reranker_are_probabilities_and_its_own_are_kept(
    store: Store, collection: str, offline: Models
) -> None:
    nodes = hits_of(store, collection, offline, top_k=3, mode="hybrid", rerank=Logits())
    assert [node.metadata[keys.RETRIEVAL_RERANK_SCORE] for node in nodes] == [4, 1, -2]
    expected = pytest.approx([0.982, 0.731, 0.119], abs=0.001)
    assert [node.score for node in nodes] == expected


class Scoring(BaseNodePostprocessor):
    """As a model that divides by zero: one of its scores is no number."""

    scores: list[float]

    def _postprocess_nodes(
        self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
    ) -> list[NodeWithScore]:
        del query_bundle
        for node, score in zip(nodes, self.scores, strict=False):
            node.score = score
        return nodes[: len(self.scores)]


@pytest.mark.parametrize("place", range(3))
def test_a_score_that_is_no_number_comes_last_and_changes_no_other(
    store: Store, collection: str, offline: Models, place: int
) -> None:
    scores = [0.9, 0.5]
    scores.insert(place, float("nan"))
    nodes = hits_of(
        store, collection, offline, top_k=3, mode="hybrid", rerank=Scoring(scores=scores)
    )
    assert [node.score for node in nodes] == [0.9, 0.5, 0.0]
    assert keys.RETRIEVAL_RERANK_SCORE not in nodes[2].metadata


def test_the_cutoff_keeps_the_order_of_a_reranker(
    store: Store, collection: str, offline: Models
) -> None:
    def last_first(_: str, hits: Sequence[Hit]) -> Sequence[Hit]:
        return hits[::-1]

    nodes = hits_of(store, collection, offline, top_k=50, rerank=last_first)
    assert falling(nodes)


def test_a_model_that_finds_everything_alike_leaves_the_words_to_decide(store: Store) -> None:
    from rag_nodes.models import Models

    models = Models(
        embedding=MockEmbedding(embed_dim=4),
        llm=None,
        embedding_name="mock",
        answer_name="extractive",
        offline=True,
    )
    nodes = [TextNode(text="A pump turns.", embedding=[0.5] * 4)]
    nodes.append(TextNode(text="The generator starts.", embedding=[0.5] * 4))
    store.vector_store("alike").add(nodes)
    first, second = hits_of(store, "alike", models)
    assert "generator" in first.text
    assert (first.score, second.score) == (1, 0)
