"""The app inside a host app of somebody else: in a tab, beside an interface, mounted; any theme."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from browser_page import PATIENCE, WIDE, ask, load, wait_for_documents
from contrast import OURS, STILL, left, pale
from playwright.sync_api import Browser, Page

HOST = Path(__file__).with_name("gradio_host.py")
_KEPT = ("PATH", "PYTHONPATH", "LANG", "SYSTEMROOT", "VIRTUAL_ENV")
DOCUMENT = "# Colours\n\nThe machine is red, and its lid is blue.\n"
QUESTION = "Which colour has the machine?"
EVERY_IMPORT = """
import importlib, pkgutil
import gradio as gr
with gr.Blocks() as host:
    import rag_nodes.apps
    for module in pkgutil.walk_packages(rag_nodes.apps.__path__, "rag_nodes.apps."):
        importlib.import_module(module.name)
print(sorted(type(one).__name__ for one in host.blocks.values()))
"""
UNFOLD = "() => document.querySelectorAll('.rn details').forEach((one) => { one.open = true; })"
BOLD = ".rn-question, .rn-who, .rn-column strong, .rn-more, .rn-name"


def _environment(folder: Path) -> dict[str, str]:
    places = {name: str(folder) for name in ("HOME", "TMPDIR", "GRADIO_TEMP_DIR")}
    offline = {"RAG_NODES_EMBEDDING": "lexical", "RAG_NODES_LLM": "extractive"}
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    return kept | places | offline | {"GRADIO_ANALYTICS_ENABLED": "False"}


@contextmanager
def _host(folder: Path, way: str, theme: str) -> Iterator[str]:
    """Start a host in a process of its own; the value is its address."""
    process = subprocess.Popen(
        [sys.executable, str(HOST), way, theme],
        env=_environment(folder),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), "the host wrote no address"
        yield address
    finally:
        process.terminate()
        process.wait(timeout=120)
        process.stdout.close()


@contextmanager
def _open_host(browser: Browser, address: str) -> Iterator[Page]:
    """Open our part of the host; an error in the page fails the test."""
    page, errors = browser.new_page(viewport=WIDE), list[str]()
    page.set_default_timeout(PATIENCE)
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    # The network of a busy machine may rest before anything is drawn.
    page.locator(".rn-tick, [role=tab]").first.wait_for(state="attached")
    if page.get_by_role("tab").count():
        page.get_by_role("tab", name="Chunking").click()
    page.locator(".rn-tick").first.wait_for()
    yield page
    page.close()
    assert errors == []


def test_importing_the_page_adds_nothing_to_blocks_that_are_open(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", EVERY_IMPORT],
        env=_environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == "[]"


@pytest.mark.browser
@pytest.mark.parametrize(
    ("way", "theme"),
    [
        ("tab", "default"),
        ("tab", "ours"),
        ("tabbed", "default"),
        ("tabbed", "ours"),
        ("mounted", "default"),
        ("mounted", "ours"),
        ("columns", "default"),
    ],
)
def test_in_a_host_every_visible_button_works_and_a_question_is_answered(
    browser: Browser, tmp_path: Path, way: str, theme: str
) -> None:
    document = tmp_path / "colours.md"
    document.write_text(DOCUMENT, encoding="utf-8")
    with _host(tmp_path, way, theme) as address, _open_host(browser, address) as page:
        if way == "columns":  # its documents are loaded already, or still being loaded
            wait_for_documents(page, "colours.md")
        else:
            load(page, document)
        ask(page, QUESTION)
        assert "The machine is red" in page.inner_text(".rn-turn")
        page.locator("details.rn-column > summary").first.click()
        lines = page.locator("svg[data-strategy]").count()
        retrieved = page.locator('.rn-strip-hit[d^="M"]').count()
        assert lines == retrieved == (3 if way == "columns" else 4), "own indexes, too"
        page.get_by_role("button", name="Helpful: ").first.click()
        page.wait_for_selector(".rn-rate[aria-pressed=true]")
        assert "The machine is red" in page.inner_text(".rn-sheet")
        page.locator(".rn-decision").wait_for()
        page.get_by_role("button", name="Clear", exact=True).last.click()
        page.locator(".rn-turn").wait_for(state="detached")
        assert page.evaluate("fetch.toString().includes('[native code]')"), "the host's own"


@pytest.fixture(scope="module")
def answered(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """An answered question in a host with Gradio's default theme, and the drawer unfolded."""
    folder = tmp_path_factory.mktemp("host")
    document = folder / "colours.md"
    document.write_text(DOCUMENT, encoding="utf-8")
    with _host(folder, "tab", "default") as address, _open_host(browser, address) as page:
        load(page, document)
        ask(page, QUESTION)
        page.evaluate(UNFOLD)
        page.add_style_tag(content=STILL)
        yield page


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_with_the_default_theme_of_gradio_all_our_text_stands_out_from_its_ground(
    answered: Page, scheme: str
) -> None:
    answered.evaluate("is => document.body.classList.toggle('dark', is)", scheme == "dark")
    faults = left(answered, pale(OURS))
    answered.evaluate("document.body.classList.remove('dark')")
    assert faults == []


@pytest.mark.browser
def test_with_the_default_theme_of_gradio_no_word_is_written_in_two_fonts(answered: Page) -> None:
    answered.locator(".rn-who").first.wait_for()
    browser = answered.context.new_cdp_session(answered)
    for domain in ("DOM", "CSS"):
        browser.send(f"{domain}.enable")
    root = browser.send("DOM.getDocument", {"depth": 0})["root"]["nodeId"]
    nodes = browser.send("DOM.querySelectorAll", {"nodeId": root, "selector": BOLD})["nodeIds"]
    used = [
        browser.send("CSS.getPlatformFontsForNode", {"nodeId": node})["fonts"] for node in nodes
    ]
    families = [{font["familyName"] for font in fonts} for fonts in used]
    assert families
    assert [family for family in families if len(family) > 1] == []
