"""Chunks of a stock index over another program's text of a PDF are located in ours."""

from pathlib import Path

import pymupdf
import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter

from rag_nodes.evaluation.engines import Placing, is_placed
from rag_nodes.readers import read
from rag_nodes.text.spans import PageMap

ROOT = Path(__file__).parents[3]
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
    page_map = PageMap.of(ours.metadata)
    assert page_map is not None
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


def test_nearly_equal_forms_are_located_by_their_order(tmp_path: Path) -> None:
    path = tmp_path / "forms.pdf"
    with pymupdf.open() as pdf:
        for number in range(1, 13):
            page = pdf.new_page()
            page.insert_text((72, 40), "Internal manual of the harbour office")
            lines = [
                "Input display of the harbour terminal",
                "Use this format to obtain a display of the data of a boat.",
                "The command defaults to page one. Other pages are shown on request.",
                "Line 1, position 5: the code of the command, which is required.",
                f"This display is exhibit {number} of the terminal.",
                "Line 2, position 9: the number of the boat, which is required.",
            ]
            for row, line in enumerate(lines):
                page.insert_text((72, 100 + 30 * row), line)
            page.insert_text((72, 800), f"For official use only, page {number}")
        pdf.save(path)
        pages = [page.get_text() for page in pdf]
    ours = read(path)
    page_map = PageMap.of(ours.metadata)
    assert page_map is not None
    documents = [
        Document(text=text, metadata={"page_label": str(number), "file_path": str(path)})
        for number, text in enumerate(pages, start=1)
    ]
    nodes = SentenceSplitter(chunk_size=1024).get_nodes_from_documents(documents)
    placing = Placing([ours])
    assert sum(placing.place(node) is not None for node in nodes) < len(nodes)
    placing = Placing([ours])
    placing.learn(nodes)
    page_starts = [placing.placed(node).metadata.get("page_start") for node in nodes]
    assert page_starts == list(range(1, 13))
