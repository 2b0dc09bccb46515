"""PDFs made in the test, each with one difficulty."""

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from llama_index.core.schema import Document

from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.readers import Limits
from rag_nodes.readers import read as read_any
from rag_nodes.readers.pdf import outline
from rag_nodes.readers.pdf.engines.pdfium.document import PDFiumPage
from rag_nodes.readers.pdf.engines.protocol import UnreadableError
from rag_nodes.text.spans import PageMap

pytestmark = pytest.mark.usefixtures("pdf_engine")

SENTENCES = (
    "The kettle stands on the iron stove and sings.",
    "A grey cat sleeps beside the coal scuttle all day.",
    "Nobody has opened the upper window since autumn.",
    "Seven jars of quince jelly wait in the cool larder.",
)
read = partial(read_any, isolate=False)
"""In this process, where tests can replace parts of the reader."""
Line = tuple[float, str, float, str]
"""y, text, size, font."""


def body(start: float = 100, count: int = 12, first: int = 0) -> list[Line]:
    """Lines of running text from `start` downwards."""
    texts = [f"{SENTENCES[(first + n) % 4]}" for n in range(count)]
    return [(start + 13 * n, text, 10.0, "helv") for n, text in enumerate(texts)]


def make(path: Path, pages: list[list[Line]], *, toc: Any = None, title: str = "") -> Path:
    document = pymupdf.open()
    for lines in pages:
        page = document.new_page(width=400, height=600)
        for y, text, size, font in lines:
            page.insert_text((50, y), text, fontsize=size, fontname=font)
    if toc:
        document.set_toc(toc)
    document.set_metadata({"title": title})
    document.save(path)
    return path


def pages_of(document: Document) -> list[str]:
    starts = [*document.metadata[keys.PAGE_STARTS], len(document.text)]
    return [document.text[start:end] for start, end in pairwise(starts)]


def headings_of(document: Document) -> list[str]:
    return [line for line in document.text.splitlines() if line.startswith("#")]


# --- pages --------------------------------------------------------------------------------------


def test_the_page_map_gives_every_page_exactly_its_text(tmp_path: Path) -> None:
    pages = [[(100.0, f"Page {word} is here.", 10.0, "helv")] for word in ("one", "two", "three")]
    document = read(make(tmp_path / "a.pdf", pages))
    assert [page.strip() for page in pages_of(document)] == [
        "Page one is here.",
        "Page two is here.",
        "Page three is here.",
    ]
    assert document.metadata[keys.TOTAL_PAGES] == 3


def test_an_empty_page_repeats_the_start_of_the_next(tmp_path: Path) -> None:
    first = [(100.0, "First words.", 10.0, "helv")]
    last = [(100.0, "Last words.", 10.0, "helv")]
    document = read(make(tmp_path / "a.pdf", [[], first, [], [], last, []]))
    starts = document.metadata[keys.PAGE_STARTS]
    assert starts == sorted(starts)
    assert [page.strip() for page in pages_of(document)] == [
        "",
        "First words.",
        "",
        "",
        "Last words.",
        "",
    ]
    page_map = PageMap(starts)
    assert page_map.page_of(document.text.index("First")) == 2
    assert page_map.page_of(document.text.index("Last")) == 5


def test_a_sentence_that_crosses_a_page_is_joined_and_the_map_stays_exact(tmp_path: Path) -> None:
    first = [*body(), (256.0, "The jelly is kept in the cool lar-", 10.0, "helv")]
    second = [(100.0, "der until winter comes.", 10.0, "helv"), *body(113)]
    document = read(make(tmp_path / "a.pdf", [first, second]))
    assert "in the cool larder until winter comes." in document.text
    assert pages_of(document)[0].endswith("the cool lar")
    assert pages_of(document)[1].startswith("der until")


def test_a_page_that_ends_a_sentence_ends_a_paragraph(tmp_path: Path) -> None:
    document = read(make(tmp_path / "a.pdf", [body(count=4), body(count=4)]))
    assert pages_of(document)[0].endswith("larder.\n\n")


# --- paragraphs ---------------------------------------------------------------------------------


def test_lines_are_joined_and_gaps_part_paragraphs(tmp_path: Path) -> None:
    texts = ["The kettle stands on the iron stove and sings, while", "the cat sleeps beside it."]
    lines = [(y, text, 10.0, "helv") for y, text in zip((100, 113), texts, strict=True)]
    again = [(y + 80, text, size, font) for y, text, size, font in lines]
    document = read(make(tmp_path / "a.pdf", [[*lines, *again]]))
    assert document.text == f"{' '.join(texts)}\n\n{' '.join(texts)}"


def test_short_lines_that_end_on_purpose_stay_apart(tmp_path: Path) -> None:
    texts = ["Alderwick Fen", "Glasshouse Lane 7", "This is where the letters of the house go to."]
    lines = [(100.0 + 13 * n, text, 10.0, "helv") for n, text in enumerate(texts)]
    assert read(make(tmp_path / "a.pdf", [lines])).text == "\n".join(texts)


def test_list_items_stand_on_lines_of_their_own(tmp_path: Path) -> None:
    texts = ["These are the steps:", "1. Open the tap.", "2. Close the", "tap.", "3. Go home."]
    lines = [(100.0 + 13 * n, text, 10.0, "helv") for n, text in enumerate(texts)]
    document = read(make(tmp_path / "a.pdf", [lines]))
    assert "\n1. Open the tap.\n2. Close the tap.\n3. Go home." in document.text


def test_a_number_at_the_start_of_a_line_is_no_list_item(tmp_path: Path) -> None:
    texts = ["The house was built by two brothers from the valley in", "1998. It burned twice."]
    lines = [(100.0 + 13 * n, text, 10.0, "helv") for n, text in enumerate(texts)]
    assert read(make(tmp_path / "a.pdf", [lines])).text == " ".join(texts)


@pytest.mark.parametrize(
    ("columns", "top"),
    [
        ([(50, 10), (320, 10)], ""),
        ([(50, 10), (320, 4)], ""),
        ([(50, 12), (320, 12), (590, 12)], ""),
        ([(50, 10), (320, 10)], "A title that goes over the width of both of the columns below it"),
        ([(50, 10), (300, 10), (560, 3)], ""),
        ([(50, 10), (300, 30)], ""),
    ],
)
def test_columns_are_read_one_after_the_other(
    tmp_path: Path, columns: list[tuple[int, int]], top: str
) -> None:
    document = pymupdf.open()
    page = document.new_page(width=870, height=600)
    page.insert_text((50, 60), top, fontsize=16)
    for x, lines in columns:
        for n in range(lines):
            text = f"Column {x} has a line with the number {n} in it"
            page.insert_text((x, 100 + 13 * n), text, fontsize=10)
    document.save(tmp_path / "a.pdf")
    text = read(tmp_path / "a.pdf").text
    places = [text.index(f"Column {x} has a line with the number {n} in it")
              for x, lines in sorted(columns) for n in range(lines)]  # fmt: skip
    assert places == sorted(places)
    assert text.find(top) in {0, 2}


def test_japanese_lines_are_joined_without_a_blank(tmp_path: Path) -> None:
    document = pymupdf.open()
    page = document.new_page(width=400, height=600)
    for n, text in enumerate(
        ["毎朝、温室の窓を開けて、植物に水を", "やります。その後、土を調べます。"]
    ):
        page.insert_text((50, 100 + 14 * n), text, fontsize=10, fontname="japan")
    document.save(tmp_path / "a.pdf")
    assert read(tmp_path / "a.pdf").text == (
        "毎朝、温室の窓を開けて、植物に水をやります。その後、土を調べます。"
    )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("# a remark in a script", "\\# a remark in a script"),
        ("```", "\\```"),
        ("-----", "\\-----"),
        ("<!-- never closed", "\\<!-- never closed"),
        ("#hashtag stays", "#hashtag stays"),
    ],
)
def test_text_that_looks_like_markup_is_escaped(tmp_path: Path, line: str, text: str) -> None:
    lines = [*body(100, 2), (160.0, line, 10.0, "helv"), *body(200, 2)]
    document = read(make(tmp_path / "a.pdf", [lines]))
    assert f"\n\n{text}\n\n" in document.text
    assert headings_of(document) == ([line] if line.startswith("#h") else [])


# --- boilerplate --------------------------------------------------------------------------------


def with_boilerplate(count: int, header: str = "Annual Report of the Mill") -> list[list[Line]]:
    return [
        [
            (40.0, header, 8.0, "helv"),
            *body(first=n),
            (570.0, f"Page {n + 1} of {count}", 8.0, "helv"),
        ]
        for n in range(count)
    ]


def test_lines_that_are_all_the_text_there_is_are_kept(tmp_path: Path) -> None:
    pages = [[(100.0, f"Ticket {number}", 10.0, "helv")] for number in range(1, 13)]
    document = read(make(tmp_path / "a.pdf", pages))
    assert ["Ticket" in page for page in pages_of(document)] == [True] * 12


def test_running_headers_footers_and_page_numbers_are_removed(tmp_path: Path) -> None:
    text = read(make(tmp_path / "a.pdf", with_boilerplate(5))).text
    assert "Annual Report" not in text
    assert "Page " not in text
    assert text.count(SENTENCES[0]) == 15


def test_bare_page_numbers_are_removed_also_in_roman_figures(tmp_path: Path) -> None:
    figures = ["i", "ii", "iii", "iv", "5", "6", "7"]
    pages = [[*body(first=n), (570.0, figure, 9.0, "helv")] for n, figure in enumerate(figures)]
    document = read(make(tmp_path / "a.pdf", pages))
    assert all(page.strip().endswith(".") for page in pages_of(document))


def test_headers_that_change_with_the_chapter_are_removed(tmp_path: Path) -> None:
    names = ["The Mill"] * 4 + ["The Lock"] + ["The Weir"] * 4
    pages = [[(40.0, name, 8.0, "helv"), *body(first=n)] for n, name in enumerate(names)]
    text = read(make(tmp_path / "a.pdf", pages)).text
    assert [name for name in set(names) if name in text] == []


def test_a_line_of_the_body_stays_however_often_it_repeats(tmp_path: Path) -> None:
    pages = [
        [(60.0, f"Visit number {n * n + 40} took place.", 10.0, "helv"), *body(75, 30)]
        for n in range(5)
    ]
    text = read(make(tmp_path / "a.pdf", pages)).text
    assert text.count(SENTENCES[0]) == 40
    assert text.count("took place.") == 5


def test_numbered_chapter_titles_at_the_same_height_are_no_header(tmp_path: Path) -> None:
    pages = [[(60.0, f"Chapter {n}", 18.0, "hebo"), *body(100)] for n in (3, 4, 6, 9)]
    document = read(make(tmp_path / "a.pdf", pages))
    assert [line.lstrip("# ") for line in headings_of(document)] == [
        "Chapter 3",
        "Chapter 4",
        "Chapter 6",
        "Chapter 9",
    ]


# --- headings -----------------------------------------------------------------------------------


def chapter_pages() -> list[list[Line]]:
    return [
        [
            (80.0, "1 The Mill", 16.0, "hebo"),
            *body(100, 6),
            (200.0, "1.1 The Wheel", 12.0, "hebo"),
            *body(220, 6),
        ],
        [(80.0, "2 The Lock", 16.0, "hebo"), *body(100, 6)],
    ]


def test_headings_come_from_font_sizes_where_there_is_no_outline(tmp_path: Path) -> None:
    document = read(make(tmp_path / "a.pdf", chapter_pages()))
    assert headings_of(document) == ["# 1 The Mill", "## 1.1 The Wheel", "# 2 The Lock"]
    assert "\n\n## 1.1 The Wheel\n\n" in document.text


def test_headings_come_from_the_outline_with_its_depth(tmp_path: Path) -> None:
    toc = [[1, "The Mill", 1], [2, "The Wheel", 1], [1, "2. The lock", 2]]
    document = read(make(tmp_path / "a.pdf", chapter_pages(), toc=toc))
    assert headings_of(document) == ["# 1 The Mill", "## 1.1 The Wheel", "# 2 The Lock"]


def test_outline_headings_need_no_special_font(tmp_path: Path) -> None:
    pages = [[(80.0, "The Mill", 10.0, "helv"), *body(120)], [(80.0, "The Lock", 10.0, "helv")]]
    document = read(make(tmp_path / "a.pdf", pages, toc=[[1, "The Mill", 1], [2, "The Lock", 2]]))
    assert headings_of(document) == ["# The Mill", "## The Lock"]


def test_an_outline_that_is_not_on_the_pages_is_not_believed(tmp_path: Path) -> None:
    toc = [[1, "Bookmark A", 1], [1, "Bookmark B", 1], [1, "The Mill", 1]]
    document = read(make(tmp_path / "a.pdf", chapter_pages(), toc=toc))
    assert len(headings_of(document)) == 3


def test_a_flat_outline_takes_its_depth_from_the_numbers(tmp_path: Path) -> None:
    pages = [
        [(80.0, "4.1 Mill", 10.0, "hebo"), *body(100, 4), (180.0, "4.1.1 Wheel", 10.0, "hebo")]
    ]
    toc = [[1, "4.1 Mill", 1], [1, "4.1.1 Wheel", 1]]
    document = read(make(tmp_path / "a.pdf", pages, toc=toc))
    assert headings_of(document) == ["# 4.1 Mill", "## 4.1.1 Wheel"]


def test_a_heading_over_two_lines_is_one_heading(tmp_path: Path) -> None:
    lines = [
        (80.0, "The Mill, the Lock", 16.0, "hebo"),
        (99.0, "and the Weir", 16.0, "hebo"),
        *body(130),
    ]
    document = read(make(tmp_path / "a.pdf", [lines]))
    assert headings_of(document) == ["# The Mill, the Lock and the Weir"]


def test_a_poster_of_large_lines_is_not_all_headings(tmp_path: Path) -> None:
    poster = [(60.0 + 40 * n, f"Item for sale {'x' * n}", 14.0, "helv") for n in range(12)]
    pages = [poster, *([body(count=30)] * 3)]
    assert headings_of(read(make(tmp_path / "a.pdf", pages))) == []


def test_a_title_that_following_pages_repeat_stays_where_the_bookmark_leads(
    tmp_path: Path,
) -> None:
    pages = [[(60.0, "The Mill", 10.0, "hebo"), *body(100)] for _ in range(4)]
    document = read(make(tmp_path / "a.pdf", pages, toc=[[1, "The Mill", 1]]))
    assert headings_of(document) == ["# The Mill"]
    assert document.text.count("The Mill") == 1


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("A History of the Mill", "A History of the Mill"),
        ("mill_final_3.docx", "1 The Mill"),
        ("Microsoft Word - mill", "1 The Mill"),
        ("", "1 The Mill"),
    ],
)
def test_the_title_is_the_files_own_if_it_reads_like_one(
    tmp_path: Path, stated: str, title: str
) -> None:
    document = read(make(tmp_path / "a.pdf", chapter_pages(), title=stated))
    assert document.metadata[keys.TITLE] == title


# --- bad files ----------------------------------------------------------------------------------


def test_a_scanned_page_among_others_is_a_warning(tmp_path: Path) -> None:
    make(tmp_path / "text.pdf", [body(), body()])
    document = pymupdf.open(tmp_path / "text.pdf")
    pixels = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 40, 40))
    pixels.clear_with(90)
    document.new_page().insert_image(pymupdf.Rect(50, 50, 300, 300), pixmap=pixels)
    document.save(tmp_path / "a.pdf")
    warnings = read(tmp_path / "a.pdf").metadata[keys.READ_WARNINGS]
    assert warnings == [
        "no text layer, only images, on page 3; read them with --ocr (Python: ocr=)"
    ]


def test_a_truncated_file_is_repaired_and_says_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    whole = make(tmp_path / "whole.pdf", [body()]).read_bytes()
    path = tmp_path / "a.pdf"
    path.write_bytes(whole[: whole.rindex(b"xref")])
    document = read(path)
    assert SENTENCES[0] in document.text
    assert any("repaired" in warning for warning in document.metadata[keys.READ_WARNINGS])
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "")


def test_a_page_that_fails_is_a_warning_and_the_others_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "a.pdf", [[(100.0, f"Text {n}.", 10.0, "helv")] for n in range(3)])
    fail_on(monkeypatch, {1})
    document = read(path)
    assert [page.strip() for page in pages_of(document)] == ["Text 0.", "", "Text 2."]
    assert document.metadata[keys.READ_WARNINGS][0] == "page 2 could not be read: broken stream"


def test_a_file_of_which_all_pages_fail_is_corrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = make(tmp_path / "a.pdf", [body(), body()])
    fail_on(monkeypatch, {0, 1})
    with pytest.raises(errors.CorruptFileError, match="broken stream"):
        read(path)


def fail_on(monkeypatch: pytest.MonkeyPatch, numbers: set[int]) -> None:
    """Have both engines fail on pages, each by what it relies on."""
    get_textpage, load = pymupdf.Page.get_textpage, PDFiumPage._load

    def failing(page: Any, *args: Any, **kwargs: Any) -> Any:
        if page.number in numbers:
            raise pymupdf.mupdf.FzErrorFormat("broken stream")
        return get_textpage(page, *args, **kwargs)

    def load_or_fail(page: PDFiumPage) -> int:
        if page._index in numbers:
            raise UnreadableError("broken stream")
        return load(page)

    monkeypatch.setattr(pymupdf.Page, "get_textpage", failing)
    monkeypatch.setattr(PDFiumPage, "_load", load_or_fail)


def test_limits_on_pages_and_characters_hold_while_reading(tmp_path: Path) -> None:
    path = make(tmp_path / "a.pdf", [body()] * 4)
    with pytest.raises(errors.FileTooLargeError, match="4 pages"):
        read(path, limits=Limits(pages=3))
    with pytest.raises(errors.FileTooLargeError, match="characters"):
        read(path, limits=Limits(characters=300))


def test_a_bookmark_finds_the_bold_title_that_goes_on_after_it(tmp_path: Path) -> None:
    lines = [
        *body(100, 3),
        (150.0, "Tables are in the appendix (Appendix A).", 10.0, "helv"),
        (200.0, "Appendix A. Tables of the Mill", 10.0, "hebo"),
        *body(230, 3),
    ]
    document = read(make(tmp_path / "a.pdf", [lines], toc=[[1, "Appendix A", 1]]))
    assert headings_of(document) == ["# Appendix A. Tables of the Mill"]


def test_a_long_outline_indexes_each_page_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed: list[object] = []
    index_runs = outline._runs

    def count_runs(lines: Any) -> Any:
        indexed.append(lines)
        return index_runs(lines)

    monkeypatch.setattr(outline, "_runs", count_runs)
    toc = [[1, f"Nowhere {number}", 1] for number in range(50)]
    read(make(tmp_path / "a.pdf", [body(), body()], toc=toc))
    assert len(indexed) == 2
