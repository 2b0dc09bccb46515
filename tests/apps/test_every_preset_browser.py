"""The page asked with every preset, and a page that goes on where drawing a reply fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from browser_page import loading, unfold_parsers

from rag_nodes.apps.header import status
from rag_nodes.apps.tabs.compare import events
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.parsers import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import gradio as gr
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PATIENCE = 60_000
"""Milliseconds after which a page counts as stuck."""
TEXT = "".join(
    f"## Machine {number}\n\nMachine {number} is red. It needs oil on day {number}. It is loud.\n\n"
    for number in range(20)
)
FOURS = [tuple(PRESETS)[first : first + 4] for first in range(0, len(PRESETS), 4)]
"""Every preset, as many at a time as are compared."""


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "machines.md"
    path.write_text(f"# Machines\n\n{TEXT}", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(browser: Browser, app: gr.Blocks, document: Path) -> Iterator[Page]:
    """A page with a document, one for all tests: whatever failed in it before, it goes on."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(PATIENCE)
    opened.goto(str(app.local_url))
    opened.wait_for_selector(".rn-empty")
    with loading(opened):
        opened.set_input_files("#rn-files input[type=file]", str(document))
    yield opened
    opened.close()


def _choose(page: Page, names: tuple[str, ...]) -> None:
    unfold_parsers(page)
    for name, preset in PRESETS.items():
        box = page.locator("#rn-parsers").get_by_label(preset.title, exact=True)
        box.set_checked(name in names)
    with loading(page):
        page.locator("#rn-process:enabled").click()


def _ask(page: Page) -> None:
    page.locator("#rn-question textarea:enabled").fill("What does machine 17 need?")
    page.locator("#rn-question textarea").press("Enter")


def _answered(page: Page) -> None:
    """Ask, and wait for one more answer than there are."""
    turns = page.locator(".rn-turn").count()
    _ask(page)
    page.wait_for_function(f"document.querySelectorAll('.rn-turn').length === {turns + 1}")
    page.locator(".rn-turn").last.locator(".rn-column").first.wait_for()


def test_the_page_answers_with_every_preset_and_can_be_asked_again(page: Page) -> None:
    for names in FOURS:
        _choose(page, names)
        _answered(page)
        columns = page.locator(".rn-turn").last.locator(".rn-column")
        assert [one.locator("h3").inner_text() for one in columns.all()] == [
            PRESETS[name].title for name in names
        ]
        for one in columns.all():
            assert "oil on day 17" in one.locator(".rn-answer").inner_text()
            assert one.locator(".rn-config").first.inner_text()
            assert one.locator(".rn-error").count() == 0
        page.wait_for_selector("#rn-question textarea:enabled")


def test_a_reply_that_cannot_be_drawn_says_so_and_the_next_question_is_answered(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: Any) -> None:
        raise KeyError("child_options")

    with monkeypatch.context() as patch:
        patch.setattr(events, "turn_view", stumble)
        _ask(page)
        page.locator(".rn-turn .rn-error", has_text="KeyError").first.wait_for()
        page.wait_for_selector("#rn-question textarea:enabled")
    _answered(page)
    page.locator("#rn-stop").wait_for(state="hidden")


def test_a_fault_while_answering_gives_the_page_back_and_says_what_happened(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: Any, **__: Any) -> Iterator[Any]:
        raise ZeroDivisionError
        yield

    with monkeypatch.context() as patch:
        patch.setattr(PageSession, "stream", stumble)
        _ask(page)
        page.locator(".toast-body", has_text="ZeroDivisionError").wait_for()
        page.wait_for_selector("#rn-question textarea:enabled")
    _answered(page)


def test_a_fault_while_the_status_is_drawn_gives_the_page_back_and_says_what_happened(
    page: Page, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: Any) -> None:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr(status, "done", stumble)
        page.set_input_files("#rn-files input[type=file]", str(document))
        page.locator("#rn-status .rn-error", has_text="ZeroDivisionError").wait_for()
    page.wait_for_selector("#rn-question textarea:enabled")
    _answered(page)
