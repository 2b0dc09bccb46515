"""Do our measures give the values that Chroma's report on chunking published?

Precision omega, what a perfect retriever could reach, depends on the cutting alone and can be
computed anywhere; the recalls of the report need its embedding model, all-MiniLM-L6-v2 (see
`minilm.py`), and with it half an hour of one processor.

    python benchmarks/definitions.py --data FOLDER
    python benchmarks/definitions.py --data FOLDER --recall --cache FOLDER
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np
from labelled_sets import labelled_set, options_of
from measuring import markdown_table

from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.metrics import Passage, precision_omega
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import ForeignNodeParser, SpanNodeParser, get_parser
from rag_nodes.query import QueryOptions
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]
"""Where the report's recursive splitter cuts."""


def fixed(size: int, overlap: int) -> SpanNodeParser:
    """Windows of tokens, whatever they cut."""
    return get_parser("fixed", unit="tokens", chunk_size=size, chunk_overlap=overlap)


def recursive(size: int, overlap: int) -> SpanNodeParser:
    """Ours."""
    return get_parser("recursive", unit="tokens", chunk_size=size, chunk_overlap=overlap)


def langchain(size: int, overlap: int) -> SpanNodeParser:
    """The splitter of the report, with its separators and its unit."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    splitter = RecursiveCharacterTextSplitter(
        chunk_size=size,
        chunk_overlap=overlap,
        separators=SEPARATORS,
        length_function=count_tokens,
    )
    return ForeignNodeParser(splitter=splitter)


PUBLISHED: Sequence[tuple[str, Callable[[int, int], SpanNodeParser], int, int, float]] = (
    ("recursive (ours)", recursive, 200, 0, 29.9),
    ("recursive (LangChain)", langchain, 200, 0, 29.9),
    ("fixed", fixed, 800, 400, 4.7),
)
"""Name, parser, size, overlap, and omega of the report over all of its questions."""

RECALLS: Sequence[tuple[str, Callable[[int, int], SpanNodeParser], int, int, float]] = (
    ("recursive (LangChain)", langchain, 200, 0, 75.6),
    ("fixed", fixed, 250, 125, 81.9),
)
"""The same with the recall of 5 chunks, all texts being one collection."""
_CHUNKS = 5


def omega(dataset: Dataset, parser: SpanNodeParser) -> tuple[float, float]:
    """Mean and standard error over the questions, in points."""
    chunks = [
        Passage(node.ref_doc_id or "", Span(node.start_char_idx or 0, node.end_char_idx or 0))
        for node in parser(list(dataset.documents))
    ]
    values = [
        100 * max(precision_omega(_near(chunks, answer), answer) for answer in question.gold)
        for question in dataset.questions
    ]
    return float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _near(chunks: Sequence[Passage], answer: Sequence[Passage]) -> list[Passage]:
    documents = {passage.document for passage in answer}
    return [chunk for chunk in chunks if chunk.document in documents]


def recalls(dataset: Dataset, cache: Path | None) -> Iterator[list[str]]:
    """Rows of the table of recalls, by `evaluate` itself."""
    from minilm import MiniLM

    plan = EvaluationPlan(
        budgets=(1000,),
        ks=(_CHUNKS,),
        sizes=(),
        target=None,
        options=QueryOptions(mode="dense"),
        measure=f"recall@k{_CHUNKS}",
    )
    columns = {
        f"{name} {size}/{overlap}": make(size, overlap) for name, make, size, overlap, _ in RECALLS
    }
    report = evaluate(dataset, columns, plan=plan, embed_model=MiniLM(), cache=cache)
    for row, (*_, published) in zip(report.of_role("own"), RECALLS, strict=True):
        if row.interval is None:
            raise SystemExit(f"{row.name}: {row.error}")
        mean, low, high = (100 * bound for bound in astuple(row.interval))
        yield [row.name, f"{published:.1f}", f"{mean:.1f} ({low:.1f} to {high:.1f})"]


def main() -> None:
    """Print published values beside ours."""
    parser = options_of(__doc__, ("chroma",))
    parser.add_argument("--recall", action="store_true", help="the recalls instead of omega")
    parser.add_argument("--cache", type=Path, help="folder that keeps paid vectors")
    options = parser.parse_args()
    dataset = labelled_set("chroma", options.data)
    if options.recall:
        head = ["parser", f"recall of {_CHUNKS} chunks, published", "here"]
        print(markdown_table(head, list(recalls(dataset, options.cache))))
        return
    rows = []
    for name, make, size, overlap, published in PUBLISHED:
        mean, error = omega(dataset, make(size, overlap))
        ours = f"{mean:.1f} ± {1.96 * error:.1f}"
        rows.append([name, f"{size}/{overlap}", f"{published:.1f}", ours])
    print(f"{len(dataset.questions)} questions, {len(dataset.not_located)} left out")
    print(markdown_table(["parser", "size/overlap", "omega, published", "omega, here"], rows))


if __name__ == "__main__":
    main()
