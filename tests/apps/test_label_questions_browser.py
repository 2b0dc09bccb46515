"""Questions labelled in the app by hand: selected, reviewed, taken from answers, taken along."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_page import loading, redrawn, watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    import gradio as gr
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
PATIENCE = 60_000
"""Milliseconds after which a page counts as stuck."""
HOSTILE = (
    "# <img src=x onerror=window.broken=1> ${window.broken=1} {{window.broken=1}}\n\n"
    "The <script>window.broken=1</script> \U0001f600 costs \U0001f1e9\U0001f1ea 5. "
    "\u05e9\u05dc\u05d5\u05dd \u202eabc\u202c &amp; `x` ends.\n"
)
SELECT = """(wanted) => {
  const walk = document.createTreeWalker(document.querySelector('.rn-doc'), NodeFilter.SHOW_TEXT);
  const places = [];
  for (let node = walk.nextNode(); node; node = walk.nextNode())
    if (!node.parentElement.closest('.rn-start, .rn-both'))
      for (let at = 0; at < node.length; at += 1) places.push([node, at]);
  const text = places.map(([node, at]) => node.data[at]).join('');
  const start = text.indexOf(wanted), [last, at] = places[start + wanted.length - 1];
  if (start < 0) throw new Error(`not there: ${wanted}`);
  getSelection().setBaseAndExtent(...places[start], last, at + 1);
}"""


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; whatever leaves this machine or breaks fails the test."""
    with watched(browser, str(app.local_url), PATIENCE) as opened:
        yield opened


def _load(page: Page, document: Path) -> None:
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(document))


def _open(page: Page, tab: str, selector: str) -> None:
    page.get_by_role("tab", name=tab).click()
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
    _open(page, "Chunks", ".rn-doc")
    for number, line in enumerate(lines[:2]):
        _label(page, f"Question {number}?", line)
    _label(page, "Both?", *lines[2:])
    page.wait_for_function("() => onbeforeunload")  # a reload by mistake would cost them
    _open(page, "Questions", ".rn-card")
    assert page.inner_text(".rn-progress").split("\n")[0].startswith("1 of 3")
    found = _downloaded(page)
    page.wait_for_function("() => !onbeforeunload")
    assert [one["question"] for one in found] == [*(f"Question {n}?" for n in range(2)), "Both?"]
    passages = [passage for one in found for passage in one["gold"]]  # type: ignore[attr-defined]
    assert [one["text"] for one in passages] == lines
    assert all(text[one["start"] : one["end"]] == one["text"] for one in passages)
    assert not any("draft" in one for one in found)


def test_typing_a_question_leaves_the_document_where_it_is_read(page: Page) -> None:
    _load(page, CORPUS / "manual.md")
    _open(page, "Chunks", ".rn-doc")
    _mark(page, "controller for small greenhouses")
    page.locator("#rn-label-question textarea").evaluate("box => box.focus({preventScroll: true})")
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.type("How many?")
    page.evaluate("() => new Promise((done) => requestAnimationFrame(done))")
    assert page.evaluate("scrollY") == 0


def test_hostile_text_is_marked_exactly_and_runs_nowhere(page: Page, tmp_path: Path) -> None:
    document = tmp_path / "hostile.txt"
    document.write_text(HOSTILE, encoding="utf-8", newline="")
    _load(page, document)
    _open(page, "Chunks", ".rn-doc")
    wanted = HOSTILE.splitlines()[2].partition("The ")[2]
    _label(page, "What <b onmouseover=window.broken=1>runs</b> ${window.broken=1}?", wanted)
    _open(page, "Questions", ".rn-card")
    assert page.inner_text(".rn-card mark") == wanted
    assert page.locator("#rn-review-card :is(img, script, b)").count() == 0
    (found,) = _downloaded(page)
    assert found["gold"][0]["text"] == wanted  # type: ignore[index]
    assert page.evaluate("window.broken") is None


def test_drafts_are_accepted_edited_and_rejected_with_the_keyboard(
    page: Page, tmp_path: Path
) -> None:
    text = (CORPUS / "manual.md").read_text(encoding="utf-8")
    lines = [one.strip() for one in text.splitlines() if len(one) > 40 and one[0].isalpha()][:3]
    drafts = [
        {"id": f"d{n}", "question": f"Draft {n}?", "draft": True, "gold": [{"text": line}]}
        for n, line in enumerate(lines)
    ]
    questions = tmp_path / "questions.json"
    questions.write_text(json.dumps(drafts), encoding="utf-8")
    _load(page, CORPUS / "manual.md")
    _open(page, "Questions", "#rn-questions-upload")
    with redrawn(page, "#rn-questions-tab :is(.rn-empty, .rn-card)"):
        page.set_input_files("#rn-questions-tab input[type=file]", str(questions))
    assert "3 drafts to review" in page.inner_text(".rn-progress")
    with redrawn(page, ".rn-card"):
        page.keyboard.press("a")
    with redrawn(page, ".rn-card"):
        page.keyboard.press("r")
    page.keyboard.press("e")
    page.locator("#rn-review-text textarea").fill("What else?")
    with redrawn(page, ".rn-card"):
        page.keyboard.press("Enter")
    assert "all reviewed" in page.inner_text(".rn-progress")
    assert [one["question"] for one in _downloaded(page)] == ["Draft 0?", "What else?"]
    page.locator("#rn-review-undo:enabled").click()
    page.get_by_text("1 draft to review").wait_for()
    with redrawn(page, ".rn-drawing"):
        page.get_by_role("button", name="Show passage 1 in the document").click()
    page.locator(".rn-doc mark.rn-gold").first.wait_for()
    assert page.inner_text(".rn-doc mark.rn-gold") == lines[1]
    _open(page, "Questions", ".rn-card")
    page.once("dialog", lambda dialog: dialog.dismiss())
    page.get_by_role("button", name="Remove all").click()
    assert len(_downloaded(page)) == 3
    page.once("dialog", lambda dialog: dialog.accept())
    with redrawn(page, "#rn-questions-tab :is(.rn-empty, .rn-card)"):
        page.get_by_role("button", name="Remove all").click()
    page.locator("#rn-questions-tab", has_text="No questions yet").wait_for()


GUIDE = "\n\n".join(
    f"# Cleaning the {name}\n\nThe {name} is cleaned once a day. Then it dries for an hour."
    f"\n\nWho has cleaned the {name} writes that down in the book by the door."
    for name in ("pump", "filter", "nozzle")
)


def test_the_extent_of_an_answer_is_set_by_key_and_the_next_passage_lies_far_away(
    page: Page, tmp_path: Path
) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text(GUIDE, encoding="utf-8")
    _load(page, guide)
    _open(page, "Questions", "#rn-questions-upload")
    with redrawn(page, "#rn-questions-tab :is(.rn-empty, .rn-card)"):
        page.get_by_role("button", name="Draft questions").click()
    section = page.inner_text(".rn-card mark")
    with redrawn(page, ".rn-card"):
        page.keyboard.press("s")
    paragraph = page.inner_text(".rn-card mark")
    with redrawn(page, ".rn-card"):
        page.keyboard.press("s")
    sentence = page.inner_text(".rn-card mark")
    assert section.startswith(paragraph)
    assert paragraph.startswith(sentence)
    assert len(sentence) < len(section)
    with redrawn(page, ".rn-card"):
        page.keyboard.press("l")
    assert page.inner_text(".rn-card mark") == paragraph
    page.keyboard.press("q")
    box = page.locator("#rn-review-text textarea")
    assert box.input_value() == ""
    page.keyboard.type("What else?")
    with redrawn(page, ".rn-card"):
        page.keyboard.press("Enter")
    for _ in range(2):  # what is a draft has an answer, too
        with redrawn(page, "#rn-questions-tab :is(.rn-empty, .rn-card)"):
            page.keyboard.press("r")
    with redrawn(page, ".rn-card"):
        page.keyboard.press("w")
    assert page.inner_text(".rn-card mark").startswith("The nozzle is cleaned")
    assert "2 of 3 parts covered" in page.inner_text(".rn-progress")
    assert box.input_value() == ""
    page.keyboard.press("q")
    page.keyboard.type("And what is said there?")
    with redrawn(page, ".rn-card"):
        page.keyboard.press("Enter")
    kept = _downloaded(page)
    assert [one["question"] for one in kept] == ["What else?", "And what is said there?"]
    assert not any("draft" in one for one in kept)
    assert kept[0]["gold"][0]["text"] == paragraph  # type: ignore[index]


def test_a_citation_that_is_right_becomes_a_labelled_question_and_can_be_taken_back(
    page: Page,
) -> None:
    _load(page, CORPUS / "manual.md")
    page.locator("#rn-question textarea:enabled").fill("How is the machine cleaned?")
    page.locator("#rn-question textarea").press("Enter")
    right = page.locator(".rn-turn .rn-right").first
    right.click()
    page.locator(".rn-right[aria-pressed=true]").first.wait_for()
    _open(page, "Questions", ".rn-card")
    assert page.inner_text(".rn-card h2") == "How is the machine cleaned?"
    _open(page, "Compare", ".rn-turn")
    with redrawn(page, ".rn-turn"):
        page.locator(".rn-right[aria-pressed=true]").first.click()
    assert page.locator(".rn-right[aria-pressed=true]").count() == 0
    _open(page, "Questions", "#rn-questions-tab .rn-empty")
