"""The app in a real Chromium: what a visitor sees, and that nothing else happens."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser_page import open_drawer, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    import gradio as gr
    from playwright.sync_api import Browser, Page


pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
PATIENCE = 60_000
"""Milliseconds after which a page counts as stuck."""


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; whatever leaves this machine or breaks fails the test."""
    with watched(browser, str(app.local_url), PATIENCE) as opened:
        yield opened


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
