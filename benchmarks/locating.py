"""Share of a stock index's chunks that are located in our documents, and how many in a wrong place.

Each PDF is read by our reader and, page by page, by PyMuPDF and pypdf. Chunks of LlamaIndex's
`SentenceSplitter` over their pages are looked for in our document. A place is wrong if less than
nine tenths of it lie on the page of the chunk.

    python benchmarks/locating.py *.pdf

pypdf is left out if it is not installed. It reads hidden text too, such as an earlier state of the
pages: chunks of it are not located, for our document does not have it.
"""

from __future__ import annotations

import argparse
import logging
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pymupdf
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter

from rag_nodes.evaluation.engines import Placing
from rag_nodes.readers import read
from rag_nodes.text.spans import PageMap, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SIZES = (256, 1024)
"""Tokens of a chunk."""
ON_PAGE = 0.9
"""Share of a place that lies on the page of its chunk if the place is right."""


class Count(NamedTuple):
    """Chunks of a PDF, those that are located, and those of them in a wrong place."""

    chunks: int
    located: int
    wrong: int


def extracted(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each library, and the text of each page by it."""
    with pymupdf.open(path) as pdf:
        yield "PyMuPDF", [page.get_text() for page in pdf]
    if find_spec("pypdf"):
        from pypdf import PdfReader  # type: ignore[import-not-found, unused-ignore]

        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        yield "pypdf", [page.extract_text() for page in PdfReader(path).pages]


def count(ours: Document, texts: Sequence[str], size: int) -> Count:
    """Locate the chunks of pages in a document."""
    pages, splitter = PageMap.of(ours.metadata), SentenceSplitter(chunk_size=size)
    if pages is None:
        raise SystemExit("the document has no pages")
    placing, counted = Placing([ours]), Count(0, 0, 0)
    metadata = {"file_path": ours.metadata["source"]}
    documents = [
        Document(text=text, metadata={"page_label": str(number), **metadata})
        for number, text in enumerate(texts, start=1)
    ]
    nodes = splitter.get_nodes_from_documents(documents)
    placing.learn(nodes)
    for node in nodes:
        number = int(node.metadata["page_label"])
        page = pages.span(number, number, len(ours.text)) or Span(0, 0)
        place = placing.place(node)
        is_wrong = place is not None and page.overlap(place.span) < ON_PAGE * place.span.length
        counted = Count(
            counted.chunks + 1, counted.located + (place is not None), counted.wrong + is_wrong
        )
    return counted


def main() -> None:
    """Print a line for each PDF, library and size."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("pdfs", nargs="+", type=Path)
    print(
        f"{'PDF':32} {'library':8} {'tokens':>6} {'chunks':>6} {'located':>8} {'wrong':>5} {'s':>6}"
    )
    for path in arguments.parse_args().pdfs:
        ours = read(path)
        for library, texts in extracted(path):
            for size in SIZES:
                started = time.perf_counter()
                counted = count(ours, texts, size)
                seconds = time.perf_counter() - started
                share = counted.located / max(1, counted.chunks)
                print(
                    f"{path.name:32} {library:8} {size:6} {counted.chunks:6} {share:8.1%} "
                    f"{counted.wrong:5} {seconds:6.1f}"
                )


if __name__ == "__main__":
    main()
