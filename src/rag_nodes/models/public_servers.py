"""Which servers a visitor may make this one talk to: the public internet, unless told otherwise.

A name can stand for a public address when it is checked and for one behind the firewall a moment
later. So the address that is connected to is the one that was checked, at every connection.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from ssl import SSLContext

    IP = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""All IPv6 addresses of the internet that were ever given out."""
_PORTS = {"http": 80, "https": 443}


def must_be_public(address: str | None, *, configured: str | None, local: bool) -> bool:
    """True for an address that whoever runs the server has not vouched for.

    Args:
        address: where models are asked; None for OpenAI itself.
        configured: the address that whoever runs the server configured; always allowed.
        local: only people of this machine or network are served, who may name any address.
    """
    if local or address is None:
        return False
    return configured is None or _origin(address) != _origin(configured)


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def public_addresses(host: str, port: int) -> list[str]:
    """The addresses a name stands for, in whatever notation it is written.

    Raises:
        ConfigurationError: one of them is not public, or there is none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in found]
    except (OSError, ValueError):  # UnicodeError is a ValueError
        raise _not_public(host) from None
    if not addresses or not all(map(_is_public, addresses)):
        raise _not_public(host)
    return list(dict.fromkeys(map(str, addresses)))


@cache
def usual_certificates() -> SSLContext:
    """What everybody trusts: reading it takes longer than a request, so it is read once."""
    return httpx.create_ssl_context()


def public_client() -> httpx.Client:
    """A client that connects to nothing but servers on the public internet."""
    return httpx.Client(transport=PublicTransport(httpx.HTTPTransport()))


class PublicTransport(httpx.BaseTransport):
    """A transport of the client that connects to addresses it has just checked.

    The name stays in the Host header, and is what the server's certificate has to be for. A proxy
    of the environment is not used: it would resolve the name once more. `inner` connects.
    """

    def __init__(self, inner: httpx.BaseTransport) -> None:
        self._inner = inner

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the first address that answers.

        Raises:
            ConfigurationError: an address behind the name is not public.
        """
        name, url = request.url.raw_host.decode("ascii"), request.url
        *others, last = public_addresses(name, url.port or _PORTS[url.scheme])
        for address in others:
            with suppress(httpx.ConnectError, httpx.ConnectTimeout):
                return self._inner.handle_request(_sent_to(address, name, request))
        return self._inner.handle_request(_sent_to(last, name, request))

    def close(self) -> None:
        """End the connections that are kept."""
        self._inner.close()


def _not_public(host: str) -> ConfigurationError:
    """The refusal; the same whatever the reason, so that nobody can map the network with it."""
    return ConfigurationError(
        f"api_base: {host!r} is not a server on the public internet; use another, or ask whoever "
        "runs this app to start it with --local-models"
    )


def _origin(address: str) -> tuple[str, str, int]:
    """Scheme, host and port; an unreadable address has no host."""
    try:
        parts = urlsplit(address.strip())
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(scheme, 0)
    except ValueError:
        return "", "", 0


def _sent_to(address: str, name: str, request: httpx.Request) -> httpx.Request:
    """The same request to an address instead of a name."""
    return httpx.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": name},
    )


def _is_public(address: IP) -> bool:
    """True for what routers of the internet forward to; IPv4 inside IPv6 counts as IPv4."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return _is_public(inner)
        if address not in _UNICAST:  # what translates to IPv4 in ways of its own, or is local
            return False
    return address.is_global and not address.is_multicast


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour
