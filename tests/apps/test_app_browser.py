"""The app in a real Chromium: what a visitor sees, and that nothing else happens."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from browser_page import PATIENCE, ask, loading, open_drawer, unfold_parsers, watched
from openai_server import Fault, OpenAIServer
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"


def test_a_citation_opens_the_chunk_with_the_quoted_sentence_or_the_passage_with_it_whole(
    page: Page,
) -> None:
    page.get_by_role("button", name="Try the example document").click()
    page.wait_for_selector("#rn-status .rn-dot")
    page.locator("#rn-suggestions button").first.click()
    page.wait_for_selector(".rn-turn")
    page.locator(".rn-citations .rn-chip").first.click()
    mark = page.locator(".rn-shown mark").first
    mark.wait_for(state="visible")
    assert mark.inner_text() in page.locator(".rn-answer").first.inner_text()

    open_drawer(page, "Retrieval")
    page.locator("label", has_text="Best sentences, same token budget").click()
    ask(page, "When do quiet hours begin?")
    last = page.locator(".rn-turn").nth(1)
    for answer in last.locator(".rn-answer").all():
        assert "Quiet hours last from ten in the evening until half past six" in answer.inner_text()
    last.locator(".rn-citations .rn-chip").first.click()
    mark = last.locator(".rn-shown mark").first
    mark.wait_for(state="visible")
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
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(CORPUS / "manual.md"))
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
    page.wait_for_selector("#rn-status .rn-error")
    assert "OCR" in page.inner_text("#rn-status")
    assert page.locator("#rn-question textarea").is_disabled()


def test_opened_chunks_stay_open_beside_feedback_and_lead_into_the_document(page: Page) -> None:
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(CORPUS / "handbook.pdf"))
    ask(page, "When must the sand filter be rinsed backwards?")
    page.locator(".rn-citations .rn-chip").first.click()
    page.wait_for_selector(".rn-shown .rn-chunk[open] mark")
    button = page.get_by_role("button", name="Helpful: Fixed size", exact=True)
    button.click()
    page.wait_for_selector(".rn-rate[aria-pressed=true]")
    page.wait_for_selector(".rn-shown .rn-chunk[open] mark")
    button.click()
    page.wait_for_selector(".rn-rate[aria-pressed=true]", state="detached")
    column = page.locator(".rn-column").nth(1)
    column.locator(".rn-citations .rn-chip").first.click()
    column.locator(".rn-shown .rn-link").click()
    page.wait_for_selector(".rn-drawing.rn-c2 .rn-piece.rn-shown")
    assert page.get_by_role("tab", name="Document").get_attribute("aria-selected") == "true"
    assert "sand filter" in page.text_content(".rn-sheet")


def test_one_answer_is_stopped_while_the_others_are_written(
    browser: Browser, online: gr.Blocks, openai_server: OpenAIServer
) -> None:
    with watched(browser, str(online.local_url)) as page:
        with loading(page):
            page.set_input_files("#rn-files input[type=file]", str(CORPUS / "manual.md"))
        openai_server.faults.append(Fault())  # the question is embedded
        openai_server.fail(Fault(body="slow"), times=4)
        held = len(openai_server.asked("chat/completions")) + 4
        box = page.locator("#rn-question textarea:enabled")
        box.fill("How long does manual control last?")
        box.press("Enter")
        page.wait_for_selector(".rn-pending .rn-stop-one")
        openai_server.wait_for("chat/completions", held)  # only what runs can be stopped
        page.get_by_role("button", name="Stop Heading hierarchy").click()
        page.wait_for_selector(".rn-pending :text-is('stopped')")
        assert page.locator(".rn-stop-one").count() == 3
        openai_server.reset()  # lets the others go
        page.wait_for_selector(".rn-turn")
        columns = page.locator(".rn-turn .rn-column")
        assert "Stopped" in columns.nth(1).inner_text()
        for number in (0, 2, 3):
            assert "The documents answer" in columns.nth(number).locator(".rn-answer").inner_text()


def test_an_upload_stays_in_the_tab_that_the_visitor_has_open(page: Page) -> None:
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(CORPUS / "manual.md"))
    unfold_parsers(page)
    with loading(page):  # by then the page has shown all that followed the upload
        page.locator("#rn-parsers input:checked").first.uncheck()
        page.get_by_role("button", name="Apply changes").click()
    assert page.locator("#rn-tabs [role=tab][aria-selected=true]").inner_text() == "Compare"
