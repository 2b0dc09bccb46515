"""`RagNodesChat` as a chat engine of LlamaIndex: what upstream's tests of its own engines check."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole, ThinkingBlock
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.schema import QueryBundle
from plant import scripted_models
from scripted_llm import ScriptedLLM

from rag_nodes.core.errors import ModelConnectionError
from rag_nodes.models import Models
from rag_nodes.query import RagNodesChat, RagNodesQueryEngine
from rag_nodes.query.chat import OFFLINE
from rag_nodes.store import Store

FIRST = "What starts the generator?"
FOLLOW_UP = "How much power does it make?"
WAYS = ["chat", "achat", "stream_chat", "astream_chat"]
EACH_WAY = pytest.mark.parametrize("way", WAYS)


@pytest.fixture
def chat_with(store: Store, collection: str, offline: Models) -> Any:
    """A chat whose LLM says the given lines; offline without any."""

    def make(*script: Any, **options: Any) -> RagNodesChat:
        models = scripted_models(*script) if script else offline
        engine = RagNodesQueryEngine(store=store, collection=collection, models=models)
        return RagNodesChat.from_defaults(query_engine=engine, **options)

    return make


async def reply_to(chat: BaseChatEngine, way: str, message: Any, **options: Any) -> tuple[str, Any]:
    """The whole answer to a message and the response, in one of the four ways to ask."""
    if way == "chat":
        response: Any = chat.chat(message, **options)
    elif way == "achat":
        response = await chat.achat(message, **options)
    elif way == "stream_chat":
        response = chat.stream_chat(message, **options)
        return "".join(response.response_gen), response
    else:
        response = await chat.astream_chat(message, **options)
        return "".join([piece async for piece in response.async_response_gen()]), response
    return str(response), response


def history_of(chat: BaseChatEngine) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in chat.chat_history]


@EACH_WAY
async def test_answers_are_remembered_in_order_until_the_chat_is_reset(
    chat_with: Any, way: str
) -> None:
    chat = chat_with("A battery [1].", "How much power does the generator make?", "Two MW [1].")
    first, response = await reply_to(chat, way, FIRST)
    assert first == str(response) == "A battery [1]."
    assert (await reply_to(chat, way, FOLLOW_UP))[0] == "Two MW [1]."
    assert history_of(chat) == [
        ("user", FIRST),
        ("assistant", "A battery [1]."),
        ("user", FOLLOW_UP),
        ("assistant", "Two MW [1]."),
    ]
    assert "A battery" in chat.engine.models.llm.prompts[1], "the follow-up is condensed"
    chat.reset()
    assert chat.chat_history == []


@EACH_WAY
async def test_a_given_history_replaces_what_is_remembered(chat_with: Any, way: str) -> None:
    chat = chat_with("A battery.", "What starts the generator?", "It does.")
    await reply_to(chat, way, FIRST)
    history = [
        ChatMessage(role=MessageRole.SYSTEM, content="Be brief."),
        ChatMessage(role=MessageRole.USER, content="Is there a generator?"),
        ChatMessage(role=MessageRole.ASSISTANT, content="There is."),
        ChatMessage(role=MessageRole.ASSISTANT, content="In the hall."),
    ]
    await reply_to(chat, way, "What starts it?", chat_history=history)
    condensing = chat.engine.models.llm.prompts[1]
    assert "Is there a generator?" in condensing
    assert "There is.\n\nIn the hall." in condensing
    assert FIRST not in condensing
    assert history_of(chat)[0] == ("user", "Is there a generator?")
    assert history_of(chat)[-1] == ("assistant", "It does.")
    await reply_to(chat, way, FIRST, chat_history=[])
    assert history_of(chat) == [("user", FIRST), ("assistant", "It does.")]
    assert len(chat.engine.models.llm.prompts) == 4, "an empty history leaves nothing to condense"


@EACH_WAY
async def test_sources_come_with_the_response(chat_with: Any, way: str) -> None:
    chat = chat_with("A battery [1].", "How much power does the generator make?", "Two MW [1].")
    await reply_to(chat, way, QueryBundle(FIRST))
    _, response = await reply_to(chat, way, QueryBundle(FOLLOW_UP))
    [source] = response.sources
    assert source.raw_input == {"query": "How much power does the generator make?"}
    assert source.content == source.raw_output.metadata["answer"]["text"] == "Two MW [1]."
    assert any("megawatts" in node.get_content() for node in response.source_nodes)
    if way in ("chat", "achat"):
        assert response.metadata == source.raw_output.metadata


@EACH_WAY
@pytest.mark.parametrize("message", ["Hello!", "Thank you very much"])
async def test_offline_small_talk_is_answered_with_what_the_chat_can_do(
    chat_with: Any, way: str, message: str
) -> None:
    chat = chat_with()
    assert (await reply_to(chat, way, message))[0] == OFFLINE
    assert history_of(chat) == [("user", message), ("assistant", OFFLINE)]
    assert "battery" in (await reply_to(chat, way, FIRST))[0]


@EACH_WAY
async def test_an_answer_that_fails_is_raised_and_not_remembered(chat_with: Any, way: str) -> None:
    chat = chat_with(ConnectionError("down"))
    with pytest.raises(ModelConnectionError):
        await reply_to(chat, way, FIRST)
    assert chat.chat_history == []


@pytest.mark.parametrize("way", ["stream_chat", "astream_chat"])
async def test_a_stream_that_is_left_is_remembered_as_far_as_it_was_read(
    chat_with: Any, way: str
) -> None:
    chat = chat_with(["A bat", "tery."], "How much power does the generator make?", "Two MW.")
    if way == "stream_chat":
        pieces = chat.stream_chat(FIRST).response_gen
        assert history_of(chat) == [("user", FIRST)]
        next(pieces)
    else:
        awaited = (await chat.astream_chat(FIRST)).async_response_gen()
        assert history_of(chat) == [("user", FIRST)]
        await anext(awaited)
        await awaited.aclose()
    assert history_of(chat) == [("user", FIRST), ("assistant", "A bat")]
    assert (await reply_to(chat, way, FOLLOW_UP))[0] == "Two MW."
    assert "A bat" in chat.engine.models.llm.prompts[1]


@EACH_WAY
async def test_the_thoughts_of_a_model_are_neither_answered_nor_remembered(
    store: Store, collection: str, way: str
) -> None:
    class Thinking(ScriptedLLM):
        def _said(self, text: str, delta: str | None = None) -> ChatResponse:
            response = super()._said(text, delta)
            response.message.blocks.insert(0, ThinkingBlock(content="Which battery?"))
            return response

    llm = Thinking(lines=["A battery [1]."])
    engine = RagNodesQueryEngine(store=store, collection=collection, embed_model="lexical", llm=llm)
    chat = RagNodesChat(engine)
    assert (await reply_to(chat, way, FIRST))[0] == "A battery [1]."
    assert history_of(chat) == [("user", FIRST), ("assistant", "A battery [1].")]


def test_a_chat_begins_with_the_history_that_it_was_made_with(chat_with: Any) -> None:
    history = [
        ChatMessage(role=MessageRole.USER, content="Is there a pump?"),
        ChatMessage(role=MessageRole.ASSISTANT, content="There is."),
    ]
    chat = chat_with(chat_history=history)
    assert chat.chat_history == history
    assert chat.ask("Why?", follow_up=True).question == "Is there a pump? Why?"


def test_a_user_talks_to_it_in_llama_indexs_loop(
    chat_with: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines: Iterator[str] = iter([FIRST, "exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    chat_with("A battery [1].").streaming_chat_repl()
    assert "A battery [1]." in capsys.readouterr().out


async def test_pieces_arrive_as_the_llm_writes_them(chat_with: Any) -> None:
    pieces = ["A bat", "tery", " [1]."]
    response = chat_with(pieces).stream_chat(FIRST)
    assert list(response.response_gen) == pieces
    awaited: AsyncIterator[str] = (await chat_with(pieces).astream_chat(FIRST)).async_response_gen()
    assert [piece async for piece in awaited] == pieces
