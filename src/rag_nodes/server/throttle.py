"""Wrong passwords and tokens: after a few, an address has to wait longer and longer."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

FREE = 5
"""Wrong ones in a row that cost no time: people mistype."""
LONGEST = 30.0
"""Seconds that an address waits at most."""
FORGOTTEN = 900.0
"""Seconds after which a wrong one no longer counts."""
ADDRESSES = 4096
"""Addresses remembered; beyond that, the one quiet for longest is forgotten."""
_NETWORK = 64
"""Bits of an IPv6 address that one customer of a provider has in common with nobody."""


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Throttle:
    """Counts wrong passwords and tokens by the address they come from.

    After `FREE` in a row the address waits 1, 2, 4, … up to `LONGEST` seconds before the next one
    is looked at. One that is right ends the count.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def __len__(self) -> int:
        """Addresses that are remembered."""
        return len(self._failures)

    def seconds(self, address: str) -> int:
        """Whole seconds that an address still has to wait; 0 for none.

        Args:
            address: of the client.
        """
        known = self._failures.get(network_of(address))
        if known is None or known.count < FREE:
            return 0
        wait = min(2.0 ** min(known.count - FREE, 10), LONGEST)
        return max(0, math.ceil(known.last + wait - self._clock()))

    def failed(self, address: str) -> None:
        """Count a wrong one."""
        now, key = self._clock(), network_of(address)
        known = self._failures.pop(key, None)
        recent = known is not None and now - known.last < FORGOTTEN
        self._failures[key] = _Failures(known.count + 1 if known and recent else 1, now)
        if len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)

    def succeeded(self, address: str) -> None:
        """Forget the wrong ones of an address."""
        self._failures.pop(network_of(address), None)


def network_of(address: str) -> str:
    """What one visitor cannot change at will: the address, or the network of an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""  # a socket without addresses: all count as one
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _NETWORK), strict=False))
