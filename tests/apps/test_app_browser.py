"""The app in a real Chromium: what a visitor sees, and that nothing else happens."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_page import open_drawer, unfold_parsers, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    import gradio as gr
    from playwright.sync_api import Browser, Page


pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "examples" / "corpus"
ARTEFACTS = ROOT / "artefacts"
PATIENCE = 60_000
"""Milliseconds after which a page counts as stuck."""
STACKED = """() => document.documentElement.scrollWidth <= innerWidth &&
  new Set([...document.querySelectorAll('.rn-column')].map((column) =>
    Math.round(column.getBoundingClientRect().left))).size === 1"""
"""True once the columns stand below each other and nothing is wider than the screen."""


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; whatever leaves this machine or breaks fails the test."""
    with watched(browser, str(app.local_url), PATIENCE) as opened:
        yield opened


def test_a_visitor_uploads_a_pdf_and_sees_four_cited_answers(page: Page) -> None:
    box = page.locator("#rn-question textarea")
    assert box.is_disabled()
    _upload(page, CORPUS / "handbook.pdf")
    unfold_parsers(page)
    assert all(said in page.inner_text("#rn-status") for said in ("6 pages", "sparse search"))
    assert box.get_attribute("placeholder") == "Type your question here..."

    _ask(page, "When must the sand filter be rinsed backwards?")
    columns = page.locator(".rn-turn .rn-column")
    assert columns.count() == 4
    for column in columns.all():
        assert "2.4 bar" in column.locator(".rn-answer").inner_text()
        citation = column.locator(".rn-citations").inner_text()
        assert "p. 2" in citation
        column.locator(".rn-more").click()
    chunks = {column.locator(".rn-hits").inner_text() for column in columns.all()}
    assert len(chunks) > 1
    assert page.locator(".rn-score", has_text="score 1.00").count() == 4
    _shoot(page, "app.png")

    page.set_viewport_size({"width": 390, "height": 844})
    _close_sidebar(page)
    page.wait_for_function(STACKED, timeout=PATIENCE)
    _shoot(page, "app_phone.png")


def test_a_citation_opens_the_chunk_with_the_quoted_sentence_or_the_passage_with_it_whole(
    page: Page,
) -> None:
    page.get_by_role("button", name="Try the example document").click()
    page.wait_for_selector("#rn-status .rn-dot", timeout=PATIENCE)
    page.locator("#rn-suggestions button").first.click()
    page.wait_for_selector(".rn-turn", timeout=PATIENCE)
    page.locator(".rn-citations .rn-chip").first.click()
    mark = page.locator(".rn-shown mark").first
    mark.wait_for(state="visible", timeout=PATIENCE)
    assert mark.inner_text() in page.locator(".rn-answer").first.inner_text()

    open_drawer(page, "Retrieval")
    page.locator("label", has_text="Best sentences, same token budget").click()
    _ask(page, "When do quiet hours begin?")
    page.locator(".rn-turn").nth(1).wait_for()
    last = page.locator(".rn-turn").nth(1)
    for answer in last.locator(".rn-answer").all():
        assert "Quiet hours last from ten in the evening until half past six" in answer.inner_text()
    last.locator(".rn-citations .rn-chip").first.click()
    mark = last.locator(".rn-shown mark").first
    mark.wait_for(state="visible", timeout=PATIENCE)
    assert mark.inner_text().startswith("Quiet hours last from ten in the evening")
    _shoot(page, "app_sentences.png")


def test_another_document_clears_the_answers(page: Page) -> None:
    _upload(page, CORPUS / "manual.md")
    _ask(page, "How long does manual control last?")
    unfold_parsers(page)
    page.get_by_role("button", name="Try the example document").click()
    page.wait_for_selector(".rn-turn", state="detached", timeout=PATIENCE)
    assert "What do you want to know?" in page.inner_text("#rn-history-box")


def test_what_is_typed_before_an_event_has_ended_stays(
    page: Page, app: gr.Blocks, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, end = type(app).process_api, threading.Event()

    async def ends_late(*given: Any, **named: Any) -> dict[str, Any]:
        result = await call(*given, **named)
        if not result["is_generating"]:
            await asyncio.to_thread(end.wait, PATIENCE / 1000)
        return result

    monkeypatch.setattr(type(app), "process_api", ends_late)
    _upload(page, CORPUS / "manual.md")
    box = page.locator("#rn-question textarea:enabled")
    box.fill("How long does manual control last?")
    end.set()
    page.get_by_role("tab", name="Document").click()
    page.wait_for_selector(".rn-sheet")  # comes after the end of what was begun before
    page.get_by_role("tab", name="Compare").click()
    assert box.input_value() == "How long does manual control last?"


def test_a_scanned_pdf_is_refused_with_the_remedy(page: Page, tmp_path: Path) -> None:
    import pymupdf

    path = tmp_path / "scan.pdf"
    with pymupdf.open() as scan:
        pixels = pymupdf.Pixmap(pymupdf.csRGB, pymupdf.IRect(0, 0, 40, 40))
        pixels.clear_with(90)
        scan.new_page().insert_image(pymupdf.Rect(50, 50, 500, 700), pixmap=pixels)
        scan.save(path)
    page.set_input_files("#rn-files input[type=file]", str(path))
    page.wait_for_selector("#rn-status .rn-error", timeout=PATIENCE)
    assert "OCR" in page.inner_text("#rn-status")
    assert page.locator("#rn-question textarea").is_disabled()


def _upload(page: Page, document: Path) -> None:
    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector("#rn-status .rn-dot", timeout=PATIENCE)


def _ask(page: Page, question: str) -> None:
    box = page.locator("#rn-question textarea:enabled")
    box.fill(question)
    box.press("Enter")
    page.wait_for_selector(".rn-turn", timeout=PATIENCE)


def _close_sidebar(page: Page) -> None:
    toggle = page.locator(".sidebar.open .toggle-button")
    if toggle.count():
        toggle.click()
        page.wait_for_selector(".sidebar:not(.open)", timeout=PATIENCE, state="attached")


def _shoot(page: Page, name: str) -> None:
    """Kept as a build artefact, to look at."""
    ARTEFACTS.mkdir(exist_ok=True)
    page.evaluate("document.querySelector('.rn-turn').scrollIntoView()")
    page.screenshot(path=ARTEFACTS / name, animations="disabled")
