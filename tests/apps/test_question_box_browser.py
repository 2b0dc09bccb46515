"""The box of the question in a real Chromium: nothing that is typed or sent is lost."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr
import pytest
from browser_page import PATIENCE, loading
from playwright.sync_api import Page

from rag_nodes.apps.visitors.session import PageSession

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
FIRST, SECOND = "How long does manual control last?", "How do I read the lamps?"
OPEN = "#rn-question textarea:enabled"


class Held(NamedTuple):
    """An event whose end the page does not hear of: when the server is there, and to let it go."""

    reached: threading.Event
    let_go: threading.Event


@pytest.fixture
def page(page: Page, tmp_path: Path) -> Page:
    """A page with a document, of which a heading is a question."""
    manual = (CORPUS / "manual.md").read_text(encoding="utf-8")
    document = tmp_path / "manual.md"
    answer = "Green means that the machine is ready, and red that it needs help."
    document.write_text(f"{manual}\n## {SECOND}\n\n{answer}\n", encoding="utf-8")
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(document))
    page.locator("#rn-suggestions button").first.wait_for()
    return page


@pytest.fixture
def hold(app: gr.Blocks, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Held]:
    """Keep the page from hearing of the end of an event, by its name, until that is let go."""

    def keep(name: str) -> Held:
        call, held = type(app).process_api, Held(threading.Event(), threading.Event())

        async def ends_late(*given: Any, **named: Any) -> dict[str, Any]:
            result = await call(*given, **named)
            if name in named["block_fn"].name and not result["is_generating"]:
                held.reached.set()
                await asyncio.to_thread(held.let_go.wait, PATIENCE / 1000)
            return result

        monkeypatch.setattr(type(app), "process_api", ends_late)
        return held

    return keep


def _send(page: Page, question: str) -> None:
    page.fill(OPEN, question)
    page.keyboard.press("Enter")


def test_a_question_is_answered_though_the_page_has_not_heard_of_the_end_of_the_last_answers(
    page: Page, hold: Callable[[str], Held]
) -> None:
    held = hold("ask")
    _send(page, FIRST)
    page.locator(".rn-turn").wait_for()
    _send(page, SECOND)
    page.locator(".rn-turn .rn-question", has_text=SECOND).wait_for()
    held.let_go.set()
    page.wait_for_function("document.querySelector('#rn-question textarea').value === ''")


def test_what_is_typed_after_a_question_was_sent_is_not_asked_and_stays_in_the_box(
    page: Page, hold: Callable[[str], Held]
) -> None:
    held = hold("apply")
    _send(page, FIRST)
    assert held.reached.wait(PATIENCE / 1000)
    page.fill(OPEN, SECOND)
    held.let_go.set()
    page.locator(".rn-turn .rn-question", has_text=FIRST).wait_for()
    assert page.locator(OPEN).input_value() == SECOND
    assert page.locator(".rn-turn").count() == 1


def test_what_is_typed_stays_in_the_box_when_a_suggested_question_is_asked(page: Page) -> None:
    page.fill(OPEN, "Half a ques")
    page.locator("#rn-suggestions button").first.click()
    page.locator(".rn-turn").wait_for()
    assert page.locator(OPEN).input_value() == "Half a ques"


def test_a_question_that_cannot_be_answered_is_in_its_box_again(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(PageSession, "stream", fail)
        _send(page, FIRST)
        page.locator(".toast-body", has_text="could not be answered").wait_for()
    page.wait_for_function(
        "asked => document.querySelector('#rn-question textarea').value === asked", arg=FIRST
    )
    page.locator(OPEN).press("Enter")
    page.locator(".rn-turn").wait_for()
