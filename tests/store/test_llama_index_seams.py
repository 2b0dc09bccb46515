"""Stock LlamaIndex components on our vector store, sync and async, embedded."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from llama_index.core import Document, VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever

from rag_nodes.errors import ConfigurationError
from rag_nodes.models import get_embedding
from rag_nodes.parsers import get_parser
from rag_nodes.store import open_store
from rag_nodes.store.edge import EdgeVectorStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store

TEXT = "# Zebra\n\nThe zebra eats grass.\n\n# Lion\n\nThe lion eats zebras, not grass at all.\n"


@pytest.fixture(scope="module")
def embedding() -> BaseEmbedding:
    return get_embedding("lexical")


def pipeline(store: Store, collection: str, embedding: BaseEmbedding) -> IngestionPipeline:
    return IngestionPipeline(
        transformations=[get_parser("heading", chunk_size=50, min_chunk_size=1), embedding],
        vector_store=store.vector_store(collection),
        disable_cache=True,
    )


def documents() -> list[Document]:
    return [Document(text=TEXT, id_="animals")]


def test_a_stock_pipeline_writes_into_the_store(
    store: Store, collection: str, embedding: BaseEmbedding
) -> None:
    for _ in range(2):
        nodes = pipeline(store, collection, embedding).run(documents=documents())
    assert store.count(collection) == len(nodes) > 0


async def test_a_stock_pipeline_writes_asynchronously(
    store: Store, collection: str, embedding: BaseEmbedding
) -> None:
    runs = (pipeline(store, collection, embedding).arun(documents=documents()) for _ in range(4))
    [nodes, *_] = await asyncio.gather(*runs)
    assert store.count(collection) == len(nodes) > 0


@pytest.mark.parametrize("mode", ["default", "hybrid", "sparse"])
async def test_a_stock_retriever_finds_in_every_mode(
    store: Store, collection: str, embedding: BaseEmbedding, mode: str
) -> None:
    pipeline(store, collection, embedding).run(documents=documents())
    index = VectorStoreIndex.from_vector_store(
        store.vector_store(collection), embed_model=embedding
    )
    retriever = index.as_retriever(similarity_top_k=1, sparse_top_k=2, vector_store_query_mode=mode)
    [hit, *_] = retriever.retrieve("What does the lion eat?")
    [later, *_] = await retriever.aretrieve("What does the lion eat?")
    assert "lion" in hit.node.get_content()
    assert later.node.node_id == hit.node.node_id


async def test_a_fusion_retriever_of_llama_index_works_on_an_embedded_store(
    store: Store, collection: str, embedding: BaseEmbedding
) -> None:
    pipeline(store, collection, embedding).run(documents=documents())
    index = VectorStoreIndex.from_vector_store(
        store.vector_store(collection), embed_model=embedding
    )
    fusion = QueryFusionRetriever(
        [index.as_retriever(), index.as_retriever(vector_store_query_mode="hybrid")],
        num_queries=1,
        llm=MockLLM(),
        similarity_top_k=1,
        use_async=True,
    )
    [hit] = await fusion.aretrieve("What does the lion eat?")
    assert "lion" in hit.node.get_content()


def test_breadcrumbs_are_embedded_but_stay_out_of_bm25(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    node = make_node("grass is green", [1.0, 0.0], Heading="Zebra > Food")
    assert node.get_content(metadata_mode="embed").startswith("Heading: Zebra > Food")
    store.vector_store(collection).add([node])

    def found(text: str) -> int:
        return len(store.search(collection, vector=None, text=text, limit=1, mode="sparse"))

    assert found("grass") == 1
    assert found("zebra food heading") == 0


def test_a_vector_store_of_this_process_is_not_made_of_a_store_on_a_server(
    server_url: str,
) -> None:
    with open_store(server_url) as store, pytest.raises(ConfigurationError, match="vector_store"):
        EdgeVectorStore(store=store)
