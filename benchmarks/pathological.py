"""Every preset on documents on which careless parsers hang, as ratios to the tokenizer on them.

    python benchmarks/pathological.py               all presets, documents of 5 MB
    python benchmarks/pathological.py --size 1      smaller ones
    python benchmarks/pathological.py --presets heading auto --documents "one letter"

Each pair runs in a process of its own that is stopped after a while, so that one bad case costs
a cell and not the table. Semantic presets get an embedding model that costs nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from corpora import pathological
from llama_index.core.schema import Document
from measuring import MEGABYTE, Outcome, in_child, markdown_table, measured, ratio, save
from rag_nodes_parsers import preset_parser

from rag_nodes.parsers import PRESETS, SpanNodeParser
from rag_nodes.text.tokens.encodings import load_encoding

GOAL = 0.3
"""Least speed on such a document, as a share of the tokenizer's on the same one (L12)."""
DEADLINE = 60.0
WARM_UP = "# A heading\n\nOne sentence. Another one.\n\n| a | b |\n|---|---|\n| c | d |\n"
"""Parsed before the clock starts: what is loaded or compiled once is no cost of a document."""


def parse_once(parser: SpanNodeParser, text: str) -> dict[str, float]:
    """CPU seconds of one document, and its number of nodes."""
    parser([Document(text=WARM_UP)])
    documents = [Document(text=text, id_="pathological")]
    nodes: list[object] = []
    seconds = measured(lambda: nodes.extend(parser(documents)))
    return {"seconds": seconds, "nodes": len(nodes)}


def row_of(name: str, text: str, presets: Sequence[str], deadline: float) -> dict[str, Any]:
    """All presets on one document."""
    encode = load_encoding("cl100k_base").encode_ordinary
    reference = measured(lambda: encode(text))
    outcomes: dict[str, Outcome] = {}
    for preset in presets:
        work = partial(parse_once, preset_parser(preset), text)
        outcomes[preset] = in_child(work, deadline)
        print(f"{name}, {preset}: {outcomes[preset]}, tokenizer {reference:.2f} s", file=sys.stderr)
    reference = min(reference, measured(lambda: encode(text)))
    cells = {preset: _cell(outcome, reference) for preset, outcome in outcomes.items()}
    return {
        "document": name,
        "megabytes": len(text) / MEGABYTE,
        "reference_seconds": reference,
        "presets": cells,
    }


def _cell(outcome: Outcome, reference: float) -> dict[str, Any]:
    if outcome.value is None:
        return {"problem": outcome.problem}
    return {**outcome.value, "ratio": reference / outcome.value["seconds"]}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Documents across, presets down; what misses the goal is marked."""
    presets = list(rows[0]["presets"])
    header = ["preset", *[str(row["document"]) for row in rows]]
    body = [[preset, *[shown(row["presets"][preset]) for row in rows]] for preset in presets]
    speeds = [f"{row['megabytes'] / row['reference_seconds']:.1f} MB/s" for row in rows]
    return markdown_table(header, [["tokenizer alone", *speeds], *body])


def shown(cell: dict[str, Any]) -> str:
    """A ratio, in bold where it misses the goal; what went wrong where there is none."""
    if "ratio" not in cell:
        return f"**{cell['problem']}**"
    text = ratio(cell["ratio"])
    return text if cell["ratio"] >= GOAL else f"**{text}**"


def main(arguments: list[str] | None = None) -> int:
    """Print the table and write the raw numbers."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("--size", type=float, default=5, help="megabytes of each document")
    options.add_argument("--presets", nargs="+", choices=list(PRESETS), default=list(PRESETS))
    options.add_argument("--documents", nargs="+", help="some of them, by name")
    options.add_argument("--deadline", type=float, default=DEADLINE, help="seconds for each pair")
    chosen = options.parse_args(arguments)
    texts = pathological(int(chosen.size * MEGABYTE))
    rows = [
        row_of(name, texts[name], chosen.presets, chosen.deadline)
        for name in chosen.documents or texts
    ]
    print(f"Speed on documents of {chosen.size:g} MB; the tokenizer on the same document is 1.\n")
    print(table(rows))
    print(f"\nraw numbers: {save('pathological', rows)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
