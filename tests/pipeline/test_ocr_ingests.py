"""OCR decides whether PDF files are read again."""

import os
from threading import Lock

import pymupdf
import pytest
from folder_ingests import LONG_AGO, FolderIngests, states
from ocr_functions import black, green, words

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.models.executors import Pool
from rag_nodes.readers import Limits, OcrWord


def write_scan(corpus: FolderIngests) -> None:
    with pymupdf.open() as document:
        picture = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 40, 40), False)
        document.new_page().insert_image(pymupdf.Rect(50, 50, 300, 300), pixmap=picture)
        document.save(corpus.folder / "scan.pdf")
    os.utime(corpus.folder / "scan.pdf", LONG_AGO)


def test_another_ocr_reads_the_pdfs_again_once(corpus: FolderIngests) -> None:
    write_scan(corpus)
    report = corpus.ingest()
    (row,) = [row for row in report.files if row.status == "failed"]
    assert "--ocr" in str(row.error)
    for ocr in (green, black):
        assert "failed" not in states(corpus.ingest(limits=Limits(ocr=ocr)))
        assert corpus.opened == ["scan.pdf"]
        assert set(states(corpus.ingest(limits=Limits(ocr=ocr)))) == {"unchanged"}
        assert corpus.opened == []


def test_a_function_whose_changes_cannot_be_detected_reads_the_pdfs_each_time(
    corpus: FolderIngests,
) -> None:
    write_scan(corpus)
    lock = Lock()

    def guard_ocr(*_: object) -> list[OcrWord]:
        with lock:
            return words("Green")

    for _ in range(2):
        report = corpus.ingest(limits=Limits(ocr=guard_ocr))
    assert corpus.opened == ["scan.pdf"]
    (reason,) = report.unhashable
    assert "guard_ocr" in reason


def test_workers_read_by_functions_of_modules_and_refuse_others(corpus: FolderIngests) -> None:
    write_scan(corpus)
    with pytest.raises(ConfigurationError, match=r"<lambda> is not a function of .* define"):
        corpus.ingest(limits=Limits(ocr=lambda *_: words("Green")), executor=Pool(2))
    report = corpus.ingest(limits=Limits(ocr=green), executor=Pool(2))
    assert "failed" not in states(report)
