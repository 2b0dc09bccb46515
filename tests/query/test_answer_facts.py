"""What an answer says about its making: tokens, cost, cache, widening, and what did not fit."""

import asyncio
import json
from typing import Any

import pytest
from llama_index.core import Document
from plant import scripted_models

from rag_nodes.core.errors import ConfigurationError, ModelConnectionError
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions, QuestionVectors, RagNodesQueryEngine
from rag_nodes.query.options import asks_for_steps
from rag_nodes.query.prompts import fill
from rag_nodes.store import Store
from rag_nodes.text.tokens import count_tokens

QUESTION = "What starts the generator?"


def answering(**options: Any) -> Models:
    return scripted_models("A battery [Source 1].", longest_answer=100, **options)


def engine(store: Store, collection: str, models: Models, **options: Any) -> RagNodesQueryEngine:
    return RagNodesQueryEngine(
        store=store, collection=collection, models=models, options=QueryOptions(**options)
    )


def test_tokens_are_the_servers_where_it_says_them_and_counted_where_not(
    store: Store, collection: str
) -> None:
    llm = answering(facts={"prompt_tokens": 1000, "completion_tokens": 500})
    answer = engine(store, collection, llm, prices={"scripted-1": (2.0, 8.0)}).answer(QUESTION)
    assert (answer.tokens_in, answer.tokens_out, answer.tokens_estimated) == (1000, 500, False)
    assert answer.cost == pytest.approx(0.006)
    silent = answering()
    answer = engine(store, collection, silent, prices={"scripted-1": (2.0, 8.0)}).answer(QUESTION)
    assert answer.tokens_in == count_tokens(silent.llm.prompts[0])
    assert answer.tokens_out == count_tokens("A battery [Source 1].")
    assert answer.tokens_estimated
    assert answer.cost == pytest.approx((answer.tokens_in * 2 + answer.tokens_out * 8) / 1e6)


def test_a_cost_is_none_where_the_price_is_unknown_and_0_where_nobody_was_asked(
    store: Store, collection: str, offline: Models
) -> None:
    assert engine(store, collection, answering()).answer(QUESTION).cost is None
    free = engine(store, collection, offline).answer(QUESTION)
    assert (free.cost, free.tokens_in, free.tokens_out) == (0.0, 0, 0)
    assert json.loads(json.dumps(free.as_dict()))["cost"] == 0.0


def test_a_question_asked_again_is_not_embedded_again(
    store: Store, collection: str, offline: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = engine(store, collection, offline, mode="hybrid")
    assert not asked.answer(QUESTION).cached
    monkeypatch.setattr(
        type(offline.embedding), "_get_query_embedding", lambda *_: pytest.fail("embedded again")
    )
    assert asked.answer(QUESTION).cached
    assert asyncio.run(asked.aanswer(QUESTION)).cached


def test_the_cache_forgets_by_time_and_by_number(offline: Models) -> None:
    now = [0.0]
    vectors = QuestionVectors(ttl_hours=24, size=2, clock=lambda: now[0])
    assert not vectors.get(offline, "one").cached
    now[0] = 24 * 3600 - 1
    assert vectors.get(offline, "one").cached
    now[0] += 1
    assert not vectors.get(offline, "one").cached, "a day old"
    vectors.get(offline, "two")
    vectors.get(offline, "one")
    vectors.get(offline, "three")
    assert vectors.get(offline, "one").cached, "used more recently than two"
    assert not vectors.get(offline, "two").cached
    never = QuestionVectors(ttl_hours=0)
    assert not any(never.get(offline, "one").cached for _ in range(2))


async def test_an_embedding_that_fails_is_one_of_our_errors_and_not_remembered(
    offline: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = QuestionVectors()

    def fail(*_: object) -> list[float]:
        raise ConnectionError("nobody there")

    with monkeypatch.context() as patched:
        for name in ("_get_query_embedding", "_aget_query_embedding"):
            patched.setattr(type(offline.embedding), name, fail)
        with pytest.raises(ModelConnectionError, match="lexical"):
            vectors.get(offline, "one")
        with pytest.raises(ModelConnectionError, match="lexical"):
            await vectors.aget(offline, "one")
    assert not vectors.get(offline, "one").cached


def test_the_cache_keeps_models_apart(offline: Models) -> None:
    vectors = QuestionVectors()
    vectors.get(offline, "one")
    other = Models(offline.embedding, None, "another-model", "extractive", offline=True)
    assert not vectors.get(other, "one").cached


def test_the_words_that_ask_for_steps_can_be_chosen() -> None:
    assert asks_for_steps("Die Reihenfolge?", ["reihenfolge"])
    assert asks_for_steps("Give me a check list", ["check list"])
    assert not asks_for_steps("How do I start?", ())
    assert not asks_for_steps("How do I start?", ("", "…", "^"))
    assert asks_for_steps("How?", ["how"]), "a word of one's own counts anywhere"


def test_a_question_for_steps_gets_more_and_the_answer_says_so(
    store: Store, collection: str, offline: Models
) -> None:
    def ask(question: str, **options: Any) -> Any:
        return engine(store, collection, offline, **options).answer(question)

    plain, steps = "pump water generator", "How do I pump water to the generator?"
    assert not ask(plain, budget=40).widened
    wide = ask(steps, budget=40)
    assert wide.widened
    assert wide.budget == 80
    assert wide.widening == "budget 80 instead of 40: asks for steps"
    assert ask(plain, budget=40).widening == ""
    assert not ask(steps, budget=40, step_factor=1.0).widened
    assert 40 < wide.context_tokens <= 80
    counted = ask(steps, budget=None, top_k=1)
    assert len(counted.hits) == 2
    assert counted.widening == "2 chunks instead of 1: asks for steps"
    assert len(ask(steps, budget=None, top_k=1, step_factor=3.0).hits) == 3
    assert len(ask(steps, budget=None, top_k=1, step_words=()).hits) == 1


@pytest.fixture
def long_collection(store: Store, offline: Models) -> str:
    """Forty different paragraphs about the generator."""
    text = "\n\n".join(
        f"Generator {n} is started by battery {n}. "
        + "".join(f"It makes power for hall {n} on floor {floor}. " for floor in range(9))
        for n in range(40)
    )
    parser = get_parser("fixed", chunk_size=300, chunk_overlap=0)
    report = ingest_documents([Document(text=text, id_="g")], {"f": parser}, store, models=offline)
    return report.columns[0].collection


@pytest.mark.parametrize("window", [600, 900, 2000])
@pytest.mark.parametrize("options", [{"budget": 5000}, {"budget": None, "top_k": 30}])
def test_everything_fits_the_models_window_and_what_does_not_is_said(
    store: Store, long_collection: str, window: int, options: dict[str, Any]
) -> None:
    models = answering(window=window)
    answer = engine(store, long_collection, models, **options).answer(QUESTION)
    [prompt] = models.llm.prompts
    assert count_tokens(prompt) + 100 <= window
    assert answer.context_tokens > 0
    if options["budget"] is None:
        assert answer.left_out == 30 - sum(len(source.hits) for source in answer.sources) > 0
        assert answer.left_out_tokens > 30 * answer.left_out
    assert answer.budget is not None
    assert answer.budget < 5000


def test_a_window_without_room_for_any_context_is_a_mistake(store: Store, collection: str) -> None:
    models = answering(window=250)
    with pytest.raises(ConfigurationError, match="raise context_window"):
        engine(store, collection, models).answer(QUESTION)
    assert models.llm.prompts == []


def test_without_a_model_nothing_has_to_fit_a_window(
    store: Store, long_collection: str, offline: Models
) -> None:
    answer = engine(store, long_collection, offline, budget=3000, context_window=10).answer(
        QUESTION
    )
    assert answer.context_tokens > 1000
    assert fill("{context}{question}", answer.sources, "").count("[Source") == len(answer.sources)
