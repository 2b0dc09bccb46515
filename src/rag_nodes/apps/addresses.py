"""Which servers a visitor may make this one talk to: the public internet, unless told otherwise."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    IP = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_PORTS = {"http": 80, "https": 443}


def check_address(
    address: str,
    *,
    configured: str | None = None,
    local: bool = False,
    resolve: Callable[..., Sequence[Any]] = socket.getaddrinfo,
) -> None:
    """Refuse an address that a visitor typed in and that leads behind the server's firewall.

    Every address the name stands for has to be public, in whatever notation it is written; the
    message is the same for all refusals, so that nobody can map the network with it.

    Args:
        address: what was typed in, such as `https://host/v1`.
        configured: the address that whoever runs the server configured; always allowed.
        local: allow every address, where only people of this machine or network are served.
        resolve: name and port to addresses, as `socket.getaddrinfo` does.

    Raises:
        ConfigurationError: the address is not public, or its name stands for nothing.
    """
    if local or (configured and _origin(address) == _origin(configured)):
        return
    host, port = _origin(address)[1:]
    if not host or not _all_public(host, port, resolve):
        raise ConfigurationError(
            f"api_base: {host or address!r} is not a server on the public internet; use another, "
            "or ask whoever runs this app to start it with --local-models"
        )


def _all_public(host: str, port: int, resolve: Callable[..., Sequence[Any]]) -> bool:
    try:
        found = resolve(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError, ValueError):
        return False
    addresses = [ipaddress.ip_address(str(row[4][0]).partition("%")[0]) for row in found]
    return bool(addresses) and all(_is_public(one) for one in addresses)


def _is_public(address: IP) -> bool:
    """True for what routers of the internet forward to; IPv4 inside IPv6 counts as IPv4."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = _inner(address)
        if inner is not None:
            return _is_public(inner)
    return address.is_global and not address.is_multicast


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    """The IPv4 address that an IPv6 address stands for, if it does."""
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo[1]
    return address.ipv4_mapped or address.sixtofour


def _origin(address: str) -> tuple[str, str, int]:
    """Scheme, host and port; an unreadable address has no host."""
    try:
        parts = urlsplit(address.strip())
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(scheme, 0)
    except ValueError:
        return "", "", 0
