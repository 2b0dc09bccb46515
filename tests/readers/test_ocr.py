"""Scanned pages: words of a function or a program become text, pages and boxes."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from llama_index.core.schema import TextNode
from ray_places import wait_for_all

from rag_nodes import locate, read
from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.readers import Limits, OcrWord, node_boxes, ocr

pytestmark = pytest.mark.usefixtures("pdf_engine")

LINES = ["Green tea takes eighty degrees.", "Black tea takes ninety."]
HEADER = "level page_num block_num par_num line_num word_num left top width height conf text"
TESSERACT = "tesseract {png} stdout -l eng --dpi {dpi} --psm 1 tsv"
REMEDY = "tesseract {png} stdout"


def scan(path: Path, *, rotation: int = 0) -> Path:
    """A printed page, the same page as a picture, and a blank page."""
    with pymupdf.open() as document:
        page = document.new_page(width=400, height=300)
        for number, line in enumerate(LINES):
            page.insert_text((50, 60 + 20 * number), line, fontsize=14)
        picture = page.get_pixmap(dpi=200)
        drawn = document.new_page(width=400, height=300)
        drawn.insert_image(drawn.rect, pixmap=picture)
        drawn.set_rotation(rotation)
        document.new_page(width=400, height=300)
        document.save(path)
    return path


def words_at(scale: float = 200 / 72) -> list[OcrWord]:
    """The words where `scan` prints them, with widths that are about right."""
    words = []
    for number, line in enumerate(LINES):
        left = 50.0
        for word in line.split():
            edges = (left, 48.0 + 20 * number, left + 7 * len(word), 64.0 + 20 * number)
            words.append(OcrWord(word, *(scale * edge for edge in edges), 95.0, 7))
            left += 7 * (len(word) + 1)
    return words


def fake(png: bytes, width: int, height: int, dpi: int) -> list[OcrWord]:
    assert (png[:4], dpi) == (b"\x89PNG", 200)
    assert sorted([width, height]) == pytest.approx([833, 1111], abs=1)
    return words_at()


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], str]:
    """The command of a Python program; `code` sees the picture as `png` and prints by `row`."""

    def command(code: str) -> str:
        script = tmp_path / "reads.py"
        script.write_text(
            "import sys, time\npng, dpi = sys.argv[1:3]\n"
            f"HEADER = {HEADER!r}.replace(' ', chr(9))\n"
            "def row(*cells): print(*cells, sep=chr(9))\n" + code,
            encoding="utf-8",
        )
        return f"'{sys.executable}' '{script}' {{png}} {{dpi}}"

    return command


def table() -> str:
    rows = [
        f"row(5, 1, 1, 1, 1, 1, {left}, {top}, {right - left}, {bottom - top}, 95, {text!r})"
        for text, left, top, right, bottom, *_ in words_at()
    ]
    return "\n".join(["print(HEADER)", "row(1, 1, 0, 0, 0, 0, 0, 0, 9, 9, -1, '')", *rows])


def test_a_function_reads_the_pages_without_text(tmp_path: Path) -> None:
    calls: list[int] = []

    def count_page(png: bytes, width: int, height: int, dpi: int) -> list[OcrWord]:
        calls.append(width)
        return fake(png, width, height, dpi)

    path = scan(tmp_path / "tea.pdf")
    silent = "no text layer, only images, on page 2; "
    assert read(path).metadata[keys.READ_WARNINGS] == [
        silent + "read them with --ocr (Python: ocr=)"
    ]
    warnings = read(path, ocr=lambda *_: []).metadata[keys.READ_WARNINGS]
    assert warnings == [silent + "OCR found no text there"]
    document = read(path, ocr=count_page)
    assert len(calls) == 1
    start = document.metadata[keys.PAGE_STARTS][1]
    assert document.text[start:].split() == " ".join(LINES).split()
    assert document.metadata[keys.OCR_PAGES] == [2]
    warning = "page 2 was read by OCR; check figures in it"
    assert document.metadata[keys.READ_WARNINGS] == [warning]
    assert keys.OCR_PAGES in document.excluded_embed_metadata_keys


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_a_quote_of_a_scanned_page_has_boxes(tmp_path: Path, rotation: int) -> None:
    path = scan(tmp_path / "tea.pdf", rotation=rotation)
    (box,) = locate(path, 2, "eighty degrees.", ocr=fake)
    assert (box.page, box.left, box.right) == (2, pytest.approx(162, 1), pytest.approx(267, 1))
    assert (box.top, box.bottom) == (pytest.approx(48, abs=1), pytest.approx(64, abs=1))
    two = locate(path, 2, " ".join(LINES), ocr=fake)
    assert [round(box.top) for box in two] == [48, 68]


def test_a_scanned_page_is_told_from_a_page_that_does_not_show_a_quote(tmp_path: Path) -> None:
    path = scan(tmp_path / "tea.pdf")
    with pytest.raises(errors.NoTextLayerError, match=r"page 2 has no text layer, .*--ocr"):
        locate(path, 2, "eighty degrees.")
    assert locate(path, 3, "eighty degrees.") == []  # a blank page
    # The page with a label is looked for among scanned pages too.
    node = TextNode(text=LINES[0], metadata={"file_path": str(path), "page_label": "2"})
    assert [box.page for box in node_boxes(node, 0, len(LINES[0]))] == [1]


@pytest.mark.parametrize("second", [95.0, 10.0])
def test_a_page_that_is_read_badly_is_read_upside_down(tmp_path: Path, second: float) -> None:
    pictures: list[bytes] = []

    def doubtful(png: bytes, *_: int) -> list[OcrWord]:
        pictures.append(png)
        confidence = second if len(pictures) > 1 else 20
        return [word._replace(confidence=confidence) for word in words_at()]

    (box,) = locate(scan(tmp_path / "tea.pdf"), 2, "eighty degrees.", ocr=doubtful)
    assert len(set(pictures)) == 2
    edges = (133, 238, 236, 252) if second > 20 else (162, 267, 48, 64)
    assert (box.left, box.right, box.top, box.bottom) == pytest.approx(edges, abs=1)


def test_a_program_reads_in_the_child_process(
    tmp_path: Path, program: Callable[[str], str]
) -> None:
    command = program(table())
    path = scan(tmp_path / "tea.pdf")
    document = read(path, ocr=command)
    assert document.metadata[keys.OCR_PAGES] == [2]
    assert document.text == read(path, ocr=fake).text
    (box,), (same,) = (locate(path, 2, LINES[1], ocr=by) for by in (command, fake))
    assert box == pytest.approx(same, abs=0.5)


def test_sizes_of_scans_make_no_headings_and_no_title(tmp_path: Path) -> None:
    def huge(*_: object) -> list[OcrWord]:
        return [OcrWord("1.", 10, 10, 60, 200), OcrWord("Tea", 100, 10, 600, 200)]

    path = tmp_path / "tea.pdf"
    with pymupdf.open(scan(tmp_path / "whole.pdf")) as document:
        document.move_page(1, 0)
        document.save(path)
    document = read(path, ocr=huge)
    assert document.text.startswith("1. Tea")
    assert keys.TITLE not in document.metadata
    assert "#" not in document.text


HOSTILE = """
print(HEADER)
row(5, 1, 1, 1, 1, 1, 'nan', 10, 50, 30, 90, 'nan')
row(5, 1, 1, 1, 1, 1, 1e308, 10, 1e308, 30, 90, 'far')
row(5, 1, 1, 1, 1, 1, 10, 10, -50, 30, 90, 'turned')
row(5, 1, 1, 1, 1, 1, 'x', 10, 50, 30, 90, 'letters')
row(5, 1, 1, 1)
row(5, 1, 'one', 1, 1, 1, 10, 10, 50, 30, 90, 'block')
row(5, 1, 1, 1, 1, 1, 10, 10, 50, 30, 90, ' ')
row(5, 1, 1, 1, 1, 1, -50, -50, 250, 90, 90, 'kept')
row(5, 1, 1, 1, 1, 2, 210, 10, 100, 30, 12, '<b>\\x00' + 'x' * 999, 'more')
sys.stdout.buffer.write(b'\\xff\\xfe')
"""


def test_rows_that_fit_no_page_are_left_out(tmp_path: Path, program: Callable[[str], str]) -> None:
    document = read(scan(tmp_path / "tea.pdf"), ocr=program(HOSTILE))
    page = document.text[document.metadata[keys.PAGE_STARTS][1] :].strip()
    assert page == "kept <b>\ufffd" + "x" * 999 + " more"
    (box,) = locate(tmp_path / "tea.pdf", 2, "kept", ocr=program(HOSTILE))
    assert (box.left, box.top) == (0, 0)
    assert "unsure of page 2" in document.metadata[keys.READ_WARNINGS][-2]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('Green tea')", "no table with the columns of tesseract's TSV"),
        ("sys.exit('no such language')", "exit code 1: no such language"),
        ("sys.exit(3)", "exit code 3: it wrote no error"),
        ("import os; os.kill(os.getpid(), 9)", "exit code -9"),
        ("sys.stdout.buffer.write(bytes(range(256)))", "no table"),
        ("time.sleep(60)", "takes longer than 0.5 s for a page"),
        ("while True: print('x' * 999)", "writes more than 16 MiB"),
        ("print(HEADER)\nfor _ in range(20_001): row(*11 * [5], 'x')", "20,001 words on a page"),
    ],
)
def test_a_program_that_fails_is_a_typed_error_or_a_warning(
    tmp_path: Path,
    program: Callable[[str], str],
    monkeypatch: pytest.MonkeyPatch,
    code: str,
    reason: str,
) -> None:
    monkeypatch.setattr(ocr, "PAGE_SECONDS", 0.5 if "sleep" in code else 60.0)
    path, command = scan(tmp_path / "tea.pdf"), program(code)
    warnings = read(path, ocr=command, isolate=False).metadata[keys.READ_WARNINGS]
    assert warnings[0].startswith("page 2 could not be read: ")
    assert reason in warnings[0]
    with pymupdf.open(path) as document:
        document.delete_page(0)
        document.save(tmp_path / "scan.pdf")
    with pytest.raises(errors.OcrError) as caught:
        read(tmp_path / "scan.pdf", ocr=command, isolate=False)
    assert reason in str(caught.value)


def test_a_program_that_is_not_installed_ends_the_file(tmp_path: Path) -> None:
    path = scan(tmp_path / "tea.pdf")
    with pytest.raises(errors.OcrProgramMissingError, match=r"no program 'teasseract' for OCR.*;"):
        read(path, ocr="teasseract {png} stdout tsv")


def test_a_function_that_fails_or_finds_nothing_is_said(tmp_path: Path) -> None:
    with pymupdf.open(scan(tmp_path / "tea.pdf")) as document:
        document.delete_page(0)
        document.save(tmp_path / "scan.pdf")
    with pytest.raises(errors.OcrError, match="ZeroDivisionError"):
        read(tmp_path / "scan.pdf", ocr=lambda *_: [1 / 0])  # type: ignore[list-item]
    with pytest.raises(errors.OcrError, match="found no text"):
        read(tmp_path / "scan.pdf", ocr=lambda *_: [])
    with pytest.raises(errors.NoTextLayerError, match=r"--ocr .*RAG_NODES_OCR"):
        read(tmp_path / "scan.pdf")


@pytest.mark.parametrize(
    "command",
    [
        *("tesseract", "tesseract {dpi}", "t {png} {0}", "t {png} {png.name}", "t '{png}", ""),
        *("{png}", "'' {png}", "t {png:9}", "t {png!r}", "awk {print} {png}", 5, ["t", "{png}"]),
    ],
)
def test_a_command_with_other_placeholders_is_refused(command: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=REMEDY):
        Limits(ocr=command)


def test_a_name_of_a_file_is_no_shell_code(
    tmp_path: Path, program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "a; touch owned; $(touch owned)"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", os.fspath(folder))
    document = read(scan(folder / "tea.pdf"), ocr=program(table()), isolate=False)
    assert document.metadata[keys.OCR_PAGES] == [2]
    assert list(folder.iterdir()) == [folder / "tea.pdf"]


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_tesseract_reads_a_page_that_was_scanned_upside_down(tmp_path: Path) -> None:
    path = scan(tmp_path / "tea.pdf", rotation=180)
    document = read(path, ocr=TESSERACT)
    assert "unsure" not in str(document.metadata[keys.READ_WARNINGS])
    first, second = document.metadata[keys.PAGE_STARTS][:2]
    assert document.text[second:].split() == document.text[first:second].split()
    (print_,), (box,) = locate(path, 1, LINES[0]), locate(path, 2, LINES[0], ocr=TESSERACT)
    turned = (400 - print_.right, 300 - print_.bottom, 400 - print_.left, 300 - print_.top)
    assert box[1:5] == pytest.approx(turned, abs=6)


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_tesseract_reads_a_page_and_its_boxes_are_those_of_the_print(tmp_path: Path) -> None:
    path = scan(tmp_path / "tea.pdf")
    document = read(path, ocr=TESSERACT)
    assert document.metadata[keys.OCR_PAGES] == [2]
    first, second = document.metadata[keys.PAGE_STARTS][:2]
    assert document.text[second:].split() == document.text[first:second].split()
    (printed,), (scanned,) = locate(path, 1, LINES[0]), locate(path, 2, LINES[0], ocr=TESSERACT)
    assert scanned[1:5] == pytest.approx(printed[1:5], abs=6)


class Unhashable(dict[str, int]):
    """A function of OCR that cannot be the key of a dict."""

    def __call__(self, *picture: Any) -> list[OcrWord]:
        return fake(*picture)


WRONG: list[Any] = [
    None,
    5,
    "Green tea",
    ["Green"],
    [{"text": "a", "left": 1, "top": 1, "right": 2, "bottom": 3}],
    [(None, 10, 10, 100, 40)],
    [("Green", 10, 10, 100, 40, None)],
    [("Green", 10, 10, 100, 40, 95, [1])],
    [("Green", 10, 10, 100, 40, 95, float("inf"))],
]


@pytest.mark.parametrize("returned", WRONG, ids=str)
def test_a_function_that_returns_no_words_is_told_what_to_return(
    tmp_path: Path, returned: Any
) -> None:
    (warning,) = read(scan(tmp_path / "tea.pdf"), ocr=lambda *_: returned).metadata[
        keys.READ_WARNINGS
    ]
    assert "page 2 could not be read: the OCR function returned something other than" in warning


def test_tuples_lines_and_generators_are_words(tmp_path: Path) -> None:
    line = "Green tea takes eighty degrees " * 20
    document = read(scan(tmp_path / "tea.pdf"), ocr=lambda *_: iter([(line, 10, 10, 999, "40")]))  # type: ignore[arg-type,return-value]
    assert line.strip() in document.text


def test_only_pdf_files_are_read_in_this_process_for_a_function(tmp_path: Path) -> None:
    page = tmp_path / "tea.html"
    page.write_text("<p>Green tea takes eighty degrees.</p>", encoding="utf-8")
    assert read(page, ocr=fake).text.strip() == LINES[0]
    assert len(locate(scan(tmp_path / "tea.pdf"), 2, LINES[0], ocr=Unhashable())) == 1


def test_messages_and_programs_have_no_keys(
    tmp_path: Path, program: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAG_NODES_API_KEY", "rag-nodes-key")
    monkeypatch.setenv("OTHER_API_KEY", "key-of-the-program")
    keys_of = "[value for name, value in os.environ.items() if '_API_KEY' in name]"
    command = program(f"import os; sys.exit(chr(27) + repr({keys_of}))")
    path = scan(tmp_path / "tea.pdf")
    with pymupdf.open(path) as document:
        document.delete_page(0)
        document.save(tmp_path / "scan.pdf")
    with pytest.raises(errors.OcrError) as caught:
        read(tmp_path / "scan.pdf", ocr=f"{command} --key key-of-the-program", isolate=False)
    assert "exit code 1: ['****']; try it" in str(caught.value)
    assert str(caught.value).endswith("--key ****")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux lists children")
def test_children_of_an_ocr_script_are_killed_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "PAGE_SECONDS", 2)
    script = tmp_path / "a script.sh"
    script.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > '{tmp_path}/child'\nwait\n", "utf-8")
    script.chmod(0o755)
    read(scan(tmp_path / "tea.pdf"), ocr=f"'{script}' {{png}}", isolate=False)
    child = int((tmp_path / "child").read_text())
    wait_for_all({child: "what the script has started"})
