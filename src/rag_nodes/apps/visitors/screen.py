"""Regions that the page of one browser tab shows, which change one by one."""

from __future__ import annotations

import logging
import secrets
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.apps.markup import render
from rag_nodes.core.keys import trace_of

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger(__name__)


class _Region(NamedTuple):
    """A part of the page: when it changed last, where it is appended, and what draws it."""

    changed_at: int
    parent: str
    draw: Callable[[], str] | None


class Screen:
    """Regions of a page, each with the number of its last change; safe from any thread.

    A page asks for what changed since the number it has seen. It gets the newest drawing of each
    such region, so nothing can be lost or replaced by something older, whatever the order in which
    replies arrive. A region is drawn when a page asks for it and not before.

    Attributes:
        epoch: differs from that of every other screen, also of one before the server restarted.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.epoch = secrets.token_hex(8)
        self._count = 0
        self._regions: dict[str, _Region] = {}

    @property
    def count(self) -> int:
        """Number of the last change."""
        return self._count

    def show(self, name: str, draw: Callable[[], str] | None, parent: str = "") -> None:
        """Change a region.

        Args:
            name: of the region.
            draw: gives its HTML, or JSON for the script; None removes the region.
            parent: name of the region that a new one is appended to; "" for a region that is part
                of the page.
        """
        with self._lock:
            self._count += 1
            before = self._regions.pop(name, None)
            if before is not None or draw is not None:
                self._regions[name] = _Region(self._count, parent, draw)

    def clear(self, parent: str) -> None:
        """Remove the regions that were appended to another one."""
        with self._lock:
            names = [name for name, region in self._regions.items() if region.parent == parent]
        for name in names:
            self.show(name, None, parent)

    def patches(self, since: int) -> list[dict[str, Any]]:
        """Draw the regions that changed after a number.

        Args:
            since: number of the last change that the page has seen; 0 for a new page.

        Returns:
            Name, number of the change, parent, and HTML of each region; the HTML of a removed
            region is None. They are in the order in which they changed.
        """
        with self._lock:
            changed = [
                (name, region) for name, region in self._regions.items()
                if region.changed_at > since
            ]  # fmt: skip
        return [
            {
                "name": name,
                "at": region.changed_at,
                "parent": region.parent,
                "html": region.draw and _drawn(region.draw),
            }
            for name, region in changed
        ]


def _drawn(draw: Callable[[], str]) -> str:
    """Draw a region, or say why it cannot be: a fault of ours takes no other region along."""
    try:
        return str(draw())
    except Exception as error:  # noqa: BLE001 - it is logged
        logger.error("a part of the page could not be drawn\n%s", trace_of(error))  # noqa: TRY400 - its text may hold a key
        return render("fault", kind=type(error).__name__)
