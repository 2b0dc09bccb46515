"""The Document tab in a real Chromium: a printed page, and how one moves about and marks on it."""

import threading
from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest
from browser_page import loading, redrawn, watched
from playwright.sync_api import Browser, Page

from rag_nodes.apps.tabs import document

pytestmark = pytest.mark.browser

PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""
HANDBOOK = Path(__file__).parents[2] / "examples" / "corpus" / "handbook.pdf"
SELECT = """() => {
  const line = [...document.querySelectorAll('.rn-letters text')]
    .find((one) => one.textContent.length > 30);
  getSelection().setBaseAndExtent(line.firstChild, 0, line.firstChild, line.textContent.length);
  return line.textContent;
}"""
OVER = """() => [...document.querySelectorAll('.rn-page path[data-k]')].map((one) => {
  const box = one.getBoundingClientRect();
  return [one.dataset.k, box.x + box.width / 2, box.y + 4];
})[0]"""

IN_A_ROW = """() => new Set([...document.querySelectorAll('#rn-document-pager button')]
  .map((one) => Math.round(one.getBoundingClientRect().bottom))).size === 1"""
SAYS_BUSY = """() => {
  const said = getComputedStyle(document.querySelector('#rn-tabs[aria-busy=true]'), '::after');
  return said.content.includes('Drawing') && said.visibility === 'visible';
}"""


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """The tab with a handbook of several pages."""
    with watched(browser, str(app.local_url), PATIENCE) as opened:
        with loading(opened):
            opened.set_input_files("#rn-files input[type=file]", str(HANDBOOK))
        opened.get_by_role("tab", name="Document").click()
        opened.locator(".rn-page image").wait_for()
        yield opened


def test_a_printed_page_is_turned_pointed_at_searched_and_marked(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (
        page.locator(".rn-strip svg").count() == page.locator("#rn-document-strategy input").count()
    )
    assert page.locator(".rn-rail").count() > 1

    with redrawn(page, ".rn-sheet"):
        page.locator(".rn-sheet").focus()
        page.keyboard.press("ArrowRight")
    page.get_by_role("region", name="Page 2 with chunk boundaries").wait_for()
    strip = page.locator(".rn-strip svg").first
    with redrawn(page, ".rn-sheet"):
        strip.click(position={"x": 1, "y": 5})
    page.get_by_role("region", name="Page 1 with chunk boundaries").wait_for()

    number, x, y = page.evaluate(OVER)
    page.mouse.move(x, y)
    page.locator(f"#rn-piece-{number}.rn-lit").wait_for()
    page.mouse.click(x, y)
    card = page.locator(f"#rn-piece-{number}.rn-shown")
    card.get_by_text("Text as embedded").wait_for()
    with redrawn(page, ".rn-sheet"):
        card.get_by_role("button", name="Go to the chunk after").click()
    page.locator(f"#rn-piece-{int(number) + 1}.rn-shown details[open]").wait_for()

    said = page.evaluate(SELECT)
    with redrawn(page, ".rn-sheet"):
        page.locator(".rn-mark-here:visible").click()
    assert " ".join(said.split()) == page.inner_text("#rn-marked .rn-gold")
    page.locator('.rn-gold-box[d^="M"]').wait_for(state="attached")

    waiting, draw = threading.Event(), document.page_html
    monkeypatch.setattr(document, "page_html", lambda *of: waiting.wait(120) and draw(*of))
    page.get_by_role("button", name="Next").click()
    page.wait_for_function(SAYS_BUSY)
    with redrawn(page, ".rn-sheet"):
        waiting.set()
    page.locator("#rn-tabs[aria-busy=false]").wait_for()

    page.set_viewport_size({"width": 820, "height": 1180})
    page.wait_for_function(IN_A_ROW)

    search = page.get_by_label("Search")
    search.fill("the")
    with redrawn(page, ".rn-sheet"):
        search.press("Enter")
    page.locator("#rn-search", has_text="1 of ").wait_for()
