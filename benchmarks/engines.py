"""One process, and several, over the same files: when do several pay?

    python benchmarks/engines.py                     2, 10 and 31 MB of Markdown, two workers
    python benchmarks/engines.py --megabytes 50 --workers 4 --runs 3

Seconds are of a clock on the wall, starts and ends of all processes in them, and of the processor,
all processes together. The first mean something beside each other in one run, the second also on a
busy machine; the load is printed. Of several runs the fastest counts. Every store is compared with
the first.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import MEGABYTE, markdown_table, save
from scaling import FILE, write_files

from rag_nodes.models.executors import Executor, Pool
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.pipeline import ingest
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(slots=True)
class Took:
    """What something took.

    Attributes:
        wall: seconds of a clock on the wall.
        cpu: seconds of the processor, those of child processes that have ended included.
    """

    wall: float = 0.0
    cpu: float = 0.0


@contextmanager
def timed() -> Iterator[Took]:
    """What the block takes, child processes included that end in it."""
    took = Took()
    wall, cpu = time.perf_counter(), _cpu()
    yield took
    took.wall, took.cpu = time.perf_counter() - wall, _cpu() - cpu


def _cpu() -> float:
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def ingested(docs: Path, place: Path, executor: Executor | None) -> tuple[Took, dict[str, object]]:
    """What an ingest into a new folder takes, and what is stored then, by document."""
    parsers = {DEFAULT_PARSER: get_parser(DEFAULT_PARSER)}
    with open_store(place) as store:
        with timed() as took:
            report = ingest([docs], parsers, store, embed_model="lexical", executor=executor)
        (column,) = report.columns
        return took, dict(store.documents(column.collection))


def compare(megabytes: float, engines: Mapping[str, Executor | None], runs: int) -> dict[str, Took]:
    """What each engine takes, the best of some runs, in which all take turns.

    Raises:
        RuntimeError: one stored something else than the first.
    """
    best: dict[str, Took] = {}
    expected = None
    with tempfile.TemporaryDirectory() as folder:
        docs = Path(folder) / "docs"
        write_files(docs, round(megabytes * MEGABYTE / FILE))
        for run in range(runs):
            for name, executor in engines.items():
                took, stored = ingested(docs, Path(folder) / f"{name}-{run}", executor)
                fastest = best.setdefault(name, took)
                best[name] = Took(min(fastest.wall, took.wall), min(fastest.cpu, took.cpu))
                expected = expected or stored
                if stored != expected:
                    raise RuntimeError(f"{name} stored something else")
    return best


def _cell(took: Took, alone: Took) -> str:
    return f"{took.wall:.1f} s ({took.wall / alone.wall:.2f}), {took.cpu:.1f} s"


def main() -> int:
    """Measure, print and save."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--megabytes", type=float, nargs="+", default=[2, 10, 31])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1)
    given = parser.parse_args()
    engines = {
        "one process": None,
        f"{given.workers} processes": Pool(given.workers),
    }
    load = os.getloadavg()[0]
    times = {size: compare(size, engines, given.runs) for size in given.megabytes}
    rows = [
        [
            f"{size:g} MB",
            *(_cell(took, row["one process"]) for took in row.values()),
        ]
        for size, row in times.items()
    ]
    print(markdown_table(["Text", *engines], rows))
    print(f"\nload {load:.1f} before, {os.getloadavg()[0]:.1f} after, {os.cpu_count()} cores")
    plain = {
        size: {name: asdict(took) for name, took in row.items()} for size, row in times.items()
    }
    save("engines", plain)
    return 0


if __name__ == "__main__":
    sys.exit(main())
