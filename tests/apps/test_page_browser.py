"""The page in a real browser: from a document to a script, by mouse, by keyboard, and again."""

import ast
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import gradio as gr
import pytest
from browser_page import ask, load, unfold, wait_for_documents, watch_page
from playwright.sync_api import Browser, Locator, Page, expect

from rag_nodes.apps.visitors import deciding
from rag_nodes.evaluation.columns import REFERENCE

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUIET = "When do quiet hours begin?"
GOLD = ".rn-gold-box[d]:not([d=''])"
SELECT = """() => {
  const [text] = document.querySelectorAll('.rn-sheet [data-at]');
  const range = document.createRange();
  range.selectNodeContents(text);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
}"""

POINTS = """() => [...document.querySelectorAll('.rn-broad a .dot')].map((dot) => {
  const [, name, shown] = dot.querySelector('title').textContent.match(/^(.*?): (\\S+) /);
  const row = document.querySelector(dot.closest('a').getAttribute('href'));
  const {top, height} = dot.getBoundingClientRect();
  return {name, shown, number: row.cells[1].textContent, y: top + height / 2};
})"""
"""Points of the chart with the recall that they show, and that of the row which they lead to."""

ASKED = {
    "When does the harbour office open?": "It opens at seven in the morning.",
    "Who repairs the pumps of the lock?": "The keeper repairs them in winter.",
}
"""Headings that are questions, of which drafts are made, and what answers them."""


@pytest.fixture
def ferry(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """A page with the example and one answered question."""
    with watch_page(browser, str(app.local_url)) as page:
        page.get_by_role("button", name="Try the example").click()
        wait_for_documents(page, "ferry.pdf")
        ask(page, QUIET)
        yield page


def test_a_document_becomes_answers_their_page_a_label_and_a_script(page: Page) -> None:
    expect(page.locator(".rn-question-box")).to_be_hidden()
    load(page, CORPUS / "ferry.pdf")
    ask(page, QUIET)
    assert "Quiet hours last from ten" in page.inner_text(".rn-statements")
    page.locator(".rn-statements .rn-place", has_text="p. 2").first.click()
    page.wait_for_selector(GOLD, state="attached")
    assert page.input_value("#rn-page-number") == "2"
    page.evaluate(SELECT)
    marking = page.get_by_role("button", name="This answers the question")
    ground = marking.evaluate("one => getComputedStyle(one).backgroundColor")
    assert ground != "rgba(0, 0, 0, 0)", "the button lies over the printed page"
    marking.click()
    expect(page.locator("#rn-label-question")).to_have_value(QUIET)
    page.get_by_role("button", name="Add the question").click()
    page.wait_for_selector(".rn-label", state="detached")
    page.get_by_role("button", name="Use it").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the script").click()
    ast.parse(Path(saved.value.path()).read_text(encoding="utf-8"))


def test_answers_and_page_stand_side_by_side_and_an_answer_moves_nothing(ferry: Page) -> None:
    answers, view = (ferry.locator(text).bounding_box() for text in (".rn-answers", ".rn-view"))
    assert answers
    assert view
    assert answers["x"] + answers["width"] <= view["x"]
    ferry.set_viewport_size({"width": 1440, "height": 900})
    for first in (".rn-statements > li", ".rn-sheet", ".rn-page"):
        box = ferry.locator(first).first.bounding_box()
        assert box
        assert box["y"] < 450, f"{first} begins in the upper half"
    ferry.fill("#rn-page-number", "7")
    ferry.press("#rn-page-number", "Enter")
    ferry.locator(".rn-sheet[aria-label^='Page 7']").wait_for()
    before = ferry.evaluate("scrollY")
    ask(ferry, "Which vessel is called the Otter?")
    assert ferry.input_value("#rn-page-number") == "7"
    assert ferry.evaluate("scrollY") == before
    assert ferry.locator(".rn-turn h2").all_inner_texts()[1] == QUIET, "the newest stands first"


def test_the_page_follows_the_sentence_that_the_keyboard_selects(ferry: Page) -> None:
    place = ferry.locator(".rn-statements .rn-place", has_text="p. 2").first
    place.focus()
    ferry.keyboard.press("Enter")
    ferry.wait_for_selector(GOLD, state="attached")
    expect(place).to_have_attribute("aria-current", "true")
    expect(place).to_be_focused()
    expect(ferry.locator(".rn-back")).to_be_hidden()


def test_a_jump_out_of_sight_leaves_a_way_back_to_the_very_citation(ferry: Page) -> None:
    ferry.set_viewport_size({"width": 390, "height": 844})
    place = ferry.locator(".rn-statements .rn-place", has_text="heading").first
    back = ferry.get_by_role("button", name="Back to the answer")
    ferry.evaluate("scrollTo(0, 0)")
    ask(ferry, QUIET)
    expect(ferry.locator(".rn-headline").first).to_be_in_viewport()
    for leave, come_back in ((place.click, back.click), (_pressing(place), _pressing(back))):
        place.scroll_into_view_if_needed()
        before = place.bounding_box()
        leave()
        expect(ferry.locator(GOLD)).to_be_in_viewport()
        expect(place).not_to_be_in_viewport()
        expect(back).to_be_focused()
        expect(back).to_be_in_viewport(ratio=1)
        come_back()
        expect(place).to_be_focused()
        expect(place).to_be_in_viewport(ratio=1)
        after = place.bounding_box()
        assert before
        assert after
        assert abs(after["y"] - before["y"]) < 2, "at the height where it was"
        expect(back).to_be_hidden()
    place.click()
    back.press("Escape")
    expect(place).to_be_focused()


def test_below_the_header_of_a_host_a_citation_shows_its_whole_sentence(ferry: Page) -> None:
    ferry.set_viewport_size({"width": 1366, "height": 768})
    ferry.evaluate("""() => {
      const header = document.createElement('div');
      const {top} = document.querySelector('.rn-view').getBoundingClientRect();
      header.style.height = `${490 - top - scrollY}px`; // a third down, it is cut
      document.body.prepend(header);
    }""")
    places = ferry.locator(".rn-statements .rn-place")
    for number in range(places.count()):
        ferry.evaluate("scrollTo(0, 0)")
        ferry.evaluate("document.querySelector('.rn-view').scrollTop = 0")
        places.nth(number).click()
        expect(places.nth(number)).to_have_attribute("aria-current", "true")
        ferry.wait_for_selector(".rn:not([data-waiting])")
        gold, line = (ferry.locator(name).bounding_box() for name in (GOLD, ".rn-pager-line"))
        assert gold
        assert line
        assert line["y"] + line["height"] <= gold["y"] <= 768 - gold["height"]


def _pressing(button: Locator) -> Callable[[], None]:
    return partial(button.press, "Enter")


def test_each_column_opens_to_its_whole_answer_and_its_chunks(ferry: Page) -> None:
    column = ferry.locator("details.rn-column").nth(1)
    column.locator("summary").first.click()
    chip = column.locator(".rn-answer .rn-chip").first
    chip.click()
    expect(column.locator(".rn-hit.rn-shown mark").first).to_be_visible()
    column.get_by_role("button", name="Helpful", exact=False).first.click()
    expect(ferry.locator(".rn-tally")).to_contain_text("1 of 1")
    expect(ferry.locator("details.rn-column").nth(1)).to_have_attribute("open", "")


def test_the_size_slider_splits_again_while_the_page_stays(ferry: Page) -> None:
    slider = ferry.get_by_label("Chunk size, tokens")
    before = ferry.locator(".rn-strip[class*=rn-c1] svg").get_attribute("aria-label")
    slider.focus()
    for size in ("190", "180", "170", "160"):
        ferry.keyboard.press("ArrowLeft")
        expect(ferry.locator(".rn-slider output").first).to_have_text(size)
    expect(ferry.locator(".rn-strip[class*=rn-c1] svg")).not_to_have_attribute(
        "aria-label", str(before)
    )
    expect(ferry.get_by_label("Chunk size, tokens")).to_be_focused()
    note = ferry.get_by_text("Split again since this was answered: retrieval.")
    expect(note).to_be_visible()
    expect(ferry.locator(".rn-unasked .rn-strip-name")).to_contain_text("not asked")
    expect(ferry.locator(".rn-legend .rn-rail-name", has_text="not asked")).to_have_count(1)
    for size in ("170", "180", "190", "200"):
        ferry.keyboard.press("ArrowRight")
        expect(ferry.locator(".rn-slider output").first).to_have_text(size)
    expect(note).to_have_count(0)
    expect(ferry.locator(".rn-unasked")).to_have_count(0)


def test_a_button_that_is_drawn_again_while_it_is_pressed_still_acts(page: Page) -> None:
    load(page, CORPUS / "ferry.pdf", CORPUS / "manual.md")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Remove ferry.pdf").hover()
    page.mouse.down()
    with page.expect_response(lambda answer: '"documents"' in answer.text()):
        page.locator(".rn-tick input").first.evaluate("box => box.click()")
    page.mouse.up()
    page.locator(".rn-file", has_text="ferry.pdf").wait_for(state="detached")
    wait_for_documents(page, "manual.md")


def test_a_reload_comes_back_to_documents_answers_and_page(ferry: Page) -> None:
    ferry.locator(".rn-statements .rn-place", has_text="p. 2").first.click()
    ferry.wait_for_selector(GOLD, state="attached")
    ferry.reload()
    wait_for_documents(ferry, "ferry.pdf")
    assert ferry.locator(".rn-turn").count() == 1
    assert ferry.input_value("#rn-page-number") == "2"


@pytest.mark.usefixtures("ferry")
def test_another_tab_begins_empty(browser: Browser, app: gr.Blocks) -> None:
    with watch_page(browser, str(app.local_url)) as other:
        expect(other.get_by_role("button", name="Try the example")).to_be_visible()
        assert other.locator(".rn-file").count() == 0


def test_questions_are_reviewed_with_three_keys(page: Page, tmp_path: Path) -> None:
    path = tmp_path / "harbour.md"
    sections = (f"## {asked}\n\n" + f"{answer} " * 8 + "\n\n" for asked, answer in ASKED.items())
    path.write_text("# Harbour\n\n" + "".join(sections), encoding="utf-8")
    load(page, path)
    ask(page, "When does the office open?")
    page.get_by_role("button", name="Add questions").click()
    page.get_by_role("button", name="Draft 10 questions").click()
    page.wait_for_selector(".rn-card")
    number = page.inner_text(".rn-card .rn-wide-field")
    page.keyboard.press("e")
    expect(page.locator(".rn-review-text")).to_be_focused()
    page.keyboard.type(" really?")
    page.keyboard.press("Enter")
    expect(page.locator(".rn-progress-line")).to_contain_text("1 accepted")
    assert page.inner_text(".rn-card .rn-wide-field") != number
    rejected = page.get_attribute(".rn-card", "data-id")
    page.keyboard.press("r")
    expect(page.locator(f".rn-card[data-id='{rejected}']")).to_have_count(0)
    page.set_viewport_size({"width": 1280, "height": 300})
    shown = page.get_by_role("button", name="Show this passage on the page").first
    shown.click()
    expect(page.locator(".rn-sheet .rn-gold").first).to_be_in_viewport()
    page.get_by_role("button", name="Back to the list").click()
    expect(shown).to_be_focused()


def test_a_page_that_was_answered_asks_the_server_for_nothing_more(
    browser: Browser, app: gr.Blocks, tmp_path: Path
) -> None:
    path = tmp_path / "red.md"
    path.write_text("# Colour\n\nThe machine is red.\n", encoding="utf-8")
    with watch_page(browser, str(app.local_url)) as page:
        load(page, path)
        page.get_by_role("button", name="Stop the test").click()
        ask(page, "Which colour?")
        page.wait_for_selector(".rn:not([data-looking])")


def test_the_first_load_takes_few_requests(browser: Browser, app: gr.Blocks) -> None:
    page, requests = browser.new_page(), list[str]()
    page.on("request", lambda request: requests.append(request.url))
    page.goto(str(app.local_url))
    page.wait_for_selector(".rn-tick")
    page.close()
    assert len(requests) <= 60


def test_a_chart_of_sentences_is_drawn_at_the_numbers_that_its_points_lead_to(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deciding, "QUIET", 0.0)
    monkeypatch.setattr(deciding, "SWEPT", ("recursive",))
    page.get_by_role("button", name="Try the example").click()
    wait_for_documents(page, "ferry.pdf")
    page.locator("[data-change=context]").select_option("budget:500")
    page.locator("[data-change=reading]").select_option("sentences")
    drawn = page.locator(".rn-plot figcaption", has_text="selected sentences")
    drawn.wait_for(state="attached")
    unfold(page, "details")
    points = page.evaluate(POINTS)
    assert len(points) > 3
    assert [point["shown"] for point in points] == [point["number"] for point in points]
    [base] = [point["y"] for point in points if point["name"] == REFERENCE]
    for mark in (".square", "line.base"):
        box = page.locator(f".rn-broad {mark}").bounding_box()
        assert box
        assert box["y"] + box["height"] / 2 == pytest.approx(base, abs=1)


def test_a_refused_file_and_a_lost_server_say_what_to_do(page: Page, tmp_path: Path) -> None:
    scanned = tmp_path / "broken.pdf"
    scanned.write_bytes(b"%PDF-1.7 nothing")
    page.set_input_files(".rn-big input", str(scanned))
    page.locator(".rn-notice", has_text="broken.pdf").or_(
        page.locator(".rn-files .rn-error")
    ).first.wait_for()
    unfold(page)
    page.context.set_offline(True)
    page.get_by_role("checkbox", name="semantic").click()
    page.locator("[data-notice]", has_text="does not answer").wait_for()
    page.context.set_offline(False)


def test_a_question_that_did_not_arrive_is_not_lost(ferry: Page) -> None:
    ferry.route("**/component_server/**", lambda route: route.abort())
    ferry.fill(".rn-question-box", "Which vessel is called the Otter?")
    ferry.press(".rn-question-box", "Enter")
    ferry.get_by_text("The server does not answer.").wait_for()
    expect(ferry.locator(".rn[data-waiting]")).to_have_count(0)
    expect(ferry.locator(".rn-question-box")).to_have_value("Which vessel is called the Otter?")
    ferry.unroute("**/component_server/**")
    ferry.press(".rn-question-box", "Enter")
    ferry.locator(".rn-turn").nth(1).wait_for()
