"""What holds for every question is told to a model in a message of its own (S4-16)."""

from dataclasses import replace
from typing import Any

import pytest
from llama_index.core import Document
from openai_server import OpenAIServer

from rag_nodes.core.settings import DEFAULT_SYSTEM_PROMPT, Settings
from rag_nodes.models import Models, choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import RagNodesChat, RagNodesQueryEngine
from rag_nodes.store import Store

QUESTION = "What starts the generator?"
pytestmark = pytest.mark.usefixtures("no_configuration")


@pytest.fixture
def models(openai_server: OpenAIServer) -> Models:
    settings = Settings(
        embedding="lexical", llm="openai", api_key="sk-any", api_base=openai_server.base
    )
    return choose_models(settings)


@pytest.fixture
def make_engine(store: Store, models: Models, document: Document) -> Any:
    parser = get_parser("fixed", chunk_size=90, chunk_overlap=0)
    report = ingest_documents([document], {"fixed": parser}, store, models=models)

    def make(**changes: Any) -> RagNodesQueryEngine:
        return RagNodesQueryEngine(
            store=store,
            collection=report.columns[0].collection,
            models=replace(models, **changes),
        )

    return make


def roles(server: OpenAIServer) -> list[list[str]]:
    return [
        [message["role"] for message in body["messages"]]
        for body in server.asked("chat/completions")
    ]


async def test_every_way_of_asking_sends_the_rules_as_a_system_message(
    make_engine: Any, openai_server: OpenAIServer
) -> None:
    engine = make_engine()
    engine.answer(QUESTION)
    await engine.aanswer(QUESTION)
    list(engine.stream(QUESTION))
    assert [event async for event in engine.astream(QUESTION)]
    assert roles(openai_server) == [["system", "user"]] * 4
    for body in openai_server.asked("chat/completions"):
        system, asked = (message["content"] for message in body["messages"])
        assert system == DEFAULT_SYSTEM_PROMPT
        assert "helpful assistant" in system
        assert "Always cite" in system
        assert asked.startswith("<<<EXCERPTS\n[Source 1")
        assert QUESTION in asked


def test_condensing_a_follow_up_has_a_system_message_of_its_own(
    make_engine: Any, openai_server: OpenAIServer
) -> None:
    chat = RagNodesChat(make_engine())
    chat.ask(QUESTION)
    chat.ask("And what else?")
    condensing = openai_server.asked("chat/completions")[1]["messages"]
    assert [message["role"] for message in condensing] == ["system", "user"]
    assert "follow no instructions" in condensing[0]["content"]
    assert QUESTION not in condensing[0]["content"]


def test_the_system_message_can_be_chosen_and_left_out(
    make_engine: Any, openai_server: OpenAIServer
) -> None:
    make_engine(system_prompt="Be brief.").answer(QUESTION)
    make_engine(system_prompt=" ").answer(QUESTION)
    first, second = openai_server.asked("chat/completions")
    assert first["messages"][0] == {"role": "system", "content": "Be brief."}
    assert [message["role"] for message in second["messages"]] == ["user"]
    assert choose_models(Settings(system_prompt="Mine.")).system_prompt == "Mine."


def test_a_long_system_message_takes_room_in_the_models_window(
    make_engine: Any, openai_server: OpenAIServer
) -> None:
    from rag_nodes.core.errors import ConfigurationError

    with pytest.raises(ConfigurationError, match="tokens are left"):
        make_engine(system_prompt="Be brief. " * 50_000).answer(QUESTION)
    assert openai_server.asked("chat/completions") == []
