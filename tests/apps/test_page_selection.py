"""Selecting text of the printed page with the mouse, as in a viewer of PDF files."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path

import gradio as gr
import pytest
from browser_page import ask, load, watch_page
from playwright.sync_api import Browser, Page
from printed_pdfs import print_pdf

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUIET = "Quiet hours last from ten in the evening until half past six in the morning."
ENDS = {
    "inside the last word": (0, -20, 0),
    "just right of it": (0, 6, 0),
    "far right of it": (0, 100, 0),
    "below the line": (0, 6, 8),
    "begins left of the line": (-6, 6, 0),
}
"""Pixels from the left edge to the start, from the right edge to the end, and downwards."""
PLACES = """words => [...document.querySelectorAll('.rn-letters text')].flatMap((text) => {
  const range = document.createRange(), at = text.textContent.indexOf(words);
  if (at < 0) return [];
  range.setStart(text.firstChild, at);
  range.setEnd(text.firstChild, at + words.length);
  const box = range.getBoundingClientRect();
  return [[box.left, box.top, box.right, box.bottom]];
})"""
"""Where words stand on the page, in pixels of the window."""


def _drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> str:
    """Drag the mouse; return the words that are selected then."""
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, steps=8)
    page.mouse.move(*end, steps=8)
    page.mouse.up()
    return " ".join(str(page.evaluate("getSelection().toString()")).split())


@pytest.fixture(scope="module")
def quiet(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """A page that shows the cited sentence on the second page of the example."""
    with watch_page(browser, str(app.local_url)) as page:
        load(page, CORPUS / "ferry.pdf")
        ask(page, "When do quiet hours begin?")
        page.locator(".rn-statements .rn-place", has_text="p. 2").first.click()
        page.wait_for_selector(".rn-sheet[aria-label^='Page 2 ']")
        yield page


@pytest.mark.parametrize("case", ENDS)
def test_a_drag_over_a_sentence_snaps_to_its_letters(quiet: Page, case: str) -> None:
    [[left, top, _, bottom]] = quiet.evaluate(PLACES, "Quiet hours")
    [[_, last_top, right, last_bottom]] = quiet.evaluate(PLACES, "morning.")
    before, after, below = ENDS[case]
    start = (left + before + 1, (top + bottom) / 2)
    end = (right + after, last_bottom + below if below else (last_top + last_bottom) / 2)
    chosen = _drag(quiet, start, end)
    assert chosen.startswith("Quiet hours last from ten")
    assert QUIET.startswith(chosen)
    if case != "inside the last word":
        assert chosen == QUIET


def test_a_drag_inside_one_of_two_columns_stays_in_it(
    browser: Browser, app: gr.Blocks, tmp_path: Path
) -> None:
    columns = {"left": 60, "right": 330}
    lines = [
        (x, 700 - 24 * number, 12, [*f"{name} {number} says {'so' * (4 if number == 3 else 12)}."])
        for name, x in columns.items()
        for number in range(8)
    ]
    path = tmp_path / "columns.pdf"
    path.write_bytes(print_pdf(*lines))
    with watch_page(browser, str(app.local_url)) as page:
        load(page, path)
        page.wait_for_selector(".rn-letters text", state="attached")
        for name, other in (("left", "right"), ("right", "left")):
            [[left, top, _, bottom]] = page.evaluate(PLACES, f"{name} 1")
            [[_, _, right, last_bottom]] = page.evaluate(PLACES, f"{name} 3 says sosososo.")
            [[edge, *_]] = page.evaluate(PLACES, f"{name} 4")
            for x, y in product((right + 90, edge + 2), (-4, 3)):
                chosen = _drag(page, (left + 1, (top + bottom) / 2), (x, last_bottom + y))
                assert chosen.startswith(f"{name} 1 says"), (name, x, y)
                assert f"{name} 2 says" in chosen
                assert f"{other} " not in chosen, (name, x, y)
