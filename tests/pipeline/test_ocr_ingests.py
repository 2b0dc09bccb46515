"""OCR decides whether PDF files are read again."""

import os

import pymupdf
from folder_ingests import LONG_AGO, FolderIngests, states

from rag_nodes.readers import Limits, OcrWord


def words(text: str) -> list[OcrWord]:
    return [OcrWord(text, 10, 10, 200, 40)]


def green(*_: object) -> list[OcrWord]:
    return words("Green")


def black(*_: object) -> list[OcrWord]:
    return words("Black")


def test_another_ocr_reads_the_pdfs_again_once(corpus: FolderIngests) -> None:
    with pymupdf.open() as document:
        picture = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 40, 40), False)
        document.new_page().insert_image(pymupdf.Rect(50, 50, 300, 300), pixmap=picture)
        document.save(corpus.folder / "scan.pdf")
    os.utime(corpus.folder / "scan.pdf", LONG_AGO)

    report = corpus.ingest()
    (row,) = [row for row in report.files if row.status == "failed"]
    assert "--ocr" in str(row.error)
    for ocr in (green, black):
        assert "failed" not in states(corpus.ingest(limits=Limits(ocr=ocr)))
        assert corpus.opened == ["scan.pdf"]
        assert set(states(corpus.ingest(limits=Limits(ocr=ocr)))) == {"unchanged"}
        assert corpus.opened == []
