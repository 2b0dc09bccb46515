"""Small nodes and open stores for the store's tests."""

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pytest
from certificates import certificate_in
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from store import qdrant_server as _server
from store.qdrant_server import QdrantDouble

from rag_nodes.store import Store, collection_name, open_store

# Taken away because our own settings would take it for a mistyped one of theirs.
REAL_SERVER = os.environ.pop("RAG_NODES_QDRANT_URL", "")
"""URL of a Qdrant server, put in place of the double where what a server does is tested."""


@pytest.fixture
def collection() -> str:
    corpus = f"tests-{uuid.uuid4().hex[:8]}" if REAL_SERVER else "tests"
    return collection_name(corpus, "0123456789ab", "FakeParser", "fake-3")


@pytest.fixture
def make_node() -> Callable[..., TextNode]:
    """A node of document `document` with text, vector and metadata."""

    def make(
        text: str,
        vector: list[float],
        *,
        document: str = "doc-1",
        source_hash: str = "hash-1",
        **metadata: object,
    ) -> TextNode:
        node = TextNode(
            id_=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document}/{text}")),
            text=text,
            start_char_idx=10,
            end_char_idx=10 + len(text),
            metadata={"source_hash": source_hash, "token_count": len(text.split()), **metadata},
            excluded_embed_metadata_keys=["source_hash", "token_count"],
        )
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
        node.relationships[NodeRelationship.NEXT] = RelatedNodeInfo(node_id="next-one")
        node.embedding = vector
        return node

    return make


@pytest.fixture(params=["memory", "folder", "server"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """A store of each kind: what holds for one has to hold for all."""
    with ExitStack() as stack:
        location: str | Path = tmp_path / "store"
        if request.param == "memory":
            location = ":memory:"
        elif request.param == "server":
            location = request.getfixturevalue("server_url")
        yield stack.enter_context(open_store(location))


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    """A Qdrant server of its own, whose requests can be seen, and can fail."""
    with _server.serve() as double:
        yield double


@pytest.fixture
def serve() -> Callable[..., AbstractContextManager[QdrantDouble]]:
    """Runs such a server, with a key or certificate."""
    return _server.serve


@pytest.fixture
def certificate(tmp_path: Path) -> Callable[[str], Path]:
    """Makes certificates for this machine by the names of their files."""
    return lambda name: certificate_in(tmp_path / f"{name}.pem")


@pytest.fixture(scope="session")
def shared_store() -> Iterator[Store]:
    """A Qdrant server for the whole session: a double, or the real one of `RAG_NODES_QDRANT_URL`.

    A real one has to be empty.
    """
    with ExitStack() as stack:
        url = REAL_SERVER or stack.enter_context(_server.serve()).url
        yield stack.enter_context(open_store(url))


@pytest.fixture
def server_url(shared_store: Store) -> Iterator[str]:
    """That server; the collections that came to be during a test are dropped after it."""
    names = shared_store.engine.names()
    assert not names, f"{shared_store.location} is not empty: {', '.join(names)}"
    yield shared_store.location
    for name in shared_store.engine.names():
        shared_store.drop(name)
