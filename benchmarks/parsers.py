"""Speed of every parser next to its peers, as ratios to the tokenizer on the same text.

    python benchmarks/parsers.py                    1 MB: one document, and many documents
    python benchmarks/parsers.py --sizes 1 10 50    larger ones, ours only beyond 1 MB
    python benchmarks/parsers.py --sizes 10 --all   larger ones with the peers: takes long
    python benchmarks/parsers.py --pathological     documents on which careless parsers hang

A ratio of 1 is the speed of `tiktoken.encode_ordinary` (cl100k_base) in the same run on one
thread; our figures include nodes, ids, metadata and neighbours. Times are CPU seconds of this
process, the best of interleaved runs, because a shared machine says nothing by its clock.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from typing import Any

from corpora import KINDS, dense_headings, text_of
from measuring import MEGABYTE, Work, in_child, interleaved, markdown_table, measured, ratio, save
from peers import Peer, markdown_peers, peers
from rag_nodes_parsers import HEADING, own

from rag_nodes.text.tokens.encodings import load_encoding

MANY = 4_000
"""Characters of each of many documents."""
REFERENCE = "tiktoken.encode_ordinary"
DENSE = 2
"""Megabytes of the document with a heading every hundred characters."""
DEADLINE = 120.0


def documents_of(kind: str, megabytes: int, shape: str) -> list[str]:
    """One document, or many of a few pages each."""
    text = text_of(kind, megabytes * MEGABYTE)
    if shape == "one":
        return [text]
    return [text[start : start + MANY] for start in range(0, len(text), MANY)]


def reference(texts: list[str]) -> object:
    """What everything is measured against."""
    encode = load_encoding("cl100k_base").encode_ordinary
    return [encode(text) for text in texts]


def works_of(texts: list[str], chosen: list[Peer]) -> dict[str, Work]:
    """What is timed; every parser has cut a page before, so that nothing is loaded in that time."""
    for peer in chosen:
        peer.prepare([texts[0][:MANY]])()
    works: dict[str, Work] = {REFERENCE: lambda: reference(texts)}
    return works | {peer.name: peer.prepare(texts) for peer in chosen}


def column(kind: str, megabytes: int, shape: str, chosen: list[Peer], runs: int) -> dict[str, Any]:
    """Seconds of every parser on the same texts."""
    texts = documents_of(kind, megabytes, shape)
    works = works_of(texts, chosen)
    print(f"{kind}, {megabytes} MB, {shape}", file=sys.stderr)
    return {
        "kind": kind,
        "megabytes": megabytes,
        "shape": shape,
        "seconds": interleaved(works, runs),
    }


def dense_column(chosen: list[Peer]) -> dict[str, Any]:
    """Seconds on one document full of headings, each parser in a process that can be stopped."""
    texts = [dense_headings(DENSE * MEGABYTE)]
    print(f"dense headings, {DENSE} MB, one", file=sys.stderr)
    works = works_of(texts, chosen)
    outcomes = {name: in_child(partial(measured, work), DEADLINE) for name, work in works.items()}
    return {
        "kind": "dense headings",
        "megabytes": DENSE,
        "shape": "one",
        "seconds": {name: outcome.value or DEADLINE for name, outcome in outcomes.items()},
        "stopped": [name for name, outcome in outcomes.items() if outcome.value is None],
    }


def table(columns: list[dict[str, Any]]) -> str:
    """Kinds of text across, parsers down; "<" where a parser was stopped."""
    names = dict.fromkeys(name for column in columns for name in column["seconds"])
    header = ["parser", *[f"{c['kind']}, {c['shape']}, {c['megabytes']} MB" for c in columns]]
    speeds = [
        f"{column['megabytes'] / column['seconds'][REFERENCE]:.1f} MB/s" for column in columns
    ]
    rows = [
        [name, *[_cell(column, name) for column in columns]] for name in names if name != REFERENCE
    ]
    return markdown_table(header, [[REFERENCE, *speeds], *rows])


def _cell(column: dict[str, Any], name: str) -> str:
    if name not in column["seconds"]:
        return ratio(None)
    bound = "< " if name in column.get("stopped", ()) else ""
    return bound + ratio(column["seconds"][REFERENCE] / column["seconds"][name])


def main(arguments: list[str] | None = None) -> int:
    """Print the tables and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--sizes", type=int, nargs="+", default=[1], help="megabytes")
    options.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options.add_argument("--runs", type=int, default=3)
    which = options.add_mutually_exclusive_group()
    which.add_argument("--own", action="store_true", help="leave the peers out")
    which.add_argument("--all", action="store_true", help="peers on texts over 1 MB too")
    options.add_argument("--pathological", action="store_true", help="see pathological.py")
    options.add_argument("--name", default="parsers", help="of the file of raw numbers")
    chosen, others = options.parse_known_args(arguments)
    if chosen.pathological:
        from pathological import main as pathological

        return pathological(others)
    if others:
        options.error(f"unknown: {' '.join(others)}")
    columns = _columns(chosen)
    print("Speed in multiples of the tokenizer's on the same text.\n")
    print(table(columns))
    print(f"\nraw numbers: {save(chosen.name, columns)}")
    return 0


def _columns(chosen: argparse.Namespace) -> list[dict[str, Any]]:
    ours, theirs = own(), [] if chosen.own else peers()
    columns = [
        column(kind, size, shape, ours + (theirs if size <= 1 or chosen.all else []), chosen.runs)
        for size in chosen.sizes
        for kind in chosen.kinds
        for shape in ("one", "many")
    ]
    if not chosen.own:
        heading = [peer for peer in ours if peer.name == HEADING]
        columns.append(dense_column(heading + markdown_peers()))
    return columns


if __name__ == "__main__":
    sys.exit(main())
