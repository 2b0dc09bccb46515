"""The header in a real Chromium: cancelling, columns, the keyboard, two visitors at once."""

from pathlib import Path

import gradio as gr
import pytest
from browser_page import ask, open_drawer, unfold_parsers, watched
from openai_server import Fault, OpenAIServer
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = "What colour is the machine?"
TABS = {
    "Decide": ".rn-decision",
    "Document": "#rn-document-drawing [data-k]",
}
"""The tabs beside the first one, and what they show once a document is loaded."""


def test_what_waits_for_a_slow_model_is_cancelled_and_the_next_upload_works(
    browser: Browser, online: gr.Blocks, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    with watched(browser, str(online.local_url)) as page:
        _upload(page, _written(tmp_path / "red.md", "The machine is red."))
        page.wait_for_selector("#rn-cancel", state="detached")
        blue = _written(tmp_path / "blue.md", "The machine is blue.")
        held = len(openai_server.asked("embeddings")) + 1
        openai_server.fail(Fault(body="slow"))
        page.set_input_files("#rn-files input[type=file]", str(blue))
        openai_server.wait_for("embeddings", held)
        page.locator("#rn-cancel").click()
        page.wait_for_selector("#rn-status :text('What was loaded before is unchanged')")
        page.wait_for_selector("#rn-cancel", state="detached")
        status = page.inner_text("#rn-status")
        assert "red.md" in status
        assert "blue" not in status
        page.locator("#rn-files:not(:has-text('blue'))").wait_for()  # an event of its own
        ask(page, QUESTION)

        _upload(page, blue)  # the server still holds the request that nobody waits for
        assert "blue.md" in page.inner_text("#rn-status")
        page.wait_for_selector(".rn-turn", state="detached")


def test_too_many_columns_are_refused_with_the_remedy(page: Page) -> None:
    page.get_by_role("checkbox", name="Pages", exact=True).check()
    page.wait_for_selector("#rn-columns :text('5 columns of 4: untick 1')")
    page.set_input_files("#rn-files input[type=file]", str(CORPUS / "manual.md"))
    page.wait_for_selector("#rn-status .rn-error")
    assert "at most 4 are compared: untick 1" in page.inner_text("#rn-status")
    for unwanted in ("Pages", "Heading hierarchy", "Token overlap", "Semantic"):
        page.get_by_role("checkbox", name=unwanted, exact=True).uncheck()
    page.wait_for_selector("#rn-columns :text('1 column of 4')")
    open_drawer(page, "Parameters")
    page.get_by_label("number input for Fixed size: chunk size, characters").wait_for()
    assert page.get_by_label("number input for Semantic: largest chunk, tokens").count() == 0
    _upload(page, CORPUS / "manual.md")
    assert page.locator("#rn-status tbody th").all_inner_texts() == ["Fixed size"]


def test_documents_that_are_folded_can_be_seen_where_they_are_unfolded(
    page: Page, tmp_path: Path
) -> None:
    many = [_written(tmp_path / f"{n}.md", f"Machine {n} is red.") for n in range(9)]
    page.set_input_files("#rn-files input[type=file]", many)
    page.wait_for_selector("#rn-status .rn-dot")
    unfold_parsers(page)
    page.get_by_text("and 4 more documents").click()
    for name in page.locator("#rn-status details li").all():
        box = name.bounding_box()
        assert box is not None
        assert box["width"] > 10
    assert page.locator("#rn-status details li").count() == 4


def test_every_tab_is_reached_and_opened_with_the_keyboard_alone(page: Page) -> None:
    page.get_by_role("button", name="Try the example document").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#rn-status .rn-dot")
    page.get_by_role("tab", name="Compare").focus()
    for name, shown in TABS.items():
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent.trim()") == name
        page.keyboard.press("Enter")
        page.wait_for_selector(shown)
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("!!document.activeElement.closest('#rn-document-tab')"):
            break
    else:
        pytest.fail("what is in the tab cannot be reached with the keyboard")


def _written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def _upload(page: Page, document: Path) -> None:
    """Upload one document, and wait until it and no other is ready."""
    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector(f"#rn-status .rn-file:has-text('{document.name}')")
