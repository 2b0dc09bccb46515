"""Chunks of a stock index over another program's text of a PDF are located in ours."""

from pathlib import Path

import pymupdf
import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter

from rag_nodes.columns import Placing, is_placed
from rag_nodes.readers import read
from rag_nodes.text.spans import PageMap

ROOT = Path(__file__).parents[2]
FERRY = ROOT / "examples" / "corpus" / "ferry.pdf"


def pages_of_pymupdf() -> list[str]:
    with pymupdf.open(FERRY) as pdf:
        return [page.get_text() for page in pdf]


def pages_of_pypdf() -> list[str]:
    """Return the pages as `PdfReader.extract_text` of pypdf 7.1.1 gives them."""
    return (ROOT / "tests" / "data" / "ferry_pypdf.txt").read_text("utf-8").split("\f")


@pytest.mark.parametrize("pages", [pages_of_pymupdf(), pages_of_pypdf()], ids=["PyMuPDF", "pypdf"])
@pytest.mark.parametrize("size", [128, 1024])
def test_chunks_of_another_extraction_are_located_on_their_own_page(
    pages: list[str], size: int
) -> None:
    ours = read(FERRY)
    known = PageMap.of(ours.metadata)
    assert known is not None
    placing, splitter = Placing([ours]), SentenceSplitter(chunk_size=size, chunk_overlap=size // 8)
    located = chunks = 0
    for number, text in enumerate(pages, start=1):
        for node in splitter.get_nodes_from_documents([Document(text=text)]):
            chunks += 1
            placed = placing.placed(node)
            if is_placed(placed):
                located += 1
                assert placed.metadata["page_start"] <= number <= placed.metadata["page_end"]
    assert chunks > len(pages) - 1
    assert located >= 0.95 * chunks
