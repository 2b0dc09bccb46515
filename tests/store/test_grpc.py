"""The same store by gRPC: what is sent is understood, and what fails is told alike.

Calls go to the double of the REST interface, translated by qdrant-client's own conversions.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing
from pathlib import Path
from typing import Any

import grpc as wire
import pytest
from qdrant_client import grpc
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.context_headers import headers
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.http.exceptions import UnexpectedResponse
from qdrant_client.qdrant_remote import QdrantRemote
from store.qdrant_server import Fault, QdrantDouble
from stored_nodes import MakeNode

from rag_nodes.core.errors import CollectionMissingError, StoreError, StoreUnreachableError
from rag_nodes.store import Filter, Query, ServerOptions, open_store

X = [1.0, 0.0, 0.0]
CODES = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 500: "INTERNAL", 503: "UNAVAILABLE"}
ANSWERS: dict[type, Callable[[Any, QdrantRemote], Any]] = {
    grpc.ListCollectionsRequest: lambda _, to: grpc.ListCollectionsResponse(
        collections=[
            grpc.CollectionDescription(name=collection.name)
            for collection in to.get_collections().collections
        ]
    ),
    grpc.GetCollectionInfoRequest: lambda asked, to: grpc.GetCollectionInfoResponse(
        result=RestToGrpc.convert_collection_info(to.get_collection(asked.collection_name))
    ),
    grpc.CreateCollection: lambda asked, to: grpc.CollectionOperationResponse(
        result=to.create_collection(
            asked.collection_name,
            GrpcToRest.convert_vectors_config(asked.vectors_config),
            sparse_vectors_config=GrpcToRest.convert_sparse_vector_config(
                asked.sparse_vectors_config
            ),
        )
    ),
    grpc.CreateFieldIndexCollection: lambda asked, to: grpc.PointsOperationResponse(
        result=RestToGrpc.convert_update_result(
            to.create_payload_index(
                asked.collection_name,
                asked.field_name,
                grpc.FieldType.Name(asked.field_type).removeprefix("FieldType").lower(),
            )
        )
    ),
    grpc.UpsertPoints: lambda asked, to: grpc.PointsOperationResponse(
        result=RestToGrpc.convert_update_result(to.upsert(asked.collection_name, [*asked.points]))
    ),
    grpc.CountPoints: lambda asked, to: grpc.CountResponse(
        result=grpc.CountResult(count=to.count(asked.collection_name, exact=asked.exact).count)
    ),
    grpc.GetPoints: lambda asked, to: grpc.GetResponse(
        result=map(
            RestToGrpc.convert_retrieved_point,
            to.retrieve(asked.collection_name, map(GrpcToRest.convert_point_id, asked.ids)),
        )
    ),
    grpc.QueryBatchPoints: lambda asked, to: grpc.QueryBatchResponse(
        result=[
            grpc.BatchResult(result=map(RestToGrpc.convert_scored_point, points.points))
            for points in to.query_batch_points(
                asked.collection_name, [*map(GrpcToRest.convert_query_points, asked.query_points)]
            )
        ]
    ),
}


@pytest.fixture
def listen() -> Iterator[Callable[..., int]]:
    """Listens in front of the double at a URL, encrypted by a certificate, and gives the port."""
    with ExitStack() as ends:

        def start_grpc(url: str, certificate: Path | None = None) -> int:
            to = ends.enter_context(closing(QdrantRemote(url, check_compatibility=False)))

            def answer(asked: Any, context: Any) -> Any:
                key = dict(context.invocation_metadata()).get("api-key", "")
                try:
                    with headers({"api-key": key}):
                        return ANSWERS[type(asked)](asked, to)
                except QdrantException as error:
                    return context.abort(wire.StatusCode.RESOURCE_EXHAUSTED, str(error))
                except UnexpectedResponse as error:
                    return context.abort(wire.StatusCode[CODES[error.status_code]], str(error))

            calls: Any = type("Calls", (), {"__getattr__": lambda *_: answer})()
            server = wire.server(ThreadPoolExecutor(2))
            grpc.add_CollectionsServicer_to_server(calls, server)
            grpc.add_PointsServicer_to_server(calls, server)
            ends.callback(lambda: server.stop(None).wait())
            if certificate:
                key, end, signed = certificate.read_bytes().partition(
                    b"-----END PRIVATE KEY-----\n"
                )
                secret = wire.ssl_server_credentials([(key + end, signed)])
                port = server.add_secure_port("127.0.0.1:0", secret)
            else:
                port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            return int(port)

        yield start_grpc


@pytest.mark.parametrize("fault", [None, "500", "503", "429"])
def test_a_store_reads_what_it_wrote_also_where_a_fault_passes(
    double: QdrantDouble,
    listen: Callable[..., int],
    collection: str,
    make_node: MakeNode,
    fault: Fault | None,
) -> None:
    node = make_node("red zebra", X, file_name="a.pdf")
    options = ServerOptions(grpc=True, grpc_port=listen(double.url))
    with open_store(double.url, options=options) as store:
        store.add(collection, [make_node("blue lion", X)])
        double.faults = [("/points", fault)] if fault else []
        store.add(collection, [node])
        assert not double.faults
        query = Query(vector=X, text="zebra", limit=5, filter=Filter(file_name="a.pdf"))
        hits = store.search(collection, query)
        assert [(hit.node.text, hit.similarity) for hit in hits] == [("red zebra", 1.0)]
        assert store.count(collection) == 2
        assert store.fetch(collection, [node.node_id])[node.node_id].text == "red zebra"
        with pytest.raises(CollectionMissingError, match="not-there"):
            store.search("not-there", query)


def test_failures_are_reported_like_those_of_http(
    serve: Callable[..., AbstractContextManager[QdrantDouble]], listen: Callable[..., int]
) -> None:
    with serve(api_key="right") as double:
        port = listen(double.url)
        options = ServerOptions(grpc=True, grpc_port=port, retries=0)
        with pytest.raises(StoreError, match="refused the key"):
            open_store(double.url, "wrong", options)
        with open_store(double.url, "right", options) as store:
            double.faults = [("", "503")]
            with pytest.raises(StoreUnreachableError, match="HTTP 503"):
                store.collections()
        late = options.model_copy(update={"timeout": 0.01})
        with open_store(double.url, "right", late) as store:
            double.faults = [("", "late")]
            with pytest.raises(StoreUnreachableError, match="raise the store option timeout"):
                store.count("any")
        nobody = options.model_copy(update={"grpc_port": 9})
        with pytest.raises(StoreUnreachableError, match=r"not answer by gRPC .* grpc_port, or do"):
            open_store(double.url, "right", nobody)


def test_calls_are_encrypted_for_a_certificate_of_an_own_authority_and_nobody_else(
    serve: Callable[..., AbstractContextManager[QdrantDouble]],
    listen: Callable[..., int],
    certificate: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = certificate("own")
    # gRPC reads it once in a process, and no other test of ours encrypts.
    monkeypatch.setenv("GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", str(own))
    with serve(api_key="right") as double:
        url = double.url.replace("http:", "https:")
        options = ServerOptions(grpc=True, grpc_port=listen(double.url, own), retries=0)
        with open_store(url, "right", options) as store:
            assert list(store.collections()) == []
        asked = len(double.requests)
        for other in (certificate("other"), None):
            theirs = options.model_copy(update={"grpc_port": listen(double.url, other)})
            with pytest.raises(StoreUnreachableError):
                open_store(url, "right", theirs)
        assert len(double.requests) == asked
