"""Every preset on every tab, and a page that goes on where drawing a reply fails."""

import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from browser_page import loading, unfold_parsers
from playwright.sync_api import Browser, Page
from visits import VISITOR, Request, ignore

from rag_nodes.apps.header import status
from rag_nodes.apps.tabs.compare import events
from rag_nodes.apps.tabs.decide import DecideEvents
from rag_nodes.apps.tabs.document import DocumentEvents
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.settings import Settings
from rag_nodes.parsers import PRESETS

pytestmark = pytest.mark.browser

PATIENCE = 120_000
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


@pytest.mark.parametrize("names", FOURS)
def test_every_preset_is_answered_drawn_and_can_be_used(
    settings: Settings, document: Path, names: tuple[str, ...]
) -> None:
    sessions = PageSessions(settings)
    session = sessions.of(VISITOR)
    session.load([document], Choice(names), ignore)
    session.ask("What does machine 17 need?")
    replies = str(events.history(session.turns, ready=True))
    assert re.findall(r"<h3>(.*?)</h3>", replies) == [PRESETS[name].title for name in names]
    assert session.turns[0].report is not None
    for one in session.turns[0].report.columns:
        assert one.answer is not None
        assert "oil on day 17" in one.answer.text
    document_tab = DocumentEvents(sessions)
    decide = DecideEvents(sessions, SimpleNamespace(events=document_tab))  # type: ignore[arg-type]
    for name in names:
        drawing = document_tab.refresh("", name, "", 1, Request())[-1]  # type: ignore[arg-type]
        assert 'id="rn-piece-' in drawing
        assert f"get_parser('{name}'" in decide.use(name, Request())[0]  # type: ignore[arg-type]
    sessions.close()


def test_a_chunk_shows_what_matched_and_what_was_read_in_its_place(page: Page) -> None:
    _choose(page, ("sentence-window", "parent-child"))
    _answered(page)
    columns = page.locator(".rn-turn").last.locator(".rn-column")
    assert columns.count() == 2
    for column in columns.all():
        column.locator(".rn-chunks > summary").click()
        first = column.locator(".rn-hit").first
        assert "read with it:" in first.locator(".rn-facts").first.inner_text()
        first.locator(".rn-chunk > summary").click()
        found, read = (first.locator(".rn-text").nth(place).inner_text() for place in (0, 1))
        assert first.locator(".rn-read .rn-facts").inner_text() == "Read in its place"
        assert len(read) > len(found)
        assert " ".join(found.split()) in " ".join(read.split())


def test_a_reply_that_cannot_be_drawn_says_so_and_the_next_question_is_answered(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stumble(*_: Any, **__: Any) -> None:
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
