"""Both engines read the shipped PDFs alike, and damaged files as the documentation says."""

import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_nodes import locate
from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.readers import Limits
from rag_nodes.readers.pdf import read_pdf
from rag_nodes.readers.pdf.engines import opened
from rag_nodes.readers.pdf.extract import extract
from rag_nodes.text.sentences import sentence_bounds

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
NAMES = ("ferry.pdf", "handbook.pdf")
PYMUPDF, PDFIUM = Limits(pdf_engine="pymupdf"), Limits(pdf_engine="pdfium")
WORDS_APART = 0.002


@pytest.mark.parametrize("name", NAMES)
def test_text_headings_tables_title_and_outline_are_the_same(name: str) -> None:
    left, other = (read_pdf(CORPUS / name, limits) for limits in (PYMUPDF, PDFIUM))
    words = [Counter(reading.text.split()) for reading in (left, other)]
    apart = (words[0] - words[1]).total() + (words[1] - words[0]).total()
    assert apart <= WORDS_APART * words[0].total()
    for pattern in (r"^#.*", r"^\|.*"):
        marked_lines = [
            re.findall(pattern, reading.text, re.MULTILINE) for reading in (left, other)
        ]
        assert marked_lines[0] == marked_lines[1]
    assert left.title == other.title
    assert len(left.page_starts or ()) == len(other.page_starts or ())
    first, second = (extract(CORPUS / name, limits) for limits in (PYMUPDF, PDFIUM))
    assert first.outline == second.outline


@pytest.mark.parametrize("name", NAMES)
def test_boxes_of_sentences_are_the_same(name: str) -> None:
    reading = read_pdf(CORPUS / name, PYMUPDF)
    starts = [*(reading.page_starts or ()), len(reading.text)]
    chance = random.Random(1)  # noqa: S311 - a sample
    compared = 0
    for number in chance.sample(range(1, len(starts)), 4):
        page = reading.text[starts[number - 1] : starts[number]]
        spans = list(zip(*sentence_bounds(page, 0, len(page)), strict=True))
        for start, end in chance.sample(spans, min(4, len(spans))):
            quote = page[start:end]
            boxes = [
                locate(CORPUS / name, number, quote, within=page, engine=engine)
                for engine in ("pymupdf", "pdfium")
            ]
            assert len(boxes[0]) == len(boxes[1]), quote
            for box, other in zip(*boxes, strict=True):
                assert (box.left, box.right) == pytest.approx((other.left, other.right), abs=1)
                # The two libraries have other heights of Helvetica, which is not in the files.
                assert (box.top, box.bottom) == pytest.approx((other.top, other.bottom), abs=2)
                compared += 1
    assert compared > 10


def test_every_character_of_a_page_is_in_one_line_of_it() -> None:
    """No character is lost or doubled where runs become lines."""
    for name in NAMES:
        with opened(CORPUS / name, PDFIUM) as document:
            for index in range(document.page_count):
                with document.page(index) as page:
                    lines, glyphs, words = page.lines(), list(page.glyph_lines()), page.words()
                assert len(lines) == len(glyphs)
                for number, (line, shown) in enumerate(zip(lines, glyphs, strict=True)):
                    text = "".join(run.text for run in line.runs)
                    assert text == "".join(glyph.text for glyph in shown)
                    in_lines = [word[4] for word in words if word[6] == number]
                    assert "".join(in_lines) == "".join(text.split())


def cut(share: float) -> Callable[[bytes], bytes]:
    return lambda whole: whole[: int(share * len(whole))]


def overwrite_middle(whole: bytes) -> bytes:
    middle = len(whole) // 2
    return whole[:middle] + bytes(200) + whole[middle + 200 :]


DAMAGE: dict[str, tuple[Callable[[bytes], bytes], set[str]]] = {
    "cut at 50 %": (cut(0.5), {"pymupdf"}),
    "cut at 90 %": (cut(0.9), {"pymupdf"}),
    "cut at 99 %": (cut(0.99), {"pymupdf"}),
    "junk before the header": (lambda whole: b"junk\n" * 20 + whole, {"pymupdf", "pdfium"}),
    "wrong startxref": (
        lambda whole: re.sub(rb"startxref\s+\d+", b"startxref\n7", whole),
        {"pymupdf", "pdfium"},
    ),
    "a hole of zeros": (overwrite_middle, {"pymupdf", "pdfium"}),
}
"""Damage, and the engines that read what is left of ferry.pdf."""


@pytest.mark.parametrize("engine", ["pymupdf", "pdfium"])
@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_files_are_read_or_refused_as_expected(
    tmp_path: Path, name: str, engine: keys.PdfEngineName
) -> None:
    damage, readers = DAMAGE[name]
    path = tmp_path / "damaged.pdf"
    path.write_bytes(damage((CORPUS / "ferry.pdf").read_bytes()))
    if engine in readers:
        assert "crews" in read_pdf(path, Limits(pdf_engine=engine)).text
    else:
        with pytest.raises(errors.CorruptFileError) as refused:
            read_pdf(path, Limits(pdf_engine=engine))
        assert "--pdf-engine pymupdf" in refused.value.remedy
