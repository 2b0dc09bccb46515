"""`--ocr` as typed: scanned pages are read, located, and named in messages."""

import sys
from pathlib import Path

import pymupdf
import pytest
from tests.cli.conftest import Command

from rag_nodes.operations import ExitCode

TABLE = r"""
print("level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext")
print("5\t1\t1\t1\t1\t1\t100\t100\t200\t40\t91\tGreen")
print("5\t1\t1\t1\t1\t2\t320\t100\t100\t40\t91\ttea")
"""


@pytest.fixture
def ocr(tmp_path: Path) -> str:
    """A command that finds two words in every picture."""
    (tmp_path / "reads.py").write_text(TABLE, encoding="utf-8")
    return f"'{sys.executable}' '{tmp_path / 'reads.py'}' {{png}}"


@pytest.fixture
def scanned(tmp_path: Path) -> Path:
    with pymupdf.open() as document:
        picture = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, 40, 40), False)
        document.new_page().insert_image(pymupdf.Rect(50, 50, 300, 300), pixmap=picture)
        document.save(tmp_path / "scan.pdf")
    return tmp_path / "scan.pdf"


def test_a_scan_is_read_ingested_and_located_with_ocr(
    command: Command, scanned: Path, ocr: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ("--store", tmp_path / "store")
    refused = command("ingest", scanned, "-p", "fixed", *store)
    assert "--ocr" in refused.stdout + refused.stderr
    assert "Green tea" in command("read", scanned, "--markdown", "--ocr", ocr).stdout
    ended = command("ingest", scanned, "-p", "fixed", *store, "--ocr", ocr)
    assert "page 1 was read by OCR; check figures in it" in " ".join(ended.stdout.split())
    asked = ("locate", scanned, "--page", "1", "--text", "Green tea", "--json")
    assert command(*asked).code == ExitCode.FAILURE
    monkeypatch.setenv("RAG_NODES_OCR", ocr)
    (box,) = command(*asked).json["boxes"]
    assert (box["left"], box["top"]) == (pytest.approx(36, abs=0.1), pytest.approx(36, abs=0.1))


def test_a_command_without_the_picture_is_a_usage_error(command: Command, scanned: Path) -> None:
    refused = command("read", scanned, "--ocr", "tesseract stdin")
    assert refused.code == ExitCode.USAGE
    assert "{png}" in refused.stderr
