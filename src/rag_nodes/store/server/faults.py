"""What a server raises, by HTTP and by gRPC, into our errors with location and remedy."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grpc import RpcError, StatusCode
from httpx import TimeoutException
from pydantic import ValidationError
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from rag_nodes.errors import RagNodesError, StoreError, StoreUnreachableError
from rag_nodes.store.catalogue import missing, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

REFUSED = (401, 403)
"""Statuses of a key that may not do it."""
NOT_FOUND = 404
"""Status of what is not there."""
_FULL = 429
_LATE = 504
_OF_GRPC = {
    StatusCode.UNAUTHENTICATED: 401,
    StatusCode.PERMISSION_DENIED: 403,
    StatusCode.NOT_FOUND: NOT_FOUND,
    StatusCode.RESOURCE_EXHAUSTED: _FULL,
    StatusCode.INTERNAL: 500,
    StatusCode.UNAVAILABLE: 503,
    StatusCode.DEADLINE_EXCEEDED: _LATE,
}
_INDEX_REMEDY = (
    "; in strict mode it filters by indexed keys only: those of `Filter` are indexed by the first "
    "write, others by its own interface"
)


@contextmanager
def translated(location: str, collection: str = "") -> Iterator[None]:
    """Run calls of a server so that whatever they raise on purpose comes out as a `StoreError`.

    Raises:
        CollectionMissingError: the collection does not exist.
        StoreUnreachableError: the server does not answer.
        StoreError: the server refused.
    """
    try:
        yield
    except RagNodesError:
        raise
    except Exception as error:
        where, status = shown(location), status_of(error)
        if isinstance(error, ResponseHandlingException):
            raise _no_answer(error.source, where) from error
        if status is None:
            raise
        if status == NOT_FOUND and collection:
            raise missing(location, collection) from error
        raise _answered(error, status, where) from error


def status_of(error: Exception) -> int | None:
    """The HTTP status that an error stands for; None where it is none of a server's."""
    if isinstance(error, UnexpectedResponse):
        return error.status_code
    if isinstance(error, ResourceExhaustedResponse):
        return _FULL
    return _OF_GRPC.get(error.code(), 400) if isinstance(error, RpcError) else None


def _answered(error: Exception, status: int, where: str) -> StoreError:
    """What is said where the server answered that it did not do it."""
    said = _said(error)
    if isinstance(error, RpcError) and "failed to connect" in said.lower():
        return StoreUnreachableError(
            f"{where}: the Qdrant server does not answer by gRPC ({said}); check that it is "
            "running and the store option grpc_port, or do without the option grpc"
        )
    if status in REFUSED:
        return StoreError(
            f"{where}: the Qdrant server refused the key (HTTP {status}); set the right one"
        )
    if status == _LATE:
        return _late(where, said)
    if status >= 500 or status == _FULL:  # noqa: PLR2004 -- as HTTP has it
        return StoreUnreachableError(
            f"{where}: the Qdrant server could not do it, also when asked again (HTTP {status}: "
            f"{said}); see its log, and try again: what was stored stays"
        )
    remedy = _INDEX_REMEDY if "index required" in said.lower() else ""
    return StoreError(f"{where}: the Qdrant server refused the request: {said}{remedy}")


def _no_answer(error: Exception, where: str) -> StoreError:
    """What is said where an answer is missing, late or garbled."""
    if isinstance(error, TimeoutException):
        return _late(where, type(error).__name__)
    if isinstance(error, ValidationError):
        return StoreUnreachableError(
            f"{where}: what answers there does not speak as a Qdrant server does; check the "
            "address, and that server and qdrant-client are of about the same version"
        )
    return StoreUnreachableError(
        f"{where}: the Qdrant server does not answer ({error}); check the address and that the "
        "server is running"
    )


def _late(where: str, said: str) -> StoreError:
    return StoreUnreachableError(
        f"{where}: the Qdrant server did not answer in time ({said}); check the address and the "
        "server's load, or raise the store option timeout"
    )


def _said(error: Exception) -> str:
    """What the server says about it."""
    if isinstance(error, RpcError):
        return str(error.details())
    try:
        return str(json.loads(getattr(error, "content", b""))["status"]["error"])
    except (ValueError, KeyError, TypeError):
        return getattr(error, "reason_phrase", "") or str(error)
