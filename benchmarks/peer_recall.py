"""Does size decide, or strategy? Splitters of several packages on labelled sets, by `evaluate`.

Search by words alone (BM25), budgets filled exactly. Per set and splitter the recall, and its
difference to our `recursive` at 200 tokens with its 95 % interval. Words are weighed by how often
they are in the documents of the set; with `--alone` each document is a collection of its own.

    python benchmarks/peer_recall.py --data FOLDER --pages PAGES.json
    python benchmarks/peer_recall.py --data FOLDER --alone --sets evidence_inference de
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from statistics import fmean

from labelled_sets import LANGUAGES, labelled_set, options_of
from llama_index.core.node_parser import SentenceSplitter
from measuring import markdown_table

from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions
from rag_nodes.text.tokens import count_tokens

BUDGET, SHORT = 1000, 200
"""Tokens that are read; of documents of XQuAD, which have about 1,000, the smaller number."""
OURS = "recursive 200"


def columns() -> dict[str, object]:
    """The rows of the table."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    sized = {
        f"LangChain recursive {size}": RecursiveCharacterTextSplitter(
            chunk_size=size, chunk_overlap=0, length_function=count_tokens
        )
        for size in (100, 200, 400, 800)
    }
    return {
        OURS: get_parser("recursive", unit="tokens", chunk_size=200, chunk_overlap=0),
        **sized,
        "LlamaIndex sentence 100": SentenceSplitter(chunk_size=100, chunk_overlap=0),
        "LlamaIndex sentence 512": SentenceSplitter(chunk_size=512),
        "heading 200": get_parser("heading", chunk_size=200),
    }


def measured(dataset: Dataset, cache: Path | None) -> EvaluationReport:
    """One set, at the columns' own options."""
    budget = SHORT if dataset.name in LANGUAGES else BUDGET
    plan = EvaluationPlan(
        budgets=(budget,), sizes=(), target=None, options=QueryOptions(mode="sparse")
    )
    return evaluate(dataset, columns(), plan=plan, cache=cache)


def each_alone(dataset: Dataset, cache: Path | None) -> dict[str, str]:
    """Per column the recall over all questions, each document being a collection of its own."""
    values = defaultdict[str, list[float]](list)
    for document in dataset.documents:
        asked = tuple(one for one in dataset.questions if one.document == document.id_)
        if not asked:
            continue
        report = measured(replace(dataset, documents=(document,), questions=asked), cache)
        for row in report.of_role("own"):
            values[row.name] += [one.scores[report.measure] for one in row.outcomes]
    return {name: f"{100 * fmean(each):.1f}" for name, each in values.items()}


def cells(report: EvaluationReport) -> dict[str, str]:
    """Per column the recall, with the difference to ours and its interval."""
    found = {
        row.name: f"{100 * row.means[report.measure]:.1f}"
        for row in report.of_role("own")
        if not row.error
    }
    for one in report.contrasts:
        if OURS in (one.left, one.right):
            sign, name = (1, one.left) if one.right == OURS else (-1, one.right)
            low, high = sorted((sign * one.gap.low, sign * one.gap.high))
            gap = f"{100 * sign * one.gap.mean:+.1f}: {100 * low:+.1f} to {100 * high:+.1f}"
            found[name] += f" ({gap})"
    return found


def main() -> None:
    """Print one table: splitters by sets."""
    parser = options_of(__doc__)
    parser.add_argument("--cache", type=Path, help="folder that keeps finished rows")
    parser.add_argument("--alone", action="store_true", help="each document by itself")
    options = parser.parse_args()
    found = {}
    for name in options.sets:
        if options.alone:
            found[name] = each_alone(labelled_set(name, options.data), options.cache)
            continue
        report = measured(labelled_set(name, options.data, options.pages), options.cache)
        found[name] = cells(report)
        print(name, report.dataset["questions"], "questions;", *report.verdict, flush=True)
    rows = [[column, *(found[name][column] for name in options.sets)] for column in columns()]
    print(markdown_table(["splitter", *options.sets], rows))


if __name__ == "__main__":
    main()
