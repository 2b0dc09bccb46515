"""Results of today's crawlers, whichever call or SDK wrote them, and records that are no pages."""

import json
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import NoPagesError, ReadError
from rag_nodes.readers import ReadResult, read_all

URL = "https://tea.test/a"
TEXT = "# Tea\n\nHot."
PAGE = {"markdown": TEXT, "metadata": {"sourceURL": URL, "statusCode": 200}}
SNAKE = {
    "markdown": TEXT, "html": None, "raw_html": None, "summary": None, "warning": None,
    "metadata": {
        "title": "Tea", "source_url": URL, "status_code": 200, "og_locale_alternate": ["de"],
    },
}  # fmt: skip
JOB = {"id": "x", "status": "completed", "total": 1, "completed": 1, "credits_used": 1}


def rows(tmp_path: Path, content: Any, name: str = "crawl.json") -> list[ReadResult]:
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return list(read_all([path]))


def documents(results: list[ReadResult]) -> list[Document]:
    return [row.document for row in results if row.document]


def error(results: list[ReadResult]) -> ReadError:
    [row] = [row for row in results if row.error]
    assert row.error is not None
    return row.error


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({**JOB, "data": [SNAKE]}, id="crawl or batch by the Python SDK"),
        pytest.param({**JOB, "next": None, "data": [PAGE]}, id="crawl by REST"),
        pytest.param(SNAKE, id="scrape by the Python SDK"),
        pytest.param({"success": True, "data": PAGE}, id="scrape by REST"),
        pytest.param(
            {"success": True, "data": {"web": [{"url": URL, **PAGE}], "news": [], "images": []}},
            id="search of version 2",
        ),
        pytest.param({"web": [SNAKE], "news": None, "images": None}, id="search by the SDK"),
        pytest.param(
            {"success": True, "data": [{"url": URL, "title": "Tea", "markdown": TEXT}]},
            id="search of version 1",
        ),
        pytest.param([{"url": URL, "status": 200, "content": TEXT, "error": None}], id="Spider"),
        pytest.param(
            [{"url": URL, "metadata": {"title": "Tea"}, "text": "Tea Hot.", "markdown": TEXT}],
            id="Apify",
        ),
        pytest.param(
            [
                {
                    "url": URL, "html": "<h1>Tea</h1>", "success": True, "status_code": 200,
                    "markdown": {"raw_markdown": TEXT, "fit_markdown": ""}, "metadata": None,
                }
            ],
            id="Crawl4AI",
        ),
        pytest.param({"code": 200, "data": {"url": URL, "content": TEXT}}, id="Jina"),
        pytest.param({"results": [{"url": URL, "raw_content": TEXT}]}, id="Tavily"),
        pytest.param({"results": [{"id": URL, "url": URL, "text": TEXT}]}, id="Exa"),
        pytest.param(
            [{"page_content": TEXT, "metadata": {"title": "Tea", "sourceURL": URL}}], id="LangChain"
        ),
        pytest.param(
            [Document(id_="x", text=TEXT, metadata={"title": "Tea", "source_url": URL}).to_dict()],
            id="LlamaIndex",
        ),
    ],
)  # fmt: skip
def test_every_call_and_crawler_gives_its_page(tmp_path: Path, content: Any) -> None:
    results = rows(tmp_path, content)
    [document] = documents(results)
    assert len(results) == 1
    assert (document.text, document.metadata[keys.SOURCE]) == (TEXT, URL)


def test_fields_of_the_sdk_are_facts_as_those_of_rest(tmp_path: Path) -> None:
    [document] = documents(rows(tmp_path, {**JOB, "base_url": URL, "data": [SNAKE]}))
    assert document.metadata[keys.TITLE] == "Tea"
    assert document.metadata[keys.STATUS_CODE] == 200
    assert document.metadata[keys.LOCALES] == ["de"]
    assert document.metadata[keys.BASE_URL] == URL


@pytest.mark.parametrize(
    ("about", "missing"),
    [
        (
            {"status": "scraping", "total": 9, "completed": 1},
            "its status is 'scraping', it has 1 of 9",
        ),
        ({"status": "failed"}, "its status is 'failed'"),
        ({"status": "completed", "next": "https://api.test/2"}, "the rest is at the address"),
        ({"failed_results": [{"url": URL}]}, "1 addresses failed"),
        ({"total": 3, "completed": 2}, "it has 2 of 3 pages"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_an_incomplete_crawl_gives_its_pages_and_says_so(
    tmp_path: Path, about: dict[str, Any], missing: str, is_first: bool
) -> None:
    content = {**about, "data": [PAGE]} if is_first else {"data": [PAGE], **about}
    results = rows(tmp_path, content)
    assert [row.error is None for row in results] == [True, False]
    assert f"the crawl is incomplete: {missing}" in str(error(results))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"success": True, "links": [URL]}, "a map of a website"),
        ({"links": [{"url": URL, "title": "Tea"}]}, "a map of a website"),
        ({"success": True, "id": "7", "url": "https://api.test/7"}, "as it begins"),
        ({"success": False, "error": "Payment\nrequired"}, "an error: Payment required"),
        ({"error": {"code": 402, "message": "quota exceeded"}}, "an error: quota exceeded"),
        ({"success": False, "error": [{"message": "quota"}]}, "an error: quota"),
        ({"success": False, "message": "quota exceeded"}, "an error: quota exceeded"),
        ({**JOB, "status": "scraping", "completed": 0, "data": []}, "its status is 'scraping'"),
        ({"things": [PAGE]}, "a crawl is a list of pages"),
    ],
)
def test_a_file_without_pages_says_what_it_is(
    tmp_path: Path, content: dict[str, Any], reason: str
) -> None:
    failure = error(rows(tmp_path, content))
    assert isinstance(failure, NoPagesError)
    assert reason in failure.reason


@pytest.mark.parametrize(
    ("content", "remedy"),
    [
        ({"success": True, "data": {"price": 3}, "status": "completed"}, "formats=['markdown']"),
        ({"success": True, "data": [{"url": URL, "title": "Tea"}]}, "formats=['markdown']"),
        ([{"markdown": TEXT, "metadata": {}}], "give the page its address as 'url'"),
    ],
)
def test_the_remedy_of_a_page_names_what_it_lacks(
    tmp_path: Path, content: Any, remedy: str
) -> None:
    assert remedy in error(rows(tmp_path, content)).remedy


ANSWERED = {"sourceURL": f"{URL}/b", "statusCode": 200}


@pytest.mark.parametrize(
    "value",
    [
        {"success": False, "error": "quota\nexceeded"},
        {"url": f"{URL}/b", "error": {"message": "quota exceeded", "code": 402}},
        {"markdown": "", "metadata": {**ANSWERED, "error": "quota exceeded"}},
        {"rawHtml": None, "error": "quota exceeded", "metadata": ANSWERED},
        {"success": False, "markdown": "Oops.", "error_message": "quota exceeded", **ANSWERED},
    ],
)
@pytest.mark.parametrize("is_in_lines", [True, False])
def test_an_error_that_was_answered_with_status_200_is_quoted(
    tmp_path: Path, value: dict[str, Any], is_in_lines: bool
) -> None:
    pages = [PAGE, value]
    content = "\n".join(map(json.dumps, pages)) if is_in_lines else json.dumps({"data": pages})
    path = tmp_path / ("a.jsonl" if is_in_lines else "a.json")
    path.write_text(content, encoding="utf-8")
    good, failed = read_all(path)
    assert good.error is None
    place = "line 2" if is_in_lines else "data[1]"
    reason = f"{place}: the crawler answered with an error: quota exceeded"
    assert isinstance(failed.error, ReadError)
    assert failed.error.reason == reason


def test_a_page_with_text_is_read_whatever_its_crawler_warns_of(tmp_path: Path) -> None:
    page = {**PAGE, "metadata": {**ANSWERED, "error": "the page is slow"}}
    [row] = rows(tmp_path, {"data": [page]})
    assert row.error is None


RECORDS = [
    {"id": "a", "text": "Tea is hot.", "metadata": {"dept": "hr", "year": 2024, "title": "Tea"}},
    {"id": "b", "text": "Tea is hot.", "metadata": {"tags": ["x"], "url": URL, "deep": {"a": 1}}},
]


@pytest.mark.parametrize(
    ("layout", "name"),
    [("lines", "a.json"), ("lines", "a.jsonl"), ("list", "a.json"), ("object", "a.json")],
)
def test_records_are_documents_with_their_own_metadata(
    tmp_path: Path, layout: str, name: str
) -> None:
    content: Any = {"list": RECORDS, "object": {"documents": RECORDS}}.get(layout)
    content = content or "\n".join(map(json.dumps, RECORDS))
    first, second = documents(rows(tmp_path, content, name))
    assert (first.text, second.text) == ("Tea is hot.", "Tea is hot.")
    assert first.id_ != second.id_
    assert first.metadata["dept"], first.metadata["year"] == ("hr", 2024)
    assert first.metadata[keys.TITLE] == "Tea"
    assert first.metadata[keys.SOURCE] == f"{(tmp_path / name).resolve()}#a"
    assert first.metadata[keys.FILE_NAME] == f"{name}#a"
    assert (second.metadata["tags"], second.metadata["url"]) == (["x"], URL)
    assert second.metadata[keys.READ_WARNINGS] == ["metadata left out: deep"]


@pytest.mark.parametrize(
    ("value", "part", "own"),
    [
        ({"page_content": "Tea.", "metadata": {"dept": "hr"}}, "[0]", {"dept": "hr"}),
        ({"_id": 7, "title": "Tea", "text": "Tea.", "dept": "hr"}, "7", {"dept": "hr"}),
        ({"id": "x", "content": "Tea."}, "x", {}),
        ({"id": "x", "text": " ", "content": "Tea.", "metadata": {}}, "x", {}),
        ({"doc_id": "x", "text": "Tea.", "metadata": None, "dept": "hr"}, "x", {"dept": "hr"}),
        (Document(id_="x", text="Tea.", metadata={"dept": "hr"}).to_dict(), "x", {"dept": "hr"}),
    ],
)
def test_records_of_other_programs(
    tmp_path: Path, value: dict[str, Any], part: str, own: dict[str, Any]
) -> None:
    [document] = documents(rows(tmp_path, [value], "a.json"))
    assert document.text == "Tea."
    assert document.metadata[keys.FILE_NAME] == f"a.json#{part}"
    assert {key: document.metadata.get(key) for key in own} == own
    assert keys.READ_WARNINGS not in document.metadata


def test_a_record_is_reported_whose_id_came_before_or_that_has_no_text(tmp_path: Path) -> None:
    content = [RECORDS[0], RECORDS[0], {"id": "c", "text": " "}]
    results = rows(tmp_path, content)
    assert [str(row.error).partition("; ")[0].rpartition(": ")[2] for row in results[1:]] == [
        "the id 'a' came before in this file",
        "no text",
    ]
