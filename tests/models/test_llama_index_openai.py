"""What LlamaIndex's own OpenAI classes lack, held against the server that records what arrives."""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import openai_server as stub
import pytest
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel, SecretStr

from rag_nodes.errors import (
    ConfigurationError,
    CredentialsError,
    ModelRequestError,
    ModelResponseError,
)
from rag_nodes.models import Models, choose_models
from rag_nodes.models.openai import OpenAIServerEmbedding, OpenAIServerLLM
from rag_nodes.settings import OPENAI_API_BASE, Settings

if TYPE_CHECKING:
    from openai_server import Fault, OpenAIServer

KEY = "sk-canary-0d41"

pytest_plugins = ["fixtures_openai"]
pytestmark = pytest.mark.usefixtures("no_configuration")


@pytest.fixture
def embedding(openai_server: OpenAIServer) -> OpenAIServerEmbedding:
    return OpenAIServerEmbedding(model_name="nomic", api_key=KEY, api_base=openai_server.base)


@pytest.fixture
def llm(openai_server: OpenAIServer) -> OpenAIServerLLM:
    return OpenAIServerLLM(model="llama3", api_key=KEY, api_base=openai_server.base)


def test_our_models_are_those_of_llama_index(
    embedding: OpenAIServerEmbedding, llm: OpenAIServerLLM
) -> None:
    assert isinstance(embedding, OpenAIEmbedding)
    assert isinstance(llm, OpenAILike)


def test_vectors_are_asked_for_in_base64(
    embedding: OpenAIServerEmbedding, openai_server: OpenAIServer
) -> None:
    embedding.get_query_embedding("hello")
    assert openai_server.asked("embeddings")[0]["encoding_format"] == "base64"


def test_a_number_of_dimensions_is_asked_for_and_names_another_vector_space(
    openai_server: OpenAIServer,
) -> None:
    values: dict[str, Any] = {"model_name": "nomic", "api_base": openai_server.base}
    short = OpenAIServerEmbedding(**values, dimensions=16)
    assert len(short.get_text_embedding("hello")) == 16
    assert openai_server.asked("embeddings")[0]["dimensions"] == 16
    names = {
        Models.of(embed_model=one).embedding_name
        for one in (short, OpenAIServerEmbedding(**values))
    }
    assert len(names) == 2


def test_what_the_environment_holds_for_others_is_in_no_model(
    monkeypatch: pytest.MonkeyPatch,
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


def test_headers_that_open_a_gateway_are_sent_and_shown_nowhere(
    openai_server: OpenAIServer,
) -> None:
    values: dict[str, Any] = {
        "api_base": openai_server.base,
        "default_headers": {"Authorization": f"Bearer {KEY}"},
    }
    embedding, llm = OpenAIServerEmbedding(**values), OpenAIServerLLM(**values)
    embedding.get_query_embedding("hello")
    llm.complete("hello")
    assert {one.authorization for one in openai_server.requests} == {f"Bearer {KEY}"}
    for model in (embedding, llm):
        shown = [repr(model), str(model.to_dict()), model.to_json()]
        assert KEY not in "".join(shown)


def test_the_address_other_openai_tools_read_is_where_requests_go(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", openai_server.base)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    models = choose_models(Settings())
    assert models.llm is not None
    models.embedding.get_query_embedding("hello")
    models.llm.complete("hello")
    assert [one.authorization for one in openai_server.requests] == [f"Bearer {KEY}"] * 2


def test_a_call_may_ask_for_other_options_than_the_model(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    llm.complete("hello", max_tokens=5, temperature=1.5)
    (body,) = openai_server.asked("chat/completions")
    assert (body["max_tokens"], body["temperature"]) == (5, 1.5)


def test_models_that_reason_are_asked_in_their_own_words() -> None:
    body = OpenAIServerLLM(model="o3-mini", max_tokens=50)._get_model_kwargs()
    assert body == {"model": "o3-mini", "temperature": 1.0, "max_completion_tokens": 50}


def test_a_limit_refused_under_one_name_is_kept_under_the_other(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    openai_server.fail(stub.Fault(400, "unsupported_parameter", "no", parameter="max_tokens"))
    list(llm.stream_complete("hello"))
    first, second = openai_server.asked("chat/completions")
    assert first["max_tokens"] == second["max_completion_tokens"] == 1024
    assert "max_tokens" not in second


@pytest.mark.parametrize("name", ["messages", "top_p", "model"])
def test_a_parameter_that_the_answer_depends_on_is_not_left_out(
    name: str, llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    openai_server.fail(stub.Fault(400, "unsupported_parameter", "no", parameter=name))
    with pytest.raises(ModelRequestError, match="refused"):
        llm.complete("hello", top_p=0.5)
    assert len(openai_server.requests) == 1


def test_half_a_surrogate_in_a_message_does_not_stop_it(
    llm: OpenAIServerLLM, openai_server: OpenAIServer
) -> None:
    llm.chat([ChatMessage("broken \ud800 half"), ChatMessage("é")])
    sent = [
        message["content"] for message in openai_server.asked("chat/completions")[0]["messages"]
    ]
    assert sent == ["broken \ufffd half", "é"]


def test_a_model_of_another_kind_is_refused_before_it_is_asked() -> None:
    with pytest.raises(ConfigurationError, match="does not chat"):
        OpenAIServerLLM(model="gpt-5.2-pro")


def test_no_path_leads_to_a_client_of_its_own_transport(
    embedding: OpenAIServerEmbedding, llm: OpenAIServerLLM
) -> None:
    for model in (embedding, llm):
        with pytest.raises(NotImplementedError, match="threads"):
            model._get_aclient()


async def test_without_a_key_openai_is_not_asked(openai_server: OpenAIServer) -> None:
    for ask in (OpenAIServerEmbedding().get_query_embedding, OpenAIServerLLM().complete):
        with pytest.raises(CredentialsError, match="no key; set OPENAI_API_KEY"):
            ask("hello")
    with pytest.raises(CredentialsError, match="no key"):
        await OpenAIServerLLM().acomplete("hello")
    assert openai_server.requests == []


def test_a_stream_that_is_left_gives_its_connection_back(llm: OpenAIServerLLM) -> None:
    pieces = llm.stream_complete("hello")
    next(iter(pieces))
    pieces.close()
    pool = llm._get_client()._client._transport._pool  # type: ignore[attr-defined]
    assert all(connection.is_idle() or connection.is_closed() for connection in pool.connections)


class Reading(BaseModel):
    """What a tool is called with."""

    litres: int


def _called(arguments: str) -> Any:
    call = {"id": "1", "type": "function", "function": {"name": "Reading", "arguments": arguments}}

    def chat(server: OpenAIServer, body: dict[str, Any], fault: Fault) -> Any:
        del server, fault
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        facts = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
        return stub.JSONResponse({**facts, "choices": [choice]})

    return chat


def test_tools_of_llama_index_are_offered_and_called(
    openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stub, "_chat", _called('{"litres": 9}'))
    llm = OpenAIServerLLM(
        model="llama3", api_base=openai_server.base, is_function_calling_model=True
    )
    tool = FunctionTool.from_defaults(lambda litres: litres, name="Reading", fn_schema=Reading)
    answer = llm.chat_with_tools([tool], "How much?")
    (call,) = llm.get_tool_calls_from_response(answer)
    assert (call.tool_name, call.tool_kwargs) == ("Reading", {"litres": 9})
    assert openai_server.asked("completions")[0]["tools"][0]["function"]["name"] == "Reading"


def test_what_openai_offers_is_known_and_of_other_servers_only_what_is_said() -> None:
    own = OpenAIServerLLM(model="gpt-4o-mini")
    other = OpenAIServerLLM(model="gpt-4o-mini", api_base="http://127.0.0.1:1/v1")
    assert own.metadata.is_function_calling_model
    assert own.should_use_structured_outputs
    assert not other.metadata.is_function_calling_model
    assert not other.should_use_structured_outputs


def test_an_answer_of_blanks_is_none(llm: OpenAIServerLLM, openai_server: OpenAIServer) -> None:
    openai_server.answer = "  \n"
    for ask in (llm.complete, lambda text: list(llm.stream_complete(text))):
        with pytest.raises(ModelResponseError, match="empty answer; try again"):
            ask("hello")
