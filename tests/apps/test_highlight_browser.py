"""The page of the guide that draws boxes with pdf.js, in a real browser with a stand-in for it."""

import json
import re
from pathlib import Path

import pytest
from browser_page import PATIENCE
from playwright.sync_api import Browser, Page, Route

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "highlight.md"
ADDRESS = "http://localhost:8000/"
PDFJS = """
export const GlobalWorkerOptions = {};
export const getDocument = () => ({ promise: Promise.resolve({ getPage: async () => ({
  getViewport: ({ scale }) => ({ width: 600 * scale, height: 800 * scale }),
  render: () => ({ promise: Promise.resolve() }),
}) }) });
"""
MARKS = """() => [...document.querySelectorAll("#pages > div")].map(
  (page) => [...page.querySelectorAll("mark")].map((mark) => mark.style.top))"""


def _box(page: int, top: float) -> dict[str, float]:
    return {"page": page, "left": 50, "top": top, "right": 90, "bottom": top + 10}


def _open_page(browser: Browser, boxes: list[dict[str, float]] | None) -> Page:
    [page] = re.findall(r"```html\n(.*?)```", GUIDE.read_text("utf-8"), re.DOTALL)
    answer = json.dumps({"citations": [{"boxes": boxes}]})
    inside = re.search(r"export async function highlight.*?\n  }\n", page, re.DOTALL)
    assert inside
    script = page.replace(inside[0], f"{inside[0]}\n  window.highlight = highlight;\n")
    files = {
        "": ("text/html", script),
        "pdf.mjs": ("text/javascript", PDFJS),
        "answer.json": ("application/json", answer),
    }

    def serve(route: Route) -> None:
        kind, body = files[route.request.url.removeprefix(ADDRESS)]
        route.fulfill(content_type=kind, body=body)

    opened = browser.new_page()
    opened.set_default_timeout(PATIENCE)
    opened.route("**/*", serve)
    opened.goto(ADDRESS)
    return opened


def test_the_marks_of_all_pages_of_a_quote_replace_earlier_ones(browser: Browser) -> None:
    page = _open_page(browser, [_box(2, 700), _box(3, 60), _box(3, 80)])
    page.wait_for_selector("mark >> nth=2", state="attached")
    assert page.evaluate(MARKS) == [["1050px"], ["90px", "120px"]]
    page.evaluate("boxes => window.highlight('report.pdf', boxes)", [_box(7, 100)])
    assert page.evaluate(MARKS) == [["150px"]]
    page.close()


@pytest.mark.parametrize("boxes", [[], None])
def test_a_citation_without_boxes_is_said_to_have_none(
    browser: Browser, boxes: list[dict[str, float]] | None
) -> None:
    page = _open_page(browser, boxes)
    page.get_by_text("This citation has no boxes.").wait_for()
    page.close()
