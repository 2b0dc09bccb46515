"""What cannot be read, cut or written of a crawl is said, and stops nothing that can be.

S1-17 and S1-36; `validate_input` is S1-18.
"""

import sys
from pathlib import Path

import pytest
from crawls import LONG, SHORT, SITE, page, write_crawl

from rag_nodes.core.errors import (
    ConfigurationError,
    FileMissingError,
    FileTooLargeError,
    NoPagesError,
    ReaderCrashedError,
    ReadMemoryError,
    UnsupportedFileError,
)
from rag_nodes.operations import crawl as documentation
from rag_nodes.operations.crawl import CheckedPage, PageFinding, pages
from rag_nodes.readers import Limits, files
from rag_nodes.readers.isolation import ReaderPool


def test_a_bad_page_is_reported_and_stops_nothing(tmp_path: Path, output: Path) -> None:
    bad = [page("a", SHORT), page("gone", "# 404", statusCode=404), page("b", LONG)]
    report = documentation.run(write_crawl(tmp_path / "crawl.json", bad), output)
    assert (report.statistics.pages, report.statistics.pages_failed) == (2, 1)
    [reason] = report.failed_pages
    assert "data[1].metadata" in reason
    assert "404" in reason


def test_a_crawl_can_be_checked_without_cutting_it(crawl: Path, tmp_path: Path) -> None:
    assert documentation.validate_input(crawl) == ()
    bad = write_crawl(tmp_path / "bad.json", [page("a", SHORT), page("b", ""), 7])
    assert ["data[1].markdown" in str(error) for error in documentation.validate_input(bad)] == [
        True,
        False,
    ]
    with pytest.raises(FileMissingError):
        documentation.validate_input(tmp_path / "nowhere.json")


def test_a_crawl_is_read_within_its_limits_of_size(crawl: Path, output: Path) -> None:
    with pytest.raises(FileTooLargeError, match="over the limit of 100 bytes"):
        documentation.run(crawl, output, limits=Limits(file_bytes=100))
    with pytest.raises(FileTooLargeError):
        documentation.validate_input(crawl, Limits(file_bytes=100))
    report = documentation.run(crawl, output, limits=Limits(characters=len(SHORT)))
    assert report.statistics.pages == 1
    assert all("over the limit" in reason for reason in report.failed_pages)


@pytest.mark.skipif(sys.platform != "linux", reason="memory is limited by the Linux kernel")
def test_a_crawl_that_takes_too_much_memory_ends_its_reader_and_not_this_process(
    tmp_path: Path, output: Path
) -> None:
    bomb = write_crawl(tmp_path / "bomb.json", [page("a", "word " * 4_000_000)])
    # The JSON library dies where it gets no more memory; its Python parts raise.
    with pytest.raises((ReadMemoryError, ReaderCrashedError), match=r"bomb\.json"):
        documentation.run(bomb, output, limits=Limits(memory_bytes=16 * 1024 * 1024))
    assert not output.exists()


def test_a_reader_that_dies_is_a_crawl_that_cannot_be_read(
    crawl: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = ReaderPool("reader_that_does_not_exist")
    monkeypatch.setattr(files, "pool", children)
    with pytest.raises(ReaderCrashedError, match=r"crawl\.json"):
        documentation.run(crawl, output)
    assert not output.exists()


@pytest.mark.parametrize("name", ["crawl.txt", "crawl"])
def test_a_file_that_is_no_crawl_by_its_name_is_refused(
    name: str, tmp_path: Path, output: Path
) -> None:
    named = write_crawl(tmp_path / name)
    for check in (documentation.validate_input, lambda path: documentation.run(path, output)):
        with pytest.raises(UnsupportedFileError, match=r"end in \.json or \.jsonl"):
            check(named)


def test_a_page_the_parser_fails_on_is_a_failed_page(
    crawl: Path, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = pages.check_page

    def check(page: CheckedPage) -> list[PageFinding]:
        if page.text == LONG:
            raise ZeroDivisionError("made to fail")
        return whole(page)

    monkeypatch.setattr(pages, "check_page", check)
    report = documentation.run(crawl, output)
    [reason] = report.failed_pages
    assert f"{SITE}/long: it could not be split: ZeroDivisionError" in reason
    assert report.statistics.pages == 2


def test_a_crawl_without_a_good_page_leaves_the_output_as_it_was(
    tmp_path: Path, output: Path
) -> None:
    output.write_text("before", encoding="utf-8")
    crawl = write_crawl(tmp_path / "crawl.json", [page("a", ""), 7])
    with pytest.raises(NoPagesError, match=r"none of its 2 pages.*data\[0\]\.markdown: no text"):
        documentation.run(crawl, output)
    assert output.read_text(encoding="utf-8") == "before"


@pytest.mark.parametrize("name", ["crawl.json", ".", "nowhere/chunks.json"])
def test_an_output_that_cannot_be_is_refused_before_any_work(crawl: Path, name: str) -> None:
    before = crawl.read_bytes()
    with pytest.raises(ConfigurationError):
        documentation.run(crawl, crawl.parent / name)
    assert crawl.read_bytes() == before


def test_a_crawl_named_like_a_file_of_ours_is_not_overwritten(tmp_path: Path) -> None:
    crawl = write_crawl(tmp_path / "chunks.json.report.json")
    with pytest.raises(ConfigurationError, match="would be overwritten"):
        documentation.run(crawl, tmp_path / "chunks.json")
