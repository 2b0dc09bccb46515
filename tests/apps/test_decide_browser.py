"""What to take, in a real Chromium: from an upload to the decision, its passages and its files."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import gradio as gr
import pytest
from browser_page import loading, redrawn, watched
from hostile_views import PAYLOADS
from playwright.sync_api import Browser, Page

from rag_nodes.apps.visitors import deciding
from rag_nodes.evaluation.drafts.probes import probes
from rag_nodes.evaluation.plan import EvaluationPlan

pytestmark = pytest.mark.browser

PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""
NARROW = "() => document.documentElement.scrollWidth <= innerWidth"
RUNS = "window.broken=1"
SMALL = EvaluationPlan(budgets=(60,), sizes=(40, 400), target=None, draws=200)
KNOWN = [one for one in PAYLOADS if one.isprintable() and '"' not in one][:20]
HOSTILE = [one.replace("alert(1)", RUNS) for one in KNOWN]
GUIDE = "\n\n".join(
    f"# How is the {name} cleaned?\n\nThe {name} is cleaned once a day. Then it dries for an hour."
    f"\n\nWho has cleaned the {name} writes that down in the book by the door. {said}"
    for name, said in zip(("pump", "filter", "nozzle", "valve", "hose"), HOSTILE, strict=False)
)


@pytest.fixture(scope="module")
def page(
    browser: Browser, app: gr.Blocks, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    """A page with a guide, whose settings are tried at once, in this process, by few passages."""
    small = {
        "QUIET": 0.0,
        "Pool": lambda *_, **__: None,
        "SWEPT": ("recursive",),
        "EvaluationPlan": lambda **_: SMALL,
        "probes": partial(probes, count=8),
    }
    with (
        pytest.MonkeyPatch.context() as patch,
        watched(browser, str(app.local_url), PATIENCE) as it,
    ):
        for name, value in small.items():
            patch.setattr(deciding, name, value)
        guide = tmp_path_factory.mktemp("guide") / "a <img src=x onerror=window.broken=1>.md"
        guide.write_text(GUIDE, encoding="utf-8")
        with loading(it):
            it.set_input_files("#rn-files input[type=file]", str(guide))
        it.get_by_role("tab", name="Decide").click()
        it.locator(".rn-sure:visible", has_text="Likely").wait_for()
        yield it


def test_an_upload_leads_to_a_decision_whose_points_and_lines_lead_to_what_it_rests_on(
    page: Page, browser: Browser, tmp_path: Path
) -> None:
    assert page.locator(".rn-length[aria-pressed=true]").inner_text().startswith("a sentence")
    assert page.locator(".rn-plot svg:visible").count() == 1
    page.locator(".rn-plot svg:visible a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement?.id.startsWith('rn-row-')")

    page.get_by_role("button", name="Use it").click()
    page.locator("#rn-use-code .cm-content").wait_for()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download the report").click()
    report = tmp_path / "report.html"
    saved.value.save_as(report)
    _read_offline(browser, report)

    with redrawn(page, ".rn-drawing"):
        page.locator("#rn-matrix [data-testid='cell-0-1']").click()
    page.locator(".rn-sheet .rn-gold").first.wait_for()
    page.locator("#rn-tabs[aria-busy=false]").wait_for()  # it said meanwhile that it draws
    page.get_by_role("tab", name="Decide").click()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(NARROW)


def test_drafts_are_reviewed_with_the_keyboard_alone_and_decide_when_they_are_accepted(
    page: Page,
) -> None:
    page.get_by_role("tab", name="Decide").click()
    page.get_by_role("button", name="Make it sure").click()
    with redrawn(page, ".rn-card"):
        page.get_by_role("button", name="Draft questions").click()
    section = page.inner_text(".rn-card mark")
    _press(page, "s")
    assert section.startswith(paragraph := page.inner_text(".rn-card mark"))
    _press(page, "s")
    assert paragraph.startswith(page.inner_text(".rn-card mark"))
    _press(page, "l")
    assert page.inner_text(".rn-card mark") == paragraph
    page.keyboard.press("q")
    box = page.locator("#rn-review-text textarea")
    assert box.input_value() == ""
    page.keyboard.type("What else?")
    _press(page, "Enter")
    _press(page, "a")
    _press(page, "r")
    _press(page, "z")
    _press(page, "n")
    assert "2 accepted" in page.inner_text(".rn-progress")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download", exact=True).click()
    found = json.loads(Path(saved.value.path()).read_text("utf-8"))["questions"]
    kept = [one for one in found if not one.get("draft")]
    assert kept[0]["question"] == "What else?"
    assert kept[0]["gold"][0]["text"] == paragraph
    page.get_by_role("button", name="Decide by my 2 questions").click()
    page.locator("#rn-differ", has_text="uestion").wait_for()
    page.locator(".rn-reasons li", has_text="Based on 2 questions").first.wait_for(state="attached")


def test_hostile_questions_are_shown_and_nothing_in_them_runs(page: Page, tmp_path: Path) -> None:
    questions = tmp_path / "<img src=x onerror=window.broken=1>.csv"
    rows = "".join(
        f'"{one}?","{said}"\n"{one}","Nowhere {number}"\n'
        for number, (one, said) in enumerate(zip(HOSTILE, HOSTILE[:5], strict=False))
    )
    questions.write_text(f"question,quote\n{rows}", "utf-8")
    with redrawn(page, ".rn-card"):
        page.set_input_files("#rn-own input[type=file]", str(questions))
    page.locator("#rn-taken", has_text="5 questions added").wait_for()
    with redrawn(page, ".rn-decision"):
        page.get_by_role("button", name="Decide by my 7 questions").click()
    page.locator(".rn-reasons li", has_text="Based on 7 questions").first.wait_for(state="attached")
    foreign = ":is(img, iframe, script, style, link, base, form, object, video, math)"
    for where in (
        "#rn-said",
        "#rn-taken",
        "#rn-review-card",
        "#rn-matrix",
        "#rn-why",
        "#rn-lengths",
    ):
        assert page.locator(f"{where} {foreign}").count() == 0, where
    assert page.evaluate("window.broken") is None


def _press(page: Page, key: str) -> None:
    with redrawn(page, ".rn-card"):
        page.keyboard.press(key)


def _read_offline(browser: Browser, report: Path) -> None:
    """The saved page stands by itself."""
    context = browser.new_context(offline=True)
    opened = context.new_page()
    asked: list[str] = []
    opened.on("request", lambda one: asked.append(one.url))
    opened.goto(report.as_uri())
    assert opened.inner_text("h1").startswith(("Take ", "Proposed: ", "Keep ", "For answers"))
    assert asked == [report.as_uri()]
    context.close()
