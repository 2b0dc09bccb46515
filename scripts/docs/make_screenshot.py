"""Takes the README's pictures of the app: `python scripts/docs/make_screenshot.py [light|dark]`.

`compare.png`, `decide.png` and `document.png` in docs/images, each of its tab.
Needs the development dependencies and a Chromium (`CHROMIUM_PATH`, or one on the path).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from rag_nodes.apps import build_app
from rag_nodes.core.settings import Settings
from rag_nodes.server.serve import launch_options

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "examples" / "corpus" / "ferry.pdf"
QUESTION = "When do quiet hours begin?"
IMAGES = ROOT / "docs" / "images"
PATIENCE = 300_000
"""Milliseconds for a step: the decision is found on the document first."""
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main(scheme: str = "light") -> None:
    """Serve the app, ask the question, save the pictures."""
    app = build_app(Settings(embedding="lexical", llm="extractive", api_key=None, api_base=None))
    app.launch(server_name="127.0.0.1", prevent_thread_lock=True, **launch_options())
    found = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(PATIENCE)
        page.goto(f"{app.local_url}?__theme={scheme}")
        IMAGES.mkdir(exist_ok=True)
        _ask(page)
        _shoot(page, "compare")
        page.locator(".rn-statements [data-act=open]").first.click()
        page.wait_for_selector("#rn-tabs svg image")
        _shoot(page, "document")
        page.get_by_role("tab", name="Decide").click()
        page.wait_for_selector("#rn-tabs svg polyline", state="attached")
        _shoot(page, "decide")
        browser.close()
    app.close()


def _ask(page: Page) -> None:
    page.wait_for_selector("#rn-files input[type=file]", state="attached")
    page.set_input_files("#rn-files input[type=file]", DOCUMENT)
    page.wait_for_selector("#rn-status .rn-dot", state="attached")
    page.wait_for_selector("#rn-question textarea:enabled", state="attached")
    box = page.locator("#rn-question textarea:enabled")
    box.fill(QUESTION)
    box.press("Enter")
    page.wait_for_selector(".rn-turn")


def _shoot(page: Page, name: str) -> None:
    """From the tabs on."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.wait_for_timeout(1500)  # what was opened scrolls by itself
    page.locator("#rn-tabs").evaluate("tabs => tabs.scrollIntoView()")
    page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")


if __name__ == "__main__":
    main(*sys.argv[1:2])
