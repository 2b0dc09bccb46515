"""Which servers a visitor may make this one talk to: the public internet, unless told otherwise."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rag_nodes.models.public_servers import not_public, public_addresses

if TYPE_CHECKING:
    from rag_nodes.models.public_servers import Resolve

_PORTS = {"http": 80, "https": 443}


def check_address(
    address: str,
    *,
    configured: str | None = None,
    local: bool = False,
    resolve: Resolve | None = None,
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
    if not must_be_public(address, configured=configured, local=local):
        return
    host, port = _origin(address)[1:]
    if not host:
        raise not_public(address)
    public_addresses(host, port, resolve)


def must_be_public(address: str | None, *, configured: str | None, local: bool) -> bool:
    """True for an address that whoever runs the server has not vouched for.

    Args:
        address: where models are asked; None for OpenAI itself.
        configured: see `check_address`.
        local: see `check_address`.
    """
    if local or address is None:
        return False
    return configured is None or _origin(address) != _origin(configured)


def _origin(address: str) -> tuple[str, str, int]:
    """Scheme, host and port; an unreadable address has no host."""
    try:
        parts = urlsplit(address.strip())
        scheme = parts.scheme.lower()
        return scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(scheme, 0)
    except ValueError:
        return "", "", 0


def is_loopback(host: str) -> bool:
    """True for an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
