"""What tests of the page in a real browser have in common."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

WIDE = {"width": 1280, "height": 900}
PATIENCE = 300_000
"""Milliseconds after which a page counts as stuck, beside many busy processes too."""
expect.set_options(timeout=PATIENCE)  # by default 5 seconds


@contextmanager
def watch_page(
    browser: Browser,
    address: str,
    patience: int = PATIENCE,
    viewport: dict[str, int] | None = None,
) -> Iterator[Page]:
    """An open page of the app; whatever leaves this machine or breaks fails the test.

    Args:
        browser: opens it.
        address: of the app.
        patience: milliseconds after which it counts as stuck.
        viewport: its size; None for that of a laptop.
    """
    opened = browser.new_page(viewport=viewport or WIDE)
    opened.set_default_timeout(patience)
    foreign: list[str] = []
    errors: list[str] = []
    opened.on("request", lambda request: foreign.append(request.url))
    opened.on("pageerror", lambda error: errors.append(str(error)))
    opened.goto(address)
    opened.wait_for_selector(".rn-tick")
    yield opened
    opened.close()
    assert [url for url in foreign if not url.startswith((address, "data:", "blob:"))] == []
    assert errors == []


def load(page: Page, *paths: Path) -> None:
    """Add documents, and wait until all of them are loaded."""
    page.set_input_files(".rn-add input", [str(path) for path in paths]) if (
        page.locator(".rn-ready").count()
    ) else page.set_input_files(".rn-big input", [str(path) for path in paths])
    for path in paths:
        wait_for_documents(page, path.name)


def wait_for_documents(page: Page, *names: str) -> None:
    """Wait until documents of these names are loaded, and nothing is going on any more."""
    for name in names:
        page.locator(".rn-ready .rn-file", has_text=name).wait_for()
    page.wait_for_selector(".rn[data-loading=false]")


def ask(page: Page, question: str) -> None:
    """Ask, and wait for one more answer than there are."""
    answered = page.locator(".rn-turn:not(:has(.rn-growing))")
    turns = answered.count()
    box = page.locator(".rn-question-box:enabled")
    box.fill(question)
    box.press("Enter")
    answered.nth(turns).wait_for()
    page.wait_for_selector(".rn[data-asking=false]")


def unfold(page: Page, *names: Sequence[str]) -> None:
    """Open sections below the two halves."""
    for name in names:
        page.evaluate("name => document.querySelector(`#rn-section-${name}`).open = true", name)
