"""The code of the guide highlights a citation on the ink of its page, in a real browser.

pdf.js is not shipped with us: a stand-in with the functions that the guide calls shows a picture of
the page instead.
"""

import json
import re
from pathlib import Path

import pymupdf
from playwright.sync_api import Browser, Route

from rag_nodes import locate

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "guides" / "highlight.md"
FERRY = ROOT / "examples" / "corpus" / "ferry.pdf"
SENTENCE = "This manual is for the crews and the shore staff of the ferries on Skerrow Sound."
STAND_IN = """
export const GlobalWorkerOptions = {};
const page = {
  getViewport: ({ scale }) => ({ width: 420 * scale, height: 595 * scale }),
  render: ({ canvasContext, viewport }) => ({ promise: (async () => {
    const picture = await createImageBitmap(await (await fetch("./page.png")).blob());
    canvasContext.drawImage(picture, 0, 0, viewport.width, viewport.height);
  })() }),
};
export const getDocument = () => ({ promise: Promise.resolve({ getPage: async () => page }) });
"""
ADDRESS = "http://guide.test/"


def test_the_marks_of_the_guide_lie_on_the_sentence(browser: Browser) -> None:
    [code] = re.findall(r"```html\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    boxes = locate(FERRY, 1, SENTENCE)
    with pymupdf.open(FERRY) as document:
        picture = document[0].get_pixmap(dpi=144)
        clips = [pymupdf.Rect(box.left, box.top, box.right, box.bottom) for box in boxes]
        words = [document[0].get_text(clip=clip) for clip in clips]
    assert " ".join(" ".join(words).split()) == SENTENCE
    answer = {"citations": [{"boxes": [box._asdict() for box in boxes]}]}
    files = {
        "": ("text/html", code),
        "pdf.mjs": ("text/javascript", STAND_IN),
        "answer.json": ("application/json", json.dumps(answer)),
        "page.png": ("image/png", picture.tobytes("png")),
    }

    def serve(route: Route) -> None:
        kind, body = files[route.request.url.removeprefix(ADDRESS)]
        route.fulfill(body=body, content_type=kind)

    page = browser.new_page(viewport={"width": 800, "height": 1000})
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.route("**/*", serve)
    page.goto(ADDRESS)
    page.wait_for_selector("mark")
    marks = [page.locator("mark").nth(at).bounding_box() for at in range(len(boxes))]
    canvas = page.locator("canvas").bounding_box()
    page.close()
    assert errors == []
    assert canvas is not None
    for box, mark in zip(boxes, marks, strict=True):
        assert mark is not None
        shown = (mark["x"] - canvas["x"], mark["y"] - canvas["y"], mark["width"], mark["height"])
        wanted = (box.left, box.top, box.right - box.left, box.bottom - box.top)
        scale = canvas["width"] / box.page_width
        assert all(abs(one - scale * other) < 0.6 for one, other in zip(shown, wanted, strict=True))
