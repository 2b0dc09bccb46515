"""Servers on the public internet: what counts as one, and connections that reach no other.

A name can stand for a public address when it is checked and for one behind the firewall a moment
later. So the address that is connected to is the one that was checked, at every connection.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import httpx

    Resolve = Callable[..., Sequence[Any]]
    IP = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""All IPv6 addresses of the internet that were ever given out."""
_PORTS = {"http": 80, "https": 443}


def not_public(host: str) -> ConfigurationError:
    """The refusal; the same whatever the reason, so that nobody can map the network with it."""
    return ConfigurationError(
        f"api_base: {host!r} is not a server on the public internet; use another, or ask whoever "
        "runs this app to start it with --local-models"
    )


def public_addresses(host: str, port: int, resolve: Resolve | None = None) -> list[str]:
    """The addresses a name stands for, in whatever notation it is written.

    Args:
        host: a name or an address.
        port: of the server.
        resolve: name and port to addresses; None for `socket.getaddrinfo`.

    Raises:
        ConfigurationError: one of them is not public, or there is none.
    """
    try:
        found = (resolve or socket.getaddrinfo)(host, port, type=socket.SOCK_STREAM)
        addresses = [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in found]
    except (OSError, ValueError):  # UnicodeError is a ValueError
        raise not_public(host) from None
    if not addresses or not all(map(_is_public, addresses)):
        raise not_public(host)
    return list(dict.fromkeys(map(str, addresses)))


class PublicTransport:
    """A transport of the client that connects to addresses it has just checked.

    The name stays in the Host header, and is what the server's certificate has to be for. A proxy
    of the environment is not used: it would resolve the name once more.

    Args:
        inner: the transport that connects.
        unreachable: what it raises where an address does not answer; the next one is tried then.
    """

    def __init__(
        self, inner: httpx.BaseTransport, unreachable: tuple[type[Exception], ...]
    ) -> None:
        self._inner = inner
        self._unreachable = unreachable

    @classmethod
    def of_httpx(cls) -> Self:
        """Around the transport that the client uses without it."""
        import httpx

        return cls(httpx.HTTPTransport(), (httpx.ConnectError, httpx.ConnectTimeout))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request to the first address that answers.

        Raises:
            ConfigurationError: an address behind the name is not public.
        """
        name, url = request.url.raw_host.decode("ascii"), request.url
        *others, last = public_addresses(name, url.port or _PORTS[url.scheme])
        for address in others:
            try:
                return self._inner.handle_request(_sent_to(address, name, request))
            except self._unreachable:
                continue
        return self._inner.handle_request(_sent_to(last, name, request))

    def close(self) -> None:
        """End the connections that are kept."""
        self._inner.close()

    def __enter__(self) -> Self:
        """The transport itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the connections that are kept."""
        self.close()


def _sent_to(address: str, name: str, request: httpx.Request) -> httpx.Request:
    """The same request to an address instead of a name."""
    return type(request)(
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
