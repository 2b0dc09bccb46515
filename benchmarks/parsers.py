"""Speed of every parser next to its peers, as ratios to the tokenizer on the same text.

    python benchmarks/parsers.py                    one document of 1 MB, and many documents
    python benchmarks/parsers.py --sizes 1 10 50    larger ones
    python benchmarks/parsers.py --pathological     documents on which careless parsers hang

A ratio of 1 is the speed of `tiktoken.encode_ordinary` (cl100k_base) in the same run on one
thread; our figures include nodes, ids, metadata and neighbours. Times are CPU seconds of this
process, the best of a few runs, because a shared machine says nothing by its clock.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

from corpora import KINDS, pathological, text_of
from peers import Peer, peers
from rag_nodes_parsers import own

from rag_nodes.text.tokens import load_encoding

MEGABYTE = 1_000_000
MANY = 4_000
"""Characters of each of many documents."""
PATIENCE = 60.0
"""CPU seconds after which a peer is not run again on a larger text."""


def measured(work: Callable[[], object], runs: int) -> float:
    """CPU seconds of the best run."""
    best = float("inf")
    for _ in range(runs):
        started = time.process_time()
        work()
        best = min(best, time.process_time() - started)
        if best > PATIENCE / runs:
            break
    return best


def documents_of(kind: str, megabytes: int, shape: str) -> list[str]:
    """One document, or many of a few pages each."""
    text = text_of(kind, megabytes * MEGABYTE)
    if shape == "one":
        return [text]
    return [text[start : start + MANY] for start in range(0, len(text), MANY)]


def compare(name: str, texts: list[str], chosen: list[Peer], runs: int) -> dict[str, object]:
    """One table: every parser on the same texts."""
    encode = load_encoding("cl100k_base").encode_ordinary
    reference = measured(lambda: [encode(text) for text in texts], runs)
    size = sum(map(len, texts)) / MEGABYTE
    print(f"\n{name}: {size:.1f} MB, reference {size / reference:.1f} MB/s")
    rows: dict[str, float] = {}
    for peer in chosen:
        work = peer.prepare(texts)
        rows[peer.name] = reference / measured(work, runs)
        print(f"  {peer.name:48} {rows[peer.name]:7.2f}")
    return {"name": name, "megabytes": size, "reference_seconds": reference, "ratios": rows}


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[1], help="megabytes")
    options.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options.add_argument("--runs", type=int, default=3)
    options.add_argument("--own", action="store_true", help="leave the peers out")
    options.add_argument("--pathological", action="store_true")
    options.add_argument("--json", type=Path, default=Path("artefacts/benchmark-parsers.json"))
    chosen = options.parse_args(arguments)
    competitors = own() + ([] if chosen.own else peers())
    tables = []
    if chosen.pathological:
        for name, text in pathological(5 * MEGABYTE).items():
            tables.append(compare(name, [text], own(), runs=1))
    else:
        for kind in chosen.kinds:
            for size in chosen.sizes:
                tables += [
                    compare(
                        f"{kind}, {shape}",
                        documents_of(kind, size, shape),
                        competitors,
                        chosen.runs,
                    )
                    for shape in ("one", "many")
                ]
    chosen.json.parent.mkdir(parents=True, exist_ok=True)
    chosen.json.write_text(json.dumps(tables, indent=1), encoding="utf-8")
    print(f"\nraw numbers: {chosen.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
