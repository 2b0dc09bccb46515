"""All tables as Markdown, from the raw numbers of the last runs: what README and docs quote.

python benchmarks/report.py             goals first, then every table there are numbers for
python benchmarks/report.py --goals     the goals alone
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import growth
import nodes
import parsers
import pathological
import threads
from measuring import ARTEFACTS, markdown_table, ratio
from parsers import REFERENCE
from peers import (
    MARKDOWN,
    MARKDOWN_AND_SENTENCES,
    RESPECT_SENTENCES,
    SEMANTIC_SPLITTER,
    SENTENCE_SPLITTER,
)
from rag_nodes_parsers import (
    FIXED_SPANS,
    FIXED_TOKENS,
    HEADING,
    SEMANTIC,
    TOKEN_OVERLAP,
)

TABLES = {
    "parsers": ("Parsers and peers", parsers.table),
    "nodes": ("Cost of a node", nodes.table),
    "growth": ("Growth", growth.table),
    "pathological": ("Pathological documents", pathological.table),
    "threads": ("A second core", threads.table),
}
DENSE = "dense headings"

Columns = list[dict[str, Any]]


def loaded(name: str) -> tuple[dict[str, str], list[dict[str, Any]]]:
    """Environment and rows of the last run of one benchmark; nothing where there was none."""
    path = ARTEFACTS / f"benchmark-{name}.json"
    if not path.exists():
        return {}, []
    saved = json.loads(path.read_text(encoding="utf-8"))
    return saved["environment"], saved["results"]


def against(columns: Columns, ours: str, theirs: tuple[str, ...], *, dense: bool) -> list[float]:
    """How many times as fast as the fastest of them ours is, text by text."""
    ratios = []
    for column in columns:
        seconds = column["seconds"]
        others = [seconds[name] for name in theirs if name in seconds]
        if (column["kind"] == DENSE) is dense and ours in seconds and others:
            ratios.append(min(others) / seconds[ours])
    return ratios


def goals(columns: Columns) -> list[tuple[str, str, float, list[float]]]:
    """Parser, what is compared, goal, and the measurements on each text."""
    reference = (REFERENCE,)
    chain = (MARKDOWN_AND_SENTENCES,)
    compared = [
        ("TokenOverlap 512/64", "tokenizer", 0.75, TOKEN_OVERLAP, reference),
        (
            "TokenOverlap 512/64",
            "LlamaIndex SentenceSplitter",
            6,
            TOKEN_OVERLAP,
            (SENTENCE_SPLITTER,),
        ),
        (
            "TokenOverlap 512/64",
            "fastest that respects sentences",
            1,
            TOKEN_OVERLAP,
            RESPECT_SENTENCES,
        ),
        ("FixedSize 512/64 tokens", "tokenizer", 0.8, FIXED_TOKENS, reference),
        ("HeadingHierarchy 512", "tokenizer", 0.6, HEADING, reference),
        ("HeadingHierarchy 512", "Markdown + SentenceSplitter", 5, HEADING, chain),
        ("Semantic percentile", "tokenizer", 0.5, SEMANTIC, reference),
        ("Semantic percentile", "SemanticSplitter", 5, SEMANTIC, (SEMANTIC_SPLITTER,)),
    ]
    rows = [
        (parser, other, goal, against(columns, ours, theirs, dense=False))
        for parser, other, goal, ours, theirs in compared
    ]
    dense = against(columns, HEADING, (MARKDOWN,), dense=True)
    return [
        *rows,
        ("HeadingHierarchy 512", "MarkdownNodeParser alone, dense headings", 20, dense),
        ("FixedSize characters", "MB/s of spans", 60, speeds(columns, FIXED_SPANS)),
    ]


def speeds(columns: Columns, name: str) -> list[float]:
    """Megabytes per second on one document of each kind."""
    return [
        column["megabytes"] / column["seconds"][name]
        for column in columns
        if column["shape"] == "one" and name in column["seconds"]
    ]


def goal_table(columns: Columns) -> str:
    """Each goal, and the least and most that was measured; bold where it was missed."""
    rows = []
    for parser, other, goal, ratios in goals(columns):
        if not ratios:
            continue
        least = ratio(min(ratios))
        kept = least if min(ratios) >= goal else f"**{least}**"
        rows.append([f"{parser} / {other}", f"{goal:g}", kept, ratio(max(ratios))])
    return markdown_table(["compared", "goal", "worst text", "best text"], rows)


def main(arguments: list[str] | None = None) -> int:
    """Print what there is."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--goals", action="store_true", help="the goals alone")
    chosen = options.parse_args(arguments)
    environment, columns = loaded("parsers")
    if columns:
        print(f"### Goals\n\n{goal_table(columns)}\n")
        print("Measured with " + ", ".join(f"{k} {v}" for k, v in environment.items()) + ".\n")
    for name, (title, table) in ({} if chosen.goals else TABLES).items():
        _, rows = loaded(name)
        if rows:
            print(f"### {title}\n\n{table(rows)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
