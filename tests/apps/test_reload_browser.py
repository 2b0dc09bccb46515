"""A page that is loaded again, by its visitor or after a cut of the network, loses nothing."""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from app_process import app_process
from browser_page import unfold_parsers
from cut_network import CutNetwork
from fixtures_app import offline_settings
from openai_server import Fault, OpenAIServer
from playwright.sync_api import Browser, Page
from visits import QUESTION, written

from rag_nodes.apps.inside_gradio import (
    Drawn,
    GuardedBlocks,
    hear_every_answer,
    newest_wins,
    now,
)
from rag_nodes.apps.page import build_app

pytestmark = pytest.mark.browser

PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""
BUSY = "#rn-status [aria-busy=true]"
_DONE = """async () => {
  for (let n = 0; n < 4; n += 1) {
    await (await fetch('/config')).text();
    await new Promise((done) => requestIdleCallback(done));
  }
}"""
"""Whatever has left the server before has come, and is drawn."""


@pytest.fixture
def network(online: gr.Blocks) -> Iterator[CutNetwork]:
    """The way to an app whose models are those of a server."""
    with CutNetwork(online.server_port) as network:
        yield network


def test_neither_a_reload_nor_a_cut_costs_documents_answers_or_what_runs(
    browser: Browser, network: CutNetwork, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    visitor = browser.new_context()
    visitor.set_default_timeout(PATIENCE)
    page = visitor.new_page()
    page.goto(network.address)
    page.wait_for_selector(".rn-empty")

    openai_server.fail(Fault(body="slow"))  # the request that tries the model out
    document = written(tmp_path / "red.md", "The machine is red.")
    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector(BUSY)
    page.reload()
    page.wait_for_selector(BUSY)  # loading goes on
    with _cut(page, network):
        openai_server.release()  # and ends while nobody can look
    page.wait_for_selector("#rn-status .rn-dot")
    assert "red.md" in page.inner_text("#rn-status")
    page.locator("#rn-files", has_text="red").wait_for()

    openai_server.fail(Fault(body="slow"), times=4)
    page.fill("#rn-question textarea:enabled", QUESTION)
    page.keyboard.press("Enter")
    page.wait_for_selector(".rn-pending")
    with _cut(page, network):
        pass
    page.wait_for_selector(".rn-pending")  # the answers are still being written
    openai_server.release()
    page.wait_for_selector(".rn-turn")
    unfold_parsers(page)
    page.get_by_role("checkbox", name="Semantic", exact=True).uncheck()
    page.wait_for_selector("#rn-note :text('Settings have changed')")
    page.goto("about:blank")
    page.go_back()
    page.wait_for_selector(".rn-turn")
    page.wait_for_selector("#rn-note :text('Settings have changed')")
    page.get_by_role("checkbox", name="Semantic", exact=True, checked=False).wait_for()

    stranger = browser.new_context()
    for other in (visitor.new_page(), stranger.new_page()):
        other.goto(network.address)
        other.wait_for_selector("#rn-status :text('No document yet')", timeout=PATIENCE)
        assert other.locator(".rn-turn").count() == 0
        assert "red" not in other.inner_text("body")
    stranger.close()
    visitor.close()


def test_what_is_changed_while_documents_are_loaded_can_be_applied_afterwards(
    browser: Browser, network: CutNetwork, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(network.address)
    openai_server.fail(Fault(body="slow"))
    document = written(tmp_path / "red.md", "The machine is red.")
    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector(BUSY)
    unfold_parsers(page)
    page.get_by_role("checkbox", name="Semantic", exact=True).uncheck()
    page.locator("#rn-columns", has_text="3 columns").wait_for()
    openai_server.release()
    page.wait_for_selector("#rn-note :text('Settings have changed')")
    page.locator("#rn-process:enabled", has_text="Apply changes").wait_for()
    page.close()


def test_a_question_is_answered_that_arrives_before_the_page_knows_that_a_stream_has_ended(
    browser: Browser, network: CutNetwork, tmp_path: Path
) -> None:
    """As on a busy machine: Gradio alone would show its answer at the visitor's next click."""
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    page.goto(network.address)
    document = written(tmp_path / "red.md", "The machine is red.")
    page.set_input_files("#rn-files input[type=file]", str(document))
    page.wait_for_selector("#rn-status .rn-dot")
    network.late = b"close_stream"
    page.get_by_role("tab", name="Document").click()
    assert network.holding.wait(PATIENCE / 1000)
    page.get_by_role("tab", name="Compare").click()
    page.fill("#rn-question textarea:enabled", QUESTION)
    with page.expect_response("**/queue/join*") as taken:
        page.keyboard.press("Enter")
    taken.value.finished()
    network.catch_up()
    page.wait_for_selector(".rn-turn")
    page.close()


@pytest.mark.usefixtures("_gradio")
def test_answers_are_shown_in_the_order_in_which_they_are_sent(
    browser: Browser, leaks_collected: Callable[[], AbstractContextManager[None]]
) -> None:
    """As on a busy machine: the page learns late that its first event was taken in."""
    began, overtaken = threading.Event(), threading.Event()

    def slow() -> Iterator[Drawn]:
        read = now()
        yield Drawn(read, ("working", "first"))
        began.set()
        assert overtaken.wait(PATIENCE / 1000)
        yield Drawn(read, ("older", "last"))

    def quick() -> Iterator[Drawn]:
        assert began.wait(PATIENCE / 1000)
        yield Drawn(now(), ("ready", gr.skip()))
        overtaken.set()  # it has left

    with leaks_collected(), GuardedBlocks() as app:
        hear_every_answer(app)
        outputs = [gr.HTML(elem_id="state"), gr.HTML(elem_id="slow")]
        common: dict[str, Any] = {"outputs": outputs, "api_visibility": "private"}
        gr.Button("Slow").click(slow, **common)
        gr.Button("Quick").click(quick, **common)
        newest_wins(app)
        app.queue()
        app.launch(prevent_thread_lock=True, quiet=True)
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    with CutNetwork(app.server_port) as line:
        page.goto(line.address)
        page.get_by_role("button", name="Slow").wait_for()
        page.wait_for_function("window.rnInOrder")
        line.late = b'"event_id"'  # which tells that the event was taken in
        page.get_by_role("button", name="Slow").click()
        assert line.holding.wait(PATIENCE / 1000)
        page.get_by_role("button", name="Quick").click()
        assert overtaken.wait(PATIENCE / 1000)
        page.evaluate(_DONE)
        line.catch_up()
        page.locator("#slow", has_text="last").wait_for()
        assert page.inner_text("#state").strip() == "ready"
        page.close()
    with leaks_collected():
        app.close()


@pytest.mark.usefixtures("_gradio")
def test_a_burst_of_answers_of_two_events_ends_with_the_newest(
    browser: Browser, leaks_collected: Callable[[], AbstractContextManager[None]]
) -> None:
    """As on a busy machine: what the page would have shown one by one arrives at once."""
    began, overtaken, ended = threading.Event(), threading.Event(), threading.Event()

    def slow() -> Iterator[Drawn]:
        for number in range(10):
            read = now()
            # Showing a component takes the page longer than what `quick` changes.
            yield Drawn(read, (f"working {number}", gr.Button(visible=True)))
        began.set()
        assert overtaken.wait(PATIENCE / 1000)
        yield Drawn(read, ("older", gr.Button(visible=False)))
        ended.set()

    def quick() -> Iterator[Drawn]:
        yield Drawn(now(), ("ready", gr.skip()))
        overtaken.set()

    with leaks_collected(), GuardedBlocks() as app:
        hear_every_answer(app)
        outputs = [gr.HTML(elem_id="state"), gr.Button("Cancel", visible=False)]
        common: dict[str, Any] = {"outputs": outputs, "api_visibility": "private"}
        loading = gr.Button("Slow").click(slow, **common)
        loading.then(None, js="() => { window.slowEnded = true; }", api_visibility="private")
        gr.Button("Quick").click(quick, **common)
        newest_wins(app)
        app.queue()
        app.launch(prevent_thread_lock=True, quiet=True)
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    with CutNetwork(app.server_port) as line:
        page.goto(line.address)
        page.get_by_role("button", name="Slow").wait_for()
        page.wait_for_function("window.rnInOrder")
        line.late = b"process_starts"
        page.get_by_role("button", name="Slow").click()
        assert line.holding.wait(PATIENCE / 1000)
        assert began.wait(PATIENCE / 1000)
        page.get_by_role("button", name="Quick").click()
        assert ended.wait(PATIENCE / 1000)
        line.catch_up()
        page.wait_for_function("window.slowEnded")
        assert page.inner_text("#state").strip() == "ready"
        page.close()
    with leaks_collected():
        app.close()


@pytest.mark.usefixtures("_gradio")
def test_after_a_restart_the_page_says_that_documents_have_to_be_loaded_again(
    browser: Browser,
    tmp_path: Path,
    leaks_collected: Callable[[], AbstractContextManager[None]],
) -> None:
    page = browser.new_page()
    page.set_default_timeout(PATIENCE)
    document = written(tmp_path / "red.md", "The machine is red.")
    with CutNetwork(0) as network:  # the app may not get its port again
        with app_process(tmp_path) as app:
            network.lead_to(int(app.address.rsplit(":", 1)[1].strip("/")))
            page.goto(network.address)
            page.wait_for_selector("#rn-status :text('No document yet')")
            page.set_input_files("#rn-files input[type=file]", str(document))
            page.wait_for_selector("#rn-status .rn-dot")
            page.goto("about:blank")  # or it may load itself again while the test does
        with leaks_collected():
            again = build_app(offline_settings())
            again.launch(prevent_thread_lock=True, quiet=True)
        network.lead_to(again.server_port)
        page.goto(network.address)
        page.wait_for_selector("#rn-status :text('Load your documents again')")
        page.set_input_files("#rn-files input[type=file]", str(document))
        page.wait_for_selector("#rn-status :text('red.md')")
        assert "again" not in page.inner_text("#rn-status")
        page.close()
    with leaks_collected():
        again.close()
        again.at_end()


@contextmanager
def _cut(page: Page, network: CutNetwork) -> Iterator[None]:
    """Cut the network, until the page has been loaded anew because of that."""
    page.evaluate("() => { window.before = true; }")
    network.cut()
    yield
    network.mend()
    page.wait_for_function("() => !window.before")
