"""The connection to a server: its key, what is repeated, and what it raises into our errors.

All that is asked here may be asked twice: points are written and deleted by id, and a collection
or index that is there already is fine.
"""

from __future__ import annotations

import json
import math
import random
import warnings
from contextlib import closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from grpc import RpcError, StatusCode
from httpx import ConnectError, TimeoutException
from pydantic import ValidationError
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import QdrantException, ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from rag_nodes.core.errors import (
    ConfigurationError,
    CredentialsError,
    RagNodesError,
    StoreError,
    StoreUnreachableError,
)
from rag_nodes.core.network import is_loopback, usual_certificates
from rag_nodes.core.processes import pause
from rag_nodes.store.catalogue import missing, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.store.opening import ServerOptions

PROBE_SECONDS = 5
"""Time for which opening a server waits for a reply."""
FIRST_WAIT = 0.25
"""Seconds before the first repetition, at most; each further one waits twice as long."""
LONGEST_WAIT = 8.0
"""Seconds before any repetition, at most, where the server does not ask for more."""
LONGEST_ASKED = 60.0
"""Seconds that a server may ask to wait for."""
REFUSED = (401, 403)
"""Statuses of a key that may not do it."""
# Statuses of HTTP.
NOT_FOUND = 404
_FULL = 429  # too many requests
_LATE = 504  # gateway timeout
_FAULTS = range(500, 600)
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
    "; in strict mode it filters by indexed keys only: ask once by that condition with a key that "
    "may write, which adds the index (for text_match add it by the server's own interface)"
)


def connected(url: str, api_key: str | None, options: ServerOptions) -> QdrantClient:
    """Return a client of a server that answers within `PROBE_SECONDS`.

    Raises:
        ConfigurationError: the options contradict the URL, or name a file that is none.
        CredentialsError: the key cannot be one.
        StoreUnreachableError: the server does not answer.
        StoreError: the server refused the key.
    """
    _check_key(url, api_key, options)
    certificates = options.certificates() or usual_certificates()

    def made(seconds: float) -> QdrantClient:
        return QdrantClient(
            url=url,
            api_key=api_key,
            check_compatibility=False,
            prefer_grpc=options.grpc,
            grpc_port=options.grpc_port,
            grpc_options={"grpc.enable_retries": 0},  # there is but one way to repeat, `Repeating`
            verify=certificates,
            timeout=math.ceil(seconds),
        )

    # `_check_key` has said what is to be said about it.
    warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
    with translated(url):
        # Where nobody listens, whoever mistyped the URL learns it at once.
        with closing(made(PROBE_SECONDS)) as probe:
            Repeating(probe, options.retries, TimeoutException, ConnectError).get_collections()
        return made(options.timeout)


def _check_key(url: str, api_key: str | None, options: ServerOptions) -> None:
    if api_key is None:
        return
    if not api_key.isascii():
        raise CredentialsError("the Qdrant key holds characters no key has; copy it again")
    parts = urlsplit(url)
    host = parts.hostname or ""
    here = is_loopback(host) or host.endswith(".localhost")  # RFC 6761, 6.3
    if not (parts.scheme == "https" or here or options.trusted_network):
        raise ConfigurationError(
            f"{shown(url)}: the API key would cross the network in plain text, where others can "
            f"read it; use https://, or, if the network is yours alone, set the store "
            "option trusted_network=true"
        )


class Repeating:
    """A client of a server whose calls are made again where that may help.

    Whoever asks may be ended while it waits.

    Args:
        client: by HTTP or gRPC.
        times: how often a call is repeated.
        final: errors on the way to the server that are not waited out.
    """

    def __init__(self, client: QdrantClient, times: int, *final: type[Exception]) -> None:
        self._client, self._times, self._final = client, times, final

    def __getattr__(self, name: str) -> Any:
        return partial(self._call, getattr(self._client, name))

    def _call(self, method: Callable[..., Any], *given: Any, **named: Any) -> Any:
        for turn in range(self._times):
            # Shortened at random, so that many clients do not come back as one.
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0**turn) * random.uniform(0.5, 1)  # noqa: S311 -- no secret
            try:
                return method(*given, **named)
            except Exception as error:
                if not self._passes(error):
                    raise
                if isinstance(error, ResourceExhaustedResponse):
                    wait = min(float(error.retry_after_s), LONGEST_ASKED)
            pause(wait)
        return method(*given, **named)

    def _passes(self, error: Exception) -> bool:
        """Return True if another try may help."""
        if isinstance(error, ResponseHandlingException):
            return not isinstance(error.source, (*self._final, ValidationError))
        if isinstance(error, RpcError) and error.code() == StatusCode.UNAVAILABLE:
            return ConnectError not in self._final
        late = isinstance(error, RpcError) and error.code() == StatusCode.DEADLINE_EXCEEDED
        return not late and status_of(error) in {_FULL, *_FAULTS}


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
    if isinstance(error, QdrantException):  # with a pause that it asks for, or one nobody can read
        return _FULL
    return _OF_GRPC.get(error.code(), 400) if isinstance(error, RpcError) else None


def _answered(error: Exception, status: int, where: str) -> StoreError:
    """Return the error for a server that refused a request."""
    if status in REFUSED:
        return StoreError(
            f"{where}: the Qdrant server refused the key (HTTP {status}); set the right one"
        )
    reason = _said(error)
    if isinstance(error, RpcError) and "failed to connect" in reason.lower():
        return StoreUnreachableError(
            f"{where}: the Qdrant server does not answer by gRPC ({reason}); check that it is "
            "running and the store option grpc_port, or do without the option grpc"
        )
    if status == _LATE:
        return _late(where, reason)
    if status in {_FULL, *_FAULTS}:
        return StoreUnreachableError(
            f"{where}: the Qdrant server could not do it, also when asked again (HTTP {status}: "
            f"{reason}); see its log, and try again: what was stored stays"
        )
    remedy = _INDEX_REMEDY if "index required" in reason.lower() else ""
    return StoreError(f"{where}: the Qdrant server refused the request: {reason}{remedy}")


def _no_answer(error: Exception, where: str) -> StoreError:
    """Return the error for a missing, late or garbled answer."""
    if isinstance(error, TimeoutException):
        return _late(where, type(error).__name__)
    if isinstance(error, ValidationError):
        return StoreUnreachableError(
            f"{where}: the server there does not answer as a Qdrant server does; check the "
            "address, and that server and qdrant-client are of about the same version"
        )
    return StoreUnreachableError(
        f"{where}: the Qdrant server does not answer ({error}); check the address and that the "
        "server is running"
    )


def _late(where: str, reason: str) -> StoreError:
    return StoreUnreachableError(
        f"{where}: the Qdrant server did not answer in time ({reason}); check the address and the "
        "server's load, or raise the store option timeout"
    )


def _said(error: Exception) -> str:
    """Return the server's message."""
    if isinstance(error, RpcError):
        return str(error.details())
    try:
        return str(json.loads(getattr(error, "content", b""))["status"]["error"])
    except (ValueError, KeyError, TypeError):
        return getattr(error, "reason_phrase", "") or str(error)
