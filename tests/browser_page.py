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
    with redrawn(page, "#rn-status .rn-dot"):
        yield


@contextmanager
def redrawn(page: Page, what: str) -> Iterator[None]:
    """Wait until the server has drawn something anew because of what is begun inside.

    Args:
        page: where it is, or will be.
        what: selector of an element that the new drawing changes.
    """
    page.evaluate("all => document.querySelectorAll(all).forEach(o => o.dataset.old = 1)", what)
    yield
    page.locator(f"{what}:not([data-old])").first.wait_for()
