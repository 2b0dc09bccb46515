import asyncio
import copy
import logging
import pickle
import socket
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai_server as faults
import pytest
from fake_time import FakeTime
from llama_index.core.llms import LLM, ChatMessage
from openai_server import OpenAIServer
from pydantic import SecretStr

from rag_nodes.errors import (
    CancelledError,
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    ModelRequestError,
    ModelResponseError,
    RagNodesError,
    RateLimitedError,
)
from rag_nodes.models import pacing
from rag_nodes.models.openai import OpenAIServerEmbedding, OpenAIServerLLM
from rag_nodes.models.pacing import BATCH_BYTES, RequestWindow, repeats_counted
from rag_nodes.processes import Interrupt, interruptible
from rag_nodes.text.tokens import count_tokens

KEY = "canary-key-93b1"
MODEL = "some-model-nobody-knows"

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration", "clock")


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """Pauses between attempts that take no time."""
    fake = FakeTime()
    monkeypatch.setattr(pacing, "time", fake)
    monkeypatch.setattr(pacing, "pause", fake.sleep)
    return fake


@pytest.fixture
def embedding(openai_server: OpenAIServer) -> OpenAIServerEmbedding:
    return OpenAIServerEmbedding(
        model_name=MODEL, api_key=SecretStr(KEY), api_base=openai_server.base
    )


@pytest.fixture
def llm(openai_server: OpenAIServer) -> OpenAIServerLLM:
    return OpenAIServerLLM(model=MODEL, api_key=SecretStr(KEY), api_base=openai_server.base)


def test_equal_texts_get_equal_vectors_in_the_order_of_the_texts(
    embedding: OpenAIServerEmbedding,
) -> None:
    first, second, third = embedding.get_text_embedding_batch(["a cat", "two dogs", "a cat"])
    assert first == third != second


def test_the_model_name_and_the_key_reach_the_server(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    embedding.get_query_embedding("hello")
    (request,) = openai_server.requests
    assert request.authorization == f"Bearer {KEY}"
    assert request.body["model"] == MODEL


def test_line_breaks_are_sent_as_they_are(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    embedding.get_text_embedding("# Heading\n\n- item\n- item")
    assert openai_server.asked("embeddings")[0]["input"] == ["# Heading\n\n- item\n- item"]


def test_blank_texts_and_lone_surrogates_get_vectors_too(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    vectors = embedding.get_text_embedding_batch(["", " \n", "broken \ud800 half"])
    assert {len(vector) for vector in vectors} == {openai_server.dimension}
    assert openai_server.asked("embeddings")[0]["input"][2] == "broken \ufffd half"


def test_a_hundred_texts_go_into_one_request(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    embedding.get_text_embedding_batch([f"text {number}" for number in range(250)])
    assert [len(body["input"]) for body in openai_server.asked("embeddings")] == [100, 100, 50]


def test_long_texts_are_spread_over_requests_by_size(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    text = "word " * (BATCH_BYTES // 15)
    vectors = embedding.get_text_embedding_batch([text] * 7)
    assert [len(body["input"]) for body in openai_server.asked("embeddings")] == [3, 3, 1]
    assert len(vectors) == 7


async def test_async_vectors_equal_the_sync_ones(embedding: OpenAIServerEmbedding) -> None:
    texts = [f"text {number}" for number in range(150)]
    assert await embedding.aget_text_embedding_batch(texts) == (
        embedding.get_text_embedding_batch(texts)
    )


def test_one_model_serves_several_event_loops(embedding: OpenAIServerEmbedding) -> None:
    first = asyncio.run(embedding.aget_query_embedding("hello"))
    assert first == asyncio.run(embedding.aget_query_embedding("hello"))


def test_the_answer_is_what_the_server_says(llm: OpenAIServerLLM) -> None:
    assert llm.complete("question").text == faults.ANSWER
    assert llm.chat([ChatMessage("question")]).message.content == faults.ANSWER


def test_the_streamed_pieces_add_up_to_the_answer(llm: OpenAIServerLLM) -> None:
    pieces = list(llm.stream_complete("question"))
    assert len(pieces) > 1
    assert "".join(piece.delta or "" for piece in pieces) == pieces[-1].text == faults.ANSWER


async def test_async_answers_equal_the_sync_ones(llm: OpenAIServerLLM) -> None:
    messages = [ChatMessage("question")]
    chat = [piece async for piece in await llm.astream_chat(messages)]
    complete = [piece async for piece in await llm.astream_complete("question")]
    assert (await llm.achat(messages)).message.content == faults.ANSWER
    assert (await llm.acomplete("question")).text == faults.ANSWER
    assert chat[-1].message.content == complete[-1].text == faults.ANSWER


async def test_a_stream_may_be_left_early(llm: OpenAIServerLLM) -> None:
    async for piece in await llm.astream_complete("question"):
        first = piece.delta
        break
    assert faults.ANSWER.startswith(first or "?")
    assert next(iter(llm.stream_complete("question"))).delta == first


def test_compatible_servers_are_asked_in_the_words_they_know(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    llm.complete("question")
    (body,) = openai_server.asked("chat/completions")
    assert (body["temperature"], body["max_tokens"]) == (0.2, 1024)


def test_parameters_the_model_does_not_take_are_left_out_from_then_on(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    for name in ("max_tokens", "temperature"):
        openai_server.fail(faults.Fault(400, "unsupported_parameter", "no", parameter=name))
    llm.complete("question")
    llm.complete("another")
    *_, third, fourth = openai_server.asked("chat/completions")
    assert (
        third.keys()
        == fourth.keys()
        == {
            "model",
            "messages",
            "max_completion_tokens",
            "stream",
        }
    )


def test_questions_asked_at_the_same_time_all_leave_out_what_is_refused(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    refused = faults.Fault(400, "unsupported_value", "no", parameter="temperature", body="slow")
    openai_server.fail(refused, times=4)
    with ThreadPoolExecutor(4) as pool:
        answers = [pool.submit(llm.complete, "question") for _ in range(4)]
        openai_server.wait_for("chat/completions", 4)
        openai_server.release()
        assert {answer.result().text for answer in answers} == {faults.ANSWER}


def _embed(embedding: OpenAIServerEmbedding, llm: LLM) -> object:
    del llm
    return embedding.get_text_embedding_batch(["one", "two"])


def _chat(embedding: OpenAIServerEmbedding, llm: LLM) -> object:
    del embedding
    return llm.complete("question")


def _stream(embedding: OpenAIServerEmbedding, llm: LLM) -> object:
    del embedding
    return list(llm.stream_complete("question"))


Ask = Callable[[OpenAIServerEmbedding, LLM], object]
EVERY_FAULT: list[tuple[faults.Fault, type[RagNodesError], str, int]] = [
    (faults.UNAUTHORIZED, CredentialsError, "key was refused", 1),
    (faults.Fault(403, None, "no access"), CredentialsError, "may use this model", 1),
    (faults.UNKNOWN_MODEL, ModelRequestError, "ends in /v1", 1),
    (faults.TOO_LONG, ModelRequestError, "smaller", 1),
    (faults.Fault(422, None, "bad option"), ModelRequestError, "bad option", 1),
    (faults.LIMITED, RateLimitedError, "in a while", 6),
    (faults.NO_QUOTA, RateLimitedError, "billing", 1),
    (faults.FAILING, ModelResponseError, "HTTP 500", 6),
    (faults.Fault(body="html"), ModelResponseError, "ends in /v1", 1),
    (faults.Fault(body="garbage"), ModelResponseError, "ends in /v1", 1),
]


@pytest.mark.parametrize("ask", [_embed, _chat, _stream])
@pytest.mark.parametrize(("fault", "error", "words", "requests"), EVERY_FAULT)
def test_every_fault_ends_in_a_message_after_a_bounded_number_of_requests(
    ask: Ask,
    fault: faults.Fault,
    error: type[RagNodesError],
    words: str,
    requests: int,
    embedding: OpenAIServerEmbedding,
    llm: OpenAIServerLLM,
    openai_server: OpenAIServer,
) -> None:
    openai_server.fail(fault, times=50)
    with pytest.raises(error) as caught:
        ask(embedding, llm)
    assert words in str(caught.value)
    assert MODEL in str(caught.value)
    assert openai_server.base in str(caught.value)
    assert len(openai_server.requests) == requests


@pytest.mark.parametrize(
    ("body", "error", "words"),
    [
        ("dimension", DimensionError, "63 numbers where 64"),
        ("nan", ModelResponseError, "NaN"),
        ("huge", ModelResponseError, "beyond a store"),
        ("no-numbers", ModelResponseError, "a vector without numbers"),
        ("count", ModelResponseError, "1 vectors for 2 texts"),
    ],
)
def test_spoilt_vectors_are_refused(
    body: str,
    error: type[RagNodesError],
    words: str,
    embedding: OpenAIServerEmbedding,
    openai_server: OpenAIServer,
) -> None:
    openai_server.fail(faults.Fault(body=body))
    with pytest.raises(error, match=words):
        embedding.get_text_embedding_batch(["one", "two"])


def test_a_model_that_changes_its_dimension_is_refused(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    embedding.get_query_embedding("one")
    openai_server.dimension = 32
    with pytest.raises(DimensionError, match="32 numbers where 64"):
        embedding.get_query_embedding("two")


@pytest.mark.parametrize("body", ["cut", "unfinished"])
def test_a_stream_that_breaks_off_is_an_error_after_what_arrived(
    body: str, llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    openai_server.fail(faults.Fault(body=body))
    arrived: list[Any] = []
    with pytest.raises(ModelResponseError, match="cut off"):
        arrived.extend(llm.stream_complete("question"))
    assert len(openai_server.requests) == 1


@pytest.mark.parametrize("ask", [_chat, _stream])
def test_an_empty_answer_is_an_error(
    ask: Ask, embedding: OpenAIServerEmbedding, llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    openai_server.fail(faults.Fault(body="empty"))
    with pytest.raises(ModelResponseError, match="empty answer"):
        ask(embedding, llm)


def test_an_answer_without_choices_is_an_error(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    openai_server.fail(faults.Fault(body="no-choices"))
    with pytest.raises(ModelResponseError, match="not what an OpenAI-compatible server sends"):
        llm.complete("question")


@pytest.mark.parametrize("ask", [_embed, _chat, _stream])
@pytest.mark.parametrize("fault", [faults.FAILING, faults.LIMITED])
def test_a_fault_that_passes_is_waited_out(
    ask: Ask,
    fault: faults.Fault,
    embedding: OpenAIServerEmbedding,
    llm: OpenAIServerLLM,
    openai_server: OpenAIServer,
) -> None:
    openai_server.fail(fault, times=2)
    ask(embedding, llm)
    assert len(openai_server.requests) == 3


def test_a_short_wait_the_server_asks_for_is_kept(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.fail(faults.Fault(429, headers={"retry-after": "7"}))
    embedding.get_query_embedding("hello")
    assert "next attempt in 7.0 s" in caplog.text


def test_a_long_wait_the_server_asks_for_is_reported_instead(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    openai_server.fail(faults.Fault(429, headers={"retry-after": "60"}))
    with pytest.raises(RateLimitedError, match="try again in 60 s"):
        embedding.get_query_embedding("hello")
    assert len(openai_server.requests) == 1


def test_a_refused_connection_is_reported_when_the_time_is_up(clock: FakeTime) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    model = OpenAIServerEmbedding(model_name=MODEL, api_base=f"http://127.0.0.1:{port}/v1")
    with pytest.raises(ModelConnectionError, match=f"127.0.0.1:{port}.*cannot be reached"):
        model.get_query_embedding("hello")
    assert sum(clock.pauses) == model.retry_seconds == 10


@pytest.mark.parametrize("ask", [_embed, _chat, _stream])
def test_a_server_that_does_not_answer_is_given_up(
    ask: Ask, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pacing, "time", time)
    values: dict[str, Any] = {"api_base": openai_server.base, "timeout": 0.2, "retry_seconds": 0.1}
    openai_server.fail(faults.Fault(body="slow"), times=9)
    with pytest.raises(ModelConnectionError, match="request_timeout"):
        ask(OpenAIServerEmbedding(**values), OpenAIServerLLM(**values))
    openai_server.wait_for("")  # it may be given up before the server has seen it
    assert len(openai_server.requests) == 1


@pytest.mark.parametrize("fault", [faults.UNAUTHORIZED, faults.FAILING, faults.LIMITED])
def test_the_key_appears_nowhere(
    fault: faults.Fault,
    embedding: OpenAIServerEmbedding,
    llm: OpenAIServerLLM,
    openai_server: OpenAIServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = faults.Fault(fault.status, fault.code, f"refused: {KEY} and sk-{KEY}")
    openai_server.fail(echo, times=50)
    seen = []
    for ask in (_embed, _chat):
        with pytest.raises(RagNodesError) as caught:
            ask(embedding, llm)
        seen.append("".join(traceback.format_exception(caught.value)))
    openai_server.faults.clear()
    _embed(embedding, llm)
    for model in (embedding, llm):
        seen += [repr(model), str(model), str(model.to_dict()), str(model.model_dump())]
        seen += [model.to_json()]
    assert KEY not in "\n".join([*seen, caplog.text])


def test_no_part_of_a_key_is_left_where_a_long_message_is_shortened(
    openai_server: OpenAIServer,
) -> None:
    gate = "gate-pass-7c2e"
    model = OpenAIServerEmbedding(
        api_base=openai_server.base, api_key=KEY, default_headers={"X-Gate": gate}
    )
    for secret in (KEY, gate):
        openai_server.fail(faults.Fault(401, None, f"{'very ' * 58} {secret}"))
        with pytest.raises(CredentialsError) as caught:
            model.get_query_embedding("hello")
        assert secret[:6] not in str(caught.value)


def test_what_a_server_says_in_the_middle_of_a_stream_is_told(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    openai_server.fail(faults.Fault(body="error-event"))
    with pytest.raises(ModelResponseError, match=r"broke its answer off \(made to fail\); try ag"):
        list(llm.stream_complete("question"))


def test_a_placeholder_for_a_key_does_not_garble_messages(openai_server: OpenAIServer) -> None:
    openai_server.fail(faults.UNAUTHORIZED)
    model = OpenAIServerEmbedding(api_base=openai_server.base, api_key=SecretStr("k"))
    with pytest.raises(CredentialsError, match="the key was refused"):
        model.get_query_embedding("hello")


def test_a_copy_is_equal_and_keeps_working(
    embedding: OpenAIServerEmbedding, llm: OpenAIServerLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    assert copy.deepcopy(embedding).to_dict() == embedding.to_dict()
    assert copy.deepcopy(llm).to_dict() == llm.to_dict()
    assert copy.deepcopy(embedding).get_query_embedding("a") == embedding.get_query_embedding("a")
    assert copy.deepcopy(llm).complete("question").text == faults.ANSWER


def test_a_pickled_model_takes_a_key_configured_where_it_arrives_only_if_it_has_none(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = OpenAIServerEmbedding(model_name=MODEL, api_base=openai_server.base)
    arrived = [pickle.loads(pickle.dumps(one)) for one in (embedding, without)]
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    monkeypatch.setenv("RAG_NODES_API_KEY", "key-of-the-worker")
    for one in arrived:
        one.get_query_embedding("hello")
    asked = [one.authorization for one in openai_server.requests]
    assert asked == [f"Bearer {KEY}", "Bearer key-of-the-worker"]


def test_a_key_configured_for_one_address_is_not_sent_to_another(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-for-openai-only")
    model = OpenAIServerEmbedding(model_name=MODEL, api_base=openai_server.base)
    model.get_query_embedding("hello")
    assert openai_server.requests[0].authorization == "Bearer none"


def test_a_limit_of_the_account_is_kept_in_requests_and_tokens(
    openai_server: OpenAIServer, clock: FakeTime
) -> None:
    texts = [f"word {n} " * 30 for n in range(20)]
    values: dict[str, Any] = {"model_name": MODEL, "api_base": openai_server.base}
    free = OpenAIServerEmbedding(**values)
    assert free.get_text_embedding_batch(texts)
    assert not clock.pauses
    assert len(openai_server.asked("embeddings")) == 1
    openai_server.reset()
    slow = OpenAIServerEmbedding(**values, embed_batch_size=5, requests_per_minute=2)
    assert slow.get_text_embedding_batch(texts) == free.get_text_embedding_batch(texts)
    assert sum(clock.pauses) == pytest.approx(61.0)
    clock.pauses.clear()
    openai_server.reset()
    few = OpenAIServerEmbedding(**values, tokens_per_minute=1000)
    few.get_text_embedding_batch(texts)
    sent = [body["input"] for body in openai_server.asked("embeddings")]
    assert [one for part in sent for one in part] == texts
    # A request never holds more than a minute may have.
    assert all(sum(len(text) for text in part) <= 1000 for part in sent)
    tokens = sum(count_tokens(text) for text in texts)
    assert 61 * (tokens // 1000) <= sum(clock.pauses) <= 61 * (tokens // 500)


def test_what_is_repeated_counts_for_the_limit(
    openai_server: OpenAIServer, clock: FakeTime
) -> None:
    model = OpenAIServerEmbedding(
        model_name=MODEL, api_base=openai_server.base, requests_per_minute=1
    )
    openai_server.fail(faults.FAILING)
    assert model.get_text_embedding("hello")
    assert sum(clock.pauses) == pytest.approx(61.0)


def test_who_is_ended_asks_for_nothing_more(openai_server: OpenAIServer) -> None:
    model = OpenAIServerEmbedding(model_name=MODEL, api_base=openai_server.base)
    interrupt = Interrupt()
    interrupt.set()
    with interruptible(interrupt), pytest.raises(CancelledError, match=MODEL):
        model.get_text_embedding("hello")
    assert not openai_server.requests


@pytest.mark.parametrize("streamed", [False, True])
def test_an_llm_keeps_the_limits_of_an_account_however_it_is_asked(
    streamed: bool, openai_server: OpenAIServer, clock: FakeTime
) -> None:
    def ask(**limits: Any) -> float:
        clock.pauses.clear()
        model = OpenAIServerLLM(model=MODEL, api_base=openai_server.base, max_tokens=90, **limits)
        for _ in range(3):
            if streamed:
                assert [*model.stream_complete("Say tea.")]
            else:
                assert model.complete("Say tea.").text
        return sum(clock.pauses)

    assert ask() == 0
    assert ask(requests_per_minute=2) == pytest.approx(61.0)
    assert ask(tokens_per_minute=200) == pytest.approx(61.0)  # the longest answer counts


def test_what_an_llm_repeats_counts_for_its_own_limit_and_for_that_of_who_asks(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[float | None] = []
    monkeypatch.setattr(RequestWindow, "acquire", lambda one, _=0: counted.append(one.per_minute))
    model = OpenAIServerLLM(model=MODEL, api_base=openai_server.base, requests_per_minute=9)
    openai_server.fail(faults.FAILING)
    with repeats_counted(RequestWindow(7)):
        model.complete("Say tea.")
    assert counted == [9, 7, 9]
