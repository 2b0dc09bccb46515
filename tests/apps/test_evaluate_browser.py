"""The verdict in a real Chromium: run it, look at a miss, save it and read it without network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_page import watched
from hostile_views import PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Iterator

    import gradio as gr
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""
NARROW = "() => document.documentElement.scrollWidth <= innerWidth"
RUNS = "window.broken=1"


@pytest.fixture(scope="module")
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; whatever leaves this machine or breaks fails the test."""
    with watched(browser, str(app.local_url), PATIENCE) as opened:
        yield opened


def _plan(page: Page, budgets: str, sizes: str, equal: str) -> None:
    for at, value in enumerate((budgets, sizes, equal)):
        page.locator("#rn-plan :is(input, textarea)").nth(at).fill(value)


def _run(page: Page) -> None:
    page.locator("#rn-run:not([disabled])").click()
    page.wait_for_selector("#rn-verdict .rn-sentences")
    page.wait_for_selector("#rn-run:not([disabled])")


def _upload(page: Page, path: Path) -> None:
    with page.expect_file_chooser() as chooser:
        page.locator("#rn-questions-file").click()
    chooser.value.set_files(str(path))


def test_the_examples_questions_give_a_verdict_whose_misses_lead_to_their_place(
    page: Page, browser: Browser, tmp_path: Path
) -> None:
    page.get_by_role("button", name="Try the example document").click()
    page.wait_for_selector("#rn-status .rn-dot")
    page.get_by_role("tab", name="Evaluate").click()
    page.locator("#rn-given").click()
    page.locator("#rn-asked", has_text="46 questions about 1 document").wait_for()
    _plan(page, "500", "200", "200")
    _run(page)
    assert page.locator("#rn-verdict svg[aria-label]:visible").count() == 1
    assert page.locator("#rn-verdict .rn-verdict-first").is_visible()
    for width in (390, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(NARROW)

    cell = page.get_by_role("button", name="missed, ").first
    cell.focus()
    page.keyboard.press("Enter")
    why = page.locator("#rn-why section")
    why.wait_for()
    page.wait_for_function("() => document.activeElement?.matches('#rn-why section')")
    assert "missed" in why.inner_text()
    assert why.locator("mark").count() > 0

    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the report").click()
    report = tmp_path / "report.html"
    saved.value.save_as(report)
    _read_offline(browser, report)

    why.get_by_role("button", name="Open the place").click()
    page.wait_for_selector("#rn-chunks-tab .rn-chosen")
    page.get_by_role("tab", name="Evaluate").click()
    page.wait_for_selector("#rn-verdict .rn-sentences")


def test_a_run_can_be_stopped_and_the_page_goes_on(page: Page) -> None:
    page.get_by_role("button", name="Try the example document").click()
    page.wait_for_selector("#rn-status .rn-dot")
    page.get_by_role("tab", name="Evaluate").click()
    page.locator("#rn-given").click()
    _plan(page, "500", "100, 200, 400, 800", "200")
    page.locator("#rn-run:not([disabled])").click()
    page.locator("#rn-verdict", has_text=" questions, about").wait_for()
    page.locator("#rn-stop-run").click()
    page.locator("#rn-verdict", has_text="Stopped").wait_for()
    page.wait_for_selector("#rn-run:not([disabled])")
    assert page.locator("#rn-stop-run").count() == 0 or page.locator("#rn-stop-run").is_hidden()


def test_hostile_questions_are_shown_and_nothing_in_them_runs(page: Page, tmp_path: Path) -> None:
    known = [one for one in PAYLOADS if one.isprintable() and '"' not in one][:20]
    payloads = [one.replace("alert(1)", RUNS) for one in known]
    document = tmp_path / "a <img src=x onerror=window.broken=1>.md"
    document.write_text("".join(f"# {one}\n\nRed {one} machine.\n\n" for one in payloads), "utf-8")
    questions = tmp_path / "<img src=x onerror=window.broken=1>.csv"
    rows = "".join(
        f'"{one}","Red {one} machine."\n"{one}?","Nowhere {number}"\n'
        for number, one in enumerate(payloads)
    )
    questions.write_text(f"question,quote\n{rows}", "utf-8")

    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector("#rn-status .rn-dot")
    page.get_by_role("tab", name="Evaluate").click()
    _upload(page, questions)
    page.locator("#rn-asked", has_text="left out").wait_for()
    _plan(page, "3", "", "0")
    _run(page)
    page.locator("#rn-verdict button.rn-cell").first.click()
    page.wait_for_selector("#rn-why section")
    seen = "".join(str(page.locator(one).text_content()) for one in ("#rn-asked", "#rn-verdict"))
    assert [one for one in payloads if one not in seen] == []
    foreign = ":is(img, iframe, script, a, style, link, base, form, object, video, math, input)"
    for where in ("#rn-asked", "#rn-verdict", "#rn-why"):
        assert page.locator(f"{where} {foreign}").count() == 0
        assert page.locator(f"{where} svg:not([aria-label])").count() == 0
    assert page.evaluate("window.broken") is None


def _read_offline(browser: Browser, report: Path) -> None:
    """The saved page stands by itself."""
    context = browser.new_context(offline=True)
    opened = context.new_page()
    asked: list[str] = []
    opened.on("request", lambda one: asked.append(one.url))
    opened.goto(report.as_uri())
    assert opened.inner_text("h1").startswith(("Take ", "Keep "))
    assert asked == [report.as_uri()]
    context.close()
