"""`build_app` as its documentation says: launched, mounted, and inside other blocks, two ways."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from browser_page import loading
from embedding_page import PAGE_TAB, WAYS

from rag_nodes.workspace import Sessions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from playwright.sync_api import Browser, Page

    from rag_nodes.settings import Settings

pytestmark = pytest.mark.browser

PATIENCE = 60_000
"""Milliseconds after which a page counts as stuck."""
TEXT = "# Colour\n\nThe machine is red.\n\n" + "It stands in the hall. " * 40
SIDE_BY_SIDE = """() => {
  const places = [...document.querySelectorAll('.rn-column')].map((one) =>
    one.getBoundingClientRect());
  return places.length === 4 && new Set(places.map((one) => Math.round(one.top))).size === 1 &&
    new Set(places.map((one) => Math.round(one.left))).size === 4; }"""
LOOKS = """() => {
  const of = (what) => getComputedStyle(document.querySelector(what));
  return [of('.rn-column').borderTopWidth, of('.rn-column').display, of('.rn-steps-list, .rn-dot')
    .borderRadius, of('#rn-ask').position, of('#rn-question textarea').borderTopWidth];
}"""
STYLED = ["3px", "grid", "50%", "sticky", "0px"]
"""Rules of our own, and one that Gradio has another for."""


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def page(
    request: pytest.FixtureRequest,
    browser: Browser,
    settings: Settings,
    leaks_collected: Callable[[], AbstractContextManager[None]],
    _gradio: None,
) -> Iterator[Page]:
    with leaks_collected(), request.param(settings) as shown:
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.set_default_timeout(PATIENCE)
        opened.goto(shown.address)
        if shown.inside:
            opened.get_by_role("tab", name=PAGE_TAB).click()
        opened.wait_for_selector(".rn-empty")
        yield opened
        opened.close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Sessions]:
    """What keeps the visitors of the app that is built next."""
    made: list[Sessions] = []
    monkeypatch.setattr(
        "rag_nodes.apps.page.Sessions",
        lambda given, **options: made.append(Sessions(given, **options)) or made[0],
    )
    return made


def test_the_app_looks_and_works_the_same_however_it_is_shown(
    opened: list[Sessions], page: Page, tmp_path: Path
) -> None:
    document = tmp_path / "red.md"
    document.write_text(TEXT, encoding="utf-8")
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(document))
    page.fill("#rn-question textarea:enabled", "What colour is the machine?")
    page.keyboard.press("Enter")
    page.locator(".rn-turn .rn-column").first.wait_for()
    page.wait_for_function(SIDE_BY_SIDE)
    assert page.evaluate(LOOKS) == STYLED
    page.get_by_role("tab", name="Chunks").click()
    page.wait_for_selector("#rn-chunks-tab .rn-doc .rn-start")
    assert len(opened[0]) == 1
    page.close()
    deadline = time.monotonic() + PATIENCE / 1000
    while len(opened[0]) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(opened[0]) == 0, "a visitor who leaves is forgotten"
