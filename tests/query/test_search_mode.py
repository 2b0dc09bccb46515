"""By words alone, by an embedding or by both, where the caller leaves it open."""

from typing import Any

import pytest
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import TextNode
from plant import QUESTION, offline_models
from store import qdrant_server

from rag_nodes.models import Models
from rag_nodes.query import QueryOptions, RagNodesRetriever, ask
from rag_nodes.store import Store, open_store

NEURAL = Models.of(embed_model=MockEmbedding(embed_dim=4), llm="extractive")


@pytest.mark.parametrize(
    ("by_meaning", "options", "mode"),
    [
        (False, {}, "sparse"),
        (True, {}, "hybrid"),
        (False, {"similarity_cutoff": 0.0}, "hybrid"),
        (False, {"mode": "dense"}, "dense"),
        (True, {"mode": "sparse"}, "sparse"),
        (False, {"mode": "sparse", "similarity_cutoff": 0.2}, "sparse"),
    ],
)
def test_words_alone_unless_meaning_is_embedded_or_asked_for(
    store: Store, offline: Models, by_meaning: bool, options: dict[str, Any], mode: str
) -> None:
    retriever = RagNodesRetriever(
        store=store,
        collection="none",
        models=NEURAL if by_meaning else offline,
        options=QueryOptions(**options),
    )
    assert retriever.mode == mode


def test_an_answer_says_how_was_searched_and_embeds_nothing_without_need(
    store: Store, collection: str, offline: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        type(offline.embedding), "_get_query_embedding", lambda *_: pytest.fail("embedded")
    )
    answer = ask(QUESTION, store=store, collection=collection, models=offline)
    assert answer.as_dict()["mode"] == answer.mode == "sparse"
    assert answer.hits[0].similarity is None


def test_the_check_for_indexed_words_is_a_single_request() -> None:
    with qdrant_server.serve() as double, open_store(double.url) as served:
        served.add("words", [TextNode(text="The pump is red.", embedding=[0.0, 1.0])])
        double.requests.clear()
        retriever = RagNodesRetriever(store=served, collection="words", models=offline_models())
        assert retriever.retrieve("Which pump?")
        asked = [
            request for request in double.requests if request.startswith("GET /collections/words")
        ]
        assert len(asked) <= 1
