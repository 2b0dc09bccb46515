"""Sentences in place of chunks behind LlamaIndex's own retrievers, over anyone's nodes."""

from itertools import pairwise
from pathlib import Path

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter, TokenTextSplitter
from llama_index.core.query_engine import CitationQueryEngine, RetrieverQueryEngine
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import (
    ImageNode,
    MetadataMode,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import AsyncQdrantClient
from stock_callers import EVERY_KIND, lexical_index, small

from rag_nodes import SentencePostprocessor
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models import get_embedding
from rag_nodes.parsers import get_parser, leaf_nodes
from rag_nodes.text.tokens import count_tokens

QUESTION = "How often are both filters rinsed?"
ANSWER = "Rinse both filters monthly."
TEXT = "".join(
    [
        *(f"Pump {number} is red and stands in the hall. " for number in range(20)),
        f"{ANSWER} ",
        *(f"Nobody waits outside at {hour} sharp. " for hour in range(40)),
    ]
)


def index_of(transformation: object) -> VectorStoreIndex:
    return VectorStoreIndex.from_documents(
        [Document(text=TEXT, id_="pump")],
        transformations=[transformation],
        embed_model=get_embedding("lexical"),
    )


def read(index: VectorStoreIndex, budget: int = 40, store: object = None) -> list[NodeWithScore]:
    retrieved = index.as_retriever(similarity_top_k=40).retrieve(QUESTION)
    sentences = SentencePostprocessor(budget=budget, store=store)
    return sentences.postprocess_nodes(retrieved, query_str=QUESTION)


@pytest.mark.parametrize(
    "splitter",
    [
        SentenceSplitter(chunk_size=60, chunk_overlap=20),
        SentenceSplitter(chunk_size=300, chunk_overlap=0),
        TokenTextSplitter(chunk_size=50, chunk_overlap=0),
    ],
    ids=["overlapping", "large", "cut anywhere"],
)
def test_the_nodes_of_stock_splitters_give_the_sentence_first_and_fill_the_budget(
    splitter: SentenceSplitter,
) -> None:
    nodes = read(index_of(splitter))
    assert ANSWER in nodes[0].text
    assert 30 <= sum(count_tokens(node.text) for node in nodes) <= 40
    scores = [node.get_score() for node in nodes]
    assert scores[0] == 1
    assert all(node >= other for node, other in pairwise(scores))
    assert len({node.node_id for node in nodes}) == len(nodes)


def test_a_store_that_does_not_hold_the_nodes_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = index_of(SentenceSplitter(chunk_size=60, chunk_overlap=0))
    retrieved = index.as_retriever(similarity_top_k=1).retrieve(QUESTION)
    for store in (index.docstore, SimpleDocumentStore()):
        sentences = SentencePostprocessor(budget=40, store=store)
        for _ in range(2):
            sentences.postprocess_nodes(retrieved, query_str=QUESTION)
    [message] = caplog.messages
    assert message.startswith("SimpleDocumentStore has none of the nodes beside those")


def test_a_store_of_documents_alone_is_said_to_have_no_nodes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    index = index_of(SentenceSplitter(chunk_size=60, chunk_overlap=0))
    store = SimpleDocumentStore()
    store.add_documents([Document(text=TEXT, id_="pump")])
    read(index, store=store)
    assert not caplog.messages, "all nodes were retrieved"
    retrieved = index.as_retriever(similarity_top_k=1).retrieve(QUESTION)
    SentencePostprocessor(budget=40, store=store).postprocess_nodes(retrieved, query_str=QUESTION)
    [message] = caplog.messages
    assert "has documents, with which offsets are compared, but none of the nodes" in message


@EVERY_KIND
def test_sentences_of_our_parsers_are_disjoint_exact_slices(name: str) -> None:
    nodes = small(name)([Document(text=TEXT, id_="pump")])
    index = lexical_index(leaf_nodes(nodes))
    passages_read = read(index, store=index.docstore)
    assert ANSWER in passages_read[0].text
    spans = []
    for hit in passages_read:
        assert isinstance(hit.node, TextNode)
        start, end = hit.node.start_char_idx, hit.node.end_char_idx
        assert start is not None
        assert end is not None
        assert TEXT[start:end] == hit.text
        spans.append((start, end))
    assert all(node[1] <= other[0] for node, other in pairwise(sorted(spans)))


async def test_it_works_in_stock_engines_sync_and_async() -> None:
    index = index_of(SentenceSplitter(chunk_size=60, chunk_overlap=0))
    sentences = SentencePostprocessor(budget=10)
    engine = RetrieverQueryEngine(
        index.as_retriever(similarity_top_k=40),
        response_synthesizer=get_response_synthesizer(llm=MockLLM()),
        node_postprocessors=[sentences],
    )
    for response in (engine.query(QUESTION), await engine.aquery(QUESTION)):
        assert ANSWER in response.source_nodes[0].text
        assert ANSWER in str(response)
    cited = CitationQueryEngine.from_args(
        index, llm=MockLLM(), similarity_top_k=40, node_postprocessors=[sentences]
    ).query(QUESTION)
    assert ANSWER in cited.source_nodes[0].text
    assert cited.source_nodes[0].text.startswith("Source 1:")


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect:UserWarning")
async def test_a_store_with_an_async_client_alone_is_read_in_awaited_calls() -> None:
    question = "When was the delta valve bought?"
    text = "The delta valve was bought in May. It opens at 4 bar."
    client = AsyncQdrantClient(":memory:")
    store = QdrantVectorStore("valves", aclient=client)
    nodes = SentenceSplitter(chunk_size=12, chunk_overlap=0)([Document(text=text, id_="v")])
    for node in nodes:
        node.embedding = [1.0]
    await store.async_add(nodes)
    retrieved = [NodeWithScore(node=nodes[0], score=0.5)]
    sentences = SentencePostprocessor(store=store)
    read_nodes = await sentences.apostprocess_nodes(retrieved, query_str=question)
    assert "It opens at 4 bar." in " ".join(node.text for node in read_nodes)
    with pytest.raises(ConfigurationError, match=r"only an async client.* await apostprocess_node"):
        sentences.postprocess_nodes(retrieved, query_str=question)
    await client.close()


def test_a_vector_store_that_keeps_no_nodes_is_refused() -> None:
    index = index_of(SentenceSplitter(chunk_size=60, chunk_overlap=0))
    retrieved = index.as_retriever(similarity_top_k=1).retrieve(QUESTION)
    with pytest.raises(ConfigurationError, match="SimpleVectorStore cannot return nodes by id"):
        SentencePostprocessor(store=index.vector_store)
    silent = SimpleVectorStore()
    silent.stores_text = True
    sentences = SentencePostprocessor(store=silent)
    with pytest.raises(ConfigurationError, match="SimpleVectorStore cannot return nodes by id"):
        sentences.postprocess_nodes(retrieved, query_str=QUESTION)


def test_chunks_beside_those_that_were_found_are_read_where_a_store_has_them() -> None:
    text = "The delta valve was bought in May. It opens at 4 bar."
    index = VectorStoreIndex.from_documents(
        [Document(text=text, id_="v")],
        transformations=[SentenceSplitter(chunk_size=12, chunk_overlap=0)],
        embed_model=get_embedding("lexical"),
    )
    retrieved = index.as_retriever(similarity_top_k=1).retrieve("When was the delta valve bought?")
    question = QueryBundle("When was the delta valve bought?")
    alone = SentencePostprocessor().postprocess_nodes(retrieved, question)
    beside = SentencePostprocessor(store=index.docstore).postprocess_nodes(retrieved, question)
    assert "It opens" not in " ".join(node.text for node in alone)
    assert "It opens at 4 bar." in " ".join(node.text for node in beside)


def test_nodes_without_a_place_or_with_a_wrong_one_are_read_and_claim_none() -> None:
    bare = TextNode(text=f"It rained. {ANSWER}")
    right = TextNode(text=TEXT[:200], start_char_idx=0, end_char_idx=200)
    wrong = TextNode(text=f"Both filters are old. {ANSWER}", start_char_idx=50, end_char_idx=99)
    for node in (right, wrong):
        node.metadata["source"] = "pump.md"
    nodes = [NodeWithScore(node=node, score=0.5) for node in (bare, right, wrong)]
    passages_read = SentencePostprocessor(budget=200).postprocess_nodes(nodes, query_str=QUESTION)
    texts = " | ".join(node.text for node in passages_read)
    assert texts.count(ANSWER) == 1  # whichever node it stands in
    for hit in passages_read:
        assert isinstance(hit.node, TextNode)
        start, end = hit.node.start_char_idx, hit.node.end_char_idx
        assert start is None or TEXT[start:end] == hit.text


def test_nodes_keep_their_order_if_no_word_matches() -> None:
    texts = ["Vier Ventile sind offen.", "Zwei Pumpen laufen.", "Ein Kessel ist kalt."]
    nodes = [NodeWithScore(node=TextNode(text=text), score=0.5) for text in texts]
    passages_read = SentencePostprocessor(budget=18).postprocess_nodes(
        nodes, query_str="Which tanks?"
    )
    assert [node.text for node in passages_read] == texts[:2]


def test_nodes_without_text_follow_the_sentences() -> None:
    image = NodeWithScore(node=ImageNode(image_path="a.png"), score=0.9)
    other = NodeWithScore(node=TextNode(text=ANSWER), score=0.5)
    kept = SentencePostprocessor().postprocess_nodes([image, other], query_str=QUESTION)
    assert ANSWER in [node.text for node in kept]


def test_it_says_what_it_cannot_do() -> None:
    with pytest.raises(ConfigurationError, match="call postprocess_nodes with query_str"):
        SentencePostprocessor().postprocess_nodes([NodeWithScore(node=TextNode(text="a"))])
    with pytest.raises(ConfigurationError, match="budget must be at least 1"):
        SentencePostprocessor(budget=0)
    with pytest.raises(ConfigurationError, match="dict cannot return nodes by id"):
        SentencePostprocessor(store={})


def test_it_is_written_down_and_made_again_as_components_are() -> None:
    first = SentencePostprocessor(budget=300, store=None)
    assert first.to_dict() == {"budget": 300, "class_name": "SentencePostprocessor"}
    assert SentencePostprocessor.from_dict(first.to_dict()).budget == 300


def harbour(*scores: float | None) -> list[NodeWithScore]:
    """Return three nodes without the words of a question, and their scores."""
    texts = ("The boat is red and new.", "Crossing takes two hours.", "Soup is sold on board.")
    return [
        NodeWithScore(node=TextNode(text=text, id_=str(number)), score=score)
        for number, (text, score) in enumerate(zip(texts, scores, strict=True))
    ]


def first_of(nodes: list[NodeWithScore], question: str) -> str:
    """Return the first word that is read."""
    [best, *_] = SentencePostprocessor(budget=6).postprocess_nodes(nodes, query_str=question)
    return best.text.split()[0]


def test_the_scores_of_the_retriever_decide_if_the_text_has_little_of_the_question() -> None:
    paraphrased = "How long does it take a boat to reach the far shore of the fjord?"
    assert first_of(harbour(0.2, 0.9, 0.1), paraphrased) == "Crossing"
    assert first_of(harbour(-2.0, 7.5, -3.0), paraphrased) == "Crossing"  # logits of a reranker


def test_words_decide_if_the_text_has_the_question() -> None:
    assert first_of(harbour(0.2, 0.9, 0.1), "Which boat is red and new?") == "The"


@pytest.mark.parametrize("scores", [(None, None, None), (0.5, 0.5, 0.5), (0.1, None, 0.9)])
def test_the_order_of_the_nodes_counts_if_their_scores_say_nothing(
    scores: tuple[float | None, ...],
) -> None:
    ordered = harbour(*scores)
    ordered = [ordered[1], ordered[0], ordered[2]]
    assert (
        first_of(ordered, "How long does a boat take to the far shore of the fjord?") == "Crossing"
    )


def test_scores_do_not_count_for_text_that_is_not_english() -> None:
    texts = (
        "Das Boot ist rot und es ist neu.",
        "Die Überfahrt ist nicht kurz und dauert.",
        "Suppe.",
    )
    nodes = [
        NodeWithScore(node=TextNode(text=text, id_=str(number)), score=score)
        for number, (text, score) in enumerate(zip(texts, (0.1, 0.9, 0.2), strict=True))
    ]
    question = "Wie lange braucht ein Boot bis zum anderen Ufer des Fjords?"
    assert first_of(nodes, question) == "Das"


def test_the_scores_that_counted_are_not_written_into_the_metadata() -> None:
    nodes = harbour(0.2, 0.9, 0.1)
    read = SentencePostprocessor(budget=20).postprocess_nodes(nodes, query_str="Which boat?")
    assert [hit.node.metadata for hit in read] == [{}] * len(read)


MANUAL = Path("examples/corpus/manual.md").read_text(encoding="utf-8")
SPLITTERS = [
    SentenceSplitter(chunk_size=128, chunk_overlap=20),
    SentenceSplitter(chunk_size=128, chunk_overlap=0),
    TokenTextSplitter(chunk_size=128, chunk_overlap=20),
]
ASKED = [
    "Which cable do the soil probes need?",
    "How often is the sensor cleaned?",
    "What is E-02?",
]


def passages(document: Document, splitter: object, question: str, budget: int) -> list[TextNode]:
    """Return what is read of a document behind a splitter, with its neighbours at hand."""
    index = VectorStoreIndex.from_documents(
        [document], transformations=[splitter], embed_model=get_embedding("lexical")
    )
    retrieved = index.as_retriever(similarity_top_k=40).retrieve(question)
    sentences = SentencePostprocessor(budget=budget, store=index.docstore)
    read_nodes = sentences.postprocess_nodes(retrieved, query_str=question)
    return [hit.node for hit in read_nodes if isinstance(hit.node, TextNode)]


@pytest.mark.parametrize("splitter", SPLITTERS, ids=["overlap", "disjoint", "words"])
@pytest.mark.parametrize("question", ASKED)
def test_passages_of_stock_splitters_hold_no_character_that_no_node_holds(
    splitter: object, question: str
) -> None:
    for node in passages(Document(text=MANUAL, id_="m"), splitter, question, 200):
        assert MANUAL[node.start_char_idx : node.end_char_idx] == node.text
        assert node.text not in ("---", "```ini", "~~~text")  # lines that say nothing alone


@pytest.mark.parametrize("budget", [30, 50, 90, 200])
def test_a_sentence_that_does_not_fit_is_left_out_whole(budget: int) -> None:
    rules = [
        f"Cargo {number} may sail at any hour, but not in quiet hours{' of the port' * number}."
        for number in range(6)
    ]
    text = "\n\n".join(f"## 7.{number}\n\n{rule}" for number, rule in enumerate(rules))
    nodes = passages(
        Document(text=text, id_="r"), get_parser("retrieval"), "When may cargo sail?", budget
    )
    assert 0 < sum(count_tokens(node.text) for node in nodes) <= budget
    for node in nodes:
        *_, last = node.text.split("\n\n")
        assert last in rules


def test_the_best_sentence_is_truncated_if_it_alone_exceeds_the_budget() -> None:
    [node] = passages(Document(text=TEXT, id_="t"), get_parser("retrieval"), QUESTION, 3)
    assert ANSWER.startswith(node.text)


def test_a_sentence_that_stands_in_a_document_several_times_is_read_once() -> None:
    rule = "Test the horn, except in quiet hours."
    text = "".join(
        f"## Part {number}\n\n{rule if number % 2 else rule.upper()} Deck {number} is next.\n\n"
        for number in range(6)
    )
    nodes = passages(Document(text=text, id_="h"), get_parser("retrieval"), "When is the horn?", 90)
    read_text = " ".join(node.text for node in nodes).casefold()
    assert read_text.count(rule.casefold()) == 1
    assert read_text.count("deck") == 6


ROWS = "".join(f"| part {number} | {number} kg | {number * 3} EUR |\n" for number in range(60))
PARTS = f"# Parts\n\nAll of them.\n\n| name | weight | price |\n|---|---|---|\n{ROWS}\nThe end.\n"


@pytest.mark.parametrize("budget", [60, 200])
def test_rows_behind_stock_splitters_have_the_names_of_their_columns(budget: int) -> None:
    splitter = SentenceSplitter(chunk_size=128, chunk_overlap=0)
    question = "What is the price of part 41?"
    best, *_ = passages(Document(text=PARTS, id_="p"), splitter, question, budget)
    assert "| part 41 | 41 kg | 123 EUR |" in best.text
    assert best.metadata["Table"] == "name | weight | price"
    assert "Table: name | weight | price" in best.get_content(MetadataMode.LLM)
    assert "table_header" not in best.get_content(MetadataMode.LLM)


def test_the_budget_counts_the_line_of_a_table_in_every_passage_that_has_it() -> None:
    splitter = SentenceSplitter(chunk_size=128, chunk_overlap=0)
    question = "What do part 7, part 23, part 41 and part 55 weigh?"
    nodes = passages(Document(text=PARTS, id_="p"), splitter, question, 120)
    contents = [node.get_content(MetadataMode.LLM) for node in nodes]
    assert sum(content.startswith("Table: ") for content in contents) >= 3
    assert sum(map(count_tokens, contents)) <= 120


def test_offsets_of_a_splitter_behind_another_one_are_not_those_of_the_document() -> None:
    chain = [get_parser("heading"), SentenceSplitter(chunk_size=40, chunk_overlap=0)]
    nodes = IngestionPipeline(transformations=chain).run(documents=[Document(text=MANUAL, id_="m")])
    for node in nodes[3:30:5]:
        retrieved = [NodeWithScore(node=node, score=0.5)]
        [hit] = SentencePostprocessor(budget=300).postprocess_nodes(retrieved, query_str=ASKED[0])
        assert isinstance(hit.node, TextNode)
        assert (hit.node.start_char_idx, hit.node.end_char_idx) == (None, None)


def test_offsets_that_the_document_at_hand_contradicts_are_left_out() -> None:
    document = Document(text=TEXT, id_="pump")
    nodes = [
        TextNode(text=ANSWER, start_char_idx=at, end_char_idx=at + len(ANSWER))
        for at in (TEXT.index(ANSWER), 5)
    ]
    source = RelatedNodeInfo(node_id="pump")
    for node in nodes:
        node.relationships[NodeRelationship.SOURCE] = source
    store = SimpleDocumentStore()
    store.add_documents([document])
    for node, start in zip(nodes, (TEXT.index(ANSWER), None), strict=True):
        retrieved = [NodeWithScore(node=node, score=0.5)]
        sentences = SentencePostprocessor(budget=40, store=store)
        [hit] = sentences.postprocess_nodes(retrieved, query_str=QUESTION)
        assert isinstance(hit.node, TextNode)
        assert (hit.text, hit.node.start_char_idx) == (ANSWER, start)


def test_an_empty_node_among_others_is_left_out() -> None:
    nodes = [TextNode(text=""), TextNode(text="The boiler is fast."), TextNode(text="")]
    scored = [NodeWithScore(node=node, score=0.5) for node in nodes]
    selected = SentencePostprocessor().postprocess_nodes(scored, query_str="What is fast?")
    assert [node.node.get_content() for node in selected] == ["The boiler is fast."]


def test_a_key_of_ones_own_called_window_replaces_no_text() -> None:
    node = TextNode(text="Rinse both filters monthly.", metadata={"window": "2024 Q1"})
    [selected] = SentencePostprocessor().postprocess_nodes(
        [NodeWithScore(node=node, score=0.5)], query_str="When are filters rinsed?"
    )
    assert selected.node.text == "Rinse both filters monthly."
    assert selected.node.metadata["window"] == "2024 Q1"


def test_a_bare_node_that_is_selected_whole_has_its_pages() -> None:
    document = Document(text=ANSWER, metadata={"page_starts": [0, 0]})  # the first page is blank
    [node] = SentenceSplitter()([document])
    retrieved = [NodeWithScore(node=node, score=0.5)]
    [selected] = SentencePostprocessor().postprocess_nodes(retrieved, query_str=QUESTION)
    assert selected.node.node_id == node.node_id
    metadata = selected.node.metadata
    assert (metadata["page_start"], metadata["page_end"]) == (2, 2)
    for mode in (MetadataMode.LLM, MetadataMode.EMBED):
        assert selected.node.get_content(mode) == node.get_content(mode)
    assert "page_start" not in node.metadata
