"""What Qdrant raises, on a server and in this process, into ours with location and remedy."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from rag_nodes.errors import (
    CollectionMissingError,
    RagNodesError,
    StoreDamagedError,
    StoreError,
    StoreUnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_BAD = 400
_REFUSED = (401, 403)
NOT_FOUND = 404
"""Status of what is not there."""
_FULL = 429
_FAULT = 500
_LATE = 504
_OF_GRPC = {
    "UNAUTHENTICATED": 401,
    "PERMISSION_DENIED": 403,
    "NOT_FOUND": NOT_FOUND,
    "RESOURCE_EXHAUSTED": _FULL,
    "INTERNAL": 500,
    "UNAVAILABLE": 503,
    "DEADLINE_EXCEEDED": _LATE,
}
"""HTTP status by code of gRPC; `_BAD` for any other."""
_INDEX_REMEDY = (
    "; in strict mode it filters by indexed keys only: those of `Filter` are indexed by the first "
    "write, others by its own interface"
)


@contextmanager
def translated(location: str, collection: str = "") -> Iterator[None]:
    """Run Qdrant calls so that whatever they raise on purpose comes out as a `StoreError`.

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
        ours = _translation(error, shown(location), collection)
        if ours is None:
            raise
        raise ours from error


@contextmanager
def translated_in_process(location: str, collection: str) -> Iterator[None]:
    """Run calls of the engine so that whatever it raises comes out as a `StoreError`.

    Raises:
        StoreDamagedError: it gave up over bytes that it did not write.
        StoreError: it refused.
    """
    try:
        yield
    except (RagNodesError, ValueError, TypeError, KeyError, AttributeError):
        raise
    except BaseException as error:
        where = f"{location}: collection {collection!r}"
        # What it gives up on is no `Exception`.
        if type(error).__name__ == "PanicException":
            raise StoreDamagedError(
                f"{where} is damaged ({error}); `rag-nodes doctor` says what can be done"
            ) from error
        if not isinstance(error, Exception):
            raise
        # The engine raises bare exceptions, of which only the text tells anything.
        raise StoreError(
            f"{where}: {error}; check free disk space and permissions, and ask `rag-nodes doctor` "
            "whether the collection is damaged"
        ) from error


def missing(location: str, collection: str) -> CollectionMissingError:
    """The error for a collection that nothing was ingested into."""
    return CollectionMissingError(
        f"{shown(location)}: there is no collection {collection!r}; ingest documents first, with "
        "the same corpus, parser settings and embedding model; after an update that changes how "
        "a parser cuts, ingest them again"
    )


def shown(location: str) -> str:
    """`location` as messages may show it: a URL without user name and password."""
    parts = urlsplit(location)
    if "@" not in parts.netloc:
        return location
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def was_refused(error: Exception) -> bool:
    """Whether a server refused the key, or what was asked with it."""
    return status_of(error) in _REFUSED


def _translation(error: Exception, location: str, collection: str) -> StoreError | None:
    from qdrant_client.http.exceptions import ResponseHandlingException

    if isinstance(error, ResponseHandlingException):
        return _of_no_answer(error.source, location)
    status = status_of(error)
    if status is None:
        return None
    if status == NOT_FOUND and collection:
        return missing(location, collection)
    if _is_unheard(error):
        return StoreUnreachableError(
            f"{location}: the Qdrant server does not answer by gRPC ({_said(error)}); check that "
            "it is running and the store option grpc_port, or do without the option grpc"
        )
    return _of_status(status, _said(error), location)


def _of_status(status: int, said: str, location: str) -> StoreError:
    """What is said where the server answered that it did not do it."""
    if status in _REFUSED:
        return StoreError(
            f"{location}: the Qdrant server refused the key (HTTP {status}); set the right one"
        )
    if status == _LATE:
        return _late(location, said)
    if status >= _FAULT or status == _FULL:
        return StoreUnreachableError(
            f"{location}: the Qdrant server could not do it, also when asked again (HTTP {status}: "
            f"{said}); see its log, and try again: what was stored stays"
        )
    remedy = _INDEX_REMEDY if "index required" in said.lower() else ""
    return StoreError(f"{location}: the Qdrant server refused the request: {said}{remedy}")


def _late(location: str, said: str) -> StoreError:
    return StoreUnreachableError(
        f"{location}: the Qdrant server did not answer in time ({said}); check the address and the "
        "server's load, or raise the store option timeout"
    )


def _of_no_answer(error: Exception, location: str) -> StoreError:
    """What is said where an answer is missing, late or garbled."""
    from httpx import TimeoutException
    from pydantic import ValidationError

    if isinstance(error, TimeoutException):
        return _late(location, type(error).__name__)
    if isinstance(error, ValidationError):
        return StoreUnreachableError(
            f"{location}: what answers there does not speak as a Qdrant server does; check the "
            "address, and that server and qdrant-client are of about the same version"
        )
    return StoreUnreachableError(
        f"{location}: the Qdrant server does not answer ({error}); check the address and that "
        "the server is running"
    )


def status_of(error: Exception) -> int | None:
    """The HTTP status that an error stands for; None where it is none of a server's."""
    from grpc import RpcError
    from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
    from qdrant_client.http.exceptions import UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return error.status_code
    if isinstance(error, ResourceExhaustedResponse):
        return _FULL
    if isinstance(error, RpcError):
        return _OF_GRPC.get(error.code().name, _BAD)
    return None


def _is_unheard(error: Exception) -> bool:
    """Whether gRPC found nobody at the port: a server that is there says something else."""
    from grpc import RpcError, StatusCode

    return (
        isinstance(error, RpcError)
        and error.code() is StatusCode.UNAVAILABLE
        and "failed to connect" in _said(error).lower()
    )


def _said(error: Exception) -> str:
    """What the server says about it."""
    details = getattr(error, "details", None)  # of gRPC
    if callable(details):
        return str(details())
    try:
        return str(json.loads(getattr(error, "content", b""))["status"]["error"])
    except (ValueError, KeyError, TypeError):
        return getattr(error, "reason_phrase", "") or str(error)
