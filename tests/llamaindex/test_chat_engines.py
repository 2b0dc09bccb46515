"""LlamaIndex's chat engines over our engine, retriever, parsers and postprocessor.

What upstream's tests check of these engines over its own components; `tests/query/test_chat_engine`
checks it of `RagNodesChat`.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.base.llms.types import ChatMessage, MessageRole
from llama_index.core.chat_engine import (
    CondensePlusContextChatEngine,
    CondenseQuestionChatEngine,
    ContextChatEngine,
)
from llama_index.core.chat_engine.types import BaseChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document, QueryBundle
from plant import MANUAL
from scripted_llm import ScriptedLLM

from rag_nodes import (
    QueryOptions,
    RagNodesQueryEngine,
    RagNodesRetriever,
    SentencePostprocessor,
    get_embedding,
    get_parser,
    ingest_documents,
    open_store,
)

ANSWER = "A spare battery starts the generator when the grid is down."
FIRST = "What starts the generator?"
FOLLOW_UP = "How much power does it make?"
CONDENSED = "How many megawatts does the generator make?"
DOCUMENT = Document(text=MANUAL, id_="plant")
PARSER = get_parser("sentence", chunk_size=1, chunk_overlap=0)
KINDS = {
    "condense question": CondenseQuestionChatEngine,
    "context": ContextChatEngine,
    "condense plus context": CondensePlusContextChatEngine,
}
WAYS = ["chat", "achat", "stream_chat", "astream_chat"]


def reply(prompt: str) -> str:
    """Return the words of an LLM that condenses the follow-up, and answers both questions."""
    if "standalone" in prompt:
        return CONDENSED
    return "Two megawatts." if FOLLOW_UP in prompt or CONDENSED in prompt else "A battery."


@pytest.fixture
def llm() -> ScriptedLLM:
    return ScriptedLLM(lines=[[lambda prompt: reply(prompt)[:5], lambda prompt: reply(prompt)[5:]]])


@pytest.fixture(scope="module")
def stored() -> Iterator[dict[str, Any]]:
    with open_store() as store:
        ingest_documents([DOCUMENT], {"plant": PARSER}, store)
        yield {"store": store, "parser": PARSER, "embed_model": "lexical"}


@pytest.fixture(params=["our store", "stock index"])
def sources(
    request: pytest.FixtureRequest, stored: dict[str, Any], llm: ScriptedLLM
) -> dict[str, Any]:
    """The arguments of a chat engine that say where it finds its sources."""
    if request.param == "our store":
        return {
            "retriever": RagNodesRetriever(**stored),
            "query_engine": RagNodesQueryEngine(**stored, llm=llm),
        }
    index = VectorStoreIndex.from_documents(
        [DOCUMENT], transformations=[PARSER], embed_model=get_embedding("lexical")
    )
    return {
        "retriever": index.as_retriever(similarity_top_k=9),
        "query_engine": RagNodesQueryEngine.from_index(index, llm=llm),
        "node_postprocessors": [SentencePostprocessor(budget=13)],
    }


@pytest.fixture(params=KINDS)
def chat(
    request: pytest.FixtureRequest, sources: dict[str, Any], llm: ScriptedLLM
) -> BaseChatEngine:
    given = dict(sources)
    if request.param == "condense question":
        given = {"query_engine": sources["query_engine"]}
    return KINDS[request.param].from_defaults(
        **given,
        llm=llm,
        memory=ChatMemoryBuffer.from_defaults(),  # the default one leaves a database open
    )


async def get_response(chat: BaseChatEngine, way: str, message: Any, **options: Any) -> Any:
    """Return the response to a message once it was read in one of the four ways to ask."""
    engine = getattr(chat, "_query_engine", None)
    if engine is not None:
        engine.streaming = "stream" in way
    response = getattr(chat, way)(message, **options)
    if way.startswith("a"):
        response = await response
    if way == "stream_chat":
        assert "".join(response.response_gen) == str(response)
    elif way == "astream_chat":
        pieces = [piece async for piece in response.async_response_gen()]
        assert "".join(pieces) == str(response)
    return response


def sources_of(response: Any) -> Any:
    """Return the nodes of a response; LlamaIndex leaves those of an async stream in its source."""
    return response.source_nodes or response.sources[0].raw_output.source_nodes


def history_of(chat: BaseChatEngine) -> list[tuple[str, str | None]]:
    return [(message.role.value, message.content) for message in chat.chat_history]


@pytest.mark.parametrize("way", WAYS)
async def test_a_conversation_is_answered_from_slices_and_forgotten_when_it_is_reset(
    chat: BaseChatEngine, llm: ScriptedLLM, way: str
) -> None:
    response = await get_response(chat, way, FIRST)
    assert str(response) == "A battery."
    assert str(await get_response(chat, way, FOLLOW_UP)) == "Two megawatts."
    assert history_of(chat) == [
        ("user", FIRST),
        ("assistant", "A battery."),
        ("user", FOLLOW_UP),
        ("assistant", "Two megawatts."),
    ]
    assert any(FIRST in prompt and FOLLOW_UP in prompt for prompt in llm.prompts)
    nodes = [source.node for source in sources_of(response)]
    assert any("battery" in node.text for node in nodes)
    assert all(MANUAL[node.start_char_idx : node.end_char_idx] == node.text for node in nodes)

    chat.reset()
    assert chat.chat_history == []
    assert "battery" in llm.prompts[0]
    asked = QueryBundle(FIRST)
    response = await get_response(chat, way, asked)
    assert str(response) == "A battery."
    assert [message.role for message in chat.chat_history] == ["user", "assistant"]
    assert sources_of(response)[0].text == ANSWER


@pytest.mark.parametrize("way", WAYS)
async def test_a_given_history_is_what_a_follow_up_refers_to(
    chat: BaseChatEngine, llm: ScriptedLLM, way: str
) -> None:
    history = [
        ChatMessage(role=MessageRole.USER, content="Is there a generator?"),
        ChatMessage(role=MessageRole.ASSISTANT, content="There is."),
    ]
    response = await get_response(chat, way, FOLLOW_UP, chat_history=history)
    assert str(response) == "Two megawatts."
    assert any("Is there a generator?" in prompt for prompt in llm.prompts)
    assert any("megawatts" in source.text for source in sources_of(response))


@pytest.mark.parametrize("kind", ["context", "condense plus context"])
@pytest.mark.parametrize("options", [None, QueryOptions(granularity="chunks")])
def test_what_an_index_retrieves_fits_the_window_of_a_chat(
    kind: str, options: QueryOptions | None
) -> None:
    index = VectorStoreIndex.from_documents(
        [Document(text=MANUAL * 60, id_="long")],
        transformations=[SentenceSplitter(chunk_size=256)],
        embed_model=get_embedding("lexical"),
    )
    chat = KINDS[kind].from_defaults(
        retriever=RagNodesRetriever.from_index(index, options=options),
        llm=MockLLM(),
        memory=ChatMemoryBuffer.from_defaults(),
    )
    response = chat.chat(FIRST)
    assert FIRST in str(response)
    assert any("battery" in source.text for source in response.source_nodes)


@pytest.mark.parametrize("way", ["stream_chat", "astream_chat"])
async def test_a_stream_that_is_left_is_written_to_the_history(
    chat: BaseChatEngine, way: str
) -> None:
    engine = getattr(chat, "_query_engine", None)
    if engine is not None:
        engine.streaming = True
    if way == "stream_chat":
        pieces = chat.stream_chat(FIRST).response_gen
        assert next(pieces) == "A bat"
        pieces.close()
    else:
        awaited = (await chat.astream_chat(FIRST)).async_response_gen()
        assert await anext(awaited) == "A bat"
        await awaited.aclose()
    assert history_of(chat) == [("user", FIRST), ("assistant", "A battery.")]
