"""What filters ask of a Qdrant server: indexes of the right kinds, also where it lacks them."""

import logging
from typing import Any

import pytest
from httpx import Headers
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import UnexpectedResponse
from stored_nodes import MakeNode, fill, names_found

from rag_nodes.store import open_store
from rag_nodes.store.conditions import INDEXES
from rag_nodes.store.filters import Filter


@pytest.fixture
def old_server(
    server_url: str, collection: str, make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> str:
    """A strict server with a collection whose documents alone are indexed."""
    with monkeypatch.context() as patch, open_store(server_url) as store:
        patch.setattr("rag_nodes.store.server.engine.INDEXES", {"doc_id": "keyword"})
        fill(store, collection, make_node)
    return server_url


@pytest.mark.parametrize("way", ["search", "stored", "vector store"])
def test_a_collection_gets_the_indexes_it_lacks_once_whichever_way_it_is_used_first(
    old_server: str, collection: str, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed = []
    create = QdrantClient.create_payload_index

    def note_index(self: QdrantClient, name: str, key: str, **options: Any) -> Any:
        indexed.append(key)
        return create(self, name, key, **options)

    monkeypatch.setattr(QdrantClient, "create_payload_index", note_index)
    for _ in range(2):
        with open_store(old_server) as store:
            if way == "stored":
                assert len(store.stored(collection, "annex")) == 1
            elif way == "vector store":
                store.vector_store(collection).delete("nothing")
            assert names_found(store, collection, Filter(heading="install")) == {"two", "four"}
    assert indexed == [key for key in INDEXES if key != "doc_id"]


def test_a_key_that_may_only_read_still_searches_and_the_log_says_what_is_missing(
    old_server: str,
    collection: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UnexpectedResponse(403, "Forbidden", b"read only", Headers())

    monkeypatch.setattr(QdrantClient, "create_payload_index", refuse)
    with open_store(old_server) as store, caplog.at_level(logging.WARNING, "rag_nodes"):
        wanted = Filter(document_ids=["annex"])
        for _ in range(2):
            assert names_found(store, collection, wanted) == {"four"}
    [warning] = [record.message for record in caplog.records if "lacks indexes" in record.message]
    assert warning.startswith(f"{old_server}: collection {collection!r} lacks indexes for filters")
