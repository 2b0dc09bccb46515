"""The page alone and inside other apps: it looks and works alike, and keeps nothing of a visit."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
import pytest
from browser_page import loading, open_drawer
from embedding_page import OWN_BOX, PAGE_TAB, WAYS, Shown, in_a_tab
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from openai_server import OpenAIServer
from playwright.sync_api import Browser, BrowserContext, Page

from rag_nodes.apps import build_app
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.settings import Settings

pytestmark = pytest.mark.browser

PATIENCE = 120_000
"""Milliseconds after which a page counts as stuck."""
CANARIES = {
    "file name": "canaryfile",
    "document": "canarydocument",
    "key": "sk-canarykey0123456789abcdef",
    "question": "canaryquestion",
    "answer": "canaryanswer",
}
OWN = "canaryofthesurroundingapp"
STORED = """async () => {
  const found = {local: {...localStorage}, session: {...sessionStorage}, databases: [], caches: []};
  const done = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  for (const {name} of await indexedDB.databases()) {
    const opened = await done(indexedDB.open(name));
    for (const store of opened.objectStoreNames) {
      const objects = opened.transaction(store).objectStore(store);
      found.databases.push([name, store, await done(objects.getAllKeys()),
        await done(objects.getAll())]);
    }
    opened.close();
  }
  for (const name of await caches.keys()) {
    const kept = await caches.open(name);
    for (const request of await kept.keys()) {
      const answer = await kept.match(request);
      found.caches.push([name, request.url, await answer.text()]);
    }
  }
  return found;
}"""
PLANT = """async (canaries) => {
  localStorage.setItem('planted', canaries[0]);
  sessionStorage.setItem('planted', canaries[1]);
  const opened = await new Promise((resolve) => {
    const request = indexedDB.open('planted');
    request.onupgradeneeded = () => request.result.createObjectStore('planted');
    request.onsuccess = () => resolve(request.result);
  });
  const write = opened.transaction('planted', 'readwrite');
  write.objectStore('planted').put({text: canaries[2]}, 'planted');
  await new Promise((resolve) => { write.oncomplete = resolve; });
  opened.close();
  const kept = await caches.open('planted');
  await kept.put('/planted', new Response(canaries[3]));
  document.cookie = 'planted=' + canaries[4] + '; max-age=3600';
}"""
"""One canary each for every kind of storage that is looked at."""

SIDE_BY_SIDE = """() => {
  const places = [...document.querySelectorAll('.rn-column')].map((one) =>
    one.getBoundingClientRect());
  return places.length === 4 &&
    new Set(places.map((one) => `${one.left} ${one.top}`)).size === 4; }"""
LOOKS = """() => {
  const of = (what) => getComputedStyle(document.querySelector(what));
  return [of('.rn-column').borderTopWidth, of('.rn-column').display, of('.rn-steps-list, .rn-dot')
    .borderRadius, of('#rn-ask').position, of('#rn-question textarea').borderTopWidth];
}"""
STYLED = ["3px", "grid", "50%", "sticky", "0px"]
"""Rules of our own, and one that Gradio has another for."""


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[PageSessions]:
    """What keeps the visitors of the app that is built next."""
    made: list[PageSessions] = []
    monkeypatch.setattr(
        "rag_nodes.apps.page.PageSessions",
        lambda given, **options: made.append(PageSessions(given, **options)) or made[0],
    )
    return made


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def shown(
    request: pytest.FixtureRequest,
    openai_server: OpenAIServer,
    leaks_collected: Callable[[], AbstractContextManager[None]],
    _gradio: None,
) -> Iterator[Shown]:
    openai_server.answer = f"It is {CANARIES['answer']} [Source 1]."
    settings = Settings(embedding="openai", llm="openai", api_base=openai_server.base)
    with leaks_collected(), request.param(partial(build_app, settings)) as shown:
        yield shown


@pytest.fixture
def visitor(browser: Browser) -> Iterator[BrowserContext]:
    """A browser in which nothing is kept yet."""
    context = browser.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(PATIENCE)
    yield context
    context.close()


def test_the_page_works_alike_however_it_is_shown_and_keeps_nothing_of_a_visit(
    visitor: BrowserContext, opened: list[PageSessions], shown: Shown, tmp_path: Path
) -> None:
    page = visitor.new_page()
    page.goto(shown.address)
    if shown.inside:
        _use_what_is_around(page)
    _use(page, tmp_path)
    while_open = _stored(page, visitor)
    page.reload()
    if shown.inside:
        page.get_by_role("tab", name=PAGE_TAB).click()
    page.locator("#rn-status .rn-file", has_text=CANARIES["file name"]).wait_for()
    assert len(opened[0]) == 1
    page.close()
    later = visitor.new_page()
    later.goto(f"{shown.address}config")
    afterwards = _stored(later, visitor)
    assert (_canaries_in(while_open), _canaries_in(afterwards)) == ([], [])
    # What is around the page keeps its own history, so this browser does keep one.
    assert (OWN in while_open, OWN in afterwards) == (shown.inside, shown.inside)


def test_the_page_with_own_columns_keeps_nothing_in_the_browser(
    visitor: BrowserContext, leaks_collected: Callable[[], AbstractContextManager[None]]
) -> None:
    text = f"The machine is {CANARIES['answer']}. " + "It stands in the hall. " * 40
    document = Document(text=text, metadata={"file_name": f"{CANARIES['file name']}.md"})
    columns = {"mine": SentenceSplitter(chunk_size=64, chunk_overlap=8), "heading": "heading"}
    built = partial(build_app, columns=columns, documents=[document])
    with leaks_collected(), in_a_tab(built) as shown:
        page = visitor.new_page()
        page.goto(shown.address)
        page.get_by_role("tab", name=PAGE_TAB).click()
        page.locator("#rn-status .rn-dot").wait_for()
        page.fill("#rn-question textarea:enabled", f"What is {CANARIES['question']}? The machine?")
        page.keyboard.press("Enter")
        page.locator(".rn-turn .rn-column").nth(1).wait_for()
        assert page.locator(".rn-column h3").all_inner_texts() == ["mine", "Heading hierarchy"]
        assert CANARIES["answer"] in page.inner_text(".rn-turn")
        assert _canaries_in(_stored(page, visitor)) == []


def test_the_check_above_looks_into_every_kind_of_storage(
    visitor: BrowserContext, app: gr.Blocks
) -> None:
    page = visitor.new_page()
    page.goto(f"{app.local_url}config")
    page.evaluate(PLANT, list(CANARIES.values()))
    assert _canaries_in(_stored(page, visitor)) == list(CANARIES)


def _use_what_is_around(page: Page) -> None:
    """Have the surrounding app answer something of its own, then open the page."""
    box = page.get_by_label(OWN_BOX)
    box.fill(OWN)
    box.press("Enter")
    submit = page.get_by_role("button", name="Submit")
    if submit.is_visible():
        submit.click()
    page.wait_for_function(
        "said => [...document.querySelectorAll('textarea')].some((one) => one.value === said)",
        arg=OWN.upper(),
    )
    page.get_by_role("tab", name=PAGE_TAB).click()


def _use(page: Page, folder: Path) -> None:
    """Load a document with a key, ask about it, look at its chunks, and clear the answers."""
    page.wait_for_selector(".rn-empty")
    open_drawer(page, "Models and key")
    page.get_by_label("API key").fill(CANARIES["key"])
    document = folder / f"{CANARIES['file name']}.md"
    document.write_text(
        f"# Colour\n\nThe machine is {CANARIES['document']}.\n\n" + "It stands in the hall. " * 40
    )
    with loading(page):
        page.set_input_files("#rn-files input[type=file]", str(document))
    page.fill("#rn-question textarea:enabled", f"What is {CANARIES['question']}?")
    page.keyboard.press("Enter")
    page.locator(".rn-turn .rn-column", has_text=CANARIES["answer"]).first.wait_for()
    page.wait_for_function(SIDE_BY_SIDE)
    assert page.evaluate(LOOKS) == STYLED
    page.get_by_role("tab", name="Document").click()
    page.locator("#rn-document-tab .rn-sheet [data-k]").first.wait_for()
    page.get_by_role("tab", name="Compare").click()
    page.click("#rn-clear")
    page.locator(".rn-turn").wait_for(state="detached")


def _stored(page: Page, visitor: BrowserContext) -> str:
    """All that the browser keeps of where a page is from."""
    kept: dict[str, Any] = page.evaluate(STORED)
    return json.dumps({**kept, "cookies": visitor.cookies()})


def _canaries_in(stored: str) -> list[str]:
    """What the canaries stand for that turn up."""
    return [name for name, canary in CANARIES.items() if canary in stored]
