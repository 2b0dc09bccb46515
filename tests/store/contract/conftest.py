"""Every store there is: what the rest of the package counts on has to hold for each."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from dict_engine import DictEngine
from llama_index.core.vector_stores.types import BasePydanticVectorStore
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from rag_nodes.store import Store, open_store
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.vector_store import RagNodesVectorStore


@pytest.fixture(params=["memory", "folder", "server", "dictionary"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each kind. A new one is put to the contract by adding it here."""
    if request.param == "dictionary":
        opened = Store(DictEngine())
    elif request.param == "server":
        opened = open_store(request.getfixturevalue("server_url"))
    else:
        opened = open_store(":memory:" if request.param == "memory" else tmp_path / "store")
    with opened:
        yield opened


@pytest.fixture(params=["memory", "folder", "server", "dictionary", "stock"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BasePydanticVectorStore]:
    """A vector store of each kind of ours, and LlamaIndex's own on qdrant-client's local mode."""
    if request.param == "stock":
        with closing(QdrantClient(":memory:")) as client:
            yield QdrantVectorStore(
                "c",
                client=client,
                enable_hybrid=True,
                sparse_doc_fn=document_vectors,
                sparse_query_fn=query_vectors,
                index_doc_id=False,
            )
    elif request.param == "dictionary":
        yield Store(DictEngine()).vector_store("c")
    elif request.param == "server":
        with open_store(request.getfixturevalue("server_url")) as store:
            yield store.vector_store("c")
    else:
        place = ":memory:" if request.param == "memory" else tmp_path
        with closing(RagNodesVectorStore(place, "c")) as own:
            yield own
