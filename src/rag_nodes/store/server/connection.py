"""The connection to a server: its key, what is repeated, and what it raises into our errors.

All that is asked here may be asked twice: points are written and deleted by id, and a collection,
index or alias that is there already is fine.
"""

from __future__ import annotations

import json
import math
import random
import warnings
from contextlib import closing, contextmanager
from functools import cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from grpc import RpcError, StatusCode
from httpx import ConnectError, TimeoutException, create_ssl_context
from pydantic import ValidationError
from qdrant_client import QdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from rag_nodes.errors import (
    ConfigurationError,
    CredentialsError,
    RagNodesError,
    StoreError,
    StoreUnreachableError,
)
from rag_nodes.processes import pause
from rag_nodes.store.catalogue import missing, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from ssl import SSLContext

    from httpx import Request, Response

    from rag_nodes.store.opening import ServerOptions

PROBE_SECONDS = 5
"""How long opening a server waits for a sign of life."""
FIRST_WAIT = 0.25
"""Seconds before the first repetition, at most; each further one waits twice as long."""
LONGEST_WAIT = 8.0
"""Seconds before any repetition, at most, where the server does not ask for more."""
LONGEST_ASKED = 60.0
"""Seconds that a server may ask to wait for."""
REFUSED = (401, 403)
"""Statuses of a key that may not do it."""
NOT_FOUND = 404
_FULL = 429
_LATE = 504
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
_GRPC_TRIES = 5
"""As many as gRPC makes of one call, whatever it is told."""
_GRPC_BUFFER = 64 * 1024 * 1024
"""Bytes of a call that gRPC keeps for a repetition; it does not repeat larger ones."""
_INDEX_REMEDY = (
    "; in strict mode it filters by indexed keys only: those of `Filter` are indexed by the first "
    "write, others by its own interface"
)


def connected(url: str, api_key: str | None, options: ServerOptions) -> QdrantClient:
    """What asks a server that answered within `PROBE_SECONDS`; errors are those of `Served`."""
    _check_key(url, api_key, options)
    given: dict[str, Any] = {
        "url": url,
        "api_key": api_key,
        "check_compatibility": False,
        "prefer_grpc": options.grpc,
        "grpc_port": options.grpc_port,
    }
    given["verify"] = options.certificates() or _usual_certificates()
    # `_check_key` has said what is to be said about it.
    warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
    with translated(url):
        # Where nobody listens, whoever mistyped the URL is told at once.
        probe = QdrantClient(**given, grpc_options=_grpc_retries(0), timeout=PROBE_SECONDS)
        probe.http.client.add_middleware(_retrying(options.retries, TimeoutException, ConnectError))
        with closing(probe):
            probe.get_collections()
        given["timeout"] = math.ceil(options.timeout)
        client = QdrantClient(**given, grpc_options=_grpc_retries(options.retries))
        # A request that was slow would be slow again; a server that was there restarts.
        client.http.client.add_middleware(_retrying(options.retries, TimeoutException))
    return client


@cache
def _usual_certificates() -> SSLContext:
    """What everybody trusts: reading it takes longer than a request, so it is read once."""
    return create_ssl_context()


def _check_key(url: str, api_key: str | None, options: ServerOptions) -> None:
    if api_key is None:
        return
    if not api_key.isascii():
        raise CredentialsError("the Qdrant key holds characters no key has; copy it again")
    parts = urlsplit(url)
    encrypted = parts.scheme == "https" or _is_this_machine(parts.hostname or "")
    if not (encrypted or options.trusted_network):
        raise ConfigurationError(
            f"{shown(url)}: the API key would cross the network in plain text, for all on the way "
            "to read; use https://, or, where nobody else is on that network, set the store "
            "option trusted_network=true"
        )


def _is_this_machine(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _retrying(times: int, *final: type[Exception]) -> Callable[..., Response]:
    """What sends a request as often as it takes, but after `final` errors.

    Whoever asks may be ended while it waits.
    """

    def middleware(request: Request, send: Callable[[Request], Response]) -> Response:
        for turn in range(times):
            # Shortened at random, so that many clients do not come back as one.
            wait = min(LONGEST_WAIT, FIRST_WAIT * 2.0**turn) * random.uniform(0.5, 1)  # noqa: S311 -- no secret
            try:
                answer = send(request)
            except ResponseHandlingException as error:
                if isinstance(error.source, final):
                    raise
            else:
                if answer.status_code not in {_FULL, *_FAULTS}:
                    return answer
                asked = answer.headers.get("Retry-After", "")
                if answer.status_code == _FULL and asked.isdecimal():
                    wait = min(float(asked), LONGEST_ASKED)
            pause(wait)
        return send(request)

    return middleware


def _grpc_retries(times: int) -> dict[str, Any]:
    """The same for calls by gRPC, which repeats by itself once it is told."""
    policy = {
        "maxAttempts": min(times + 1, _GRPC_TRIES),
        "initialBackoff": f"{FIRST_WAIT}s",
        "maxBackoff": f"{LONGEST_WAIT}s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL"],
    }
    config = {"methodConfig": [{"name": [{}], "retryPolicy": policy}]}
    if not times:
        return {"grpc.enable_retries": 0}
    return {
        "grpc.enable_retries": 1,
        "grpc.service_config": json.dumps(config),
        "grpc.per_rpc_retry_buffer_size": _GRPC_BUFFER,
    }


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
    if status in REFUSED:
        return StoreError(
            f"{where}: the Qdrant server refused the key (HTTP {status}); set the right one"
        )
    said = _said(error)
    if isinstance(error, RpcError) and "failed to connect" in said.lower():
        return StoreUnreachableError(
            f"{where}: the Qdrant server does not answer by gRPC ({said}); check that it is "
            "running and the store option grpc_port, or do without the option grpc"
        )
    if status == _LATE:
        return _late(where, said)
    if status in {_FULL, *_FAULTS}:
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
