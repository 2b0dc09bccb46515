"""What the room of models assumes about the insides of other packages, one test each.

A red test here after an update names what the new version does otherwise, and who relies on it.

- llama-index-core: a model of `Settings` that nobody set is None in a private attribute (`choose`).
- llama-index-core: models that only stand in for one are defined in `llms.mock` (`names`).
- llama-index-core: of a request to an embedding the first event names the model and the last has
  the texts; both are of one span (`embedded_tokens`).
- llama-index-core: out of a pickle a model is made anew of its fields, or has its state put back
  (`openai`, `local`).
- llama-index-embeddings-openai: the client comes from `_get_client` (`openai.embedding`).
- llama-index-llms-openai: clients come from `_get_client`, bodies from `_get_model_kwargs`, all
  chats pass `_chat`, `_stream_chat` and their async twins (`openai.llm`).
- llama-index-llms-openai: nothing is repeated where `max_retries` is 0 (`openai`).
- llama-index-embeddings-fastembed: options it does not know go to `TextEmbedding` (`local`).
- openai: every method comes down to `request(cast_to, options, stream=...)`, and the body is
  `options.json_data` (`openai.client`).
- openai: it says which failures may pass and how long its server asks to wait, `_should_retry`
  and `_parse_retry_after_header` (`openai.client`).
- openai: its transport is httpx, whose failures are the causes of its own (`openai.client`,
  `faults`).
- openai: of an error status, `code`, `param` and `body` hold what the server said (`faults`).
"""

from __future__ import annotations

import inspect
import pickle
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import httpx
import openai
import openai_server as stub
import pytest
from llama_index.core import MockEmbedding
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.embedding import (
    EmbeddingEndEvent,
    EmbeddingStartEvent,
)
from llama_index.core.settings import Settings as LlamaSettings
from llama_index.core.settings import _Settings
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai import OpenAI
from llama_index.llms.openai_like import OpenAILike

from rag_nodes.models import Models
from rag_nodes.models.names import is_mock
from rag_nodes.models.openai.client import ServerClient

if TYPE_CHECKING:
    from openai_server import OpenAIServer

KEY = "sk-canary-8810"

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")


def _client(server: OpenAIServer) -> ServerClient:
    return ServerClient(model="m", retry_seconds=0, api_key=KEY, base_url=server.base)


@pytest.mark.parametrize("name", ["llm", "embed_model"])
def test_a_model_of_llama_indexs_settings_that_nobody_set_is_none_in_a_private_attribute(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert getattr(_Settings(), f"_{name}") is None
    monkeypatch.setattr(LlamaSettings, f"_{name}", None)
    models = Models.of()
    assert (models.embedding_name, models.llm) == ("lexical-1024", None)


async def test_events_of_one_request_share_a_span_and_name_model_and_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    class Noting(BaseEventHandler):
        def handle(self, event: Any, **_: Any) -> None:
            seen.append(event)

    monkeypatch.setattr(get_dispatcher(), "event_handlers", [Noting()])
    model = MockEmbedding(embed_dim=3)
    model.get_text_embedding("a")
    model.get_query_embedding("a")
    model.get_text_embedding_batch(["a"])
    await model.aget_text_embedding_batch(["a"])
    await model.aget_query_embedding("a")
    starts = [event for event in seen if isinstance(event, EmbeddingStartEvent)]
    ends = [event for event in seen if isinstance(event, EmbeddingEndEvent)]
    assert [event.chunks for event in ends] == [["a"]] * 5
    assert [event.span_id for event in ends] == [event.span_id for event in starts]
    assert len({event.span_id for event in ends}) == 5
    for event in starts:
        named = event.model_dict["class_name"], event.model_dict["model_name"]
        assert named == (model.class_name(), model.model_name)


def test_out_of_a_pickle_a_model_of_llama_index_is_made_anew_of_its_fields(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pickled = pickle.dumps(MockEmbedding(embed_dim=3))
    made: list[dict[str, Any]] = []
    original = MockEmbedding.__init__

    def noted(self: MockEmbedding, **values: Any) -> None:
        made.append(values)
        original(self, **values)

    monkeypatch.setattr(MockEmbedding, "__init__", noted)
    pickle.loads(pickled)
    assert made[0]["embed_dim"] == 3


def test_the_clients_of_llama_indexs_classes_come_from_one_method_each() -> None:
    for kind in (OpenAIEmbedding, OpenAI):
        source = inspect.getsource(kind)
        built = source.count("OpenAI(**self._get_credential_kwargs")
        getters = (kind._get_client, kind._get_aclient)
        within = sum(inspect.getsource(one).count("OpenAI(**self._get_cred") for one in getters)
        assert built == within == 4, kind


class Asked(OpenAILike):
    """Notes which of the methods that ours overrides are passed."""

    def _get_client(self) -> Any:
        raise LookupError("_get_client")

    def _get_aclient(self) -> Any:
        raise LookupError("_get_aclient")

    def _chat(self, *_: Any, **__: Any) -> Any:
        raise LookupError("_chat")

    def _stream_chat(self, *_: Any, **__: Any) -> Any:
        raise LookupError("_stream_chat")

    async def _achat(self, *_: Any, **__: Any) -> Any:
        raise LookupError("_achat")

    async def _astream_chat(self, *_: Any, **__: Any) -> Any:
        raise LookupError("_astream_chat")


async def test_all_chats_and_completions_pass_four_methods() -> None:
    llm = Asked(model="m", api_key=KEY, is_chat_model=True)
    for ask in (llm.complete, lambda _: llm.chat([])):
        with pytest.raises(LookupError, match=r"^'?_chat"):
            ask("?")
    for ask in (llm.stream_complete, lambda _: llm.stream_chat([])):
        with pytest.raises(LookupError, match=r"^'?_stream_chat"):
            ask("?")
    for answer in (llm.acomplete("?"), llm.achat([])):
        with pytest.raises(LookupError, match=r"^'?_achat"):
            await answer
    for stream in (llm.astream_complete("?"), llm.astream_chat([])):
        with pytest.raises(LookupError, match=r"^'?_astream_chat"):
            await stream


def test_what_is_sent_beside_the_messages_comes_from_one_method(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAILike, "_get_model_kwargs", lambda *_, **__: {"model": "this alone"})
    llm = OpenAILike(model="m", api_key=KEY, api_base=openai_server.base, is_chat_model=True)
    llm.complete("?")
    (body,) = openai_server.asked("completions")
    assert body.keys() == {"model", "messages", "stream"}
    assert body["model"] == "this alone"


def test_llama_index_repeats_nothing_where_max_retries_is_zero(
    openai_server: OpenAIServer,
) -> None:
    openai_server.fail(stub.FAILING, times=9)
    llm = OpenAILike(
        model="m", api_key=KEY, api_base=openai_server.base, is_chat_model=True, max_retries=0
    )
    with pytest.raises(openai.InternalServerError):
        llm.complete("?")
    assert len(openai_server.requests) == 1


@pytest.mark.skipif(
    find_spec("fastembed") is None or find_spec("llama_index.embeddings.fastembed") is None,
    reason="the extra fastembed is not for this Python",
)
def test_options_that_the_fastembed_integration_does_not_know_go_to_fastembed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import fastembed
    from llama_index.embeddings.fastembed import FastEmbedEmbedding

    given: dict[str, Any] = {}
    monkeypatch.setattr(fastembed, "TextEmbedding", lambda **values: given.update(values))
    FastEmbedEmbedding(model_name="m", specific_model_path="/models")
    assert given["specific_model_path"] == "/models"


def test_every_method_of_the_client_comes_down_to_one_request(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[Any, bool]] = []
    original = ServerClient.request

    def noted(self: ServerClient, cast_to: Any, options: Any, **kinds: Any) -> Any:
        seen.append((options.json_data, bool(kinds.get("stream"))))
        return original(self, cast_to, options, **kinds)

    monkeypatch.setattr(ServerClient, "request", noted)
    client = _client(openai_server)
    messages: Any = [{"role": "user", "content": "?"}]
    client.embeddings.create(model="m", input=["a"])
    client.chat.completions.create(model="m", messages=messages)
    list(client.chat.completions.create(model="m", messages=messages, stream=True))
    assert [streamed for _, streamed in seen] == [False, False, True]
    assert seen[0][0]["input"] == ["a"]
    assert seen[1][0]["messages"] == messages


def test_the_transport_of_the_client_is_httpx_and_its_failures_are_causes(
    openai_server: OpenAIServer,
) -> None:
    assert issubclass(openai.DefaultHttpxClient, httpx.Client)
    client = openai.OpenAI(api_key=KEY, base_url="http://127.0.0.1:1/v1", max_retries=0)
    with pytest.raises(openai.APIConnectionError) as refused:
        client.models.list()
    assert isinstance(refused.value.__cause__, httpx.ConnectError)
    client.close()
    openai_server.fail(stub.Fault(body="cut"))
    messages: Any = [{"role": "user", "content": "?"}]
    with pytest.raises((httpx.RemoteProtocolError, openai.APIConnectionError)):
        list(
            _client(openai_server).chat.completions.create(
                model="m", messages=messages, stream=True
            )
        )


def test_an_error_status_keeps_what_the_server_said(openai_server: OpenAIServer) -> None:
    openai_server.fail(stub.Fault(400, "unsupported_parameter", "no such thing", parameter="top_p"))
    with pytest.raises(openai.BadRequestError) as refused:
        _client(openai_server).embeddings.create(model="m", input=["a"])
    error = refused.value
    assert (error.status_code, error.code, error.param) == (400, "unsupported_parameter", "top_p")
    assert isinstance(error.body, dict)
    assert error.body["message"] == "no such thing"


def test_the_client_says_what_may_pass_and_how_long_its_server_asks_to_wait(
    openai_server: OpenAIServer,
) -> None:
    client = _client(openai_server)

    def said(status: int, **headers: str) -> tuple[bool, float | None]:
        response = httpx.Response(
            status, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        return client._should_retry(response), client._parse_retry_after_header(response.headers)

    assert [status for status in range(400, 600) if said(status)[0]] == [
        408,
        409,
        429,
        *range(500, 600),
    ]
    assert said(429, retry_after="7") == (True, 7)
    assert said(503, retry_after_ms="500") == (True, 0.5)
    assert said(503, x_should_retry="false") == (False, None)
    then = format_datetime(datetime.now(UTC) + timedelta(minutes=1), usegmt=True)
    assert said(429, retry_after=then)[1] == pytest.approx(60, abs=5)


def test_models_that_stand_in_for_one_are_known_by_where_they_are_defined() -> None:
    from llama_index.core.llms import MockLLM
    from llama_index.core.llms.mock import MockFunctionCallingLLM

    class Mine(MockLLM):
        """A mock of somebody's own."""

    for mock in (MockLLM(), MockFunctionCallingLLM(), Mine()):
        assert is_mock(mock)
    assert not is_mock(OpenAI(api_key="sk-canary-8810"))
