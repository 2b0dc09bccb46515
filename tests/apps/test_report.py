"""The file that is shared: it opens anywhere, says what was found, and can do nothing."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawls import page
from hostile_views import PAYLOADS, Seen
from visits import VISITOR, visiting

from rag_nodes.apps.tabs.report import report_of
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.settings import Settings

KEY = "sk-canary-0123456789abcdef"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of a PDF of one page, with a key set and a question asked."""
    import pymupdf

    path = tmp_path_factory.mktemp("report") / "pump.pdf"
    with pymupdf.open() as made:
        made.new_page().insert_text((72, 72), "The pump runs at 2.4 bar. " * 3)
        made.save(path)
    settings = Settings(api_key=KEY, embedding="lexical", llm="extractive")
    with visiting(settings, path, None, Choice(("fixed", "heading"))) as sessions:
        session = sessions.of(VISITOR)
        session.ask("At which pressure does the pump run?")
        yield report_of(session)


def test_it_says_what_to_take_what_was_asked_and_answered_and_with_what(report: str) -> None:
    text = Seen(report).text
    for expected in (
        "take the default: retrieval", "At which pressure", "Both say", "The pump runs at 2.4 bar.",
        "pump.pdf, page 1", "Fixed size", "Heading hierarchy", "rag_nodes 0.",
    ):  # fmt: skip
        assert expected in text


def test_cited_pages_are_pictures_with_what_is_cited_marked(report: str) -> None:
    assert "<image" in report
    assert re.search(r'<rect x="7[0-9.]+" y="[0-9.]+" width="[0-9.]+"', report)


def test_it_loads_nothing_runs_nothing_and_carries_no_key(report: str) -> None:
    seen = Seen(report)
    assert not seen.tags & {"script", "iframe", "object", "link", "form", "img"}
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    links = [value for name, value in seen.attributes if name in {"href", "src"}]
    assert links
    assert all(one and one.startswith("data:image/png;base64,") for one in links)
    assert "default-src 'none'" in report
    assert KEY not in report
    assert "canary" not in report


def test_of_a_crawl_a_few_pages_are_named_and_what_is_cited_is_shown_without_marks(
    settings: Settings, tmp_path: Path
) -> None:
    pages = [
        page(f"p{at}", f"# Pump {at}\n\nSee [pump {at}](/p{at}): it is red.") for at in range(5)
    ]
    crawl = json.dumps({"data": pages})
    with visiting(settings, tmp_path / "crawl.json", crawl, Choice(("fixed",))) as sessions:
        session = sessions.of(VISITOR)
        session.ask("Which pump is red?")
        html = report_of(session)
    title = re.sub(r"<[^>]*>", "", html.partition("<h1>")[2].partition("</h1>")[0])
    assert title.endswith(", 2 more documents")
    quotes = re.findall(r"<blockquote[^>]*>(.*?)</blockquote>", html)
    assert [one for one in quotes if re.search(r"See pump \d: it is red", one)]
    assert "](" not in "".join(quotes)


def test_a_quote_of_plain_text_keeps_what_looks_like_a_mark(
    settings: Settings, tmp_path: Path
) -> None:
    quote = "The red pump calls f[0](x) in C:\\_dir"
    with visiting(settings, tmp_path / "pump.txt", f"{quote}.", Choice(("fixed",))) as sessions:
        session = sessions.of(VISITOR)
        session.ask("What does the red pump call?")
        quotes = re.findall(r"<blockquote[^>]*>(.*?)</blockquote>", report_of(session))
    assert [one for one in quotes if quote in one]


def test_hostile_text_in_name_question_and_document_is_shown_and_becomes_no_element(
    settings: Settings, tmp_path: Path
) -> None:
    everything = "\n\n".join(f"The pump {one} is red." for one in PAYLOADS if "\ud800" not in one)
    path = tmp_path / "a <img src=x onerror=alert(1)>.md"
    with visiting(settings, path, everything, Choice(("fixed",))) as sessions:
        session = sessions.of(VISITOR)
        for payload in PAYLOADS[::7]:
            session.ask(f"Is the pump red? {payload}")
        html = report_of(session)
    seen = Seen(html)
    ours = {
        "a", "bdi", "blockquote", "body", "code", "em", "figcaption", "figure", "h1", "h2", "head",
        "html", "li", "main", "meta", "p", "section", "span", "strong", "style", "table", "td",
        "th", "title", "tr", "ul",
    }  # fmt: skip
    assert seen.tags <= ours
    assert not [name for name, _ in seen.attributes if name.startswith("on")]
    assert "<img src=x onerror=alert(1)>" in seen.text
