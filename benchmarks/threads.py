"""Whether a second core helps with many documents: two threads, two processes, or neither.

    python benchmarks/threads.py

By the clock, since CPU time cannot tell: run it while nothing else runs. tiktoken lets other
threads in while it encodes; the rest of a parser is Python, of which one thread runs at a time.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from typing import Any

from corpora import text_of
from llama_index.core.schema import Document
from measuring import MEGABYTE, Work, markdown_table, ratio, save

from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.text.tokens.encodings import load_encoding

WORKERS = 2
MANY = 4_000
PRESETS = {
    "token-overlap": {"chunk_size": 512, "chunk_overlap": 64, "whole_document_below": 0},
    "heading": {"chunk_size": 512},
    "fixed": {},
}


def split_over(pool: Executor, parser: SpanNodeParser, documents: list[Document]) -> list[Any]:
    """The nodes of all documents, each worker taking its share."""
    shares = [documents[start::WORKERS] for start in range(WORKERS)]
    return list(pool.map(parser, shares))


def fastest(work: Work, runs: int) -> float:
    """Seconds by the clock of the best run."""
    best = float("inf")
    for _ in range(runs):
        gc.collect()
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best


def measure(name: str, alone: Work, ways: dict[str, Work], runs: int) -> dict[str, Any]:
    """Speed of each way in multiples of one thread's."""
    best: dict[str, float] = {}
    for _ in range(runs):
        for way, work in {"alone": alone, **ways}.items():
            best[way] = min(best.get(way, float("inf")), fastest(work, 1))
    return {"name": name, "seconds": best, "gain": {w: best["alone"] / best[w] for w in ways}}


def rows_of(megabytes: int, runs: int) -> list[dict[str, Any]]:
    """The tokenizer first, as a bound, then the parsers."""
    text = text_of("markdown", megabytes * MEGABYTE)
    texts = [text[start : start + MANY] for start in range(0, len(text), MANY)]
    documents = [Document(text=part, id_=str(n)) for n, part in enumerate(texts)]
    encoding = load_encoding("cl100k_base")
    fork = multiprocessing.get_context("fork")
    rows = [
        measure(
            "tiktoken alone",
            lambda: [encoding.encode_ordinary(part) for part in texts],
            {"threads": lambda: encoding.encode_ordinary_batch(texts, num_threads=WORKERS)},
            runs,
        )
    ]
    # Processes first: a fork after threads have started may inherit their locks.
    with ProcessPoolExecutor(WORKERS, mp_context=fork) as processes:
        list(processes.map(abs, range(WORKERS)))
        with ThreadPoolExecutor(WORKERS) as threads:
            for preset, options in PRESETS.items():
                parser = get_parser(preset, **options)
                ways: dict[str, Callable[[], object]] = {
                    "threads": partial(split_over, threads, parser, documents),
                    "processes": partial(split_over, processes, parser, documents),
                }
                rows.append(measure(preset, partial(parser, documents), ways, runs))
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """One row per parser."""
    header = ["parser", "one thread, s", "two threads, gain", "two processes, gain"]
    body = [
        [
            row["name"],
            f"{row['seconds']['alone']:.2f}",
            ratio(row["gain"]["threads"]),
            ratio(row["gain"].get("processes")),
        ]
        for row in rows
    ]
    return markdown_table(header, body)


def main(arguments: list[str] | None = None) -> int:
    """Print the table and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--size", type=int, default=2, help="megabytes of documents")
    options.add_argument("--runs", type=int, default=5)
    chosen = options.parse_args(arguments)
    rows = rows_of(chosen.size, chosen.runs)
    print(table(rows))
    print(f"\nraw numbers: {save('threads', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
