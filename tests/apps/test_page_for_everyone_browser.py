"""Every tab on a phone and for those who hear the page: widths, names, headings, what is folded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from contrast import STILL, left, pale
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}
TABS = {
    "Compare": ".rn-turn",
    "Document": ".rn-sheet [data-k]",
    "Decide": ".rn-decision",
}
LINK = "/wiki/" + "a_link_that_never_ends" * 8
"""Nothing in it says where a line may end."""
TEXT = f"# The machine\n\n[Colours]({LINK}) matter. The machine is red, see [red]({LINK}).\n"
WIDER = """() => {
  const outer = [...document.querySelectorAll('.rn-column, .rn-sheet, .rn-piece, .rn-status')];
  const wide = outer.flatMap((one) => {
    const right = one.getBoundingClientRect().right + 1;
    return [...one.querySelectorAll('summary, p, div, li, button')]
      .filter((inner) => inner.checkVisibility() && inner.scrollWidth > inner.clientWidth + 1 &&
        getComputedStyle(inner).display !== 'inline' &&
        getComputedStyle(inner).overflowX === 'visible')
      .map((inner) => inner.className || inner.tagName);
  });
  if (document.documentElement.scrollWidth > innerWidth) wide.push('the page');
  return wide;
}"""
"""What is wider than the place it has."""
NAMELESS = """() => [...document.querySelectorAll('input, textarea, select, button, summary')]
  .filter((one) => one.checkVisibility() && !one.closest('[aria-hidden=true]'))
  .filter((one) => ![one.getAttribute('aria-label'), one.title, one.innerText,
    ...[...(one.labels || [])].map((label) => label.innerText)].some((name) => name && name.trim()))
  .map((one) => one.outerHTML.slice(0, 120))"""
"""What can be used and has no name; a placeholder is none."""
SKIPPING = """() => {
  const levels = [...document.querySelectorAll('h1, h2, h3, h4')]
    .filter((one) => one.checkVisibility()).map((one) => Number(one.tagName[1]));
  return levels.filter((level, at) => level > (at ? levels[at - 1] : 0) + 1);
}"""
"""Headings more than one level below the one before."""
UNSEEN = """() => [...document.querySelectorAll('button, input, textarea, summary, [tabindex="0"]')]
  .filter((one) => one.checkVisibility({visibilityProperty: true}) && !one.disabled)
  .filter((one) => !one.closest('#rn-question') && !one.matches('[type=file]'))
  .filter((one) => {
    one.focus({preventScroll: true});
    return one === document.activeElement && getComputedStyle(one).outlineStyle === 'none';
  })
  .map((one) => one.outerHTML.slice(0, 120))"""
"""What has the focus and does not show it; the box of the question has a frame of its own."""
FOLDS = ".sidebar .label-wrap"
FOLDED = "() => [...document.querySelectorAll('.sidebar [aria-expanded=false].label-wrap')]"
UNFOLD = f"() => ({FOLDED})().forEach((one) => one.click())"


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("written") / "links.md"
    path.write_text(TEXT, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def page(browser: Browser, app: gr.Blocks, document: Path) -> Iterator[Page]:
    """A page with one answer, whose chunks are unfolded."""
    opened = browser.new_page(viewport=DESK)
    opened.set_default_timeout(PATIENCE)
    opened.goto(str(app.local_url))
    opened.wait_for_selector(".rn-empty")
    opened.set_input_files("#rn-files input[type=file]", str(document))
    opened.wait_for_selector("#rn-status .rn-dot")
    box = opened.locator("#rn-question textarea:enabled")
    box.fill("Which colour has the machine?")
    box.press("Enter")
    opened.wait_for_selector(".rn-turn")
    for summary in opened.locator(".rn-more").all():
        summary.click()
    yield opened
    opened.close()


def _open(page: Page, tab: str) -> None:
    page.get_by_role("tab", name=tab).click()
    page.wait_for_selector(TABS[tab])


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("tab", TABS)
def test_nothing_is_wider_than_its_place(page: Page, tab: str, size: Any) -> None:
    page.set_viewport_size(DESK)
    _open(page, tab)
    page.set_viewport_size(size)
    assert left(page, WIDER) == []


@pytest.mark.parametrize("tab", TABS)
def test_all_that_can_be_used_has_a_name_and_headings_skip_no_level(page: Page, tab: str) -> None:
    page.set_viewport_size(DESK)
    _open(page, tab)
    if not page.locator("#rn-drawer.open").count():
        page.get_by_role("button", name="Models and options").click()
    page.evaluate(UNFOLD)
    page.wait_for_function(f"({FOLDED})().length === 0")
    page.get_by_label("API key").wait_for()  # in the last fold, drawn when it opens
    assert left(page, NAMELESS) == []
    assert left(page, SKIPPING) == []


def test_an_unfolded_chunk_can_be_folded_by_name(page: Page) -> None:
    page.set_viewport_size(DESK)
    _open(page, "Compare")
    summary = page.locator(".rn-chunk > summary").first
    summary.click()
    assert summary.inner_text().strip() == "Close"
    summary.click()
    assert "Colours" in summary.inner_text()


def test_folds_say_whether_they_are_open(page: Page) -> None:
    page.set_viewport_size(DESK)
    _open(page, "Compare")
    fold = page.locator("button[aria-expanded]").first
    before = fold.get_attribute("aria-expanded")
    fold.click()
    after = {"true": "false", "false": "true"}[str(before)]
    page.wait_for_selector(f"button[aria-expanded={after}]")
    fold.click()


def test_one_line_is_announced_and_not_every_word_of_growing_answers(page: Page) -> None:
    assert page.locator("#rn-history-box [aria-live]").count() == 0
    said = page.locator("#rn-history-box .rn-said[role=status]")
    assert said.inner_text() == "4 answers to: Which colour has the machine?"


def test_the_drawer_is_for_the_keyboard_only_while_it_is_open(page: Page) -> None:
    page.set_viewport_size(DESK)
    _open(page, "Compare")
    page.reload()
    opens, inside = page.get_by_role("button", name="Models and options"), page.locator(FOLDS)
    opens.press("Enter")
    inside.first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#rn-drawer') !== null")
    page.keyboard.press("Escape")
    inside.first.wait_for(state="hidden")
    assert page.evaluate("document.activeElement.innerText") == "Models and options"
    page.wait_for_selector("#rn-more[aria-expanded=false]")


@pytest.mark.parametrize("tab", TABS)
def test_what_has_the_focus_of_the_keyboard_shows_it(page: Page, tab: str) -> None:
    page.set_viewport_size(DESK)
    _open(page, tab)
    page.keyboard.press("Tab")
    assert page.evaluate(UNSEEN) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("tab", TABS)
def test_all_text_stands_out_from_its_ground(page: Page, tab: str, scheme: str) -> None:
    page.set_viewport_size(DESK)
    _open(page, tab)
    if tab == "Decide" and not page.locator(".cm-line").count():
        page.locator("#rn-use .label-wrap").click()
        page.wait_for_selector(".cm-line")
    page.add_style_tag(content=STILL)
    page.evaluate("is => document.body.classList.toggle('dark', is)", scheme == "dark")
    faults = left(page, pale())
    page.evaluate("document.body.classList.remove('dark')")
    assert faults == []
