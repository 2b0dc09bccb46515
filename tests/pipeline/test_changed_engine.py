"""Another PDF engine reads the PDF files again, says so, and embeds what differs."""

import os
import shutil
from pathlib import Path

import pymupdf
import pytest
from counting_models import CountingEmbedding
from folder_ingests import LONG_AGO, FolderIngests, states

from rag_nodes.core import metadata as keys
from rag_nodes.readers import Limits, pdf_engines

FERRY = Path(__file__).parents[2] / "examples" / "corpus" / "ferry.pdf"
PYMUPDF, PDFIUM = Limits(pdf_engine="pymupdf"), Limits(pdf_engine="pdfium")


@pytest.fixture
def pdfs(corpus: FolderIngests) -> FolderIngests:
    """A PDF that both engines read alike beside the Markdown files."""
    shutil.copy(FERRY, corpus.folder / "ferry.pdf")
    os.utime(corpus.folder / "ferry.pdf", LONG_AGO)
    return corpus


def engines_of(corpus: FolderIngests) -> set[str]:
    [info] = corpus.store.collections()
    return {
        str(node.metadata[keys.PDF_ENGINE])
        for nodes in corpus.store.documents(info.name).values()
        for node in corpus.store.fetch(info.name, list(nodes)).values()
        if keys.PDF_ENGINE in node.metadata
    }


def test_another_engine_reads_the_pdfs_again_and_embeds_equal_text_not_again(
    pdfs: FolderIngests, embedding: CountingEmbedding
) -> None:
    first = pdfs.ingest(limits=PYMUPDF)
    assert first.other_engine == 0
    assert engines_of(pdfs) == {"pymupdf"}
    embedded = len(embedding.texts)

    second = pdfs.ingest(limits=PDFIUM)

    assert pdfs.opened == ["ferry.pdf"]
    assert second.other_engine == 1
    assert engines_of(pdfs) == {"pdfium"}
    assert len(embedding.texts) == embedded
    major = pdf_engines()["pdfium"].partition(".")[0]
    assert pdfs.ledger.pdf_engines() == {f"pdfium {major}": 1}
    assert states(pdfs.ingest(limits=PDFIUM)) == ["unchanged"] * 4
    assert pdfs.opened == []


def test_an_engine_that_could_not_read_a_file_did_not_read_it(pdfs: FolderIngests) -> None:
    (pdfs.folder / "ferry.pdf").write_bytes(b"%PDF-1.7 cut off")
    assert "failed" in states(pdfs.ingest(limits=PYMUPDF))
    assert pdfs.ledger.pdf_engines() == {}
    assert pdfs.ingest(limits=PDFIUM).other_engine == 0


def test_a_change_of_engine_embeds_changed_texts(
    pdfs: FolderIngests, embedding: CountingEmbedding
) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        # PyMuPDF shows a control character as U+FFFD, PDFium as a blank.
        page.insert_text((50, 80), "Green\ttea is kept in the larder.")
        page.insert_text((50, 200), "Black tea is not.")
        document.save(pdfs.folder / "control.pdf")
    os.utime(pdfs.folder / "control.pdf", LONG_AGO)
    pdfs.ingest(limits=PYMUPDF)
    embedded = len(embedding.texts)
    report = pdfs.ingest(limits=PDFIUM)
    assert report.other_engine == 2
    assert 0 < len(embedding.texts) - embedded <= 2
