"""The connection to a server: whether it answers, with which key, and what is repeated.

All that is asked here may be asked twice: points are written and deleted by id, and a collection,
index or alias that is there already is fine.
"""

from __future__ import annotations

import json
import math
import random
import warnings
from contextlib import closing
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from httpx import ConnectError, TimeoutException
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import ResponseHandlingException

from rag_nodes.errors import ConfigurationError, CredentialsError
from rag_nodes.processes import pause
from rag_nodes.store.catalogue import shown
from rag_nodes.store.server.faults import translated

if TYPE_CHECKING:
    from collections.abc import Callable

    from httpx import Request, Response

    from rag_nodes.store.options import ServerOptions

PROBE_SECONDS = 5
"""How long opening a server waits for a sign of life."""

FIRST_WAIT = 0.25
"""Seconds before the first repetition, at most; each further one waits twice as long."""
LONGEST_WAIT = 8.0
"""Seconds before any repetition, at most, where the server does not ask for more."""
LONGEST_ASKED = 60.0
"""Seconds that a server may ask to wait for."""
_FULL = 429
_FAULTS = range(500, 600)
_GRPC_TRIES = 5
"""As many as gRPC makes of one call, whatever it is told."""
_GRPC_BUFFER = 64 * 1024 * 1024
"""Bytes of a call that gRPC keeps for a repetition; it does not repeat larger ones."""


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
    certificates = options.certificates()
    if certificates is not None:
        given["verify"] = certificates
    # `_check_key` has said what is to be said about it.
    warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
    with translated(url):
        # Where nobody listens, whoever mistyped the URL is told at once.
        probe = QdrantClient(**given, grpc_options=_grpc_retries(0), timeout=PROBE_SECONDS)
        probe.http.client.add_middleware(_retrying(options.retries, TimeoutException, ConnectError))
        with closing(probe):
            probe.get_collections()
        retries = _grpc_retries(options.retries)
        given["timeout"] = math.ceil(options.timeout)
        client = QdrantClient(**given, grpc_options=retries)
        # A request that was slow would be slow again; a server that was there restarts.
        client.http.client.add_middleware(_retrying(options.retries, TimeoutException))
    return client


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
    """What sends a request as often as it takes, unless whoever asks is ended while it waits.

    Args:
        times: repetitions of one request, at most.
        final: what is not repeated.
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
    if not times:
        return {"grpc.enable_retries": 0}
    policy = {
        "maxAttempts": min(times + 1, _GRPC_TRIES),
        "initialBackoff": f"{FIRST_WAIT}s",
        "maxBackoff": f"{LONGEST_WAIT}s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "INTERNAL"],
    }
    config = {"methodConfig": [{"name": [{}], "retryPolicy": policy}]}
    return {
        "grpc.enable_retries": 1,
        "grpc.service_config": json.dumps(config),
        "grpc.per_rpc_retry_buffer_size": _GRPC_BUFFER,
    }
