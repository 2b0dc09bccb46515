"""Many files into a folder by the command line: interrupted, resumed, run again; and its memory.

    python benchmarks/endurance.py                  two minutes: 20 MB in 4,000 files
    nice python benchmarks/endurance.py --megabytes 500 --files 100000 --workers 2

`rag-nodes ingest` is interrupted as ^C does (SIGINT) when it has read a given share of the files,
then run again to its end, then once more over files of which none changed. Of each run: seconds,
CPU seconds with those of its children, the most memory of the process that writes and of any
other, and what the store holds afterwards. What it should hold is counted by a dry run, which only
reads and cuts. Needs Linux, as `/proc` says what processes hold.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from corpora import fill
from measuring import Watch, markdown_table, save

COMMAND = [sys.executable, "-m", "rag_nodes.cli"]
OPTIONS = ["--parser", "token-overlap:chunk_size=512,chunk_overlap=64", "--embedding", "lexical"]
_LOOK = 0.5
"""Seconds between two looks at memory."""
_TELL = 60.0
"""Seconds between two words on how far it is."""
_FILES_READ = re.compile(r"\(([\d,]+)/[\d,]+")


@dataclass(slots=True)
class Run:
    """One run of the command.

    Attributes:
        name: what it was for.
        wall: seconds.
        cpu: CPU seconds, of its children too.
        writer: most megabytes of its process that are not mapped from files.
        worker: the same of any of its children; 0 without any.
        code: its exit code.
        ending: seconds from the interruption to the end of it and its children; 0 without one.
        documents: that the store holds afterwards.
        chunks: likewise.
    """

    name: str
    wall: float
    cpu: float
    writer: float
    worker: float
    code: int
    ending: float = 0.0
    documents: int = 0
    chunks: int = 0


def run(name: str, options: list[str], *, interrupt_at: int | None = None) -> tuple[Run, str]:
    """Run the command; gives what it took, and its output."""
    cpu, started = _cpu(), time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 -- our own command
        [*COMMAND, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    output: list[str] = []
    reading = threading.Thread(target=lambda: output.append(process.stdout.read()))  # type: ignore[union-attr]
    reading.start()
    interrupted, told_at = 0.0, started
    with Watch(process.pid, _LOOK) as memory:
        for line in process.stderr or ():
            match = _FILES_READ.search(line)
            is_due = interrupt_at and match and int(match[1].replace(",", "")) >= interrupt_at
            if is_due and not interrupted:
                interrupted = time.perf_counter()
                process.send_signal(signal.SIGINT)
            elif match and time.perf_counter() - told_at > _TELL:
                told_at = time.perf_counter()
                print("   ", line, end="", flush=True)
            elif not match and not line.startswith(("token-overlap", "\n")):
                print("   ", line, end="", flush=True)
        code = process.wait()
        while any(Path(f"/proc/{child}").exists() for child in memory.seen):
            time.sleep(0.01)
        ended = time.perf_counter()
    reading.join()
    ending = ended - interrupted if interrupted else 0.0
    took = Run(name, ended - started, _cpu() - cpu, memory.own, memory.child, code, ending)
    return took, output[0]


def held(store: str) -> tuple[int, int]:
    """Documents and chunks of a store."""
    done = subprocess.run(  # noqa: S603 -- our own command
        [*COMMAND, "status", "--store", store, "--json"], capture_output=True, check=True
    )
    (collection,) = json.loads(done.stdout)["collections"]
    return collection["documents"], collection["chunks"]


def _cpu() -> float:
    times = os.times()
    return times.children_user + times.children_system


def trial(corpus: Path, store: str, chosen: argparse.Namespace) -> Iterator[Run]:
    """All runs, in order."""
    ingest = ["ingest", str(corpus), *OPTIONS, "--json"]
    working = [*ingest, "--store", store, "--workers", str(chosen.workers)]
    for name, at in (("interrupted", chosen.at), ("resumed", None), ("unchanged", None)):
        outcome, _ = run(name, working, interrupt_at=round(at * chosen.files) if at else None)
        outcome.documents, outcome.chunks = held(store)
        yield outcome
    counted, output = run("counted only", [*ingest, "--store", f"{store}-none", "--dry-run"])
    plan = json.loads(output)
    counted.documents = len(plan["files"]) + plan["omitted"]
    counted.chunks = plan["columns"][0]["chunks"]
    yield counted


def main() -> None:
    """Make the files, run, and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=20)
    parser.add_argument("--files", type=int, default=4000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--at", type=float, default=0.5, help="share of files before the ^C")
    parser.add_argument("--folder", help="where all is made; the system's choice if none")
    chosen = parser.parse_args()
    # In the background a shell has it ignored, which a child would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(dir=chosen.folder))
    try:
        fill(folder / "corpus", chosen.megabytes, chosen.files, 0, None)
        runs = []
        for outcome in trial(folder / "corpus", str(folder / "store"), chosen):
            print(asdict(outcome), flush=True)
            runs.append(outcome)
        disk = sum(p.stat().st_blocks * 512 for p in (folder / "store").rglob("*") if p.is_file())
    finally:
        shutil.rmtree(folder)
    header = ["run", "documents", "chunks", "seconds", "CPU s", "MB, writer", "MB, worker"]
    rows = [
        [
            f"{outcome.name} (exit {outcome.code})",
            *(f"{n:,}" for n in (outcome.documents, outcome.chunks)),
            *(f"{n:,.0f}" for n in (outcome.wall, outcome.cpu, outcome.writer, outcome.worker)),
        ]
        for outcome in runs
    ]
    print(markdown_table(header, rows))
    print(f"{disk / 1e6:,.0f} MB on disk; ended {runs[0].ending:.1f} s after ^C")
    finished, wanted = runs[1], runs[-1]
    same = (wanted.documents, wanted.chunks) == (finished.documents, finished.chunks)
    print("as counted" if same else "NOT as counted")
    save("endurance", {"disk": disk, "runs": [asdict(outcome) for outcome in runs]})


if __name__ == "__main__":
    main()
