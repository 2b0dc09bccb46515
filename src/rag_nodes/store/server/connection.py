"""The connection to a server: whether it answers, with which key, and what is repeated."""

from __future__ import annotations

import math
import warnings
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from qdrant_client import QdrantClient

from rag_nodes.errors import ConfigurationError, CredentialsError
from rag_nodes.store.faults import shown, translated
from rag_nodes.store.server.retries import Retries

if TYPE_CHECKING:
    from rag_nodes.store.options import ServerOptions

PROBE_SECONDS = 5
"""How long opening a server waits for a sign of life."""


class Reached(NamedTuple):
    """A server that answers, and what asks it.

    Attributes:
        location: its URL without credentials.
        client: asks it.
    """

    location: str
    client: QdrantClient


def connected(url: str, api_key: str | None, options: ServerOptions) -> Reached:
    """Connect to a server.

    Raises:
        ConfigurationError: the key would cross a network unencrypted, or the certificate of the
            authority cannot be read.
        CredentialsError: the key cannot be one.
        StoreUnreachableError: the server did not answer within `PROBE_SECONDS`.
        StoreError: the server refused the key.
    """
    _check_key(url, api_key, options)
    retries = Retries(options.retries)
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
        _probe(given, options.retries)
        given["timeout"] = math.ceil(options.timeout)
        client = QdrantClient(**given, grpc_options=retries.of_grpc())
        client.http.client.add_middleware(retries.middleware)
    return Reached(shown(url), client)


def _probe(given: dict[str, Any], times: int) -> None:
    """Ask for a sign of life; where nobody listens, whoever mistyped the URL is told at once."""
    probe = QdrantClient(**given, grpc_options=Retries(0).of_grpc(), timeout=PROBE_SECONDS)
    probe.http.client.add_middleware(Retries(times, patient=False).middleware)
    try:
        probe.get_collections()
    finally:
        probe.close()


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
