import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from rag_nodes.core.errors import (
    CorruptFileError,
    EmptyFileError,
    FileTooLargeError,
    MissingExtraError,
    NoPagesError,
    ReadError,
)
from rag_nodes.readers import read_all
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.crawl.reader import read_firecrawl

SITE = "https://tea.test"


def page(name: str, text: str = "# Tea\n\nHot.", **metadata: Any) -> dict[str, Any]:
    return {"markdown": text, "metadata": {"sourceURL": f"{SITE}/{name}", **metadata}}


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    return tmp_path / "crawl.json"


def read_crawl(path: Path, content: Any) -> list[Reading | ReadError]:
    """Write a crawl, as JSON unless it is bytes, and read it."""
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return list(read_firecrawl(path, Limits()))


def good(outcomes: list[Reading | ReadError]) -> list[Reading]:
    assert all(isinstance(outcome, Reading) for outcome in outcomes), outcomes
    return [outcome for outcome in outcomes if isinstance(outcome, Reading)]


def bad(outcomes: list[Reading | ReadError]) -> list[ReadError]:
    return [outcome for outcome in outcomes if isinstance(outcome, ReadError)]


# --- shapes -------------------------------------------------------------------------------------


def test_a_crawl_of_version_0_is_read_with_its_facts(crawl: Path) -> None:
    content = {
        "base_url": SITE,
        "timestamp": "2024-09-16T15:38:22Z",
        "data": [
            {
                "content": "<p>not this</p>",
                "markdown": "# Tea\n\nHot.",
                "metadata": {
                    "title": "Tea | Docs",
                    "description": "About tea",
                    "language": "en",
                    "sourceURL": f"{SITE}/tea",
                    "pageStatusCode": 200,
                    "ogLocaleAlternate": ["de", "fr"],
                },
                "linksOnPage": [SITE],
            }
        ],
    }
    [reading] = good(read_crawl(crawl, content))
    assert reading == Reading(
        text="# Tea\n\nHot.",
        text_format="markdown",
        title="Tea | Docs",
        description="About tea",
        source=f"{SITE}/tea",
        facts={
            "language": "en",
            "status_code": 200,
            "base_url": SITE,
            "timestamp": "2024-09-16T15:38:22Z",
            "og_locale_alternate": ["de", "fr"],
            "links_on_page": [SITE],
        },
    )


@pytest.mark.parametrize(
    "wrap",
    [
        lambda pages: {"input_url": SITE, "total_pages": 2, "unique_links": [], "data": pages},
        lambda pages: {"data": pages, "after": {"data": [1, 2]}},
        lambda pages: {"metadata": {"sourceURL": SITE}, "data": pages},
        lambda pages: pages,
    ],
    ids=["version 1", "data first", "metadata of its own", "bare list"],
)
def test_pages_are_found_in_every_shape_of_json(wrap: Any, crawl: Path) -> None:
    readings = good(read_crawl(crawl, wrap([page("a"), page("b", "Cold.")])))
    assert [reading.source for reading in readings] == [f"{SITE}/a", f"{SITE}/b"]


@pytest.mark.parametrize("name", ["crawl.jsonl", "crawl.ndjson", "crawl.json"])
def test_a_page_per_line_is_read_whatever_the_file_is_called(name: str, tmp_path: Path) -> None:
    lines = [json.dumps(page("a")), "", json.dumps(page("b", "Cold."))]
    readings = good(read_crawl(tmp_path / name, "\n".join(lines).encode()))
    assert [reading.source for reading in readings] == [f"{SITE}/a", f"{SITE}/b"]


def test_the_result_of_a_single_scrape_is_one_page(crawl: Path) -> None:
    [reading] = good(read_crawl(crawl, {"success": True, "data": page("a")}))
    assert reading.source == f"{SITE}/a"


def test_a_byte_order_mark_is_no_part_of_the_json(crawl: Path) -> None:
    assert good(read_crawl(crawl, b"\xef\xbb\xbf" + json.dumps([page("a")]).encode()))


def test_content_may_be_markdown_or_html(crawl: Path) -> None:
    html = "<h2>Tea</h2><script>bad()</script><p>It is hot and it is made of leaves.</p>"
    marked_up = f"<div>{html}</div>"
    pages = [
        {"content": "### Tea\n\nHot.", "metadata": {"sourceURL": f"{SITE}/a"}},
        {"content": html, "metadata": {"sourceURL": f"{SITE}/b"}},
        {"markdown": marked_up, "metadata": {"sourceURL": f"{SITE}/c"}},
    ]
    markdown, converted, kept = good(read_crawl(crawl, pages))
    assert markdown.text == "### Tea\n\nHot."
    assert " ".join(converted.text.split()) == "## Tea It is hot and it is made of leaves."
    assert kept.text == marked_up


def test_repeated_meta_tags_give_the_first_that_says_anything(crawl: Path) -> None:
    [reading] = good(read_crawl(crawl, [page("a", title=["", " ", "Tea", "Tee"], description=[])]))
    assert (reading.title, reading.description) == ("Tea", None)


# --- bad pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ("text", "data[1]: an object is required, found str"),
        ({"markdown": "x"}, "data[1].metadata: an object is required, found nothing"),
        ({"markdown": "x", "metadata": []}, "data[1].metadata: an object is required, found list"),
        ({"markdown": "x", "metadata": {}}, "data[1].metadata.sourceURL: an http address"),
        (
            {"markdown": "x", "metadata": {"sourceURL": "file:///etc/passwd"}},
            "data[1].metadata.sourceURL: an http address is required, found str",
        ),
        (
            {"markdown": "x", "metadata": {"sourceURL": SITE + "x" * 9000}},
            "data[1].metadata.sourceURL: an http address is required, found str",
        ),
        ({"metadata": {"sourceURL": SITE}}, "data[1].markdown: a text is required, found nothing"),
        (
            {"markdown": 7, "metadata": {"sourceURL": SITE}},
            "data[1].markdown: a text is required, found int",
        ),
        ({"markdown": " \n", "metadata": {"sourceURL": SITE}}, "data[1].markdown: no text"),
    ],
)
def test_a_page_that_lacks_something_is_named_by_its_json_path(
    value: Any, where: str, crawl: Path
) -> None:
    outcomes = read_crawl(crawl, {"data": [page("a"), value, page("b", "Cold.")]})
    assert [type(outcome) is Reading for outcome in outcomes] == [True, False, True]
    [error] = bad(outcomes)
    assert error.path == crawl
    assert where in str(error)


def test_the_path_of_a_page_in_a_bare_list_and_in_lines(tmp_path: Path) -> None:
    [error] = bad(read_crawl(tmp_path / "a.json", [{"metadata": {}}]))
    assert "[0].metadata.sourceURL" in str(error)
    lines = json.dumps(page("a")).encode() + b"\n{broken\n" + b"[" * 100_000
    first, second = bad(read_crawl(tmp_path / "a.jsonl", lines))
    assert "line 2: not JSON" in str(first)
    assert "line 3: not JSON" in str(second)


@pytest.mark.parametrize("field", ["statusCode", "pageStatusCode"])
@pytest.mark.parametrize("status", [404, "404", 404.0])
def test_a_failed_request_is_a_failed_page_with_the_reason(
    field: str, status: Any, crawl: Path
) -> None:
    [error] = bad(read_crawl(crawl, [page("a", **{field: status, "error": "Not\nFound"})]))
    assert f"[0].metadata: {SITE}/a was answered with HTTP status 404 (Not Found)" in str(error)


def test_a_page_over_the_limit_is_refused_alone(crawl: Path) -> None:
    crawl.write_text(json.dumps([page("a", "x" * 101), page("b")]), encoding="utf-8")
    large, small = read_firecrawl(crawl, Limits(characters=100))
    assert isinstance(large, FileTooLargeError)
    assert "[0].markdown: 101 characters" in str(large)
    assert isinstance(small, Reading)


# --- pages that repeat --------------------------------------------------------------------------


def test_a_text_under_several_urls_is_given_once_with_all_of_them(crawl: Path) -> None:
    pages = [page("a"), page("b", "Cold."), page("c"), page("a"), page("d")]
    first, second = good(read_crawl(crawl, pages))
    assert (first.source, first.also_at) == (f"{SITE}/a", (f"{SITE}/c", f"{SITE}/d"))
    assert (second.source, second.also_at) == (f"{SITE}/b", ())


def test_one_url_with_two_texts_is_reported_because_both_would_be_one_document(
    crawl: Path,
) -> None:
    outcomes = read_crawl(crawl, [page("a"), page("a", "Cold.")])
    assert len(good(outcomes[:1])) == 1
    assert f"[1]: {SITE}/a came before" in str(bad(outcomes)[0])


# --- bad files ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"not json",
        b"\x89PNG",
        b"{",
        b"[",
        b"",
        b'{"data": [',
        b"[1e999]",
    ],
)
def test_a_file_that_is_no_json_is_refused(content: bytes, crawl: Path) -> None:
    with pytest.raises(CorruptFileError, match="not JSON from the start"):
        read_crawl(crawl, content)


@pytest.mark.parametrize("content", [{}, [], {"data": []}, {"things": [page("tea")]}])
def test_json_without_pages_is_refused(content: Any, crawl: Path) -> None:
    with pytest.raises(NoPagesError, match="a crawl is a list of pages"):
        read_crawl(crawl, content)


@pytest.mark.parametrize("content", [{"data": None}, {"data": {}}, 7, "text"])
def test_json_that_is_no_page_is_told_what_is_required(content: Any, crawl: Path) -> None:
    [error] = bad(read_crawl(crawl, content))
    assert "an object is required" in str(error)


@pytest.mark.parametrize("end", [b"", b",", b', {"markdown": "x', b"} trailing", b"] trailing"])
def test_a_file_that_breaks_off_gives_its_good_pages_and_then_the_error(
    end: bytes, crawl: Path
) -> None:
    whole = json.dumps([page("a"), page("b", "Cold.")]).encode()
    outcomes = read_crawl(crawl, whole[:-1] + end)
    assert [reading.source for reading in good(outcomes[:2])] == [f"{SITE}/a", f"{SITE}/b"]
    [error] = bad(outcomes)
    assert isinstance(error, CorruptFileError)
    assert "not JSON behind [1]" in str(error)


@pytest.mark.parametrize("levels", [100, 200_000])
@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
def test_a_tower_of_brackets_is_refused_at_once(levels: int, opening: bytes, crawl: Path) -> None:
    tower = b'{"data": [{"metadata": ' + opening * levels
    with pytest.raises(CorruptFileError, match="over 64 levels"):
        read_crawl(crawl, tower)


def test_html_without_text_is_a_failed_page(crawl: Path) -> None:
    content = [{"content": "<div><script>x()</script></div>", "metadata": {"sourceURL": SITE}}]
    [error] = bad(read_crawl(crawl, content))
    assert isinstance(error, EmptyFileError)


def test_without_ijson_the_install_line_is_named(
    crawl: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ijson", None)
    with pytest.raises(MissingExtraError, match=r"rag-nodes\[firecrawl\]"):
        read_crawl(crawl, [page("a")])


# --- size and documents -------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_number_of_pages(tmp_path: Path) -> None:
    def peak(pages: int) -> int:
        path = tmp_path / f"{pages}.json"
        with path.open("w", encoding="utf-8") as file:
            file.write('{"data": [')
            for number in range(pages):
                comma = "," if number else ""
                file.write(comma + json.dumps(page(str(number), f"{number} tea " * 4000)))
            file.write("]}")
        tracemalloc.start()
        assert sum(1 for _ in read_firecrawl(path, Limits())) == pages
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(5)  # imports
    assert peak(140) < peak(90) + 50 * 600  # 1.4 MB more of pages, 600 bytes of ids for each


def test_every_page_becomes_a_document_of_its_own(crawl: Path) -> None:
    crawl.write_text(json.dumps([page("a", title="A"), 7, page("b", "Cold.")]), encoding="utf-8")
    rows = list(read_all([crawl]))
    documents = [row.document for row in rows if row.document]
    assert [document.metadata["source"] for document in documents] == [f"{SITE}/a", f"{SITE}/b"]
    assert len({document.id_ for document in documents}) == 2
    assert [type(row.error) for row in rows if row.error] == [ReadError]


# --- pages as crawlers really write them ---------------------------------------------------------


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("name", ["page.json", "page.jsonl"])
def test_one_page_alone_is_a_crawl_however_it_is_laid_out(
    tmp_path: Path, name: str, indent: int | None
) -> None:
    content = json.dumps({**page("tea"), "links": [SITE]}, indent=indent).encode()
    [reading] = good(read_crawl(tmp_path / name, content))
    assert reading.text == "# Tea\n\nHot."
    assert reading.facts["links_on_page"] == [SITE]


@pytest.mark.parametrize("content", [[page("tea")], {"data": [page("tea")]}])
def test_a_crawl_that_is_called_jsonl_is_read_as_the_json_it_is(
    tmp_path: Path, content: Any
) -> None:
    [reading] = good(read_crawl(tmp_path / "crawl.jsonl", json.dumps(content, indent=1).encode()))
    assert reading.source == f"{SITE}/tea"


@pytest.mark.parametrize("name", ["html", "rawHtml"])
@pytest.mark.parametrize(
    "html",
    [
        "<span>Hot</span> tea",
        "<!-- made by x --><p>Hot tea</p>",
        "\ufeff<p>Hot tea</p>",
        "<html><head><title>Tea</title><body>Hot tea</body></html>",
    ],
)
def test_html_fields_of_a_crawl_are_read_as_html(crawl: Path, name: str, html: str) -> None:
    [reading] = good(read_crawl(crawl, [{name: html, "metadata": {"sourceURL": SITE}}]))
    assert reading.text == "Hot tea"


@pytest.mark.parametrize(
    "content", ["<!-- a --> <!-- b --><div>Hot tea</div>", "<?xml version='1.0'?><p>Hot tea</p>"]
)
def test_content_is_known_for_html_behind_its_comments(crawl: Path, content: str) -> None:
    [reading] = good(read_crawl(crawl, [{"content": content, "metadata": {"sourceURL": SITE}}]))
    assert reading.text == "Hot tea"


def test_comments_without_end_are_looked_through_in_one_way_only(crawl: Path) -> None:
    content = "<!---->" * 5000 + "x"
    [reading] = good(read_crawl(crawl, [{"content": content, "metadata": {"sourceURL": SITE}}]))
    assert reading.text == content


@pytest.mark.parametrize("url", ["https://", "https:///x", "https://a.test/\nx", "https://a\x00b"])
def test_invalid_addresses_are_refused(crawl: Path, url: str) -> None:
    [error] = bad(read_crawl(crawl, [page("tea", sourceURL=url)]))
    assert "[0].metadata.sourceURL: an http address is required" in str(error)


def test_an_empty_address_gives_way_to_the_next(crawl: Path) -> None:
    [reading] = good(read_crawl(crawl, [page("tea", sourceURL="", url=SITE)]))
    assert reading.source == SITE


@pytest.mark.parametrize("status", [True, -1, 0, 1e300, "0", [404]])
def test_invalid_status_codes_are_left_out(crawl: Path, status: Any) -> None:
    [reading] = good(read_crawl(crawl, [page("tea", statusCode=status)]))
    assert "status_code" not in reading.facts


@pytest.mark.parametrize(("status", "failed"), [(399, False), (400, True), (599, True)])
def test_a_status_from_400_on_is_a_failure(crawl: Path, status: int, failed: bool) -> None:
    outcomes = read_crawl(crawl, [page("tea", statusCode=status), page("cake", "# Cake")])
    assert isinstance(outcomes[0], ReadError) is failed
    assert isinstance(outcomes[1], Reading)
