"""Takes the README's picture of the app: `python scripts/docs/make_screenshot.py [light|dark]`.

Needs the development dependencies and a Chromium (`CHROMIUM_PATH`, or one on the path).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from rag_nodes.apps import build_app
from rag_nodes.server.serve import launch_options
from rag_nodes.settings import Settings

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "examples" / "corpus" / "ferry.pdf"
QUESTION = "When do quiet hours begin?"
PICTURE = ROOT / "docs" / "images" / "compare.png"
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def main(scheme: str = "light") -> None:
    """Serve the app, ask the question, save the picture."""
    app = build_app(Settings(embedding="lexical", llm="extractive", api_key=None, api_base=None))
    app.launch(server_name="127.0.0.1", prevent_thread_lock=True, **launch_options())
    found = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(f"{app.local_url}?__theme={scheme}")
        _ask(page)
        PICTURE.parent.mkdir(exist_ok=True)
        page.screenshot(path=PICTURE, animations="disabled")
        browser.close()
    app.close()


def _ask(page: Page) -> None:
    page.wait_for_selector(".rn-empty")
    page.set_input_files("#rn-files input[type=file]", DOCUMENT)
    page.wait_for_selector("#rn-status .rn-dot", timeout=60_000)
    box = page.locator("#rn-question textarea:enabled")
    box.fill(QUESTION)
    box.press("Enter")
    page.wait_for_selector(".rn-turn")
    for summary in page.locator(".rn-more").all():
        summary.click()
    page.locator(".rn-turn").evaluate("turn => turn.scrollIntoView()")
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")


if __name__ == "__main__":
    main(*sys.argv[1:2])
