"""Tracers see what they see of LlamaIndex's own engines, and prompts are replaced as there."""

from collections.abc import Iterator
from typing import Any

import pytest
from llama_index.core import ChatPromptTemplate, PromptTemplate
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, MessageRole
from llama_index.core.base.response.schema import Response
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events import BaseEvent
from llama_index.core.llms import MockLLM
from llama_index.core.prompts import RichPromptTemplate
from llama_index.core.prompts.chat_prompts import CHAT_TEXT_QA_PROMPT
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from pydantic import Field

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models import Models
from rag_nodes.query import Finished, QueryOptions, RagNodesQueryEngine, RagNodesRetriever
from rag_nodes.store import Store

QUESTION = "What starts the generator?"
PROMPT = "response_synthesizer:text_qa_template"
SYSTEM = "response_synthesizer:system_prompt"


class Listening(BaseEventHandler):
    """Keeps the events of the dispatcher."""

    seen: list[Any]

    @classmethod
    def class_name(cls) -> str:
        return "Listening"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        self.seen.append(event)

    def names(self) -> list[str]:
        return [event.class_name() for event in self.seen]

    def event_named(self, name: str) -> Any:
        [event] = [event for event in self.seen if event.class_name() == name]
        return event


@pytest.fixture
def listening() -> Iterator[Listening]:
    handler = Listening(seen=[])
    handlers = get_dispatcher().event_handlers
    handlers.append(handler)
    yield handler
    handlers.remove(handler)


class Echo(MockLLM):
    """Answers with what it is sent; asked asynchronously as well."""

    sent: list[list[ChatMessage]] = Field(default_factory=list)

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        self.sent.append(list(messages))
        return super().chat(messages, **kwargs)

    def stream_chat(self, messages: Any, **kwargs: Any) -> Any:
        self.sent.append(list(messages))
        return super().stream_chat(messages, **kwargs)


@pytest.fixture
def mocked(offline: Models) -> Models:
    return Models(
        embedding=offline.embedding,
        llm=Echo(),
        embedding_name=offline.embedding_name,
        answer_name="mock",
        offline=False,
    )


@pytest.fixture
def engine(store: Store, collection: str, mocked: Models) -> RagNodesQueryEngine:
    return RagNodesQueryEngine(store=store, collection=collection, models=mocked)


# --- what tracers see -----------------------------------------------------------------------------


def main_events(names: list[str]) -> list[str]:
    return [name for name in names if name.startswith(("Query", "Retrieval", "Synthesize"))]


def test_tracers_see_the_events_of_a_stock_engine_in_its_order(
    store: Store, collection: str, mocked: Models, listening: Listening
) -> None:
    where: dict[str, Any] = {"store": store, "collection": collection, "models": mocked}
    where["options"] = QueryOptions(mode="hybrid")
    retriever = RagNodesRetriever(**where)
    stock = RetrieverQueryEngine(
        retriever, response_synthesizer=get_response_synthesizer(llm=MockLLM())
    )
    stock.query(QUESTION)
    expected = main_events(listening.names())
    assert "RetrievalEndEvent" in expected
    listening.seen.clear()
    RagNodesQueryEngine(**where).query(QUESTION)
    assert main_events(listening.names()) == expected
    assert "LLMChatEndEvent" in listening.names()
    assert "EmbeddingEndEvent" in listening.names()


def test_tracers_see_the_nodes_and_the_answer(
    engine: RagNodesQueryEngine, listening: Listening
) -> None:
    answer = engine.answer(QUESTION)
    nodes = listening.event_named("RetrievalEndEvent").nodes
    assert [node.node_id for node in nodes][: len(answer.hits)] == [
        hit.read.node_id for hit in answer.hits
    ]
    assert all(0 <= node.score <= 1 for node in nodes)
    ended = listening.event_named("SynthesizeEndEvent").response
    assert isinstance(ended, Response)
    assert ended.response == answer.text


async def test_tracers_see_as_much_of_every_way_to_ask(
    engine: RagNodesQueryEngine, listening: Listening
) -> None:
    expected = ["RetrievalStartEvent", "RetrievalEndEvent", "SynthesizeStartEvent"]
    expected.append("SynthesizeEndEvent")
    engine.answer(QUESTION)
    assert main_events(listening.names()) == expected
    listening.seen.clear()
    list(engine.stream(QUESTION))
    assert main_events(listening.names()) == expected
    listening.seen.clear()
    await engine.aanswer(QUESTION)
    assert main_events(listening.names()) == expected
    listening.seen.clear()
    async for _ in engine.astream(QUESTION):
        pass
    assert main_events(listening.names()) == expected


def test_the_events_of_retrieval_belong_to_a_span_of_the_retriever(
    engine: RagNodesQueryEngine, listening: Listening
) -> None:
    engine.query(QUESTION)
    span = listening.event_named("RetrievalEndEvent").span_id
    assert span.startswith("RagNodesRetriever.")


# --- prompts --------------------------------------------------------------------------------------


def sent_messages(engine: RagNodesQueryEngine) -> list[ChatMessage]:
    return engine.models.llm.sent[-1]


def test_the_prompts_are_there_under_the_names_of_stock_engines(
    engine: RagNodesQueryEngine,
) -> None:
    prompts = engine.get_prompts()
    assert set(prompts) == {PROMPT, SYSTEM}
    assert prompts[PROMPT].template_vars == ["context_str", "query_str"]
    assert "Always cite" in prompts[SYSTEM].get_template()


def test_prompts_that_are_put_back_change_nothing(engine: RagNodesQueryEngine) -> None:
    braces = 'Say {{"json": 1}} of\n{context}\nto {question}'
    own = RagNodesQueryEngine(
        store=engine.retriever.store,
        collection=engine.retriever.collection,
        models=engine.models,
        prompt=braces,
    )
    for engine_ in (engine, own):
        before = (engine_.models.prompt, engine_.models.system_prompt)
        engine_.update_prompts(engine_.get_prompts())
        assert (engine_.models.prompt, engine_.models.system_prompt) == before


async def test_a_new_prompt_is_read_in_the_next_answer_however_it_is_asked(
    engine: RagNodesQueryEngine,
) -> None:
    engine.answer(QUESTION)
    assert "As JSON" not in sent_messages(engine)[-1].content
    new = PromptTemplate('As JSON {"a": 1}: {context_str}\n---\n{query_str}')
    engine.update_prompts({PROMPT: new})

    def is_new() -> bool:
        text = sent_messages(engine)[-1].content
        return text.startswith('As JSON {"a": 1}: [Source 1') and text.endswith(QUESTION)

    engine.query(QUESTION)
    assert is_new()
    await engine.aanswer(QUESTION)
    assert is_new()
    assert isinstance(list(engine.stream(QUESTION))[-1], Finished)
    assert is_new()
    async for _ in engine.astream(QUESTION):
        pass
    assert is_new()
    assert len(engine.models.llm.sent) == 5


@pytest.mark.parametrize(
    "template",
    [
        CHAT_TEXT_QA_PROMPT,
        RichPromptTemplate(
            "{% chat role='system' %}An expert Q&A system{% endchat %}"
            "{% chat role='user' %}{{ context_str }} {{ query_str }}{% endchat %}"
        ),
    ],
    ids=["chat", "rich"],
)
def test_a_chat_template_brings_its_system_message(
    engine: RagNodesQueryEngine, template: Any
) -> None:
    engine.update_prompts({PROMPT: template})
    engine.answer(QUESTION)
    system, user = sent_messages(engine)
    assert (system.role, user.role) == (MessageRole.SYSTEM, MessageRole.USER)
    assert "expert Q&A system" in system.content
    assert "[Source 1" in user.content


def test_the_system_prompt_is_replaced_alone(engine: RagNodesQueryEngine) -> None:
    engine.update_prompts({SYSTEM: PromptTemplate("Be brief.")})
    engine.answer(QUESTION)
    assert sent_messages(engine)[0].content == "Be brief."


@pytest.mark.parametrize(
    ("name", "template", "message"),
    [
        (PROMPT, PromptTemplate("Only {context_str}"), "lacks {query_str}"),
        (PROMPT, PromptTemplate("Only {query_str}"), "lacks {context_str}"),
        (PROMPT, PromptTemplate("Neither"), "lacks {context_str} and {query_str}"),
        (PROMPT, "a text: {context_str} {query_str}", "must be a prompt template"),
        (
            PROMPT,
            ChatPromptTemplate.from_messages(
                [("system", "{context_str}"), ("user", "{query_str}")]
            ),
            "into the system message",
        ),
        (
            PROMPT,
            ChatPromptTemplate.from_messages(
                [("assistant", "Once"), ("user", "{context_str} {query_str}")]
            ),
            "role 'assistant'",
        ),
        (
            PROMPT,
            PromptTemplate(
                "{context_str} {query_str}", function_mappings={"context_str": lambda **_: "x"}
            ),
            "function_mappings",
        ),
        (SYSTEM, PromptTemplate("Of {context_str}"), "into the system message"),
        ("text_qa_template", PromptTemplate("{context_str} {query_str}"), f"choose {PROMPT}"),
        ("other:text_qa_template", PromptTemplate("{context_str}"), "there is no prompt"),
        ("response_synthesizer:refine_template", PromptTemplate("{x}"), "there is no prompt"),
    ],
)
def test_a_prompt_that_cannot_work_is_refused_and_nothing_changes(
    engine: RagNodesQueryEngine, name: str, template: Any, message: str
) -> None:
    before = engine.models
    with pytest.raises(ConfigurationError) as refused:
        engine.update_prompts({SYSTEM: PromptTemplate("New"), name: template})
    assert message in str(refused.value)
    assert engine.models is before
