"""Whatever LlamaIndex asks, beside our parsers, over the same documents."""

from typing import Any

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.base.response.schema import Response, StreamingResponse
from llama_index.core.indices.query.query_transform.base import IdentityQueryTransform
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.query_engine import (
    CitationQueryEngine,
    CustomQueryEngine,
    TransformQueryEngine,
)
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from memory_clients import memory_client
from plant import MANUAL, QUESTION

from rag_nodes import Comparison, Filter, QueryOptions, get_embedding, get_parser, read
from rag_nodes.core.errors import ConfigurationError, ModelConnectionError
from rag_nodes.evaluation.compare import Column, ComparisonReport
from rag_nodes.evaluation.engines import StoredCollection
from rag_nodes.models.lexical import LexicalEmbedding
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import Answer
from rag_nodes.query.types import CitationSeen, Delta, Finished, Retrieved
from rag_nodes.store import open_store

BATTERY = "A spare battery starts the generator when the grid is down."
LIONS = "Lions eat no grass. They sleep for twenty hours of the day."


def documents() -> list[Document]:
    return [
        Document(text=MANUAL, id_="manual", metadata={"file_name": "manual.md"}),
        Document(text=LIONS, id_="lions", metadata={"file_name": "lions.txt"}),
    ]


def index(parser: Any = None, **options: Any) -> VectorStoreIndex:
    """What a user of LlamaIndex has, of documents read for themselves under ids of their own."""
    own = [Document(text=document.text, metadata=document.metadata) for document in documents()]
    steps = [parser or SentenceSplitter(chunk_size=40, chunk_overlap=0)]
    return VectorStoreIndex.from_documents(
        own, transformations=steps, embed_model=get_embedding("lexical"), **options
    )


def stock_store(parser: Any = None) -> QdrantVectorStore:
    store = QdrantVectorStore("theirs", client=memory_client(), index_doc_id=False)
    index(parser, storage_context=StorageContext.from_defaults(vector_store=store))
    return store


def ask(columns: dict[str, object], question: str = QUESTION, **options: Any) -> ComparisonReport:
    with Comparison(columns, documents=documents(), **options) as compared:
        return compared.ask(question)


def answer_of(column: Column) -> Answer:
    assert column.error is None
    assert column.answer is not None
    return column.answer


def test_all_that_finds_is_a_column_beside_a_parser_and_cites_the_document() -> None:
    stock_index = index()
    report = ask(
        {
            "retriever": stock_index.as_retriever(similarity_top_k=3),
            "index": stock_index,
            "store": stock_store(),
            "engine": stock_index.as_query_engine(llm=MockLLM()),
            "ours": "retrieval",
            "splitter": SentenceSplitter(chunk_size=40, chunk_overlap=0),
        },
    )
    assert [column.name for column in report.columns] == [
        *("retriever", "index", "store", "engine", "ours", "splitter")
    ]
    for column in report.columns:
        answer = answer_of(column)
        assert answer.citations
        assert any(BATTERY in citation.quote for citation in answer.citations)
        for citation in answer.citations:
            text = MANUAL if citation.file_name == "manual.md" else LIONS
            assert text[citation.start : citation.end] == citation.quote
        assert {hit.node.ref_doc_id for hit in answer.hits} <= {"manual", "lions"}


def test_every_finder_gets_the_same_budget() -> None:
    columns = {"index": index(), "store": stock_store(), "ours": "sentence"}
    for column in ask(columns, options=QueryOptions(budget=20)).columns:
        assert 0 < answer_of(column).context_tokens <= 20


def test_a_vector_store_of_ours_nodes_names_the_parser_that_split_them() -> None:
    store, heading = (
        QdrantVectorStore("h", client=memory_client(), index_doc_id=False),
        get_parser("heading"),
    )
    pipeline = IngestionPipeline(
        transformations=[heading, get_embedding("lexical")], vector_store=store
    )
    pipeline.run(documents=documents())
    (column,) = ask({"mine": store}).columns
    assert column.title == "mine (HeadingHierarchyNodeParser)"
    assert column.parser == {
        "class": "HeadingHierarchyNodeParser",
        "fingerprint": heading.fingerprint,
        "found_by": "QdrantVectorStore",
    }
    (other,) = ask({"mine": index()}).columns
    assert (other.title, other.parser["class"]) == ("mine", "VectorStoreIndex")


def test_a_collection_is_a_column_as_it_stands() -> None:
    own = [Document(text=document.text, metadata=document.metadata) for document in documents()]
    with open_store() as store:
        ingested = ingest_documents(own, {"heading": get_parser("heading")}, store)
        column = StoredCollection(store, ingested.columns[0].collection)
        (report,) = ask({"stored": column}).columns
    answer = answer_of(report)
    assert answer.citations[0].quote == BATTERY
    assert answer.hits[0].node.ref_doc_id == "manual"
    assert answer.hits[0].keyword_score


class Made(BaseRetriever):
    """Finds what it was given."""

    def __init__(self, *nodes: NodeWithScore) -> None:
        super().__init__()
        self.found = list(nodes)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:  # noqa: ARG002
        return self.found


def scored_node(text: str, score: float | None = None) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text), score=score)


def test_chunks_without_a_place_are_shown_and_counted() -> None:
    retriever = Made(scored_node("The battery is said to be spare."), scored_node(BATTERY))
    (column,) = ask({"mine": retriever}, options=QueryOptions(retrieval_only=True)).columns
    lost, placed = answer_of(column).hits
    assert (lost.node.text, lost.node.start_char_idx) == ("The battery is said to be spare.", None)
    assert placed.node.start_char_idx == MANUAL.index(BATTERY)
    assert (column.statistics.chunks, column.statistics.not_located) == (2, 1)
    assert column.statistics.not_located / column.statistics.chunks == 0.5


@pytest.mark.parametrize(
    ("scores", "expected"),
    [((None, None), (1.0, 0.5)), ((0.2, 0.1), (0.2, 0.1)), ((0.1, 0.7), (0.7, 0.7))],
    ids=["none", "falling", "rising"],
)
def test_scores_are_from_0_to_1_in_the_order_of_whoever_found(
    scores: tuple[float | None, ...], expected: tuple[float, ...]
) -> None:
    retriever = Made(
        *(scored_node(text, score) for text, score in zip((BATTERY, LIONS), scores, strict=True))
    )
    (column,) = ask({"mine": retriever}, options=QueryOptions(retrieval_only=True)).columns
    assert tuple(hit.score for hit in answer_of(column).hits) == expected
    logits = Made(scored_node(BATTERY, 7.5), scored_node(LIONS, -3.0))
    (column,) = ask({"mine": logits}, options=QueryOptions(retrieval_only=True)).columns
    assert [0 < hit.score < 1 for hit in answer_of(column).hits] == [True, True]


def test_a_filter_holds_for_what_others_find_and_is_searched_deeper_for() -> None:
    options = QueryOptions(top_k=1, budget=None, filter=Filter(file_name="lions.txt"))
    with Comparison({"index": index()}, documents=documents(), options=options) as compared:
        (column,) = compared.ask(QUESTION).columns
        assert [hit.node.ref_doc_id for hit in answer_of(column).hits] == ["lions"]
    with Comparison({"index": index()}, documents=documents()) as compared:
        (column,) = compared.ask(QUESTION, document_ids=["lions"]).columns
        assert {hit.node.ref_doc_id for hit in answer_of(column).hits} == {"lions"}


class Says(CustomQueryEngine):
    """Answers with a text, having read the sentences that it was given."""

    text: str
    read: list[str] = [BATTERY, LIONS]  # noqa: RUF012 -- a field
    streams: bool = False

    def custom_query(self, query_str: str) -> Response:  # noqa: ARG002 -- LlamaIndex's
        nodes = [scored_node(passage) for passage in self.read]
        if self.streams:
            pieces = (f"{word} " for word in self.text.split())
            return StreamingResponse(pieces, source_nodes=nodes)  # type: ignore[return-value]
        return Response(self.text, source_nodes=nodes)


def test_an_engine_answers_itself_and_its_marks_become_citations() -> None:
    (column,) = ask({"mine": Says(text="They sleep [2], and nobody knows of [9].")}).columns
    answer = answer_of(column)
    assert answer.text == "They sleep [2], and nobody knows of [9]."
    assert [(citation.number, citation.quote) for citation in answer.citations] == [(2, LIONS)]
    assert answer.unknown_sources == (9,)
    assert (answer.kind, answer.answer_model, answer.cost) == ("generated", "", None)
    (column,) = ask({"mine": Says(text="A battery does.")}).columns
    assert [citation.quote for citation in answer_of(column).citations] == [BATTERY, LIONS]


def test_the_numbers_of_llama_indexs_citation_engine_are_ours() -> None:
    engine = CitationQueryEngine.from_args(index(), llm=MockLLM(), similarity_top_k=2)
    rewritten = TransformQueryEngine(engine, IdentityQueryTransform())
    (column, other) = ask({"mine": engine, "rewritten": rewritten}).columns
    answer = answer_of(column)
    assert answer.answer_model == answer_of(other).answer_model == "MockLLM"
    assert [hit.rerank_score for hit in answer.hits] == [
        node.score for node in engine.retrieve(QueryBundle(QUESTION))
    ]
    numbered = {citation.number: citation for citation in answer.citations}
    for hit in answer.hits:
        assert not hit.node.text.startswith("Source")
        assert numbered[hit.rank].quote == hit.node.text
        assert hit.node.start_char_idx is not None


def test_an_engine_that_streams_grows_and_ends_like_ours() -> None:
    with Comparison(
        {"mine": Says(text="A battery does [1].", streams=True)}, documents=documents()
    ) as compared:
        events = [event for _, event in compared.stream(QUESTION)]
    assert isinstance(events[0], Retrieved)
    assert [event.text for event in events if isinstance(event, Delta)] == [
        *("A ", "battery ", "does ", "[1]. ")
    ]
    assert isinstance(events[-2], CitationSeen)
    assert isinstance(events[-1], Finished)
    assert events[-1].answer.text == "A battery does [1]."


def test_an_engine_is_asked_for_what_it_reads_where_no_answer_is_wanted() -> None:
    engine = index().as_query_engine(llm=MockLLM(), similarity_top_k=2)
    report = ask(
        {"mine": engine, "custom": Says(text="no")}, options=QueryOptions(retrieval_only=True)
    )
    assert [answer_of(column).kind for column in report.columns] == ["retrieval"] * 2
    assert [len(answer_of(column).hits) for column in report.columns] == [2, 2]


@pytest.mark.parametrize(
    ("text", "kind"), [("It does.", "generated"), ("Empty Response", "nothing"), ("", "nothing")]
)
def test_an_engine_that_names_no_source_has_answered_if_it_says_something(
    text: str, kind: str
) -> None:
    (column,) = ask({"mine": Says(text=text, read=[])}).columns
    assert (answer_of(column).kind, answer_of(column).citations) == (kind, ())


class Broken(Made):
    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:  # noqa: ARG002
        raise RuntimeError("bearer sk-canary123 was refused")


class BrokenEngine(Says):
    def custom_query(self, query_str: str) -> Response:  # noqa: ARG002
        raise RuntimeError("bearer sk-canary123 was refused")


def test_a_failed_column_names_the_reason_without_a_key(caplog: pytest.LogCaptureFixture) -> None:
    report = ask({"one": Broken(), "two": BrokenEngine(text=""), "ours": "sentence"})
    assert [column.error is None for column in report.columns] == [False, False, True]
    assert "Broken failed: RuntimeError" in str(report.columns[0].error)
    assert "BrokenEngine did not answer: RuntimeError" in str(report.columns[1].error)
    assert "canary" not in str(report.as_dict())
    assert "column 'two' failed" in caplog.text
    assert f"{__file__}:" in caplog.text
    assert "in custom_query" in caplog.text
    assert "canary" not in caplog.text


def test_a_question_is_embedded_only_for_columns_that_are_asked_by_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object) -> list[float]:
        raise ModelConnectionError("the server cannot be reached")

    retriever, store = Made(scored_node(BATTERY)), stock_store()
    monkeypatch.setattr(LexicalEmbedding, "_get_query_embedding", fail)
    (column,) = ask({"mine": retriever}).columns
    assert answer_of(column).citations[0].quote == BATTERY
    report = ask({"mine": retriever, "theirs": store})
    assert [column.error for column in report.columns] == [None, "the server cannot be reached"]
    with pytest.raises(ModelConnectionError):
        ask({"theirs": store})


def test_a_vector_store_without_texts_is_refused_with_its_remedy() -> None:
    class Bare(QdrantVectorStore):
        stores_text: bool = False

    bare = Bare("theirs", client=memory_client())
    (column,) = ask({"mine": bare}).columns
    assert "pass the VectorStoreIndex that holds them" in str(column.error)
    with pytest.raises(ConfigurationError, match="not a splitter"):
        Comparison({"mine": object()})


def test_nodes_of_other_retrievers_are_located_in_the_files(tmp_path: Any) -> None:
    (tmp_path / "manual.md").write_text(MANUAL)
    columns = {"mine": Made(scored_node(BATTERY)), "ours": "sentence"}
    with Comparison(columns, documents=read(tmp_path / "manual.md")) as compared:
        mine, ours = compared.ask(QUESTION).columns
    [citation] = answer_of(mine).citations
    assert citation.source == str(tmp_path / "manual.md")
    assert citation.quote == BATTERY
    assert answer_of(ours).hits[0].node.ref_doc_id == answer_of(mine).hits[0].node.ref_doc_id
