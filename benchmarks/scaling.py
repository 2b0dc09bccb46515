"""What an ingest of very many chunks takes: arithmetic over what one core of this machine does.

    python benchmarks/scaling.py                        measure here, then plan for 10^9 chunks
    python benchmarks/scaling.py --chunks 1e8 --machines 3

The files are Markdown made of the example corpus, cut as by default, embedded offline and written
to a folder by one process. What needs other machines (a model's server, a Qdrant cluster) is
arithmetic, with its assumptions in `Assumed`. It writes the tables of docs/guides/scale.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from corpora import text_of
from measuring import MEGABYTE

from rag_nodes.models.prices import PRICES
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.pipeline import ingest
from rag_nodes.store import open_store
from rag_nodes.store.payload import payload_of

FILE = 11_000
"""Characters of a file: eight chunks or so."""
MODEL = "text-embedding-3-small"
_MILLION, _HOUR, _GIGABYTE = 1e6, 3600.0, 1e9


@dataclass(frozen=True, slots=True)
class Measured:
    """What one process did here.

    Attributes:
        files: how many it read.
        characters: of them all.
        chunks: made of them.
        tokens: of a chunk.
        seconds: CPU seconds of reading, cutting, embedding offline and writing.
        again: CPU seconds of the same ingest again, which finds nothing to do.
        payload: bytes of a chunk's payload.
        memory: bytes at the peak.
    """

    files: int
    characters: int
    chunks: int
    tokens: float
    seconds: float
    again: float
    payload: float
    memory: float


@dataclass(frozen=True, slots=True)
class Assumed:
    """What was not measured here.

    Attributes:
        chunks: to be stored.
        machines: that run workers.
        cores: of each, a worker per core.
        dimension: of the vectors.
        tokens_per_minute: a model's server takes for one key.
        change: share of the files that change in a night.
        server_memory: bytes of memory of one machine of the Qdrant cluster.
        usable: share of it that is for what is searched.
        read_often: share of the payloads that the system keeps in it.
    """

    chunks: float = 1e9
    machines: int = 10
    cores: int = 16
    dimension: int = 1024
    tokens_per_minute: float = 10e6
    change: float = 0.01
    server_memory: float = 256e9
    usable: float = 0.75
    read_often: float = 0.1


def write_files(folder: Path, count: int) -> None:
    """Files of one size below a folder, no two alike."""
    text = text_of("markdown", count * FILE)
    folder.mkdir(parents=True)
    for number in range(count):
        page = text[number * FILE : (number + 1) * FILE]
        (folder / f"page-{number:06}.md").write_text(f"# Page {number}\n\n{page}", encoding="utf-8")


def measure(count: int) -> Measured:
    """Ingest so many files twice, in this process."""
    with tempfile.TemporaryDirectory() as place:
        docs = Path(place) / "docs"
        write_files(docs, count)
        parsers = {DEFAULT_PARSER: get_parser(DEFAULT_PARSER)}
        with open_store(Path(place) / "store") as store:
            started = time.process_time()
            report = ingest([docs], parsers, store, embed_model="lexical")
            first = time.process_time()
            ingest([docs], parsers, store, embed_model="lexical")
            second = time.process_time()
            (column,) = report.columns
            sample = store.stored(column.collection, str(report.files[0].document_id))
            nodes = store.fetch(column.collection, list(sample)).values()
            payload = sum(len(json.dumps(payload_of(node))) for node in nodes) / len(nodes)
    return Measured(
        files=count,
        characters=sum(file.characters for file in report.files),
        chunks=column.chunks,
        tokens=column.mean_tokens,
        seconds=first - started,
        again=second - first,
        payload=payload,
        memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    )


def plan(here: Measured, wanted: Assumed) -> list[tuple[str, str]]:
    """What it takes, a line of words and figures each."""
    files = wanted.chunks * here.files / here.chunks
    cpu = wanted.chunks * here.seconds / here.chunks
    workers = wanted.machines * wanted.cores
    tokens = wanted.chunks * here.tokens
    price = PRICES[MODEL][0] / _MILLION
    floats = wanted.chunks * wanted.dimension * 4
    payload = wanted.chunks * here.payload
    point = wanted.dimension * 4 + here.payload
    rate = workers * here.chunks / here.seconds
    in_memory = floats / 4 + payload * wanted.read_often
    servers = in_memory / (wanted.server_memory * wanted.usable)
    return [
        ("files", f"{files:,.0f}"),
        ("text", f"{files * here.characters / here.files / 1e12:.1f} TB"),
        ("reading, cutting, BM25, packing", f"{cpu / _HOUR:,.0f} core hours"),
        (
            f"on {wanted.machines} machines of {wanted.cores} cores",
            f"{cpu / workers / _HOUR:.1f} hours, {rate:,.0f} chunks a second",
        ),
        ("to the servers meanwhile", f"{rate * point / _GIGABYTE:.1f} GB a second"),
        ("memory of the workers of a machine", f"{wanted.cores * here.memory / _GIGABYTE:.0f} GB"),
        ("tokens to embed", f"{tokens / _GIGABYTE:,.0f} billion"),
        (f"by {MODEL}, at list price", f"${tokens * price:,.0f}"),
        (
            f"with one key at {wanted.tokens_per_minute / _MILLION:.0f} million tokens a minute",
            f"{tokens / wanted.tokens_per_minute / 60 / 24:,.0f} days",
        ),
        (f"vectors of {wanted.dimension} numbers", f"{floats / 1e12:.1f} TB, on disk"),
        ("the same as bytes, in memory", f"{floats / 4 / 1e12:.2f} TB"),
        ("payloads", f"{payload / 1e12:.1f} TB, on disk"),
        (
            f"machines of {wanted.server_memory / _GIGABYTE:.0f} GB for the store, two copies",
            f"{2 * servers:,.0f}",
        ),
        (
            f"a night in which {wanted.change:.0%} of the files change: asking all",
            f"{files * here.again / here.files / _HOUR:,.1f} core hours",
        ),
        (
            "and reading, cutting and writing those",
            f"{cpu * wanted.change / _HOUR:,.1f} core hours",
        ),
        (
            f"and embedding {tokens * wanted.change / _GIGABYTE:,.1f} billion tokens",
            f"${tokens * wanted.change * price:,.0f}",
        ),
    ]


def main() -> int:
    """Measure, plan and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", type=int, default=1000, help="to measure with")
    usual = Assumed()
    parser.add_argument("--chunks", type=float, default=usual.chunks)
    parser.add_argument("--machines", type=int, default=usual.machines)
    given = parser.parse_args()
    here = measure(given.files)
    print(f"measured: {here.files:,} files, {here.characters / MEGABYTE:.1f} MB, ", end="")
    print(f"{here.chunks:,} chunks of {here.tokens:.0f} tokens; {here.seconds:.1f} CPU seconds")
    print(f"({here.chunks / here.seconds:,.0f} chunks a second), again {here.again:.2f}; payload")
    print(f"{here.payload:,.0f} bytes; {here.memory / MEGABYTE:.0f} MB at the peak\n")
    rows = plan(here, Assumed(chunks=given.chunks, machines=given.machines))
    print(f"| {given.chunks:,.0f} chunks | |\n|---|---|")
    print("\n".join(f"| {words} | {figure} |" for words, figure in rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
