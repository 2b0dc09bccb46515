"""How fast PDFs are read, and what of their structure is found, as a Markdown table.

    python benchmarks/pdf.py FILE_OR_FOLDER ...

Seconds are CPU time of this process for the second reading, so imports are not in them; `chunked`
adds the heading parser.
"""

from __future__ import annotations

import argparse
import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.core.errors import ReadError
from rag_nodes.parsers import get_parser
from rag_nodes.readers import Limits
from rag_nodes.readers.base import build_document
from rag_nodes.readers.pdf import read_pdf
from rag_nodes.text.markdown import Kind, scan_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

COLUMNS = ("file", "pages", "pages/s", "read s", "chunked s", "headings", "tables", "links")
LINK = re.compile(r"\]\([a-z]+:[^)\s]+\)")


def main() -> None:
    """Read what is named on the command line and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
    given = options.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for path in files(given.paths):
        print(f"| {' | '.join(row(path))} |", flush=True)


def files(paths: list[Path]) -> Iterator[Path]:
    """The PDFs among files and folders."""
    for path in paths:
        yield from sorted(path.glob("*.pdf")) if path.is_dir() else [path]


def row(path: Path) -> list[str]:
    """The cells of one file, with what was found in it."""
    try:
        read_pdf(path, Limits())
    except ReadError as error:
        return [path.name, type(error).__name__, *["-"] * (len(COLUMNS) - 2)]
    started = time.process_time()
    reading = read_pdf(path, Limits())
    read = time.process_time() - started
    document = build_document(path.resolve(), reading)
    parser = get_parser("heading")
    parser([document])  # loads the tokenizer
    started = time.process_time()
    parser([document])
    chunked = read + time.process_time() - started
    pages = len(reading.page_starts or ())
    kinds = [block.kind for block in scan_blocks(reading.text)]
    counts = (kinds.count(Kind.HEADING), kinds.count(Kind.TABLE), len(LINK.findall(reading.text)))
    numbers = (str(pages), f"{pages / read:.1f}", f"{read:.2f}", f"{chunked:.2f}")
    return [path.name, *numbers, *map(str, counts)]


if __name__ == "__main__":
    main()
