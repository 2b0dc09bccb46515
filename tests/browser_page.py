"""What tests of the page in a real browser have in common."""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page
from playwright.sync_api import TimeoutError as Stuck

WIDE = {"width": 1280, "height": 900}
PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""


@contextmanager
def watched(
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
    opened.wait_for_selector(".rn-empty", timeout=patience)
    yield opened
    opened.close()
    assert [url for url in foreign if not url.startswith((address, "data:", "blob:"))] == []
    assert errors == []


def open_drawer(page: Page, part: str) -> None:
    """Open the drawer of models and options, and a part of it."""
    if not page.locator(".sidebar.open").count():
        page.get_by_role("button", name="Models and options").click()
        page.wait_for_selector(".sidebar.open")
    page.get_by_role("button", name=part, exact=True).click()


def unfold_parsers(page: Page) -> None:
    """Show what can be compared, which folds once documents are loaded."""
    if not page.locator("#rn-parsers").is_visible():
        page.locator("#rn-more").click()
        page.locator("#rn-parsers").wait_for()


def ask(page: Page, question: str) -> None:
    """Ask, and wait for one more answer than there are."""
    turns = page.locator(".rn-turn").count()
    box = page.locator("#rn-question textarea:enabled")
    box.fill(question)
    box.press("Enter")
    page.locator(".rn-turn").nth(turns).wait_for()


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
    try:
        page.locator(f"{what}:not([data-old])").first.wait_for()
    except Stuck as error:
        error.add_note("The page says: " + " / ".join(page.inner_text("#rn-status").split("\n")))
        raise
