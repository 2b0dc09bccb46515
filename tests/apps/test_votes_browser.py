"""Votes, one answer's stop and the way into the document, in a real Chromium."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser_page import watched
from kept_votes import kept_votes
from openai_server import Fault

from rag_nodes.apps.votes.store import Vote, Votes
from rag_nodes.apps.votes.sums import Contender
from rag_nodes.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import gradio as gr
    from kept_votes import KeptVote
    from openai_server import OpenAIServer
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
PATIENCE = 60_000
"""Milliseconds after which a page counts as stuck."""
TITLES = ("Fixed size", "Heading hierarchy", "Token overlap", "Semantic")
HOSTILE = (
    '<img src=x onerror="window.broken=1"> ${window.broken=1} <script>window.broken=1</script>'
)


@pytest.fixture
def page(browser: Browser, app: gr.Blocks) -> Iterator[Page]:
    """An open page; every request that leaves this machine fails the test."""
    with watched(browser, str(app.local_url), PATIENCE) as opened:
        yield opened


def _kept() -> list[KeptVote]:
    return kept_votes(Settings().votes)


def _load(page: Page, document: Path) -> None:
    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector("#rn-status .rn-dot", state="attached", timeout=PATIENCE)


def _ask(page: Page, question: str) -> None:
    before = page.locator(".rn-turn").count()
    box = page.locator("#rn-question textarea:enabled")
    box.fill(question)
    box.press("Enter")
    page.locator(".rn-turn").nth(before).wait_for(timeout=PATIENCE)


def test_names_appear_after_a_blind_vote_given_by_keyboard(page: Page) -> None:
    # Opened first: what opening shows could arrive over the question whether to delete.
    page.get_by_role("button", name="Votes").click()
    page.wait_for_selector("#rn-votes :text('None yet')", timeout=PATIENCE)
    _load(page, CORPUS / "handbook.pdf")
    page.get_by_label("Hide the parsers' names until I vote").check()
    _ask(page, "When must the sand filter be rinsed backwards?")
    html = page.locator("#rn-history-box").inner_html()
    assert [title for title in TITLES if title in html] == []
    assert page.locator(".rn-turn [class*=rn-c1], .rn-turn .rn-hits").count() == 0
    best = page.get_by_role("button", name="Answer B is best")
    best.focus()
    page.keyboard.press("Enter")
    vote = page.locator(".rn-chosen-vote")
    vote.wait_for(timeout=PATIENCE)
    page.wait_for_function("document.activeElement.id === 'rn-1-vote'", timeout=PATIENCE)
    html = page.locator("#rn-history-box").inner_html()
    assert [title for title in TITLES if title not in html] == []
    [kept] = _kept()
    [winner] = kept.winners
    assert page.locator(".rn-column h3").nth(1).inner_text().startswith("B · ")
    assert kept.parsers.index(winner) == 1
    assert kept.blind

    _ask(page, "How long do new plants stay in quarantine?")  # the choice holds
    assert page.get_by_role("button", name="All are poor").count() == 1

    page.wait_for_selector(".rn-votes table", timeout=PATIENCE)
    assert "1 of 1" in page.inner_text("#rn-votes")
    page.get_by_role("button", name="Delete my votes").click()
    page.get_by_role("button", name="Delete my votes for good").click()
    page.wait_for_selector("#rn-votes :text('None yet')", timeout=PATIENCE)
    assert _kept() == []


def test_feedback_is_given_and_taken_back_while_opened_chunks_stay_open(page: Page) -> None:
    _load(page, CORPUS / "handbook.pdf")
    _ask(page, "When must the sand filter be rinsed backwards?")
    page.locator(".rn-answer .rn-chip").first.click()
    page.wait_for_selector(".rn-shown .rn-chunk[open] mark", timeout=PATIENCE)
    button = page.get_by_role("button", name="Helpful: Fixed size", exact=True)
    button.click()
    page.wait_for_selector(".rn-rate[aria-pressed=true]", timeout=PATIENCE)
    assert [one.winners for one in _kept()] == [("fixed",)]
    page.wait_for_selector(".rn-shown .rn-chunk[open] mark", timeout=PATIENCE)
    button.click()
    page.wait_for_selector(".rn-rate[aria-pressed=true]", state="detached", timeout=PATIENCE)
    assert _kept() == []


def test_one_answer_is_stopped_while_the_others_are_written(
    browser: Browser,
    serve: Callable[..., AbstractContextManager[str]],
    openai_server: OpenAIServer,
) -> None:
    settings = Settings(
        api_base=openai_server.base, api_key="any", embedding="openai", llm="openai"
    )
    with serve(settings) as address, watched(browser, address, PATIENCE) as page:
        _load(page, CORPUS / "manual.md")
        openai_server.faults.append(Fault())  # the question is embedded
        openai_server.fail(Fault(body="slow"), times=4)
        held = len(openai_server.asked("chat/completions")) + 4
        box = page.locator("#rn-question textarea:enabled")
        box.fill("How long does manual control last?")
        box.press("Enter")
        page.wait_for_selector(".rn-pending .rn-stop-one", timeout=PATIENCE)
        openai_server.wait_for("chat/completions", held)  # only what runs can be stopped
        page.get_by_role("button", name="Stop Heading hierarchy").click()
        page.wait_for_selector(".rn-pending :text-is('stopped')", timeout=PATIENCE)
        assert page.locator(".rn-stop-one").count() == 3
        openai_server.reset()  # lets the others go
        page.wait_for_selector(".rn-turn", timeout=PATIENCE)
        columns = page.locator(".rn-turn .rn-column")
        assert "Stopped" in columns.nth(1).inner_text()
        for number in (0, 2, 3):
            assert "The documents answer this" in columns.nth(number).inner_text()


def test_votes_in_a_hostile_file_and_on_hostile_answers_run_nothing(
    page: Page, tmp_path: Path
) -> None:
    document = tmp_path / "a <img src=x onerror=window.broken=1>.md"
    document.write_text(f"# Colour {HOSTILE}\n\nThe machine is red {HOSTILE}.\n", encoding="utf-8")
    _load(page, document)
    page.get_by_label("Hide the parsers' names until I vote").check()
    _ask(page, f"What colour is the machine {HOSTILE}?")
    page.get_by_role("button", name="All are equally good").click()
    page.wait_for_selector(".rn-chosen-vote", timeout=PATIENCE)
    [vote] = _kept()
    assert b"broken" not in Path(Settings().votes).read_bytes()
    hostile = Contender(HOSTILE, "1", HOSTILE)
    known = {"kind": "best", "ballot": "x", "voter": vote.voter, "question": vote.question}
    Votes(Settings().votes).add(
        Vote(**known, parsers=(hostile,), models="", winners=(), blind=True)
    )
    page.get_by_role("button", name="Votes").click()
    # The table of the vote before stands there until the file is read again.
    page.wait_for_selector("#rn-votes table:has-text('window.broken')", timeout=PATIENCE)
    assert "<script>window.broken=1</script>" in page.inner_text("#rn-votes")
    assert page.locator("#rn-main :is(img, iframe, script, a)").count() == 0
    assert page.evaluate("window.broken") is None


def test_a_cited_chunk_opens_in_its_document(page: Page) -> None:
    _load(page, CORPUS / "handbook.pdf")
    _ask(page, "When must the sand filter be rinsed backwards?")
    column = page.locator(".rn-column").nth(1)
    column.locator(".rn-answer .rn-chip").first.click()
    column.locator(".rn-shown .rn-link").click()
    page.wait_for_selector(".rn-drawing.rn-c2 .rn-start.rn-chosen", timeout=PATIENCE)
    assert page.get_by_role("tab", name="Chunks").get_attribute("aria-selected") == "true"
    assert "sand filter" in page.inner_text(".rn-doc")
