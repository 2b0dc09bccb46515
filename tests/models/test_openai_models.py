"""LlamaIndex's OpenAI classes with what they lack, held against a server that records and fails."""

import asyncio
import copy
import json
import logging
import pickle
import socket
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from inspect import signature
from typing import Any

import openai_server as faults
import pytest
from fake_time import FakeTime
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai_like import OpenAILike
from openai import _base_client
from openai_server import Fault, OpenAIServer
from pydantic import BaseModel, SecretStr

from rag_nodes.core.errors import (
    CancelledError,
    ConfigurationError,
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    ModelRequestError,
    ModelResponseError,
    RagNodesError,
    RateLimitedError,
)
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.core.settings import OPENAI_API_BASE, Settings
from rag_nodes.models import Models, choose_models, pacing
from rag_nodes.models.openai import OpenAIServerEmbedding, OpenAIServerLLM, client
from rag_nodes.models.pacing import BATCH_BYTES, RequestWindow
from rag_nodes.text.tokens import count_tokens

Ask = Callable[[OpenAIServerEmbedding, OpenAIServerLLM], object]


KEY = "canary-key-93b1"
GATE = "gate-pass-7c2e"
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
def access(openai_server: OpenAIServer) -> dict[str, Any]:
    return {"api_key": SecretStr(KEY), "api_base": openai_server.base}


@pytest.fixture
def embedding(access: dict[str, Any]) -> OpenAIServerEmbedding:
    return OpenAIServerEmbedding(model_name=MODEL, **access)


@pytest.fixture
def llm(access: dict[str, Any]) -> OpenAIServerLLM:
    return OpenAIServerLLM(model=MODEL, **access)


def _embed(embedding: OpenAIServerEmbedding, _: OpenAIServerLLM) -> object:
    return embedding.get_text_embedding_batch(["one", "two"])


def _chat(_: OpenAIServerEmbedding, llm: OpenAIServerLLM) -> object:
    return llm.complete("question")


def _stream(_: OpenAIServerEmbedding, llm: OpenAIServerLLM) -> object:
    return list(llm.stream_complete("question"))


every_way = pytest.mark.parametrize("ask", [_embed, _chat, _stream])


# --- what is sent, and what comes back ----------------------------------------------------------


def test_requests_are_the_same_byte_by_byte(
    embedding: OpenAIServerEmbedding, llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    embedding.get_text_embedding_batch(["# Tea\n\n- a\n- b", " \n", "broken \ud800 half"])
    llm.chat([ChatMessage(role="system", content="Be brief."), ChatMessage("half \ud800, é")])
    [*llm.stream_complete("Tea?", max_tokens=5, temperature=1.5)]
    assert {request.authorization for request in openai_server.requests} == {f"Bearer {KEY}"}
    system = {"role": "system", "content": "Be brief."}
    limits = {"model": MODEL, "max_tokens": 1024, "stream": False, "temperature": 0.2}
    sent = [
        {
            "input": ["# Tea\n\n- a\n- b", "(blank)", "broken \ufffd half"],
            "model": MODEL,
            "encoding_format": "base64",
        },
        {"messages": [system, {"role": "user", "content": "half \ufffd, é"}], **limits},
        {
            "messages": [{"role": "user", "content": "Tea?"}],
            **limits,
            "max_tokens": 5,
            "stream": True,
            "temperature": 1.5,
        },
    ]
    assert [json.dumps(request.body) for request in openai_server.requests] == [
        *map(json.dumps, sent)
    ]


@pytest.mark.parametrize(
    ("texts", "sizes"),
    [
        ([f"text {number}" for number in range(250)], [100, 100, 50]),
        (["word " * (BATCH_BYTES // 15)] * 7, [3, 3, 1]),
    ],
    ids=["number", "size"],
)
async def test_texts_are_spread_over_requests_by_number_and_size(
    texts: list[str],
    sizes: list[int],
    embedding: OpenAIServerEmbedding,
    openai_server: OpenAIServer,
) -> None:
    vectors = embedding.get_text_embedding_batch(texts)
    assert [len(body["input"]) for body in openai_server.asked("embeddings")] == sizes
    assert vectors[0] == embedding.get_query_embedding(texts[0])
    assert vectors == await embedding.aget_text_embedding_batch(texts)


def test_one_model_serves_several_event_loops(embedding: OpenAIServerEmbedding) -> None:
    first = asyncio.run(embedding.aget_query_embedding("hello"))
    assert first == asyncio.run(embedding.aget_query_embedding("hello"))


def test_a_number_of_dimensions_is_asked_for_and_names_another_vector_space(
    access: dict[str, Any], openai_server: OpenAIServer
) -> None:
    short = OpenAIServerEmbedding(model_name=MODEL, dimensions=16, **access)
    assert len(short.get_text_embedding("hello")) == 16
    assert openai_server.asked("embeddings")[0]["dimensions"] == 16
    plain = OpenAIServerEmbedding(model_name=MODEL, **access)
    names = {Models.of(embed_model=model).embedding_name for model in (short, plain)}
    assert len(names) == 2


async def test_the_answer_is_what_the_server_says_however_it_is_asked(llm: OpenAIServerLLM) -> None:
    messages = [ChatMessage("question")]
    pieces = list(llm.stream_complete("question"))
    assert len(pieces) > 1
    assert "".join(piece.delta or "" for piece in pieces) == pieces[-1].text == faults.ANSWER
    assert llm.complete("question").text == faults.ANSWER
    assert llm.chat(messages).message.content == faults.ANSWER
    assert (await llm.achat(messages)).message.content == faults.ANSWER
    assert (await llm.acomplete("question")).text == faults.ANSWER
    chat = [piece async for piece in await llm.astream_chat(messages)]
    complete = [piece async for piece in await llm.astream_complete("question")]
    assert chat[-1].message.content == complete[-1].text == faults.ANSWER


async def test_a_stream_that_is_left_early_gives_its_connection_back(llm: OpenAIServerLLM) -> None:
    pieces = llm.stream_complete("question")
    first = next(iter(pieces)).delta
    pieces.close()
    pool = llm._get_client()._client._transport._pool  # type: ignore[attr-defined]
    assert all(connection.is_idle() or connection.is_closed() for connection in pool.connections)
    async for piece in await llm.astream_complete("question"):
        assert piece.delta == first
        break


def test_openai_itself_is_asked_in_its_own_words_and_known() -> None:
    body = OpenAIServerLLM(model="o3-mini", max_tokens=50)._get_model_kwargs()
    assert body == {"model": "o3-mini", "temperature": 1.0, "max_completion_tokens": 50}
    own = OpenAIServerLLM(model="gpt-4o-mini")
    other = OpenAIServerLLM(model="gpt-4o-mini", api_base="http://127.0.0.1:1/v1")
    assert own.metadata.is_function_calling_model
    assert own.should_use_structured_outputs
    assert not other.metadata.is_function_calling_model
    assert not other.should_use_structured_outputs
    with pytest.raises(ConfigurationError, match="does not chat"):
        OpenAIServerLLM(model="gpt-5.2-pro")


def test_parameters_the_model_does_not_take_are_left_out_from_then_on_and_a_limit_renamed(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    for name in ("max_tokens", "temperature"):
        openai_server.fail(faults.Fault(400, "unsupported_parameter", "no", parameter=name))
    llm.complete("question")
    llm.complete("another")
    *_, third, fourth = openai_server.asked("chat/completions")
    assert third.keys() == fourth.keys() == {"model", "messages", "max_completion_tokens", "stream"}
    assert third["max_completion_tokens"] == 1024


@pytest.mark.parametrize("name", ["messages", "top_p", "model"])
def test_a_parameter_that_the_answer_depends_on_is_not_left_out(
    name: str, llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    openai_server.fail(faults.Fault(400, "unsupported_parameter", "no", parameter=name))
    with pytest.raises(ModelRequestError, match="refused"):
        llm.complete("hello", top_p=0.5)
    assert len(openai_server.requests) == 1


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


def test_one_thread_at_a_time_makes_models_of_answers(
    embedding: OpenAIServerEmbedding, llm: OpenAIServerLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their classes are built when the first answer arrives, and found half built by others."""
    alone: list[bool] = []
    construct = _base_client.construct_type

    def note_lock(**given: Any) -> Any:
        alone.append(client.BUILDING.locked())
        return construct(**given)

    monkeypatch.setattr(_base_client, "construct_type", note_lock)
    for ask in (_embed, _chat, _stream):
        before = len(alone)
        ask(embedding, llm)
        assert all(alone[before:])
        assert len(alone) > before


class Reading(BaseModel):
    """What a tool is called with."""

    litres: int


def _calling(server: OpenAIServer, body: dict[str, Any], fault: Fault) -> Any:
    del server, fault
    function = {"name": "Reading", "arguments": '{"litres": 9}'}
    call = {"id": "1", "type": "function", "function": function}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    facts = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
    return faults.JSONResponse({**facts, "choices": [choice]})


def test_tools_of_llama_index_are_offered_and_called(
    access: dict[str, Any], openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(faults, "_chat", _calling)
    llm = OpenAIServerLLM(model=MODEL, is_function_calling_model=True, **access)
    tool = FunctionTool.from_defaults(lambda litres: litres, name="Reading", fn_schema=Reading)
    (call,) = llm.get_tool_calls_from_response(llm.chat_with_tools([tool], "How much?"))
    assert (call.tool_name, call.tool_kwargs) == ("Reading", {"litres": 9})
    assert openai_server.asked("completions")[0]["tools"][0]["function"]["name"] == "Reading"


@pytest.mark.parametrize(
    ("model", "typed", "meant"),
    [
        (OpenAIServerLLM, "temprature", "temperature"),
        (OpenAIServerLLM, "reasoning_efort", "reasoning_effort"),
        (OpenAIServerEmbedding, "model_nam", "model_name"),
        (OpenAIServerEmbedding, "dimension", "dimensions"),
    ],
)
def test_an_unknown_keyword_is_refused_and_not_ignored(model: type, typed: str, meant: str) -> None:
    with pytest.raises(ConfigurationError, match=rf"'{typed}'; did you mean {meant}\?"):
        model(**{typed: 1})


@pytest.mark.parametrize(
    ("ours", "theirs"), [(OpenAIServerLLM, OpenAILike), (OpenAIServerEmbedding, OpenAIEmbedding)]
)
def test_every_option_of_the_class_of_llama_index_is_accepted(ours: type, theirs: type) -> None:
    constructors = [vars(base)["__init__"] for base in theirs.__mro__ if "__init__" in vars(base)]
    options = {*theirs.model_fields, *signature(constructors[0]).parameters}
    given = dict.fromkeys(options - {"self", "kwargs"})
    with pytest.raises(ConfigurationError, match="unknown option 'unheard_of'"):  # no earlier one
        ours(**given, unheard_of=1)


# --- faults -------------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize(
    ("fault", "error", "words", "requests"),
    [
        (faults.UNAUTHORIZED, CredentialsError, "key was refused", 1),
        (faults.Fault(403, None, "no access"), CredentialsError, "may use this model", 1),
        (faults.UNKNOWN_MODEL, ModelRequestError, "ends in /v1", 1),
        (faults.TOO_LONG, ModelRequestError, "smaller", 1),
        (faults.Fault(422, None, "bad option"), ModelRequestError, "bad option", 1),
        (faults.LIMITED, RateLimitedError, "in a while", 6),
        (faults.NO_QUOTA, RateLimitedError, "billing", 1),
        (faults.Fault(408), ModelResponseError, "HTTP 408", 6),
        (faults.Fault(503, headers={"x-should-retry": "false"}), ModelResponseError, "503", 1),
        (faults.FAILING, ModelResponseError, "HTTP 500", 6),
        (faults.Fault(body="html"), ModelResponseError, "ends in /v1", 1),
        (faults.Fault(body="garbage"), ModelResponseError, "ends in /v1", 1),
        (
            faults.Fault(body="error-object", message="quota exceeded"),
            *(ModelRequestError, "refused (quota exceeded)", 1),
        ),
        (
            faults.Fault(body="error-object", code="429", message="quota exceeded"),
            *(RateLimitedError, "too many requests (quota exceeded)", 6),
        ),
        (
            faults.Fault(body="error-object", code="503", message="overloaded"),
            *(ModelResponseError, "HTTP 503 (overloaded)", 6),
        ),
        (
            faults.Fault(body="error-object", code="401", message="no such key"),
            *(CredentialsError, "the key was refused (no such key)", 1),
        ),
    ],
)
def test_every_fault_ends_in_a_message_after_a_bounded_number_of_requests(
    ask: Ask,
    fault: Fault,
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
    for part in (words, MODEL, openai_server.base):
        assert part in str(caught.value)
    assert len(openai_server.requests) == requests


@pytest.mark.parametrize(
    ("ask", "body", "error", "words"),
    [
        (_stream, "cut", ModelResponseError, "is incomplete"),
        (_stream, "unfinished", ModelResponseError, "incomplete"),
        (_stream, "empty", ModelResponseError, "empty answer"),
        (_stream, "error-event", ModelResponseError, r"its answer off \(made to fail\); try again"),
        (_chat, "empty", ModelResponseError, "empty answer"),
        (_chat, "no-choices", ModelResponseError, "not what an OpenAI-compatible server sends"),
    ],
)
def test_spoilt_answers_are_refused(
    ask: Ask,
    body: str,
    error: type[RagNodesError],
    words: str,
    embedding: OpenAIServerEmbedding,
    llm: OpenAIServerLLM,
    openai_server: OpenAIServer,
) -> None:
    openai_server.fail(faults.Fault(body=body))
    with pytest.raises(error, match=words):
        ask(embedding, llm)
    assert len(openai_server.requests) == 1


def test_a_model_that_changes_its_dimension_and_an_answer_of_blanks_are_refused(
    embedding: OpenAIServerEmbedding, llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    embedding.get_query_embedding("one")
    openai_server.dimension = 32
    with pytest.raises(DimensionError, match="32 numbers where 64"):
        embedding.get_query_embedding("two")
    openai_server.answer = "  \n"
    for ask in (_chat, _stream):
        with pytest.raises(ModelResponseError, match="empty answer; try again"):
            ask(embedding, llm)


@every_way
@pytest.mark.parametrize("fault", [faults.FAILING, faults.LIMITED])
def test_a_fault_that_passes_is_waited_out(
    ask: Ask,
    fault: Fault,
    embedding: OpenAIServerEmbedding,
    llm: OpenAIServerLLM,
    openai_server: OpenAIServer,
) -> None:
    openai_server.fail(fault, times=2)
    ask(embedding, llm)
    assert len(openai_server.requests) == 3


def test_a_short_wait_the_server_asks_for_is_kept_and_a_long_one_reported(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    openai_server.fail(faults.Fault(429, headers={"retry-after": "7"}))
    embedding.get_query_embedding("hello")
    assert "next attempt in 7.0 s" in caplog.text
    openai_server.fail(faults.Fault(429, headers={"retry-after": "60"}))
    with pytest.raises(RateLimitedError, match="try again in 60 s"):
        embedding.get_query_embedding("hello")
    assert len(openai_server.requests) == 3


def test_a_refused_connection_is_reported_when_the_time_is_up(clock: FakeTime) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    model = OpenAIServerEmbedding(model_name=MODEL, api_base=f"http://127.0.0.1:{port}/v1")
    with pytest.raises(ModelConnectionError, match=f"127.0.0.1:{port}.*cannot be reached"):
        model.get_query_embedding("hello")
    assert sum(clock.pauses) == model.retry_seconds == 10


@every_way
@pytest.mark.parametrize("address", ["http://host:port/v1", "http://0177.0.0.1/v1"])
def test_an_address_that_cannot_be_read_is_reported_with_the_option(ask: Ask, address: str) -> None:
    values: dict[str, Any] = {"api_base": address, "api_key": KEY}
    with pytest.raises(ModelResponseError, match=f"{address}: .*check that api_base names"):
        ask(OpenAIServerEmbedding(**values), OpenAIServerLLM(**values))


@every_way
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


# --- keys ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [faults.UNAUTHORIZED, faults.FAILING, faults.LIMITED])
def test_key_and_headers_are_sent_and_appear_nowhere(
    fault: Fault,
    access: dict[str, Any],
    openai_server: OpenAIServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    access |= {"default_headers": {"X-Gate": GATE}}
    embedding, llm = OpenAIServerEmbedding(**access), OpenAIServerLLM(**access)
    echo = f"refused: {KEY}, sk-{KEY}, {GATE} {'very ' * 48}"
    openai_server.fail(faults.Fault(fault.status, fault.code, f"{echo} {KEY}"), times=50)
    seen = []
    for ask in (_embed, _chat):
        with pytest.raises(RagNodesError) as caught:
            ask(embedding, llm)
        seen.append("".join(traceback.format_exception(caught.value)))
    openai_server.faults.clear()
    _embed(embedding, llm)
    assert openai_server.requests[-1].authorization == f"Bearer {KEY}"
    for model in (embedding, llm):
        seen += [repr(model), str(model), str(model.to_dict()), str(model.model_dump())]
        seen.append(model.to_json())
    for secret in (KEY, GATE):
        assert secret[:6] not in "\n".join([*seen, caplog.text])


def test_a_placeholder_for_a_key_does_not_garble_messages(openai_server: OpenAIServer) -> None:
    openai_server.fail(faults.UNAUTHORIZED)
    model = OpenAIServerEmbedding(api_base=openai_server.base, api_key=SecretStr("k"))
    with pytest.raises(CredentialsError, match="the key was refused"):
        model.get_query_embedding("hello")


def test_keys_and_addresses_from_the_environment_are_in_no_model(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_BASE", "http://127.0.0.1:9/elsewhere")
    own = {"api_key": SecretStr("sk-given")}
    for model in (OpenAIServerEmbedding(**own), OpenAIServerLLM(**own)):
        shown = [repr(model), str(model), str(model.to_dict()), model.to_json()]
        shown.append(repr(pickle.dumps(model)))  # which holds the key that was given alone
        assert KEY not in "".join(shown)
        assert "elsewhere" not in "".join(shown)
        assert model.place == "OpenAI"
        assert str(model._get_client().base_url).rstrip("/") == OPENAI_API_BASE
    OpenAIServerEmbedding(api_base=openai_server.base).get_query_embedding("hello")
    assert openai_server.requests[0].authorization == "Bearer none"


def test_the_address_other_openai_tools_read_is_where_requests_go(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    models = choose_models(Settings())
    assert models.llm is not None
    models.embedding.get_query_embedding("hello")
    models.llm.complete("hello")
    assert [request.authorization for request in openai_server.requests] == [f"Bearer {KEY}"] * 2


def test_a_copy_is_equal_and_keeps_working(
    embedding: OpenAIServerEmbedding, llm: OpenAIServerLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    vector = embedding.get_query_embedding("a")
    for copied in (copy.deepcopy(embedding), pickle.loads(pickle.dumps(embedding))):
        assert copied.to_dict() == embedding.to_dict()
        assert copied.get_query_embedding("a") == vector
    assert copy.deepcopy(llm).to_dict() == llm.to_dict()
    assert copy.deepcopy(llm).complete("question").text == faults.ANSWER


def test_a_pickled_model_takes_a_key_configured_where_it_arrives_only_if_it_has_none(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = OpenAIServerEmbedding(model_name=MODEL, api_base=openai_server.base)
    arrived = [pickle.loads(pickle.dumps(model)) for model in (embedding, without)]
    monkeypatch.setenv("RAG_NODES_API_BASE", openai_server.base)
    monkeypatch.setenv("RAG_NODES_API_KEY", "key-of-the-worker")
    for model in arrived:
        model.get_query_embedding("hello")
    asked = [request.authorization for request in openai_server.requests]
    assert asked == [f"Bearer {KEY}", "Bearer key-of-the-worker"]


async def test_without_a_key_openai_is_not_asked_and_no_path_leads_past_our_client() -> None:
    embedding, llm = OpenAIServerEmbedding(), OpenAIServerLLM()
    for ask in (embedding.get_query_embedding, llm.complete):
        with pytest.raises(CredentialsError, match="no key; set OPENAI_API_KEY"):
            ask("hello")
    with pytest.raises(CredentialsError, match="no key"):
        await llm.acomplete("hello")
    for model in (embedding, llm):
        with pytest.raises(NotImplementedError, match="threads"):
            model._get_aclient()


# --- limits -------------------------------------------------------------------------------------


def test_a_limit_of_the_account_is_kept_in_requests_and_tokens(
    openai_server: OpenAIServer, clock: FakeTime
) -> None:
    texts = [f"word {n} " * 30 for n in range(20)]
    values: dict[str, Any] = {"model_name": MODEL, "api_base": openai_server.base}
    free = OpenAIServerEmbedding(**values).get_text_embedding_batch(texts)
    assert not clock.pauses
    slow = OpenAIServerEmbedding(**values, embed_batch_size=5, requests_per_minute=2)
    assert slow.get_text_embedding_batch(texts) == free
    assert sum(clock.pauses) == pytest.approx(61.0)
    clock.pauses.clear()
    openai_server.reset()
    few = OpenAIServerEmbedding(**values, tokens_per_minute=1000)
    few.get_text_embedding_batch(texts)
    sent = [body["input"] for body in openai_server.asked("embeddings")]
    assert [model for part in sent for model in part] == texts
    # A request never holds more than a minute may have.
    assert all(sum(len(text) for text in part) <= 1000 for part in sent)
    tokens = sum(count_tokens(text) for text in texts)
    assert 61 * (tokens // 1000) <= sum(clock.pauses) <= 61 * (tokens // 500)


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


def test_repeated_requests_count_towards_both_rate_limits(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[float | None] = []
    monkeypatch.setattr(
        RequestWindow, "acquire", lambda model, _=0: counted.append(model.per_minute)
    )
    model = OpenAIServerLLM(model=MODEL, api_base=openai_server.base, requests_per_minute=9)
    model.rate_limiter = RequestWindow(7)  # of LlamaIndex, which counts first attempts alone
    openai_server.fail(faults.FAILING)
    model.complete("Say tea.")
    assert counted == [7, 9, 9, 7]


def test_who_is_ended_asks_for_nothing_more(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    interrupt = Interrupt()
    interrupt.set()
    with interruptible(interrupt), pytest.raises(CancelledError, match=MODEL):
        embedding.get_text_embedding("hello")
    assert not openai_server.requests
