"""Takes the pictures of the app: `python scripts/docs/make_screenshot.py [light|dark]`.

`compare.png`, `document.png`, `decide.png` in docs/images at 1280 pixels, `phone.png` at 390.
Needs the development dependencies and a Chromium (`CHROMIUM_PATH`, or one on the path).
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from rag_nodes.apps import build_app
from rag_nodes.core.settings import Settings
from rag_nodes.server.serve import launch_options

ROOT = Path(__file__).parents[2]
DOCUMENT = ROOT / "examples" / "corpus" / "ferry.pdf"
QUESTION = "When do quiet hours begin?"
IMAGES = ROOT / "docs" / "images"
PATIENCE_MS = 600_000
"""Time for a step: the decision is found on the document first."""
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
SIZES = {"wide": (1280, 900), "phone": (390, 844)}
GOLD = ".rn-gold-box[d]:not([d=''])"


def main(scheme: str = "light") -> None:
    """Serve the app, ask the question, save the pictures."""
    app = build_app(Settings(embedding="lexical", llm="extractive", api_key=None, api_base=None))
    app.launch(server_name="127.0.0.1", prevent_thread_lock=True, **launch_options())
    chromium = os.environ.get("CHROMIUM_PATH") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        address = f"{app.local_url}?__theme={scheme}"
        IMAGES.mkdir(exist_ok=True)
        wide = _opened(browser, address, "wide")
        wide.wait_for_selector(".rn-plot", state="attached")
        _shoot(wide, "compare", ".rn")
        _shoot(wide, "document", ".rn-halves")
        wide.evaluate("document.querySelector('#rn-section-details').open = true")
        _shoot(wide, "decide", "#rn-section-details")
        _shoot(_opened(browser, address, "phone"), "phone", ".rn-view")
        browser.close()
    app.close()


def _opened(browser: Browser, address: str, size: str) -> Page:
    """Open the page, ask the question, and show the sentence that answers it."""
    width, height = SIZES[size]
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(PATIENCE_MS)
    page.goto(address)
    page.set_input_files(".rn-big input", DOCUMENT)
    page.wait_for_selector(".rn-ready")
    page.locator(".rn-question-box:enabled").fill(QUESTION)
    page.locator(".rn-question-box").press("Enter")
    page.wait_for_selector(".rn[data-asking=false] .rn-statements")
    page.locator(".rn-statements .rn-place", has_text="p. 2").first.click()
    page.wait_for_selector(GOLD, state="attached")
    return page


def _shoot(page: Page, name: str, top: str) -> None:
    """Take what is seen from an element on."""
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.locator(top).evaluate("one => one.scrollIntoView()")
    page.wait_for_timeout(1000)  # what is scrolled settles
    page.screenshot(path=IMAGES / f"{name}.png", animations="disabled")


if __name__ == "__main__":
    main(*sys.argv[1:2])
