"""One process, processes of ours, and Ray over the same files: when does which pay?

    python benchmarks/engines.py                     2 and 20 MB of Markdown, two workers
    python benchmarks/engines.py --megabytes 50 --workers 4

Seconds are those of a clock on the wall, start and end of all processes in them, so that they mean
something on an idle machine only; the load is printed. Every store is compared with the first.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import MEGABYTE, markdown_table, save
from scaling import FILE, write_files

from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.pipeline import ingest
from rag_nodes.store import open_store
from rag_nodes.workers import ProcessEngine
from rag_nodes.workers.on_ray import RayEngine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.pipeline.ingesting import IngestEngine


def timed(docs: Path, place: Path, engine: IngestEngine | None) -> tuple[float, dict[str, object]]:
    """Seconds of an ingest into a new folder, and what is stored then, by document."""
    parsers = {DEFAULT_PARSER: get_parser(DEFAULT_PARSER)}
    with open_store(place) as store:
        started = time.perf_counter()
        report = ingest([docs], parsers, store, embed_model="lexical", engine=engine)
        seconds = time.perf_counter() - started
        (column,) = report.columns
        return seconds, dict(store.documents(column.collection))


def compare(megabytes: float, engines: Mapping[str, IngestEngine | None]) -> dict[str, float]:
    """Seconds of each engine.

    Raises:
        RuntimeError: one stored something else than the first.
    """
    seconds: dict[str, float] = {}
    expected = None
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        write_files(docs, round(megabytes * MEGABYTE / FILE))
        for name, engine in engines.items():
            seconds[name], stored = timed(docs, Path(folder) / name.replace(" ", "-"), engine)
            expected = expected or stored
            if stored != expected:
                raise RuntimeError(f"{name} stored something else")
    return seconds


def main() -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, nargs="+", default=[2, 20])
    parser.add_argument("--workers", type=int, default=2)
    given = parser.parse_args()
    engines = {
        "one process": None,
        f"{given.workers} processes": ProcessEngine(given.workers),
        f"Ray with {given.workers}": RayEngine(given.workers),
    }
    load = os.getloadavg()[0]
    found = {size: compare(size, engines) for size in given.megabytes}
    rows = [
        [f"{size:g} MB", *(f"{one:.1f} s ({one / row['one process']:.2f})" for one in row.values())]
        for size, row in found.items()
    ]
    print(markdown_table(["Text", *engines], rows))
    print(f"\nload {load:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores")
    save("engines", found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
