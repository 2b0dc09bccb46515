"""The acceptance walk (S0-51): from the command to another document, as a user goes it."""

import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from app_process import AppProcess, app_process
from browser_page import PATIENCE, ask, wait_for_documents
from openai_server import OpenAIServer
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = pytest.mark.browser

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
KEY = "sk-walk-0123456789abcdef"
QUESTION = "When must the sand filter be rinsed backwards?"
FOLLOW_UP = "How long do new plants stay in quarantine?"
FACTS = {QUESTION: "2.4 bar", FOLLOW_UP: "quarantine"}
_EXCERPTS = re.compile(r"<<<EXCERPTS\n(.*)\nEXCERPTS>>>\s+Question: (.*)", re.DOTALL)
_VIOLATIONS = """window.violations = []; document.addEventListener('securitypolicyviolation',
  (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI}`));"""


def _answer(prompt: str) -> str:
    """What a model would say that reads nothing but the excerpts: the sentence with the fact."""
    match = _EXCERPTS.search(prompt)
    if match is None:
        return "ready"
    excerpts, question = match[1], match[2].strip()
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


def test_the_acceptance_walk(  # noqa: PLR0915 - ten steps of one walk
    browser: Browser, running: AppProcess, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    openai_server.answer = _answer
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(PATIENCE)
    problems: list[str] = []
    foreign: list[str] = []
    page.on("console", lambda node: node.type == "error" and problems.append(node.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda request: foreign.append(request.url))
    page.add_init_script(_VIOLATIONS)

    # 1, 2: the command is installed, and runs
    assert [entry.value for entry in entry_points(group="console_scripts", name="rag-nodes")]
    page.goto(running.address)
    page.wait_for_selector(".rn-tick", timeout=PATIENCE)
    assert page.locator(".rn-question-box").is_disabled()

    # 3: the key goes into the page, where it is not shown
    _type_key(page)

    # 4: a document of several pages
    _upload(page, CORPUS / "handbook.pdf")
    assert "6 pages" in page.inner_text(".rn-documents")
    assert {request.authorization for request in openai_server.requests} == {f"Bearer {KEY}"}

    # 5: the parsers cut it into different numbers of chunks
    counts = _counts(page)
    assert len(counts) == 4
    assert len(set(counts)) >= 3

    # 6, 7: a question of fact gets an answer per parser, and they differ
    ask(page, QUESTION)
    columns = page.locator("details.rn-column").all()
    answers = [_open_column(column).locator(".rn-answer").inner_text() for column in columns]
    assert len(answers) == 4
    assert all(FACTS[QUESTION] in answer for answer in answers)
    assert len(set(answers)) >= 3
    assert all("gpt-4o-mini" in column.locator(".rn-kind").inner_text() for column in columns)

    # 8: so do the chunks they rest on, and each is cited
    for column in columns:
        assert re.search(r"p\. 2|pp\. 1", column.locator(".rn-citations").inner_text())
        column.locator(".rn-more").click()
    chunks = [column.locator(".rn-hits").inner_text() for column in columns]
    assert len(set(chunks)) == 4

    # 9: a further question keeps the conversation
    ask(page, FOLLOW_UP)
    history = page.inner_text(".rn-history")
    assert QUESTION in history
    assert FOLLOW_UP in history
    last = page.locator(".rn-turn").first.locator("details.rn-column").all()
    answered = [fold for fold in last if "quarantine" in _open_column(fold).inner_text()]
    assert len(answered) >= 3, "with the same room for all, fixed windows may miss a sentence"

    # 10: another document starts over
    _upload(page, _another_pdf(tmp_path))
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Remove handbook.pdf").click()
    page.locator(".rn-file", has_text="handbook.pdf").wait_for(state="detached")
    wait_for_documents(page, "lighthouse.pdf")
    assert "2 pages" in page.inner_text(".rn-documents")
    expect(page.locator(".rn-turn")).to_have_count(0)
    assert _counts(page) != counts

    assert KEY not in page.content()
    assert page.evaluate("window.violations") == []
    assert problems == []
    assert [url for url in foreign if not url.startswith((running.address, "data:", "blob:"))] == []
    page.close()
    assert "Traceback" not in running.output


def _type_key(page: Page) -> None:
    page.locator(".rn-models-menu > summary").click()
    key = page.get_by_label("API key")
    assert key.get_attribute("type") == "password"
    key.fill(KEY)
    page.get_by_role("button", name="Use these models").click()
    key.wait_for(state="hidden")


def _upload(page: Page, document: Path) -> None:
    where = ".rn-add input" if page.locator(".rn-ready").count() else ".rn-big input"
    page.set_input_files(where, str(document))
    wait_for_documents(page, document.name)


def _open_column(column: Locator) -> Locator:
    """A column whose line is open."""
    column.locator("summary").first.click()
    return column


def _counts(page: Page) -> list[int]:
    """Chunks of each column, as the map says."""
    names = page.locator(".rn-strip-name small").all_inner_texts()
    return [int(name.replace(",", "")) for name in names]


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
