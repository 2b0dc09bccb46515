"""The acceptance walk (S0-51): from the command to another document, as a user goes it."""

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from app_process import AppProcess, app_process
from browser_page import open_drawer
from openai_server import OpenAIServer
from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
KEY = "sk-walk-0123456789abcdef"
QUESTION = "When must the sand filter be rinsed backwards?"
FOLLOW_UP = "How long do new plants stay in quarantine?"
FACTS = {QUESTION: "2.4 bar", FOLLOW_UP: "quarantine"}
PATIENCE = 90_000
"""Milliseconds after which a page counts as stuck."""
_EXCERPTS = re.compile(r"<<<EXCERPTS\n(.*)\nEXCERPTS>>>\s+Question: (.*)", re.DOTALL)
_VIOLATIONS = """window.violations = []; document.addEventListener('securitypolicyviolation',
  (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));"""


def _answer(prompt: str) -> str:
    """What a model would say that reads nothing but the excerpts: the sentence with the fact."""
    found = _EXCERPTS.search(prompt)
    if found is None:
        return "ready"
    excerpts, question = found[1], found[2].strip()
    for number, excerpt in enumerate(re.split(r"\[?Source \d+\]?", excerpts)[1:], start=1):
        for sentence in re.split(r"(?<=[.!?])\s+", excerpt):
            if FACTS[question] in sentence:
                # How an excerpt begins depends on where it was cut, and so does the answer.
                start = " ".join(excerpt.split()[:12])
                return f"{' '.join(sentence.split())} [Source {number}] It stands after: {start}"
    return "The excerpts do not say."


@pytest.fixture
def running(tmp_path: Path, openai_server: OpenAIServer) -> Iterator[AppProcess]:
    with app_process(tmp_path, RAG_NODES_API_BASE=openai_server.base) as started:
        yield started


def test_the_acceptance_walk(
    browser: Browser, running: AppProcess, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.answer = _answer
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    problems: list[str] = []
    foreign: list[str] = []
    page.on("console", lambda one: one.type == "error" and problems.append(one.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: foreign.append(request.url))
    page.add_init_script(_VIOLATIONS)

    # 1, 2: the command is installed, and runs
    assert [one.value for one in entry_points(group="console_scripts", name="rag-nodes")]
    page.goto(running.address)
    page.wait_for_selector(".rn-empty", timeout=PATIENCE)
    assert page.locator("#rn-question textarea").is_disabled()

    # 3: the key goes into the page, where it is not shown
    _type_key(page)

    # 4: a document of several pages
    _upload(page, CORPUS / "handbook.pdf")
    status = page.inner_text("#rn-status")
    assert "6 pages" in status
    assert {one.authorization for one in openai_server.requests} == {f"Bearer {KEY}"}

    # 5: the parsers cut it into different numbers of chunks
    counts = _counts(page)
    assert len(counts) == 4
    assert len(set(counts)) >= 3

    # 6, 7: a question of fact gets an answer per parser, and they differ
    _ask(page, QUESTION, turns=1)
    columns = page.locator(".rn-turn").last.locator(".rn-column")
    answers = [one.locator(".rn-answer").inner_text() for one in columns.all()]
    assert len(answers) == 4
    assert all(FACTS[QUESTION] in answer for answer in answers)
    assert len(set(answers)) >= 3
    assert all("gpt-4o-mini" in one.locator(".rn-kind").inner_text() for one in columns.all())

    # 8: so do the chunks they rest on, and each is cited
    for column in columns.all():
        assert "p. 2" in column.locator(".rn-citations").inner_text()
        column.locator(".rn-more").click()
    chunks = [column.locator(".rn-hits").inner_text() for column in columns.all()]
    assert len(set(chunks)) == 4

    # 9: a further question keeps the conversation
    _ask(page, FOLLOW_UP, turns=2)
    history = page.inner_text("#rn-history-box")
    assert QUESTION in history
    assert FOLLOW_UP in history
    last = page.locator(".rn-turn").last.locator(".rn-answer")
    answered = [one for one in last.all() if "quarantine" in one.inner_text()]
    assert len(answered) >= 3, "with the same room for all, fixed windows may miss a sentence"

    # 10: another document starts over
    _upload(page, _another_pdf(tmp_path), pages=2)
    assert "2 pages" in page.inner_text("#rn-status")
    assert page.locator(".rn-turn").count() == 0
    assert QUESTION not in page.inner_text("#rn-history-box")
    assert _counts(page) != counts

    assert KEY not in page.content()
    assert page.evaluate("window.violations") == []
    assert problems == []
    assert [url for url in foreign if not url.startswith((running.address, "data:", "blob:"))] == []
    page.close()
    assert "Traceback" not in running.output


def _type_key(page: Page) -> None:
    open_drawer(page, "Models and key")
    key = page.get_by_label("API key")
    assert key.get_attribute("type") == "password"
    key.fill(KEY)


def _upload(page: Page, document: Path, pages: int = 6) -> None:
    remove = page.locator("#rn-files").get_by_role("button", name="Clear")
    if remove.count():
        remove.first.click()
    page.wait_for_selector("#rn-files input[type=file]", state="attached", timeout=PATIENCE)
    page.set_input_files("#rn-files input[type=file]", str(document))
    loaded = page.locator("#rn-status", has=page.locator(".rn-dot")).filter(
        has_text=f"{pages} pages"
    )
    loaded.wait_for(timeout=PATIENCE)


def _counts(page: Page) -> list[int]:
    """Chunks of each parser, as the header says."""
    rows = page.locator("#rn-status tbody tr").all()
    return [int(row.locator("th, td").nth(1).inner_text().replace(",", "")) for row in rows]


def _ask(page: Page, question: str, turns: int) -> None:
    box = page.locator("#rn-question textarea:enabled")
    box.fill(question)
    box.press("Enter")
    page.wait_for_function(
        f"() => document.querySelectorAll('.rn-turn').length === {turns}", timeout=PATIENCE
    )


def _another_pdf(folder: Path) -> Path:
    """Two pages about something else."""
    import pymupdf

    path = folder / "lighthouse.pdf"
    with pymupdf.open() as document:
        for number in (1, 2):
            text = f"Chapter {number}. " + f"The lamp of the lighthouse turns {number} times. " * 20
            document.new_page().insert_textbox(pymupdf.Rect(50, 50, 550, 750), text)
        document.save(path)
    return path
