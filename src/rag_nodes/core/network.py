"""Addresses of this machine alone, and the certificates that a client trusts by default."""

from __future__ import annotations

import ipaddress
from functools import cache
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from ssl import SSLContext


def is_loopback(host: str) -> bool:
    """Return True for an address that only this machine reaches."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@cache
def usual_certificates() -> SSLContext:
    """Return the certificates that everybody trusts, read once as that takes a while."""
    return httpx.create_ssl_context()
