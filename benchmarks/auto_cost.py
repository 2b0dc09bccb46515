"""CPU of the automatic parser over that of the parser it chooses, nodes included.

    python benchmarks/auto_cost.py

Documents of one megabyte, of 20,000 and of 4,000 characters; the goal is 1.5. Times are CPU seconds
of this process, the best of interleaved runs, because a shared machine says nothing by its clock.
It takes about two minutes.
"""

from __future__ import annotations

from time import process_time

from corpora import KINDS, text_of
from llama_index.core.schema import Document

from rag_nodes.parsers import AutoNodeParser, SpanNodeParser

RUNS = 9
TOTAL = 1_000_000
LENGTHS = (1_000_000, 20_000, 4_000)


def cost(parser: SpanNodeParser, documents: list[Document]) -> float:
    """CPU seconds for all documents."""
    start = process_time()
    parser(documents)
    return process_time() - start


def main() -> None:
    """Print a row for each corpus and length."""
    auto = AutoNodeParser(whole_document_below=0)
    for kind in KINDS:
        text = text_of(kind, TOTAL)
        for length in LENGTHS:
            documents = [
                Document(text=text[at : at + length]) for at in range(0, len(text), length)
            ]
            by_choice: dict[str, list[Document]] = {}
            for document in documents:
                by_choice.setdefault(auto.explain(document).chosen, []).append(document)
            for chosen, some in by_choice.items():
                alone = auto.candidate(chosen)
                cost(alone, some)  # what is loaded at first use is nobody's cost
                times = [(cost(auto, some), cost(alone, some)) for _ in range(RUNS)]
                ratio = min(own for own, _ in times) / min(other for _, other in times)
                print(f"{kind:8} {length:>9,} {chosen:14} {len(some):4} x {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
