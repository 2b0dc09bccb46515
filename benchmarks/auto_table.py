"""How much of the answers is read with `auto`, beside each parser that its table may name.

Offline, by words alone (BM25). A set is of one format, so each column stands for an entry of the
table in `rag_nodes.parsers.auto`. A few minutes on one core; kept nowhere.

    python benchmarks/auto_table.py --data FOLDER
"""

from __future__ import annotations

from collections import Counter

from labelled_sets import labelled_set, options_of
from quality import Measurement

from rag_nodes.parsers import AutoNodeParser, get_parser

SAME = {"chunk_size": 200, "chunk_overlap": 0}
"""Tokens of a chunk, as in the table."""


def columns() -> dict[str, object]:
    """The parser that chooses, and each that it may choose."""
    return {
        "auto": get_parser("auto"),
        "heading 200": get_parser("heading", chunk_size=200),
        "token-overlap 200": get_parser("token-overlap", **SAME),
        "recursive 200": get_parser("recursive", unit="tokens", **SAME),
        "sentence 500": get_parser("sentence", unit="tokens", chunk_size=500, chunk_overlap=0),
    }


def main() -> None:
    """Print for each set what was chosen, and a row for each column."""
    parser = options_of(__doc__, ("de", "zh", "qmsum", "evidence_inference", "chroma"))
    options = parser.parse_args()
    for name in options.sets:
        dataset = labelled_set(name, options.data, options.pages)
        auto = AutoNodeParser()
        chosen = Counter(auto.explain(document).chosen for document in dataset.documents)
        counted = f"{len(dataset.documents)} documents, {len(dataset.questions)} questions"
        print(f"{name}: {counted}, chosen {dict(chosen)}", flush=True)
        for system in Measurement(dataset, None).systems(columns()):
            shares = "  ".join(
                f"{sum(each) / len(each):.3f} @{budget}" for budget, each in system.recall.items()
            )
            print(f"  {system.name:18} {system.mean:5.0f} tokens  {shares}", flush=True)


if __name__ == "__main__":
    main()
