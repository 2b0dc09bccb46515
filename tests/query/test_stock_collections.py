"""Engine and retriever over collections that a stock `QdrantVectorStore` wrote."""

import logging
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import TextNode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest
from store import qdrant_server

from rag_nodes.core.errors import ConfigurationError, DimensionError, StoreForeignError
from rag_nodes.models import Models, get_embedding
from rag_nodes.query import Filter, Finished, QueryOptions, RagNodesQueryEngine, RagNodesRetriever
from rag_nodes.store import Query, Store, open_store

QUESTION = "What starts the generator?"
PUMPS = "The pump moves water. " * 20 + "The pump is checked every forty days."
POWER = "A spare battery starts the generator when the grid is down."


@contextmanager
def written_store(fill: Callable[[QdrantClient], None]) -> Iterator[Store]:
    """What a program wrote on a server, as a store."""
    with qdrant_server.serve() as double:
        with closing(QdrantClient(double.url, check_compatibility=False)) as client:
            fill(client)
        with open_store(double.url) as store:
            yield store


def stock_index(client: QdrantClient) -> None:
    about = {"file_name": "plant.pdf", "file_path": "/manuals/plant.pdf"}
    documents = [
        Document(text=PUMPS, id_="one", metadata={**about, "page_label": "1"}),
        Document(text=POWER, id_="two", metadata={**about, "page_label": "2"}),
        Document(text="Lions eat no grass.", id_="three", metadata={"file_name": "lion.txt"}),
    ]
    store = QdrantVectorStore("stock", client=client, index_doc_id=False)
    VectorStoreIndex.from_documents(
        documents,
        storage_context=StorageContext.from_defaults(vector_store=store),
        embed_model=get_embedding("lexical"),
        transformations=[SentenceSplitter(chunk_size=80, chunk_overlap=0)],
    )


@pytest.fixture
def stock() -> Iterator[Store]:
    with written_store(stock_index) as store:
        yield store


def engine(store: Store, models: Models, **options: Any) -> RagNodesQueryEngine:
    return RagNodesQueryEngine(
        store=store, collection="stock", models=models, options=QueryOptions(**options)
    )


def test_a_stock_dense_collection_answers_and_cites_as_far_as_is_known(
    stock: Store, offline: Models
) -> None:
    answer = engine(stock, offline, mode="dense").answer(QUESTION)
    [citation] = answer.citations
    assert citation.quote == POWER
    assert (citation.file_name, citation.source) == ("plant.pdf", "/manuals/plant.pdf")
    assert (citation.page, citation.page_end) == (2, 2)
    assert (citation.start, citation.end) == (0, len(POWER))
    assert citation.heading_path == ()
    assert answer.hits[0].node.ref_doc_id == "two"


def test_unknown_sources_are_not_cited(stock: Store, offline: Models) -> None:
    [citation] = engine(stock, offline, mode="dense").answer("Do lions eat grass?").citations
    assert citation.file_name == "lion.txt"
    assert (citation.page, citation.source) == (None, "")


def test_a_hybrid_search_of_it_is_dense_and_says_so_once(
    stock: Store, offline: Models, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="rag_nodes.store.store"):
        whole = engine(stock, offline, granularity="chunks")
        hybrid = [whole.answer(QUESTION) for _ in range(2)][-1]
    assert (whole.retriever.mode, hybrid.mode) == ("dense", "dense")
    [warning] = caplog.messages
    assert "'stock' has no BM25 vectors of ours; it is searched by meaning only" in warning
    dense = engine(stock, offline, mode="dense").answer(QUESTION)
    assert [(hit.node.node_id, hit.score) for hit in hybrid.hits] == [
        (hit.node.node_id, hit.score) for hit in dense.hits
    ]
    assert {hit.keyword_score for hit in hybrid.hits} == {None}


def test_sentences_of_it_are_read_unless_a_dense_search_is_asked_for(
    stock: Store, offline: Models
) -> None:
    for mode in (None, "hybrid", "dense"):
        answer = engine(stock, offline, mode=mode).answer(QUESTION)
        assert answer.mode == "dense"
        reads_chunks = all(hit.read is hit.node for hit in answer.hits)
        assert reads_chunks == (mode == "dense")


def test_a_search_by_words_alone_is_refused_with_a_remedy(stock: Store, offline: Models) -> None:
    with pytest.raises(ConfigurationError, match="ask with mode 'dense'"):
        engine(stock, offline, mode="sparse").answer(QUESTION)


def test_its_scores_are_those_of_the_stock_retriever(stock: Store, offline: Models) -> None:
    with closing(QdrantClient(stock.location, check_compatibility=False)) as client:
        theirs = QdrantVectorStore("stock", client=client, index_doc_id=False)
        index = VectorStoreIndex.from_vector_store(theirs, embed_model=offline.embedding)
        nodes = index.as_retriever(similarity_top_k=4).retrieve(QUESTION)
    expected = {node.node_id: node.score for node in nodes}
    retriever = RagNodesRetriever(
        store=stock, collection="stock", models=offline, options=QueryOptions(top_k=4)
    )
    scores = {node.node_id: node.score for node in retriever.retrieve(QUESTION)}
    assert scores == pytest.approx(expected, abs=1e-5)


async def test_every_way_to_ask_works_on_it(stock: Store, offline: Models) -> None:
    models = Models(offline.embedding, MockLLM(), offline.embedding_name, "mock", offline=False)
    asked_engine = engine(stock, models, mode="dense")
    assert POWER in asked_engine.answer(QUESTION).text
    assert POWER in (await asked_engine.aanswer(QUESTION)).text
    assert isinstance(list(asked_engine.stream(QUESTION))[-1], Finished)
    assert asked_engine.query(QUESTION).source_nodes


def test_filters_on_what_exists_hold_and_on_what_does_not_are_refused(
    stock: Store, offline: Models
) -> None:
    def files(**chosen: Any) -> set[str]:
        answer = engine(stock, offline, mode="dense", filter=Filter(**chosen)).answer(QUESTION)
        return {hit.node.metadata["file_name"] for hit in answer.hits}

    assert files(file_name="lion.txt") == {"lion.txt"}
    assert files(document_ids=["two"]) == {"plant.pdf"}
    with pytest.raises(ConfigurationError, match="no chunk has headings; leave heading out"):
        files(heading="Power")
    with pytest.raises(ConfigurationError, match=r"no chunk has a page number; .*as vector_store"):
        files(pages=(1, 2))


def test_a_question_of_another_model_is_refused(stock: Store) -> None:
    from llama_index.core import MockEmbedding

    other = Models(MockEmbedding(embed_dim=3), None, "mock", "extractive", offline=True)
    with pytest.raises(DimensionError, match="'stock' holds vectors of length"):
        engine(stock, other).answer(QUESTION)


def test_its_vectors_and_number_are_read_but_nothing_is_written_into_it(
    stock: Store, make_vector: list[float]
) -> None:
    chunks = stock.count("stock")
    assert chunks > 2
    retrieved = stock.search("stock", Query(vector=make_vector, text=None, limit=9, mode="dense"))
    ids = [hit.node.node_id for hit in retrieved]
    assert len(stock.vectors("stock", ids)) == chunks
    node = TextNode(text="new", embedding=make_vector)
    with pytest.raises(StoreForeignError, match="was written by another program"):
        stock.vector_store("stock").add([node])
    assert stock.count("stock") == chunks


@pytest.fixture
def make_vector(offline: Models) -> list[float]:
    return offline.embedding.get_query_embedding(QUESTION)


def test_sparse_vectors_of_another_model_are_not_taken_for_bm25(offline: Models) -> None:
    def fill(client: QdrantClient) -> None:
        def learn_words(texts: list[str]) -> tuple[list[list[int]], list[list[float]]]:
            return [[1, 2] for _ in texts], [[0.5, 0.5] for _ in texts]

        store = QdrantVectorStore(
            "stock",
            client=client,
            enable_hybrid=True,
            index_doc_id=False,
            sparse_doc_fn=learn_words,
            sparse_query_fn=learn_words,
        )
        vector = offline.embedding.get_text_embedding(POWER)
        store.add([TextNode(text=POWER, embedding=vector)])

    with written_store(fill) as store:
        [hit] = engine(store, offline).answer(QUESTION).hits
    assert hit.similarity is not None
    assert hit.keyword_score is None


@pytest.mark.parametrize("point", [1, "0182bd10-37be-4ac4-a339-25cc60940663"])
def test_points_that_hold_no_node_of_llama_index_are_named(
    offline: Models, make_vector: list[float], point: int | str
) -> None:
    def fill(client: QdrantClient) -> None:
        size = len(make_vector)
        vectors = rest.VectorParams(size=size, distance=rest.Distance.COSINE)
        client.create_collection("stock", vectors_config=vectors)
        payload = {"page_content": POWER, "metadata": {}}
        client.upsert("stock", [rest.PointStruct(id=point, vector=make_vector, payload=payload)])

    with (
        written_store(fill) as store,
        pytest.raises(ConfigurationError, match="no node of LlamaIndex but 'page_content', 'meta"),
    ):
        engine(store, offline).answer(QUESTION)
