"""Chunks that another program stored without a keyword vector are found, or counted as missed."""

import logging
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.vector_stores.qdrant import QdrantVectorStore
from memory_clients import memory_client
from qdrant_client import QdrantClient
from qdrant_client.http import models as rest
from store import qdrant_server

from rag_nodes import Answer, Filter, QueryOptions, RagNodesQueryEngine, RagNodesRetriever
from rag_nodes.core.errors import StoreError
from rag_nodes.models import Models, get_embedding
from rag_nodes.store import Store, open_store
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.copying import copy_collection
from rag_nodes.store.payload import payload_of
from rag_nodes.store.server import engine as server_engine

QUESTION = "What starts the generator?"
ANSWER = "A spare battery starts the generator when the grid is down."


def node(text: str, document: str = "theirs") -> TextNode:
    chunk = TextNode(text=text, embedding=get_embedding("lexical").get_text_embedding(text))
    chunk.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return chunk


@pytest.fixture
def client() -> Iterator[QdrantClient]:
    with (
        qdrant_server.serve() as double,
        closing(QdrantClient(double.url, check_compatibility=False)) as opened,
    ):
        yield opened


@pytest.fixture
def store(client: QdrantClient) -> Iterator[Store]:
    """A collection of ours, to which a stock store has added the node that answers."""
    with open_store(client._client.rest_uri) as opened:  # type: ignore[attr-defined]
        opened.add("plant", [node("The generator is checked every year.", "ours")])
        QdrantVectorStore("plant", client=client, index_doc_id=False).add([node(ANSWER)])
        yield opened


def engine(store: Store, models: Models, **options: Any) -> RagNodesQueryEngine:
    chosen = QueryOptions(**options)
    return RagNodesQueryEngine(store=store, collection="plant", models=models, options=chosen)


def test_an_offline_answer_counts_the_chunks_that_were_not_searched(
    store: Store, offline: Models
) -> None:
    answer = engine(store, offline).answer(QUESTION)
    assert (answer.mode, answer.unsearched) == ("sparse", 1)
    assert ANSWER not in answer.text
    assert answer.as_dict()["unsearched"] == 1


@pytest.mark.parametrize("mode", ["dense", "hybrid"])
def test_a_search_by_embedding_finds_chunks_without_keyword_vector(
    store: Store, offline: Models, mode: str
) -> None:
    answer = engine(store, offline, mode=mode).answer(QUESTION)
    assert ANSWER in answer.text
    assert answer.unsearched == 0


def test_only_chunks_that_pass_the_filter_are_counted(store: Store, offline: Models) -> None:
    for document, missed in (("ours", 0), ("theirs", 1)):
        chosen = engine(store, offline, filter=Filter(document_ids=[document]))
        assert chosen.answer(QUESTION).unsearched == missed


def test_chunks_of_ours_without_words_are_not_counted(
    store: Store, client: QdrantClient, offline: Models
) -> None:
    wordless = node("* * *", "ours")
    vector = {"text-dense": wordless.embedding}
    point = rest.PointStruct(id=wordless.node_id, payload=payload_of(wordless), vector=vector)
    client.upsert("plant", [point])
    assert engine(store, offline).answer(QUESTION).unsearched == 1


def test_more_chunks_than_one_request_reads_are_counted(
    store: Store, client: QdrantClient, offline: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    QdrantVectorStore("plant", client=client, index_doc_id=False).add([node("more")])
    monkeypatch.setattr(server_engine, "_READ", 1)
    assert engine(store, offline).answer(QUESTION).unsearched == 2


async def test_a_retriever_warns_once(
    store: Store, offline: Models, caplog: pytest.LogCaptureFixture
) -> None:
    retriever = RagNodesRetriever(store=store, collection="plant", models=offline)
    with caplog.at_level(logging.WARNING, logger="rag_nodes.query.retriever"):
        retriever.retrieve(QUESTION)
        await retriever.aretrieve(QUESTION)
    [warning] = caplog.messages
    assert "not searched (1); choose mode 'hybrid'" in warning


@pytest.mark.parametrize("name", ["text-sparse-new", "text-sparse"])
def test_a_stock_hybrid_collection_is_counted_too(name: str) -> None:
    named: dict[str, Any] = {"client": memory_client(), "index_doc_id": False}
    both: dict[str, Any] = {"sparse_doc_fn": document_vectors, "sparse_query_fn": query_vectors}
    stock = QdrantVectorStore("stock", enable_hybrid=True, sparse_vector_name=name, **both, **named)
    stock.add([node("The generator is checked every year.")])
    QdrantVectorStore("stock", **named).add([node(ANSWER)])
    opened = QdrantVectorStore("stock", enable_hybrid=True, **both, **named)

    def answer(**options: Any) -> Answer:
        chosen = QueryOptions(**options)
        asked = RagNodesQueryEngine(vector_store=opened, embed_model="lexical", options=chosen)
        return asked.answer(QUESTION)

    offline = answer()
    assert (offline.mode, offline.unsearched) == ("sparse", 1)
    assert "checked" in offline.hits[0].node.text
    assert ANSWER in answer(mode="hybrid").text
    opened.client.close()
    with pytest.raises(StoreError, match="QdrantVectorStore failed: RuntimeError"):
        answer()


def test_a_copy_gives_every_chunk_a_keyword_vector(store: Store, offline: Models) -> None:
    with open_store() as copy:
        copy_collection("plant", store, copy)
        answer = engine(copy, offline).answer(QUESTION)
    assert ANSWER in answer.text
    assert answer.unsearched == 0
