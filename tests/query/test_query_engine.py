import asyncio
import json
from typing import Any

import pytest
from llama_index.core import Document
from plant import scripted_models

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.query import QueryOptions, RagNodesQueryEngine, ask
from rag_nodes.query.prompts import fill
from rag_nodes.store import Store

QUESTION = "What starts the generator?"


def engine(
    store: Store,
    collection: str,
    models: Models,
    *,
    prompt: str | None = None,
    document_ids: list[str] | None = None,
    **options: Any,
) -> RagNodesQueryEngine:
    return RagNodesQueryEngine(
        store=store,
        collection=collection,
        models=models,
        prompt=prompt,
        document_ids=document_ids,
        options=QueryOptions(**options),
    )


def test_an_offline_answer_quotes_the_document_to_the_character(
    store: Store, collection: str, offline: Models, document: Document
) -> None:
    answer = engine(store, collection, offline).answer(QUESTION)
    assert answer.kind == "extract"
    assert answer.answer_model == "extractive"
    first = answer.citations[0]
    assert "battery starts the generator" in first.quote
    assert document.text[first.start : first.end] == first.quote
    assert (first.page, first.page_end) == (2, 2)
    assert (first.file_name, first.source) == ("plant.pdf", "/manuals/plant.pdf")
    assert f"[Source {first.number}]" in answer.text
    assert first.node_id in {hit.node.node_id for hit in answer.sources[first.number - 1].hits}


def test_a_generated_answer_is_traced_back_to_its_sources(store: Store, collection: str) -> None:
    models = scripted_models("  A spare battery does [Source 1 - Page 2], surely [Source 7].  ")
    answer = engine(store, collection, models).answer(QUESTION)
    assert answer.text == "A spare battery does [Source 1 - Page 2], surely [Source 7]."
    assert answer.kind == "generated"
    assert [citation.number for citation in answer.citations] == [1]
    assert answer.citations[0].node_id == answer.hits[0].node.node_id
    assert answer.unknown_sources == (7,)
    assert len(answer.sources) > 1, "sources that are not cited were given, but are no citations"


def test_the_model_reads_numbered_sources_and_the_question(store: Store, collection: str) -> None:
    models = scripted_models("Yes [Source 1].")
    answer = engine(store, collection, models).answer(QUESTION)
    [prompt] = models.llm.prompts
    assert QUESTION in prompt
    for source in answer.sources:
        assert f"[{source.label}]: {source.text}" in prompt
    assert "[Source 1 - Page 2]: " in prompt


def test_a_prompt_of_ones_own_is_used(store: Store, collection: str) -> None:
    models = scripted_models("Yes.")
    engine(store, collection, models, prompt="Q={question} {{}} C={context}").answer("pump {x}?")
    assert models.llm.prompts[0].partition("Q=")[2].startswith("pump {x}? {} C=[Source 1")


def test_a_template_that_cannot_be_filled_says_so() -> None:
    with pytest.raises(ConfigurationError, match="doubled"):
        fill("{context} {question} {other}", [], "q")


def test_the_response_is_what_llama_index_expects(
    store: Store, collection: str, offline: Models
) -> None:
    response = engine(store, collection, offline).query(QUESTION)
    answer = response.metadata["answer"]
    assert response.response == answer["text"]
    read = [(hit["read"] or hit)["node_id"] for hit in answer["hits"]]
    assert [hit.node.node_id for hit in response.source_nodes] == read
    assert json.loads(json.dumps(answer)) == answer


async def test_async_gives_the_same_answers_and_many_at_once(
    store: Store, collection: str, offline: Models
) -> None:
    for models in (offline, scripted_models("Yes [Source 1].")):
        asked = engine(store, collection, models)
        expected = asked.answer(QUESTION)
        answers = await asyncio.gather(*(asked.aanswer(QUESTION) for _ in range(5)))
        assert {answer.text for answer in answers} == {expected.text}
        assert answers[0].citations == expected.citations
        response = await asked.aquery(QUESTION)
        assert response.response == expected.text


def test_a_given_vector_saves_embedding_the_question(
    store: Store, collection: str, offline: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    vector = offline.embedding.get_query_embedding(QUESTION)
    expected = engine(store, collection, offline).answer(QUESTION)
    monkeypatch.setattr(
        type(offline.embedding), "_get_query_embedding", lambda *_: pytest.fail("embedded again")
    )
    answer = engine(store, collection, offline).answer(QUESTION, question_vector=vector)
    assert answer.text == expected.text


def test_top_k_limits_the_chunks_and_the_budget_the_tokens(
    store: Store, collection: str, offline: Models
) -> None:
    def hits(**options: object) -> int:
        asked = engine(store, collection, offline, mode="hybrid", **options)
        return len(asked.answer(QUESTION).hits)

    everything = store.count(collection)
    assert hits(budget=None, top_k=2) == 2
    assert hits(budget=1500, granularity="chunks") == everything
    assert hits(budget=1500, top_k=1) == 1
    whole = {"budget": 20, "granularity": "chunks"}
    tight = engine(store, collection, offline, **whole).answer(QUESTION)
    assert 0 < tight.context_tokens <= 20
    assert tight.context_truncated
    assert len(tight.hits) < everything


def test_a_cutoff_leaves_out_what_is_not_similar(
    store: Store, collection: str, offline: Models
) -> None:
    answer = engine(store, collection, offline, similarity_cutoff=0.99).answer(QUESTION)
    assert answer.hits == ()
    assert answer.kind == "nothing"


def test_no_llm_request_is_made_without_hits(store: Store, collection: str) -> None:
    models = scripted_models("should not be asked")
    answer = engine(store, collection, models, document_ids=["no such document"]).answer(QUESTION)
    assert answer.kind == "nothing"
    assert models.llm.prompts == []


def test_an_offline_answer_admits_that_nothing_answers(
    store: Store, collection: str, offline: Models
) -> None:
    hybrid = engine(store, collection, offline, mode="hybrid")
    answer = hybrid.answer("Quel âge avait Napoléon?")
    assert answer.kind == "nothing"
    assert answer.citations == ()
    assert answer.hits, "what was retrieved is still shown"


def test_ask_is_the_engine_in_one_call(store: Store, collection: str, offline: Models) -> None:
    options = QueryOptions(top_k=1)
    answer = ask(QUESTION, store=store, collection=collection, models=offline, options=options)
    assert len(answer.hits) == 1
