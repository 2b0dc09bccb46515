"""Qdrant's gRPC interface in front of the double of its REST interface.

Every call is translated and made there, by qdrant-client's own conversions: so both interfaces
behave alike, and what is tested is that our calls are understood in either.
"""

# ruff: noqa: N802 -- the names of the calls are theirs

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import grpc as wire
from qdrant_client import grpc
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.context_headers import headers
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc
from qdrant_client.http import models as rest
from qdrant_client.http.exceptions import UnexpectedResponse
from qdrant_client.qdrant_remote import QdrantRemote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_CODES = {
    400: wire.StatusCode.INVALID_ARGUMENT,
    401: wire.StatusCode.UNAUTHENTICATED,
    404: wire.StatusCode.NOT_FOUND,
    409: wire.StatusCode.ALREADY_EXISTS,
    429: wire.StatusCode.RESOURCE_EXHAUSTED,
    500: wire.StatusCode.INTERNAL,
    503: wire.StatusCode.UNAVAILABLE,
}
_UPDATED = grpc.PointsOperationResponse(
    result=grpc.UpdateResult(operation_id=0, status=grpc.UpdateStatus.Completed)
)
_DONE = grpc.CollectionOperationResponse(result=True)


def _given(asked: Any, name: str) -> Any:
    """A part of a message; None where it was left out."""
    return getattr(asked, name) if asked.HasField(name) else None


class _Calls:
    """Calls by name, each given a client of the double and a message."""

    def List(self, client: QdrantRemote, _: Any) -> Any:
        found = client.get_collections().collections
        return grpc.ListCollectionsResponse(
            collections=[grpc.CollectionDescription(name=one.name) for one in found]
        )

    def Get(self, client: QdrantRemote, asked: Any) -> Any:
        if isinstance(asked, grpc.GetPoints):
            ids = [GrpcToRest.convert_point_id(one) for one in asked.ids]
            vectors = GrpcToRest.convert_with_vectors_selector(asked.with_vectors)
            found = client.retrieve(asked.collection_name, ids, with_vectors=vectors)
            return grpc.GetResponse(result=[RestToGrpc.convert_retrieved_point(p) for p in found])
        info = client.get_collection(asked.collection_name)
        return grpc.GetCollectionInfoResponse(result=RestToGrpc.convert_collection_info(info))

    def Create(self, client: QdrantRemote, asked: Any) -> Any:
        plain = ("shard_number", "replication_factor", "write_consistency_factor")
        client.create_collection(
            asked.collection_name,
            vectors_config=GrpcToRest.convert_vectors_config(asked.vectors_config),
            sparse_vectors_config=GrpcToRest.convert_sparse_vector_config(
                asked.sparse_vectors_config
            ),
            hnsw_config=_given(asked, "hnsw_config"),
            quantization_config=_given(asked, "quantization_config"),
            on_disk_payload=_given(asked, "on_disk_payload"),
            **{name: _given(asked, name) for name in plain},
        )
        return _DONE

    def Update(self, client: QdrantRemote, asked: Any) -> Any:
        names = ("vectors_config", "hnsw_config", "quantization_config")
        given = {name: _given(asked, name) for name in names}
        params = _given(asked, "params")
        client.update_collection(asked.collection_name, collection_params=params, **given)
        return _DONE

    def Delete(self, client: QdrantRemote, asked: Any) -> Any:
        if isinstance(asked, grpc.DeletePoints):
            client.delete(asked.collection_name, asked.points)
            return _UPDATED
        client.delete_collection(asked.collection_name)
        return _DONE

    def ListAliases(self, client: QdrantRemote, _: Any) -> Any:
        found = client.get_aliases().aliases
        return grpc.ListAliasesResponse(
            aliases=[RestToGrpc.convert_alias_description(one) for one in found]
        )

    def UpdateAliases(self, client: QdrantRemote, asked: Any) -> Any:
        client.update_collection_aliases(list(asked.actions))
        return _DONE

    def CreateFieldIndex(self, client: QdrantRemote, asked: Any) -> Any:
        kind = grpc.FieldType.Name(asked.field_type).removeprefix("FieldType").lower()
        client.create_payload_index(
            asked.collection_name, asked.field_name, rest.PayloadSchemaType(kind)
        )
        return _UPDATED

    def Upsert(self, client: QdrantRemote, asked: Any) -> Any:
        client.upsert(asked.collection_name, list(asked.points))
        return _UPDATED

    def Count(self, client: QdrantRemote, asked: Any) -> Any:
        found = client.count(asked.collection_name, _given(asked, "filter"), exact=asked.exact)
        return grpc.CountResponse(result=grpc.CountResult(count=found.count))

    def Scroll(self, client: QdrantRemote, asked: Any) -> Any:
        points, following = client.scroll(
            asked.collection_name,
            _given(asked, "filter"),
            limit=asked.limit,
            offset=_given(asked, "offset"),
            with_payload=asked.with_payload,
            with_vectors=GrpcToRest.convert_with_vectors_selector(asked.with_vectors),
        )
        return grpc.ScrollResponse(
            result=[RestToGrpc.convert_retrieved_point(point) for point in points],
            next_page_offset=following and RestToGrpc.convert_extended_point_id(following),
        )

    def QueryBatch(self, client: QdrantRemote, asked: Any) -> Any:
        requests = [GrpcToRest.convert_query_points(one) for one in asked.query_points]
        answers = client.query_batch_points(asked.collection_name, requests)
        return grpc.QueryBatchResponse(
            result=[
                grpc.BatchResult(result=[RestToGrpc.convert_scored_point(p) for p in one.points])
                for one in answers
            ]
        )


@contextmanager
def in_front_of(url: str, certificate: Path | None = None) -> Iterator[int]:
    """Run a server that passes calls on to the REST interface at a URL; gives its port.

    Args:
        url: of the double.
        certificate: its own, with its key, in one file; calls are encrypted then.
    """
    client = QdrantRemote(url, check_compatibility=False)
    server = wire.server(ThreadPoolExecutor(4))
    grpc.add_CollectionsServicer_to_server(_served(grpc.CollectionsServicer, client), server)
    grpc.add_PointsServicer_to_server(_served(grpc.PointsServicer, client), server)
    place = "127.0.0.1:0"
    if certificate:
        key, signed = re.findall(
            rb"-----BEGIN.*?-----END[^\n]*\n", certificate.read_bytes(), re.DOTALL
        )
        port = server.add_secure_port(place, wire.ssl_server_credentials([(key, signed)]))
    else:
        port = server.add_insecure_port(place)
    server.start()
    try:
        yield port
    finally:
        server.stop(None).wait()
        client.close()


def _served(kind: type, client: QdrantRemote) -> Any:
    """A servicer of a kind that has the calls."""
    calls = _Calls()
    names = [name for name in vars(_Calls) if not name.startswith("_") and hasattr(kind, name)]
    return type("Served", (kind,), {name: _call(getattr(calls, name), client) for name in names})()


def _call(call: Callable[[QdrantRemote, Any], Any], client: QdrantRemote) -> Callable[..., Any]:
    def answer(_: Any, asked: Any, context: Any) -> Any:
        key = dict(context.invocation_metadata()).get("api-key", "")
        try:
            with headers({"api-key": key}):
                return call(client, asked)
        except UnexpectedResponse as error:
            said = error.structured()["status"]["error"]
            return context.abort(_CODES[error.status_code or 500], said)
        except ResourceExhaustedResponse as error:
            return context.abort(_CODES[429], str(error))

    return answer
