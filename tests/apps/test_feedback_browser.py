"""Feedback, one answer's stop and the way into the document, in a real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_page import watched
from openai_server import Fault

from rag_nodes.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import gradio as gr
    from openai_server import OpenAIServer
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
PATIENCE = 60_000
"""Milliseconds after which a page counts as stuck."""


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; every request that leaves this machine fails the test."""
    with watched(browser, str(app.local_url), PATIENCE) as opened:
        yield opened


def _load(page: Page, document: Path) -> None:
    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector("#rn-status .rn-dot", state="attached", timeout=PATIENCE)


def _ask(page: Page, question: str) -> None:
    before = page.locator(".rn-turn").count()
    box = page.locator("#rn-question textarea:enabled")
    box.fill(question)
    box.press("Enter")
    page.locator(".rn-turn").nth(before).wait_for(timeout=PATIENCE)


def test_opened_chunks_stay_open_beside_feedback_and_lead_into_the_document(page: Page) -> None:
    _load(page, CORPUS / "handbook.pdf")
    _ask(page, "When must the sand filter be rinsed backwards?")
    page.locator(".rn-citations .rn-chip").first.click()
    page.wait_for_selector(".rn-shown .rn-chunk[open] mark", timeout=PATIENCE)
    button = page.get_by_role("button", name="Helpful: Fixed size", exact=True)
    button.click()
    page.wait_for_selector(".rn-rate[aria-pressed=true]", timeout=PATIENCE)
    page.wait_for_selector(".rn-shown .rn-chunk[open] mark", timeout=PATIENCE)
    button.click()
    page.wait_for_selector(".rn-rate[aria-pressed=true]", state="detached", timeout=PATIENCE)
    column = page.locator(".rn-column").nth(1)
    column.locator(".rn-citations .rn-chip").first.click()
    column.locator(".rn-shown .rn-link").click()
    page.wait_for_selector(".rn-drawing.rn-c2 .rn-piece.rn-shown", timeout=PATIENCE)
    assert page.get_by_role("tab", name="Document").get_attribute("aria-selected") == "true"
    assert "sand filter" in page.text_content(".rn-sheet")


def test_one_answer_is_stopped_while_the_others_are_written(
    browser: Browser,
    serve: Callable[..., AbstractContextManager[str]],
    openai_server: OpenAIServer,
) -> None:
    settings = Settings(
        api_base=openai_server.base, api_key="any", embedding="openai", llm="openai"
    )
    with serve(settings) as address, watched(browser, address, PATIENCE) as page:
        _load(page, CORPUS / "manual.md")
        openai_server.faults.append(Fault())  # the question is embedded
        openai_server.fail(Fault(body="slow"), times=4)
        held = len(openai_server.asked("chat/completions")) + 4
        box = page.locator("#rn-question textarea:enabled")
        box.fill("How long does manual control last?")
        box.press("Enter")
        page.wait_for_selector(".rn-pending .rn-stop-one", timeout=PATIENCE)
        openai_server.wait_for("chat/completions", held)  # only what runs can be stopped
        page.get_by_role("button", name="Stop Heading hierarchy").click()
        page.wait_for_selector(".rn-pending :text-is('stopped')", timeout=PATIENCE)
        assert page.locator(".rn-stop-one").count() == 3
        openai_server.reset()  # lets the others go
        page.wait_for_selector(".rn-turn", timeout=PATIENCE)
        columns = page.locator(".rn-turn .rn-column")
        assert "Stopped" in columns.nth(1).inner_text()
        for number in (0, 2, 3):
            assert "The documents answer" in columns.nth(number).locator(".rn-answer").inner_text()
