"""Which library reads a PDF: the first installed or the named one, and the error without any."""

import sys
from pathlib import Path

import pytest

from rag_nodes import locate, read, read_all
from rag_nodes.core import errors
from rag_nodes.core import metadata as keys
from rag_nodes.core.settings import Settings
from rag_nodes.readers import Limits, pdf_engines
from rag_nodes.readers.pdf.engines import engine_name

FERRY = Path(__file__).parents[2] / "examples" / "corpus" / "ferry.pdf"


def test_auto_is_pymupdf_and_without_it_pdfium(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_name("auto") == next(iter(pdf_engines())) == "pymupdf"
    monkeypatch.setitem(sys.modules, "pymupdf", None)
    assert engine_name("auto") == "pdfium"
    assert read(FERRY).metadata[keys.PDF_ENGINE] == "pdfium"  # in a child process too
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    assert pdf_engines() == {}
    with pytest.raises(errors.MissingPdfEngineError):
        engine_name("auto")


@pytest.mark.parametrize("engine", ["pymupdf", "pdfium"])
def test_a_named_engine_reads_locates_and_is_in_the_metadata(engine: keys.PdfEngineName) -> None:
    (row,) = read_all(FERRY, engine=engine)
    assert row.document is not None
    assert row.document.metadata[keys.PDF_ENGINE] == engine
    assert keys.PDF_ENGINE in row.document.excluded_embed_metadata_keys
    (box,) = locate(FERRY, 1, "About this manual", engine=engine)
    assert (box.page, round(box.left)) == (1, 61)


@pytest.mark.parametrize(
    ("engine", "library", "extra"),
    [("pymupdf", "pymupdf", "pdf"), ("pdfium", "pypdfium2", "pdfium")],
)
def test_a_named_engine_that_is_not_installed_names_its_extra(
    monkeypatch: pytest.MonkeyPatch, engine: keys.PdfEngineName, library: str, extra: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(errors.MissingExtraError, match=rf"rag-nodes\[{extra}\]"):
        read(FERRY, engine=engine)


def test_an_engine_that_nobody_knows_is_refused() -> None:
    with pytest.raises(errors.ConfigurationError, match="choose from: auto, pymupdf, pdfium"):
        Limits(pdf_engine="mupdf")  # type: ignore[arg-type]


def test_the_environment_names_the_engine_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAG_NODES_PDF_ENGINE", "pdfium")
    assert Limits(**Settings().reading()).pdf_engine == "pdfium"
