"""A PDF with hardly any text says so to whoever reads it (S0-43)."""

from pathlib import Path

import pymupdf
import pytest

from rag_nodes.apps.panes.top import report_html
from rag_nodes.cli.program import run
from rag_nodes.core import metadata as keys
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.readers import read

pytestmark = pytest.mark.usefixtures("pdf_engine")

THIRTY_EIGHT = "Invoice 2041, see the attached scan. x"
ENOUGH = "Invoice 2041, see the attached scan of the contract."
WARNING = "only 38 characters of text on one page; scanned pages need OCR: --ocr (Python: ocr=)"


def pdf(path: Path, text: str) -> Path:
    document = pymupdf.open()
    document.new_page().insert_text((72, 72), text)
    document.save(path)
    return path


@pytest.fixture
def slip(tmp_path: Path) -> Path:
    return pdf(tmp_path / "slip.pdf", THIRTY_EIGHT)


def test_a_pdf_of_38_characters_is_read_with_a_warning_and_one_of_50_without(
    slip: Path, tmp_path: Path
) -> None:
    assert len(THIRTY_EIGHT) == 38
    assert read(slip).metadata[keys.READ_WARNINGS] == [WARNING]
    assert keys.READ_WARNINGS not in read(pdf(tmp_path / "letter.pdf", ENOUGH)).metadata


@pytest.mark.usefixtures("no_configuration")
def test_report_page_and_command_line_show_the_warning(
    slip: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    models = choose_models(Settings())
    parsers = {"fixed": get_parser("fixed")}
    with Comparison(parsers, documents=read(slip), models=models) as opened:
        report = opened.loaded
    assert [(file.status, file.error) for file in report.files] == [("partial", WARNING)]
    assert WARNING in report_html(report)
    run(["ingest", str(slip), "--store", ":memory:", "--parser", "fixed", "--quiet"])
    assert WARNING in " ".join(capsys.readouterr().out.split())
