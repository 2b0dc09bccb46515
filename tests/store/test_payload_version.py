from collections.abc import Callable

import pytest
from llama_index.core.schema import Document
from stored_nodes import MakeNode

from rag_nodes import get_parser
from rag_nodes.core.errors import StoreError
from rag_nodes.pipeline import ingest_documents
from rag_nodes.store import Query, Store
from rag_nodes.store import payload as payload_module
from rag_nodes.store.payload import PAYLOAD_VERSION, VERSION, node_in, payload_of

X = [1.0, 0.0, 0.0]


@pytest.fixture
def by_a_newer_release(
    store: Store, collection: str, make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> str:
    """Id of a node that a release wrote whose payloads this one does not know."""
    node = make_node("zebra", X, total_chunks=1)
    with monkeypatch.context() as newer:
        newer.setattr(payload_module, "PAYLOAD_VERSION", PAYLOAD_VERSION + 1)
        store.add(collection, [node])
    return node.node_id


@pytest.mark.parametrize("store", ["folder"], indirect=True)
@pytest.mark.parametrize("way", ["search", "fetch", "vectors", "stored", "stock"])
def test_a_store_that_a_newer_release_wrote_is_refused_whichever_way_it_is_read(
    store: Store, collection: str, by_a_newer_release: str, way: str
) -> None:
    ways: dict[str, Callable[[], object]] = {
        "search": lambda: store.search(collection, Query(vector=X, text="zebra", limit=1)),
        "fetch": lambda: store.fetch(collection, [by_a_newer_release]),
        "vectors": lambda: store.vectors(collection, [by_a_newer_release]),
        "stored": lambda: store.stored(collection, "doc-1"),
        "stock": lambda: store.vector_store(collection).get_nodes([by_a_newer_release]),
    }
    with pytest.raises(
        StoreError, match=r"newer release.*version 2.*up to 1.*update rag_nodes"
    ) as e:
        ways[way]()
    assert collection in str(e.value)


def test_nothing_is_written_beside_what_a_newer_release_wrote(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [Document(text="The pump starts.", id_="one")]
    parsers = {"fixed": get_parser("fixed")}
    with monkeypatch.context() as newer:
        newer.setattr(payload_module, "PAYLOAD_VERSION", PAYLOAD_VERSION + 1)
        [written] = ingest_documents(documents, parsers, store).columns
    [refused] = ingest_documents([Document(text="It stops.", id_="one")], parsers, store).columns
    assert "newer release" in (refused.error or "")
    assert store.count(written.collection) == written.chunks == 1


def test_chunks_written_by_llamaindex_are_read(make_node: MakeNode) -> None:
    node = make_node("zebra", X)
    old = {key: value for key, value in payload_of(node).items() if key != VERSION}
    assert node_in(old, node.node_id, "here").get_content() == "zebra"


@pytest.mark.parametrize("version", ["2", None, 1.5, [1]])
def test_a_version_that_is_no_number_is_not_guessed_at(version: object) -> None:
    with pytest.raises(StoreError, match="newer release"):
        node_in({VERSION: version}, "1", "here")
