"""Filters, rerankers and expansion on a real embedded store, through the retriever and engine."""

import json
from collections.abc import Sequence
from typing import Any

from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.postprocessor import SimilarityPostprocessor
from llama_index.core.postprocessor.types import BaseNodePostprocessor
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle
from plant import scripted_models

from rag_nodes.models import Models
from rag_nodes.parsers import as_parser
from rag_nodes.query import Hit, QueryOptions, RagNodesQueryEngine, RagNodesRetriever
from rag_nodes.store import Store
from rag_nodes.text.tokens import count_tokens

QUESTION = "What starts the generator?"


def retriever(store: Store, collection: str, models: Models, **options: Any) -> RagNodesRetriever:
    return RagNodesRetriever(
        store=store, collection=collection, models=models, options=QueryOptions(**options)
    )


def hits(store: Store, collection: str, models: Models, **options: Any) -> list[Hit]:
    searching = retriever(store, collection, models, **options)
    return searching.hits(QUESTION, searching.question_vector(QUESTION).vector)


def test_a_collection_is_named_by_the_splitter_that_made_it(store: Store, offline: Models) -> None:
    splitter = SentenceSplitter(chunk_size=64, chunk_overlap=0)
    by_splitter = RagNodesRetriever(store=store, parser=splitter, models=offline)
    by_parser = RagNodesRetriever(store=store, parser=as_parser(splitter), models=offline)
    assert by_splitter.collection == by_parser.collection


def test_a_reranker_decides_the_order_and_sees_more_than_is_shown(
    store: Store, collection: str, offline: Models
) -> None:
    seen: list[int] = []

    def last_first(question: str, candidates: Sequence[Hit]) -> Sequence[Hit]:
        assert question == QUESTION
        seen.append(len(candidates))
        return candidates[::-1]

    plain = hits(store, collection, offline, top_k=50, mode="hybrid")
    turned = hits(store, collection, offline, top_k=2, mode="hybrid", rerank=last_first)
    assert seen == [len(plain)] != [2]
    assert [hit.node.node_id for hit in turned] == [hit.node.node_id for hit in plain[:-3:-1]]
    assert [hit.rank for hit in turned] == [1, 2]


def test_a_llama_index_postprocessor_is_a_reranker(
    store: Store, collection: str, offline: Models
) -> None:
    class Longest(BaseNodePostprocessor):
        def _postprocess_nodes(
            self, nodes: list[NodeWithScore], query_bundle: QueryBundle | None = None
        ) -> list[NodeWithScore]:
            assert query_bundle is not None
            for node in nodes:
                node.score = float(len(node.node.get_content()))
            return sorted(nodes, key=lambda node: -(node.score or 0))

    ranked = hits(store, collection, offline, top_k=3, rerank=Longest())
    lengths = [len(hit.node.text) for hit in ranked]
    assert lengths == sorted(lengths, reverse=True)
    assert [hit.rerank_score for hit in ranked] == lengths
    nothing = SimilarityPostprocessor(similarity_cutoff=1.1)
    assert hits(store, collection, offline, rerank=nothing) == []


def test_neighbours_come_behind_the_hit_they_stand_next_to(
    store: Store, collection: str, offline: Models, document: Document
) -> None:
    [alone] = hits(store, collection, offline, top_k=1)
    widened = hits(store, collection, offline, top_k=1, expand="neighbours")
    assert widened[0].node.node_id == alone.node.node_id
    assert [hit.rank for hit in widened] == list(range(1, len(widened) + 1))
    assert [hit.origin for hit in widened] == ["search"] + ["neighbour"] * (len(widened) - 1)
    around = {hit.node.node_id for hit in widened[1:]}
    relations = alone.node.relationships
    assert around == {
        relations[relation].node_id
        for relation in (NodeRelationship.PREVIOUS, NodeRelationship.NEXT)
        if relation in relations
    }
    for hit in widened:
        node = hit.node
        assert document.text[node.start_char_idx : node.end_char_idx] == node.text


def test_a_neighbour_that_was_found_itself_is_there_once_as_found(
    store: Store, collection: str, offline: Models
) -> None:
    widened = hits(store, collection, offline, top_k=50, expand="neighbours", mode="hybrid")
    ids = [hit.node.node_id for hit in widened]
    assert len(ids) == len(set(ids)) == store.count(collection)
    assert {hit.origin for hit in widened} == {"search"}


def test_chunks_of_our_store_fit_the_budget_too(
    store: Store, collection: str, offline: Models, document: Document
) -> None:
    every = retriever(store, collection, offline, top_k=50, mode="hybrid").retrieve(QUESTION)
    chosen = retriever(
        store, collection, offline, budget=30, granularity="chunks", mode="hybrid"
    ).retrieve(QUESTION)
    assert len(chosen) < len(every)
    texts = [each.node.get_content() for each in chosen]
    assert sum(map(count_tokens, texts)) <= 30
    *whole, last = texts
    full = [each.node.get_content() for each in every]
    assert whole == full[: len(whole)]
    assert full[len(whole)].startswith(last)
    node: Any = chosen[-1].node
    assert document.text[node.start_char_idx : node.end_char_idx] == last


def test_retrieval_only_shows_what_would_be_read(store: Store, collection: str) -> None:
    models = scripted_models("should not be asked")
    engine = RagNodesQueryEngine(
        store=store,
        collection=collection,
        models=models,
        options=QueryOptions(retrieval_only=True),
    )
    answer = engine.answer(QUESTION)
    assert (answer.kind, answer.text, answer.citations) == ("retrieval", "", ())
    assert answer.sources
    assert models.llm.prompts == []
    assert [type(event).__name__ for event in engine.stream(QUESTION)] == ["Retrieved", "Finished"]
    assert json.dumps(answer.as_dict())
