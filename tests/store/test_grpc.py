"""The same store by gRPC: what is sent is understood, and what fails is told alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes.errors import CollectionMissingError, StoreError, StoreUnreachableError
from rag_nodes.store import Filter, Query, ServerOptions, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from store.qdrant_server import Fault, QdrantDouble
    from stored_nodes import MakeNode

X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


@pytest.fixture
def store(server_url: str, grpc_port: int) -> Iterator[Store]:
    with open_store(server_url, options=ServerOptions(grpc=True, grpc_port=grpc_port)) as opened:
        yield opened


@pytest.fixture
def filled(store: Store, collection: str, make_node: MakeNode) -> Iterator[Store]:
    about = {"file_name": "a.pdf", "page_start": 1, "page_end": 2, "heading_path": ["Animals"]}
    store.add(collection, [make_node("red zebra", X, **about), make_node("blue lion", Y)])
    yield store
    store.drop(collection)


def test_a_store_reads_what_it_wrote(filled: Store, collection: str, make_node: MakeNode) -> None:
    node = make_node("red zebra", X).node_id
    scope = Filter(file_name="a.pdf", pages=(2, 2), heading_path=("Animals",))
    hits = filled.search(collection, Query(vector=X, text="zebra", limit=5, filter=scope))
    assert [(hit.node.text, hit.similarity) for hit in hits] == [("red zebra", 1.0)]
    assert len(filled.search(collection, Query(vector=X, text="zebra lion", limit=5))) == 2
    assert filled.count(collection) == len(filled.stored(collection, "doc-1")) == 2
    assert filled.fetch(collection, [node])[node].text == "red zebra"
    assert filled.vectors(collection, [node])[node][1] == X
    filled.point_alias("docs-by-grpc", collection)
    assert filled.aliases()["docs-by-grpc"] == collection
    filled.point_alias("docs-by-grpc", None)
    filled.delete(collection, [node])
    assert filled.count(collection) == 1
    assert collection in {info.name for info in filled.collections()}


def test_a_port_where_nobody_speaks_grpc_is_named_with_the_option(server_url: str) -> None:
    nobody = ServerOptions(grpc=True, grpc_port=9, retries=0)
    with pytest.raises(StoreUnreachableError, match=r"not answer by gRPC .* grpc_port, or do"):
        open_store(server_url, options=nobody).collections()


@pytest.mark.parametrize("fault", ["500", "503", "429"])
def test_a_fault_that_passes_is_repeated_by_grpc_itself(
    double: QdrantDouble,
    collection: str,
    make_node: MakeNode,
    serve_grpc: Callable[..., AbstractContextManager[int]],
    fault: Fault,
) -> None:
    with serve_grpc(double.url) as port:
        options = ServerOptions(grpc=True, grpc_port=port)
        with open_store(double.url, options=options) as store:
            store.add(collection, [make_node("red zebra", X)])
            double.faults = [("/points", fault)]
            store.add(collection, [make_node(f"zebra {'x' * 500} {n}", X) for n in range(256)])
            assert double.faults == []
            assert store.count(collection) == 257


def test_an_answer_that_is_late_is_told_as_by_http(
    double: QdrantDouble, collection: str, serve_grpc: Callable[..., AbstractContextManager[int]]
) -> None:
    with serve_grpc(double.url) as port:
        options = ServerOptions(grpc=True, grpc_port=port, timeout=0.01)
        with open_store(double.url, options=options) as store:
            double.faults = [("", "late")]
            with pytest.raises(StoreUnreachableError, match="raise the store option timeout"):
                store.count(collection)


def test_calls_are_encrypted_for_a_certificate_of_an_own_authority_and_no_other(
    serve: Callable[..., AbstractContextManager[QdrantDouble]],
    collection: str,
    make_node: MakeNode,
    serve_grpc: Callable[..., AbstractContextManager[int]],
    certificate: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trusted, other = certificate("trusted"), certificate("other")
    # gRPC reads it once in a process, and no other test of ours encrypts.
    monkeypatch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(trusted))
    with serve("right") as double, serve_grpc(double.url, trusted) as port:
        url = double.url.replace("http:", "https:")
        options = ServerOptions(grpc=True, grpc_port=port, retries=0)
        with open_store(url, "right", options) as store:
            store.add(collection, [make_node("red zebra", X)])
            assert store.count(collection) == 1
        with pytest.raises(StoreError, match="refused the key"):
            open_store(url, "wrong", options)
        asked = len(double.requests)
        with serve_grpc(double.url, other) as theirs:
            options = ServerOptions(grpc=True, grpc_port=theirs, retries=0)
            with pytest.raises(StoreUnreachableError):
                open_store(url, "right", options)
        assert len(double.requests) == asked


def test_what_fails_is_told_as_by_http(
    filled: Store,
    serve: Callable[..., AbstractContextManager[QdrantDouble]],
    serve_grpc: Callable[..., AbstractContextManager[int]],
) -> None:
    with pytest.raises(CollectionMissingError, match="not-there"):
        filled.search("not-there", Query(vector=X, text="zebra", limit=1))
    with serve(api_key="right") as double, serve_grpc(double.url) as port:
        options = ServerOptions(grpc=True, grpc_port=port, retries=0)
        with pytest.raises(StoreError, match="refused the key"):
            open_store(double.url, "wrong", options)
        with open_store(double.url, "right", options) as store:
            double.faults = [("", "503")]
            with pytest.raises(StoreUnreachableError, match="HTTP 503"):
                store.collections()
    with pytest.raises(StoreUnreachableError, match="does not answer by gRPC"):
        open_store(double.url, "right", options)
