"""Answers through an OpenAI-compatible server: streams, faults, tokens billed, and the key."""

import json
import logging
import pickle
import traceback
from collections.abc import AsyncIterator
from typing import Any

import openai_server as stub
import pytest
from llama_index.core import Document
from openai_server import FAILING, LIMITED, UNAUTHORIZED, Fault, OpenAIServer
from plant import served_models

from rag_nodes.core.errors import (
    CredentialsError,
    ModelResponseError,
    RagNodesError,
    RateLimitedError,
)
from rag_nodes.models import Models
from rag_nodes.models.openai.llm import SMALLEST_WINDOW, OpenAIServerLLM, known_window
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import (
    CitationSeen,
    Delta,
    Event,
    Failed,
    Finished,
    QueryOptions,
    RagNodesChat,
    RagNodesQueryEngine,
    Retrieved,
)
from rag_nodes.store import Store

KEY = "sk-canary-40cc"
QUESTION = "What starts the generator?"
pytestmark = pytest.mark.usefixtures("no_configuration")


@pytest.fixture
def models(openai_server: OpenAIServer) -> Models:
    return served_models(openai_server, KEY, embedding="openai", retry_seconds=2)


@pytest.fixture
def engine(store: Store, models: Models, document: Document) -> RagNodesQueryEngine:
    parser = get_parser("fixed", chunk_size=90, chunk_overlap=0)
    report = ingest_documents([document], {"fixed": parser}, store, models=models)
    opened = RagNodesQueryEngine(
        store=store,
        collection=report.columns[0].collection,
        models=models,
        options=QueryOptions(prices={"a-model": (1.0, 2.0)}),
    )
    opened.retriever.question_vector(QUESTION)  # remembered, so that faults meet the chat model
    return opened


async def stream_events(engine: RagNodesQueryEngine, *, wait: bool) -> list[Event]:
    if wait:
        return [event async for event in engine.astream(QUESTION)]
    return list(engine.stream(QUESTION))


@pytest.mark.parametrize("wait", [False, True])
async def test_a_stream_tells_of_text_and_citations_as_they_arrive(
    engine: RagNodesQueryEngine, openai_server: OpenAIServer, *, wait: bool
) -> None:
    events = await stream_events(engine, wait=wait)
    assert isinstance(events[0], Retrieved)
    texts = [event.text for event in events if isinstance(event, Delta)]
    assert len(texts) > 3
    assert "".join(texts) == openai_server.answer
    assert sum(isinstance(event, CitationSeen) for event in events) == 1
    assert isinstance(events[-1], Finished)
    assert events[-1].answer.citations[0].number == 1
    assert events[-1].answer.tokens_estimated, "this server does not say what it billed"


@pytest.mark.parametrize("wait", [False, True])
async def test_an_answer_that_reached_the_limit_of_tokens_says_so(
    engine: RagNodesQueryEngine, openai_server: OpenAIServer, *, wait: bool
) -> None:
    openai_server.fail(Fault(body="length"), times=2)
    last = (await stream_events(engine, wait=wait))[-1]
    assert isinstance(last, Finished)
    assert last.answer.truncated
    assert engine.answer(QUESTION).truncated
    assert not engine.answer(QUESTION).truncated


@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize(
    ("fault", "error", "text"),
    [
        (Fault(body="cut"), ModelResponseError, "The documents answer"),
        (Fault(body="unfinished"), ModelResponseError, stub.ANSWER),
        (Fault(body="empty"), ModelResponseError, ""),
        (Fault(body="html"), ModelResponseError, ""),
        (UNAUTHORIZED, CredentialsError, ""),
        (Fault(429, headers={"retry-after": "60"}), RateLimitedError, ""),
    ],
)
async def test_a_stream_that_fails_ends_in_one_of_our_errors_with_what_had_arrived(
    engine: RagNodesQueryEngine,
    openai_server: OpenAIServer,
    fault: Fault,
    error: type[Exception],
    text: str,
    *,
    wait: bool,
) -> None:
    openai_server.fail(fault)
    last = (await stream_events(engine, wait=wait))[-1]
    assert isinstance(last, Failed)
    assert isinstance(last.error, error)
    assert last.text == text
    assert KEY not in str(last.error)


def test_a_server_that_asks_for_a_moment_gets_it(
    engine: RagNodesQueryEngine, openai_server: OpenAIServer
) -> None:
    openai_server.fail(Fault(429, headers={"retry-after": "0.05"}))
    assert isinstance(list(engine.stream(QUESTION))[-1], Finished)
    assert len(openai_server.asked("chat/completions")) == 2


def test_costs_use_the_tokens_that_the_server_counts(
    engine: RagNodesQueryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = engine.answer(QUESTION)
    assert (whole.tokens_in, whole.tokens_out, whole.tokens_estimated) == (1, 1, False)
    assert whole.cost == pytest.approx(3e-6)
    original = stub._events

    async def with_usage(
        server: OpenAIServer, body: dict[str, Any], fault: Fault
    ) -> AsyncIterator[str]:
        async for event in original(server, body, fault):
            if "[DONE]" in event:
                usage = {"prompt_tokens": 40, "completion_tokens": 2, "total_tokens": 42}
                facts = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "m"}
                yield f"data: {json.dumps({**facts, 'choices': [], 'usage': usage})}\n\n"
            yield event

    monkeypatch.setattr(stub, "_events", with_usage)
    last = list(engine.stream(QUESTION))[-1]
    assert isinstance(last, Finished)
    assert (last.answer.tokens_in, last.answer.tokens_out) == (40, 2)
    assert not last.answer.tokens_estimated


def test_only_openai_itself_is_asked_for_figures_in_a_stream(
    engine: RagNodesQueryEngine, openai_server: OpenAIServer
) -> None:
    list(engine.stream(QUESTION))
    assert "stream_options" not in openai_server.asked("chat/completions")[-1]
    own = OpenAIServerLLM(model="gpt-4o-mini")
    assert own._get_model_kwargs(stream=True)["stream_options"] == {"include_usage": True}
    assert "stream_options" not in own._get_model_kwargs()


def test_the_window_of_a_model_is_known_or_guessed_with_care() -> None:
    assert known_window("gpt-4o-mini-2024-07-18") == known_window("gpt-4o") == 128_000
    assert known_window("gpt-4-0613") == 8192
    assert known_window("gpt-40") == known_window("") == SMALLEST_WINDOW
    assert OpenAIServerLLM(model="llama3").metadata.context_window == SMALLEST_WINDOW
    assert OpenAIServerLLM(context_window=99).metadata.context_window == 99


def test_figures_that_are_none_are_none() -> None:
    class Response:
        usage: Any = None

    llm = OpenAIServerLLM()
    assert llm._get_response_token_counts(Response()) == {}
    assert llm._get_response_token_counts(object()) == {}


@pytest.mark.parametrize(
    "fault", [None, UNAUTHORIZED, FAILING, LIMITED, Fault(body="cut"), Fault(body="garbage")]
)
def test_the_key_is_in_no_event_error_log_or_export(
    engine: RagNodesQueryEngine,
    openai_server: OpenAIServer,
    caplog: pytest.LogCaptureFixture,
    fault: Fault | None,
) -> None:
    caplog.set_level(logging.DEBUG)
    seen: list[object] = []
    if fault:
        echo = Fault(fault.status, fault.code, f"refused {KEY}", body=fault.body)
        openai_server.fail(echo, times=20)
    for event in engine.stream(QUESTION):
        seen.append(event)
        if isinstance(event, Finished):
            seen += [event.answer.as_dict(), pickle.dumps(event.answer)]
        if isinstance(event, Failed):
            seen.append("".join(traceback.format_exception(event.error)))
    try:
        answer = engine.answer(QUESTION)
        seen += [answer, json.dumps(answer.as_dict())]
    except RagNodesError as error:
        seen.append("".join(traceback.format_exception(error)))
    chat = RagNodesChat(engine)
    seen += [vars(engine), vars(engine.retriever), engine.options, vars(chat), engine.models]
    assert len(openai_server.requests) > 2
    assert KEY not in "\n".join([*map(repr, seen), caplog.text])
