"""While answers grow: what is on the page is what can be used, and in view."""

from pathlib import Path

import gradio as gr
import pytest
from openai_server import Fault, OpenAIServer
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""
PHONE = {"width": 390, "height": 780}
QUESTION = "What colour is the machine?"
ASKED_IN_VIEW = """() => {
  const rows = document.querySelectorAll('.rn-turn, .rn-pending');
  const asked = rows[rows.length - 1].getBoundingClientRect();
  return asked.top >= 0 && asked.top < innerHeight / 2; }"""


def _loaded(page: Page, address: str, document: Path) -> None:
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    document.write_text("# Colour\n\nThe machine is red.\n", encoding="utf-8")
    page.locator("#rn-files input[type=file]").set_input_files(document)
    page.locator("#rn-status .rn-dot").wait_for(state="attached")


def _ask(page: Page) -> None:
    page.fill("#rn-question textarea:enabled", QUESTION)
    page.keyboard.press("Enter")


def test_on_a_phone_growing_answers_come_into_view_and_one_button_ends_them(
    browser: Browser, online: gr.Blocks, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    page = browser.new_page(viewport=PHONE)
    _loaded(page, str(online.local_url), tmp_path / "red.md")
    assert page.locator("#rn-header").bounding_box()["height"] < PHONE["height"] / 3
    openai_server.faults.append(Fault())  # the question is embedded
    openai_server.fail(Fault(body="slow"), times=4)
    _ask(page)
    page.locator(".rn-pending").wait_for()
    page.locator("#rn-stop").wait_for()
    for hidden in ("#rn-suggestions", "#rn-clear", "#rn-question .submit-button"):
        page.locator(hidden).wait_for(state="hidden")
    openai_server.release()
    page.locator(".rn-turn").wait_for()
    page.locator("#rn-clear").wait_for()
    page.wait_for_function("document.querySelector('#rn-question textarea').value === ''")
    openai_server.faults.append(Fault())  # the question is embedded
    openai_server.fail(Fault(body="slow"), times=4)
    _ask(page)
    page.locator(".rn-pending").wait_for()
    page.wait_for_function(ASKED_IN_VIEW)
    page.evaluate("() => { Element.prototype.scrollIntoView = () => { window.moved = true; }; }")
    openai_server.release()
    page.locator(".rn-turn").nth(1).wait_for()
    page.wait_for_function("document.querySelector('#rn-question textarea').value === ''")
    assert page.evaluate("window.moved") is None  # an answer that ends does not move the page
    page.wait_for_function(ASKED_IN_VIEW)
    page.close()
