"""Text and images together: LlamaIndex's multi-modal index, engines and chats with our parts."""

import base64
from typing import Any

import pytest
from llama_index.core.base.llms.types import ImageBlock, TextBlock
from llama_index.core.chat_engine.types import BaseChatEngine, ChatMode
from llama_index.core.embeddings import MockMultiModalEmbedding
from llama_index.core.indices import MultiModalVectorStoreIndex
from llama_index.core.llms.mock import MockLLMWithChatMemoryOfLastCall
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.prompts import PromptTemplate
from llama_index.core.retrievers import RecursiveRetriever
from llama_index.core.schema import (
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    NodeWithScore,
    TextNode,
)
from stock_callers import EVERY, lexical_index, small

from rag_nodes import (
    RagNodesRetriever,
    SentencePostprocessor,
    get_embedding,
    get_parser,
    leaf_nodes,
)

QUESTION = "Which filter is rinsed?"
ANSWER = "Rinse the filter weekly."
TEXT = f"The pump is red. {ANSWER} It stands in the hall. " + "Nothing else is known. " * 30
PICTURE = base64.b64encode(b"a picture").decode()
DOCUMENTS = [
    Document(text=TEXT, id_="pump.md"),
    ImageDocument(image=PICTURE, id_="pump.png", metadata={"file_name": "pump.png"}),
]
SYSTEM_PROMPT = "Speak as a plumber."
WAYS = ["chat", "achat", "stream_chat", "astream_chat"]
MODES = [ChatMode.CONTEXT, ChatMode.CONDENSE_PLUS_CONTEXT]


def index_of(parser: Any) -> MultiModalVectorStoreIndex:
    """Text and an image as a parser of ours splits them, each embedded by its own model."""
    nodes = leaf_nodes(parser(DOCUMENTS))
    return MultiModalVectorStoreIndex(
        nodes,
        embed_model=get_embedding("lexical"),
        image_embed_model=MockMultiModalEmbedding(embed_dim=3),
    )


def read_sources(sources: list[NodeWithScore]) -> tuple[list[str], list[str | None]]:
    """Return the texts and the images among some nodes; each text is a slice."""
    images = [source.node for source in sources if isinstance(source.node, ImageNode)]
    texts: Any = [source.node for source in sources if source.node not in images]
    assert all(TEXT[node.start_char_idx : node.end_char_idx] == node.text for node in texts)
    return [node.text.strip() for node in texts], [node.image for node in images]


@EVERY
async def test_texts_and_images_are_found_as_every_parser_splits_them(name: str) -> None:
    retriever = index_of(small(name)).as_retriever(similarity_top_k=40, image_similarity_top_k=2)
    for hits in (retriever.retrieve(QUESTION), await retriever.aretrieve(QUESTION)):
        texts, images = read_sources(hits)
        assert texts
        assert images == [PICTURE]
    sentences = SentencePostprocessor(budget=7).postprocess_nodes(hits, query_str=QUESTION)
    assert read_sources(sentences) == ([ANSWER], [PICTURE])


@pytest.fixture
def llm() -> MockLLMWithChatMemoryOfLastCall:
    """An LLM that repeats its prompt and remembers its messages."""
    return MockLLMWithChatMemoryOfLastCall()


@pytest.fixture(params=MODES)
def chat(request: pytest.FixtureRequest, llm: MockLLMWithChatMemoryOfLastCall) -> BaseChatEngine:
    return index_of(get_parser("retrieval")).as_chat_engine(
        chat_mode=request.param,
        llm=llm,
        similarity_top_k=40,
        image_similarity_top_k=1,
        system_prompt=SYSTEM_PROMPT,
        node_postprocessors=[SentencePostprocessor(budget=7)],
        memory=ChatMemoryBuffer.from_defaults(),  # the default one leaves a database open
    )


async def get_response(chat: BaseChatEngine, way: str, message: str) -> Any:
    """Return the response to a message once it was read in one of the four ways to ask."""
    response: Any = getattr(chat, way)(message)
    if way.startswith("a"):
        response = await response
    if way == "stream_chat":
        assert len(list(response.response_gen)) > 10
    elif way == "astream_chat":
        assert len([piece async for piece in response.async_response_gen()]) > 10
    return response


@pytest.mark.parametrize("way", WAYS)
async def test_a_multi_modal_chat_sends_the_sentences_and_the_image(
    chat: BaseChatEngine, llm: MockLLMWithChatMemoryOfLastCall, way: str
) -> None:
    response = await get_response(chat, way, QUESTION)
    assert read_sources(response.source_nodes) == ([ANSWER], [PICTURE])
    [source] = response.sources
    assert [len(source.raw_output[key]) for key in ("text_nodes", "image_nodes")] == [1, 1]
    system, user = llm.last_chat_messages or ()
    assert system.content == SYSTEM_PROMPT
    assert {type(block) for block in user.blocks} == {ImageBlock, TextBlock}
    assert ANSWER in str(user.content)
    assert "in the hall" not in str(user.content)

    again = await get_response(chat, way, "What colour is the pump?")
    for message in (SYSTEM_PROMPT, QUESTION, "What colour is the pump?"):
        assert message in str(again)
    assert [message.role for message in chat.chat_history] == ["user", "assistant"] * 2
    chat.reset()
    assert chat.chat_history == []


@pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")  # in favour of newer ones
async def test_a_multi_modal_query_engine_reads_sentences_beside_the_image(
    llm: MockLLMWithChatMemoryOfLastCall,
) -> None:
    engine = index_of(get_parser("retrieval")).as_query_engine(
        llm=llm,
        similarity_top_k=40,
        node_postprocessors=[SentencePostprocessor(budget=7)],
        text_qa_template=PromptTemplate("{context_str} {query_str}"),
    )
    for response in (engine.query(QUESTION), await engine.aquery(QUESTION)):
        assert read_sources(response.source_nodes) == ([ANSWER], [PICTURE])
        assert f"{ANSWER} {QUESTION}" in str(response)


def test_an_index_node_leads_from_our_nodes_to_those_of_another_retriever() -> None:
    annex = index_of(get_parser("retrieval")).as_retriever(similarity_top_k=40)
    link = IndexNode(text="The annex tells which filter is rinsed.", index_id="annex", id_="link")
    nodes = [link, *get_parser("retrieval")([Document(text="A filter cleans.", id_="note")])]
    index = lexical_index(nodes)
    ours = RagNodesRetriever.from_index(index, similarity_top_k=2)
    recursive = RecursiveRetriever("root", retriever_dict={"root": ours, "annex": annex})
    hits = recursive.retrieve(QUESTION)
    assert any(ANSWER in source.text for source in hits)
    assert PICTURE in [getattr(source.node, "image", None) for source in hits]


def test_nodes_of_every_class_come_out_of_the_postprocessor() -> None:
    nodes = [
        IndexNode(text="The filter is in the annex.", index_id="annex", id_="link"),
        ImageNode(text="A red filter.", image=PICTURE, id_="picture"),
        IndexNode(text="", index_id="annex", id_="blank link"),
        TextNode(text=ANSWER, id_="text"),
    ]
    given = [NodeWithScore(node=node, score=0.5) for node in nodes]
    sentences = SentencePostprocessor(budget=100).postprocess_nodes(given, query_str=QUESTION)
    assert {source.node.id_: source.node for source in sentences} == {
        node.id_: node for node in nodes
    }
    assert sentences[-1].node is nodes[2], "what has no text comes last"
