"""Does size decide, or strategy? Splitters of several packages on labelled sets, by `evaluate`.

Search by words alone (BM25), budgets filled exactly. Per set and splitter the recall, and its
difference to our `recursive` at 200 tokens with its 95 % interval. Words are weighed by how often
they are in the documents of the set; with `--alone` each document is a collection of its own.

    python benchmarks/peer_recall.py --data FOLDER --pages PAGES.json
    python benchmarks/peer_recall.py --data FOLDER --alone --sets evidence_inference de
    python benchmarks/peer_recall.py --data FOLDER --rows nominal --sets evidence_inference
    python benchmarks/peer_recall.py --data FOLDER --rows equal --sets evidence_inference
    python benchmarks/peer_recall.py --data FOLDER --rows presets --sets evidence_inference qmsum
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from labelled_sets import LANGUAGES, labelled_set, options_of
from llama_index.core.node_parser import SentenceSplitter
from measuring import markdown_table
from systems import STOCK, langchain

from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions

BUDGET, SHORT = 1000, 200
"""Tokens that are read; of documents of XQuAD, which have about 1,000, the smaller number."""
OURS = "recursive"
"""What the others are compared with."""


def peers() -> dict[str, object]:
    """Splitters of other packages at sizes that people use, and ours at one."""
    columns = {f"LangChain recursive {size}": langchain(size) for size in (100, 200, 400, 800)}
    return {
        OURS: get_parser("recursive", unit="tokens", chunk_size=200, chunk_overlap=0),
        **columns,
        "LlamaIndex sentence 100": SentenceSplitter(chunk_size=100, chunk_overlap=0),
        "LlamaIndex sentence 512": SentenceSplitter(chunk_size=512),
        STOCK: SentenceSplitter(),
        "heading 200": get_parser("heading", chunk_size=200),
    }


def strategies() -> dict[str, object]:
    """Every strategy at the same size by name, which is not the same on average."""
    sized = {"unit": "tokens", "chunk_size": 200, "chunk_overlap": 0}
    return {
        OURS: get_parser("recursive", **sized),
        STOCK: SentenceSplitter(),
        "LangChain recursive": langchain(200),
        "fixed": get_parser("fixed", **sized),
        "sentence": get_parser("sentence", **sized),
        "token-overlap": get_parser("token-overlap", chunk_size=200, chunk_overlap=0),
        "heading": get_parser("heading", chunk_size=200),
        "semantic": get_parser("semantic", chunk_size=200),
    }


def presets() -> dict[str, object]:
    """Presets as they come."""
    names = (OURS, "fixed", "token-overlap", "heading", "semantic", "auto")
    return {**{name: get_parser(name) for name in names}, STOCK: SentenceSplitter()}


@dataclass(frozen=True)
class Rows:
    """What one table compares.

    Attributes:
        columns: makes the splitters, by name.
        budget: tokens that are read.
        target: mean size that all are brought to; None for their own.
    """

    columns: Callable[[], Mapping[str, object]]
    budget: int = BUDGET
    target: int | None = None


TABLES = {
    "peers": Rows(peers),
    "nominal": Rows(strategies),
    "equal": Rows(strategies, target=86),
    "presets": Rows(presets, budget=1500),
}


def measured(dataset: Dataset, rows: Rows, cache: Path | None) -> EvaluationReport:
    """The rows of a table on one set."""
    plan = EvaluationPlan(
        budgets=(SHORT if dataset.name in LANGUAGES else rows.budget,),
        sizes=(),
        target=rows.target,
        options=QueryOptions(mode="sparse", granularity="chunks"),
    )
    return evaluate(dataset, rows.columns(), plan=plan, cache=cache)


def each_alone(dataset: Dataset, rows: Rows, cache: Path | None) -> dict[str, str]:
    """Per column the recall over all questions, each document being a collection of its own."""
    values = defaultdict[str, list[float]](list)
    for document in dataset.documents:
        asked = tuple(
            question for question in dataset.questions if question.document == document.id_
        )
        if not asked:
            continue
        report = measured(replace(dataset, documents=(document,), questions=asked), rows, cache)
        for row in report.of_role(_role(rows)):
            values[row.name] += [outcome.scores[report.measure] for outcome in row.outcomes]
    return {name: f"{100 * fmean(each):.1f}" for name, each in values.items()}


def _role(rows: Rows) -> str:
    return "matched" if rows.target else "own"


def cells(report: EvaluationReport, role: str) -> dict[str, str]:
    """Per column the recall and the mean tokens of a chunk, and the difference to ours."""
    rows = {row.name: row for row in report.of_role(role) if not row.error}
    recalls = {
        row.column: f"{100 * row.means[report.measure]:.1f}, {row.chunks.mean:.0f} tokens"
        for row in rows.values()
    }
    ours = next(row.name for row in rows.values() if row.column == OURS)
    for contrast in report.contrasts:
        if (
            ours in (contrast.left, contrast.right)
            and {contrast.left, contrast.right} <= rows.keys()
        ):
            sign, name = (1, contrast.left) if contrast.right == ours else (-1, contrast.right)
            low, high = sorted((sign * contrast.these.low, sign * contrast.these.high))
            gap = f"{100 * sign * contrast.these.mean:+.1f}: {100 * low:+.1f} to {100 * high:+.1f}"
            recalls[rows[name].column] += f" ({gap})"
    return recalls


def main() -> None:
    """Print one table: splitters by sets."""
    parser = options_of(__doc__)
    parser.add_argument("--cache", type=Path, help="folder that keeps paid vectors")
    parser.add_argument("--alone", action="store_true", help="each document by itself")
    parser.add_argument("--rows", choices=TABLES, default="peers", help="what is compared")
    options = parser.parse_args()
    recalls, table = {}, TABLES[options.rows]
    for name in options.sets:
        if options.alone:
            recalls[name] = each_alone(labelled_set(name, options.data), table, options.cache)
            continue
        dataset = labelled_set(name, options.data, options.pages)
        report = measured(dataset, table, options.cache)
        recalls[name] = cells(report, _role(table))
        print(name, report.dataset.questions, "questions;", *report.verdict, flush=True)
    rows = [
        [column, *(recalls[name][column] for name in options.sets)] for column in table.columns()
    ]
    print(markdown_table(["splitter", *options.sets], rows))


if __name__ == "__main__":
    main()
