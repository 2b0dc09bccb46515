"""The views of the chunks in a real Chromium: from loading to a chunk behind a number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_page import watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    import gradio as gr
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
PATIENCE = 60_000
"""Milliseconds after which a page counts as stuck."""
NARROW = "() => document.documentElement.scrollWidth <= innerWidth"
ROOM_TO_READ = "() => document.querySelector('.rn-doc').clientWidth > 320"
IN_ITS_LIST = """() => {
  const [list, one] = ['.rn-doc-facts', '.rn-piece.rn-shown'].map((each) =>
    document.querySelector(each).getBoundingClientRect());
  return one.top >= list.top && one.bottom <= list.bottom + 1; }"""
HOSTILE = """\
# Colour <img src=x onerror="window.broken=1"> ${window.broken=1} {{window.broken=1}}

The machine is red <script>window.broken=1</script><img src=x onerror="window.broken=1">
![pixel](http://192.0.2.1/pixel.png) <svg onload="window.broken=1"></svg> and then some more.
"""


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; whatever leaves this machine or breaks fails the test."""
    with watched(browser, str(app.local_url), PATIENCE) as opened:
        yield opened


def _open(page: Page, tab: str, selector: str) -> None:
    page.get_by_role("tab", name=tab).click()
    page.wait_for_selector(selector, timeout=PATIENCE)


def _load(page: Page, document: Path) -> None:
    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector("#rn-status .rn-dot", timeout=PATIENCE)


def test_a_document_loaded_while_the_view_is_open_appears_in_it(page: Page) -> None:
    _open(page, "Chunks", "#rn-chunks-drawing .rn-empty")
    _load(page, CORPUS / "handbook.pdf")
    page.wait_for_selector(".rn-doc", timeout=PATIENCE)
    assert "Running a small glasshouse" in page.inner_text(".rn-doc")
    page.get_by_label("Heading hierarchy").nth(1).check()
    page.wait_for_selector(".rn-drawing.rn-c2", timeout=PATIENCE)
    page.set_viewport_size({"width": 820, "height": 900})
    page.wait_for_function(ROOM_TO_READ, timeout=PATIENCE)
    page.set_viewport_size({"width": 390, "height": 844})
    page.wait_for_function(NARROW, timeout=PATIENCE)


def test_chunks_can_be_saved(page: Page) -> None:
    _load(page, CORPUS / "manual.md")
    _open(page, "Chunks", ".rn-doc")
    for kind in ("JSON", "CSV"):
        with page.expect_download(timeout=PATIENCE) as saved:
            page.get_by_role("button", name=f"Export {kind}").click()
        assert saved.value.suggested_filename == f"chunks-fixed.{kind.lower()}"


def test_a_hostile_document_is_drawn_and_nothing_in_it_runs(page: Page, tmp_path: Path) -> None:
    document = tmp_path / "a <img src=x onerror=window.broken=1>.md"
    document.write_text(HOSTILE, encoding="utf-8")
    _load(page, document)
    _open(page, "Chunks", ".rn-doc")
    assert "<script>window.broken=1</script>" in page.inner_text(".rn-doc")
    foreign = "#rn-chunks-tab .rn-doc "
    assert page.locator(f"{foreign}:is(img, svg, iframe, script, a)").count() == 0
    assert page.evaluate("window.broken") is None
