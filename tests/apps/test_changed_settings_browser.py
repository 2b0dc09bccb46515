"""What is chosen above the tabs is what answers the next question, and the page says so before."""

from collections.abc import Iterator
from pathlib import Path

import gradio as gr
import pytest
from browser_page import loading, open_drawer, unfold_parsers
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""
QUESTION = "What does machine 17 need?"
TEXT = "".join(f"## Machine {n}\n\nIt is red. Machine {n} needs oil {n}.\n\n" for n in range(24))
NOTE = "#rn-note .rn-changed"


@pytest.fixture
def page(browser: Browser, app: gr.Blocks, tmp_path: Path) -> Iterator[Page]:
    """A page with a document."""
    document = tmp_path / "machines.md"
    document.write_text(TEXT, encoding="utf-8")
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.set_default_timeout(PATIENCE)
    opened.goto(str(app.local_url))
    opened.wait_for_selector(".rn-empty")
    with loading(opened):
        opened.set_input_files("#rn-files input[type=file]", str(document))
    opened.wait_for_selector("#rn-process:disabled", state="attached")
    yield opened
    opened.close()


def _tick(page: Page, *titles: str, on: bool = True) -> None:
    unfold_parsers(page)
    for title in titles:
        page.locator("#rn-parsers").get_by_label(title, exact=True).set_checked(on)


def _ask(page: Page) -> None:
    page.fill("#rn-question textarea:enabled", QUESTION)
    page.keyboard.press("Enter")


def _titles(page: Page) -> list[str]:
    return page.locator(".rn-turn").last.locator(".rn-column h3").all_inner_texts()


def test_a_question_is_answered_with_what_is_chosen_and_not_with_what_was(page: Page) -> None:
    assert page.locator(NOTE).count() == 0
    _tick(page, "Heading hierarchy", "Semantic", on=False)
    _tick(page, "Recursive")
    page.locator(NOTE).wait_for()
    page.wait_for_function(
        "document.querySelector('#rn-process').getBoundingClientRect().bottom <= innerHeight"
    )
    _ask(page)
    page.locator(".rn-turn").wait_for()
    assert _titles(page) == ["Fixed size", "Token overlap", "Recursive"]
    page.locator(NOTE).wait_for(state="detached")
    page.wait_for_selector("#rn-process:disabled", state="attached")
    assert page.locator("#rn-question textarea:enabled").input_value() == ""
    assert page.locator("#rn-status .rn-table tbody tr").count() == 3


def test_slider_and_embedding_count_for_the_next_question_and_a_change_taken_back_for_none(
    page: Page,
) -> None:
    open_drawer(page, "Parameters")
    size = page.get_by_label("number input for Fixed size: chunk size, characters")
    size.fill("500")
    size.press("Enter")
    page.locator(NOTE).wait_for()
    size.fill("1000")
    size.press("Enter")
    page.locator(NOTE).wait_for(state="detached")
    page.wait_for_selector("#rn-process:disabled", state="attached")
    size.fill("500")
    size.press("Enter")
    open_drawer(page, "Retrieval")
    page.get_by_label("Show the chunks only").check()
    page.locator(NOTE).wait_for()
    _ask(page)
    page.locator(".rn-turn").wait_for()
    assert "500 characters" in page.locator(".rn-turn .rn-config").first.inner_text()
    assert page.locator(".rn-turn .rn-error").count() == 0


def test_settings_that_cannot_be_applied_leave_the_question_unasked_and_in_its_box(
    page: Page,
) -> None:
    _tick(page, "Fixed size", "Heading hierarchy", "Token overlap", "Semantic", on=False)
    page.locator(NOTE).wait_for()
    _ask(page)
    page.locator(".toast-body", has_text="tick at least one").wait_for()
    page.locator("#rn-status .rn-error", has_text="tick at least one").wait_for()
    assert page.locator("#rn-question textarea:enabled").input_value() == QUESTION
    assert page.locator(".rn-turn").count() == 0
    _tick(page, "Pages")
    with loading(page):
        page.locator("#rn-process:enabled").click()
    page.locator(NOTE).wait_for(state="detached")
    page.locator("#rn-question textarea").press("Enter")
    page.locator(".rn-turn").wait_for()
    assert _titles(page) == ["Pages"]
