"""What each reader makes of files, as a Markdown table.

    python benchmarks/readers.py FILE_OR_FOLDER ...

Headings and tables are counted in the text that came out, by our own block scanner. Seconds are
CPU time of this process for a second reading, so imports are not in them; every reader runs in
this process, without the limits of a child.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from rag_nodes.core import metadata as keys
from rag_nodes.readers import ReadResult, read_all
from rag_nodes.text.markdown import scan_blocks

COLUMNS = (
    "file",
    "documents",
    "pages",
    "characters",
    "headings",
    "tables",
    "code",
    "CPU s",
    "notes",
)


def main() -> None:
    """Read what is named on the command line and print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("paths", nargs="+", type=Path, metavar="FILE_OR_FOLDER")
    paths = options.parse_args().paths
    files = dict.fromkeys(result.path for result in read_all(paths, isolate=False))
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for path in files:
        print(f"| {' | '.join(row(path))} |", flush=True)


def row(path: Path) -> list[str]:
    """The cells of one file."""
    started = time.process_time()
    results = list(read_all([path], isolate=False))
    seconds = time.process_time() - started
    documents = [result.document for result in results if result.document is not None]
    blocks = Counter(
        str(block.kind) for document in documents for block in scan_blocks(document.text)
    )
    return [
        path.name,
        str(len(documents)),
        str(sum(document.metadata.get(keys.TOTAL_PAGES, 0) for document in documents) or "-"),
        f"{sum(len(document.text) for document in documents):,}",
        *(str(blocks[kind]) for kind in ("heading", "table", "code")),
        f"{seconds:.2f}",
        notes(results),
    ]


def notes(results: list[ReadResult]) -> str:
    """Warnings and errors, each once."""
    counts: Counter[str] = Counter()
    for result in results:
        if result.error is not None:
            counts[f"{type(result.error).__name__}: {result.error.reason}"] += 1
        elif result.document is not None:
            counts.update(result.document.metadata.get(keys.READ_WARNINGS, ()))
    return "; ".join(counts).replace("|", "\\|")


if __name__ == "__main__":
    main()
