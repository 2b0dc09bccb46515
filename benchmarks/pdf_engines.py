"""Both PDF engines on the same files: what they read alike, and their CPU time, as a table.

    python benchmarks/pdf_engines.py FILE_OR_FOLDER ...

Each pair of numbers is PyMuPDF's, then PDFium's. `words apart` are those that only one of the two
has; `rows` are of tables. `warm` is the CPU time of PDFium as a multiple of PyMuPDF's, the best of
interleaved runs in this process; `cold` that of a new process each, with the imports.
"""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from statistics import mean

from measuring import interleaved, markdown_table
from pdf import files

from rag_nodes.core.errors import ReadError
from rag_nodes.readers import Limits, Reading
from rag_nodes.readers.pdf import read_pdf

PYMUPDF, PDFIUM = Limits(pdf_engine="pymupdf"), Limits(pdf_engine="pdfium")
ENGINES = (PYMUPDF, PDFIUM)
COLUMNS = ("file", "pages", "words", "words apart", "headings", "both", "rows", "warm", "cold")
RUNS = 3
_READ = """import sys
from pathlib import Path
from rag_nodes.readers import Limits
from rag_nodes.readers.pdf import read_pdf
read_pdf(Path(sys.argv[1]), Limits(pdf_engine=sys.argv[2]))
"""


def main() -> None:
    """Read what is named on the command line and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
    rows, ratios = [], []
    for path in files(options.parse_args().paths):
        try:
            row, ratio = compared(path)
            ratios.append(ratio)
        except ReadError:
            row = [path.name, *(refusal(path, limits) for limits in ENGINES)]
        rows.append(row + [""] * (len(COLUMNS) - len(row)))
    print(markdown_table(COLUMNS, rows))
    print(f"\nPDFium takes {mean(ratios):.1f} times the CPU time of PyMuPDF, warm, on average.")


def compared(path: Path) -> tuple[list[str], float]:
    """Return the cells of a file, and the ratio of CPU times in a warm process."""
    left, other = (read_pdf(path, limits) for limits in ENGINES)
    words = [Counter(reading.text.split()) for reading in (left, other)]
    apart = [(words[0] - words[1]).total(), (words[1] - words[0]).total()]
    headings = [Counter(lines(reading, "#")) for reading in (left, other)]
    works = {limits.pdf_engine: partial(read_pdf, path, limits) for limits in ENGINES}
    warm = interleaved(works, RUNS)
    ratio = warm["pdfium"] / warm["pymupdf"]
    return [
        path.name,
        f"{len(left.page_starts or ()):,}",
        f"{words[0].total():,}",
        "equal text" if left.text == other.text else pair(apart),
        pair([counter.total() for counter in headings]),
        f"{(headings[0] & headings[1]).total():,}",
        pair([len(lines(reading, "| ")) for reading in (left, other)]),
        f"{ratio:.1f}",
        f"{cold(path, 'pdfium') / cold(path, 'pymupdf'):.1f}",
    ], ratio


def refusal(path: Path, limits: Limits) -> str:
    """Return what an engine says of a file that cannot be read."""
    try:
        read_pdf(path, limits)
    except ReadError as error:
        return type(error).__name__
    return "read"


def lines(reading: Reading, start: str) -> list[str]:
    """Return the lines of a text that begin so."""
    return re.findall(rf"^{re.escape(start)}.*", reading.text, re.MULTILINE)


def cold(path: Path, engine: str) -> float:
    """Return the CPU seconds of a new process that reads a file."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", _READ, str(path), engine], check=True)  # noqa: S603
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def pair(numbers: list[int]) -> str:
    """Return the numbers of both engines."""
    return " / ".join(f"{number:,}" for number in numbers)


if __name__ == "__main__":
    main()
