"""What tests of the page in a real browser have in common."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page


@contextmanager
def loading(page: Page) -> Iterator[None]:
    """Wait until what is begun inside has been loaded.

    What was loaded before says that it is ready until the new one is, and looks the same.
    """
    page.evaluate("document.querySelectorAll('#rn-status .rn-dot').forEach(o => o.dataset.old = 1)")
    yield
    page.locator("#rn-status .rn-dot:not([data-old])").wait_for()
