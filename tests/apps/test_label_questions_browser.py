"""Questions labelled in the app by hand: selected, reviewed, taken from answers, taken along."""

import json
from pathlib import Path

import pytest
from browser_page import loading, redrawn
from playwright.sync_api import Page

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
HOSTILE = (
    "# <img src=x onerror=window.broken=1> ${window.broken=1} {{window.broken=1}}\n\n"
    "The <script>window.broken=1</script> \U0001f600 costs \U0001f1e9\U0001f1ea 5. "
    "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c &amp; `x` ends.\n"
)
SELECT = """(wanted) => {
  const walk = document.createTreeWalker(document.querySelector('.rn-sheet'), NodeFilter.SHOW_TEXT);
  const places = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    if (node.parentElement.closest('[data-at]'))
      for (let at = 0; at < node.length; at += 1) places.push([node, at]);
  const text = places.map(([node, at]) => node.data[at]).join('');
  const start = text.indexOf(wanted), [last, at] = places[start + wanted.length - 1];
  if (start < 0) throw new Error(`not there: ${wanted}`);
  getSelection().setBaseAndExtent(...places[start], last, at + 1);
}"""


def _load(page: Page, document: Path) -> None:
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(document))


def _open(page: Page, tab: str, selector: str) -> None:
    page.get_by_role("tab", name=tab).click()
    page.wait_for_selector(f"{selector}:visible")


def _review(page: Page, selector: str) -> None:
    page.get_by_role("tab", name="Decide").click()
    page.get_by_role("button", name="Make it sure").click()
    page.wait_for_selector(f"{selector}:visible")


def _mark(page: Page, text: str) -> None:
    with redrawn(page, "#rn-marked .rn-marked, .rn-drawing"):
        page.evaluate(SELECT, text)
        page.locator(".rn-mark-here:visible").click()


def _label(page: Page, question: str, *passages: str) -> None:
    for passage in passages:
        _mark(page, passage)
    box = page.locator("#rn-label-question textarea")
    box.fill(question)
    with redrawn(page, ".rn-drawing"):
        box.press("Enter")
    page.locator("#rn-label").wait_for(state="hidden")


def _downloaded(page: Page) -> list[dict[str, object]]:
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download", exact=True).click()
    found = json.loads(Path(saved.value.path()).read_text(encoding="utf-8"))
    return list(found["questions"])


def test_questions_are_labelled_by_selecting_and_taken_along(page: Page) -> None:
    text = (CORPUS / "manual.md").read_text(encoding="utf-8")
    lines = [one.strip() for one in text.splitlines() if len(one) > 40 and one[0].isalpha()][:4]
    _load(page, CORPUS / "manual.md")
    _open(page, "Document", ".rn-sheet")
    _mark(page, lines[0])
    page.locator("#rn-label-question textarea").evaluate("box => box.focus({preventScroll: true})")
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.type("How many?")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    assert page.evaluate("scrollY") == 0  # the document stays where it is read
    _label(page, "Question 0?")
    _label(page, "Question 1?", lines[1])
    _label(page, "Both?", *lines[2:])
    _review(page, ".rn-card")
    assert "3 accepted" in page.inner_text(".rn-progress")
    found = _downloaded(page)
    assert [one["question"] for one in found] == [*(f"Question {n}?" for n in range(2)), "Both?"]
    passages = [passage for one in found for passage in one["gold"]]  # type: ignore[attr-defined]
    assert [one["text"] for one in passages] == lines
    assert all(text[one["start"] : one["end"]] == one["text"] for one in passages)
    assert not any("draft" in one for one in found)


def test_hostile_text_is_marked_exactly_and_runs_nowhere(page: Page, tmp_path: Path) -> None:
    document = tmp_path / "hostile.txt"
    document.write_text(HOSTILE, encoding="utf-8", newline="")
    _load(page, document)
    _open(page, "Document", ".rn-sheet")
    wanted = HOSTILE.splitlines()[2].partition("The ")[2].partition(" &amp;")[0]
    _label(page, "What <b onmouseover=window.broken=1>runs</b> ${window.broken=1}?", wanted)
    _review(page, ".rn-card")
    assert page.inner_text(".rn-card mark") == wanted
    assert page.locator("#rn-review-card :is(img, script, b)").count() == 0
    (found,) = _downloaded(page)
    assert found["gold"][0]["text"] == wanted  # type: ignore[index]
    assert page.evaluate("window.broken") is None
