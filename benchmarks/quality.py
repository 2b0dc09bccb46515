"""How much of the answers is read, on five labelled sets: splitters at their sizes, and the ladder.

Offline and by words alone (BM25), as the product is without a key. Recall of every question is kept
in `benchmarks/results`, from which `docs/make_results.py` makes all tables and pictures.

    python benchmarks/quality.py --data FOLDER --pages PAGES.json --cache FOLDER
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from kept import FOLDER, Kept
from labelled_sets import LANGUAGES, labelled_set, options_of
from splitters import LADDER_ON, Columns, of_equal_size, ours, peers

from rag_nodes.evaluation.columns import Variant
from rag_nodes.evaluation.dataset import Dataset, Question
from rag_nodes.evaluation.indexing import Index
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import Row
from rag_nodes.evaluation.run import evaluate
from rag_nodes.evaluation.scoring import score
from rag_nodes.models import choose_models
from rag_nodes.parsers import as_parser
from rag_nodes.query import QueryOptions, QuestionVectors, RagNodesRetriever
from rag_nodes.query.packing import passage_of
from rag_nodes.settings import Settings
from rag_nodes.store import open_store
from rag_nodes.text.filling import Ranked
from rag_nodes.text.ladder import Run, best_passages, joined_runs

BUDGETS = (500, 1000, 2000)
"""Tokens that are read."""
SHORT = (100, 200, 400)
"""The same of XQuAD, whose documents have about 1,000."""
CANDIDATES = 40
"""Chunks whose text the ladder ranks, with the one before and after each."""
MEAN_SIZE = 150
"""Tokens of a chunk on average where splitters are compared at one size."""
LADDER = "ladder"
_GAP = 100
"""Characters of blank space that are looked at behind a chunk."""
_DRAWS = 100
"""Of the intervals of `evaluate`, which nobody sees: those in the tables are of what is kept."""


def budgets_of(name: str) -> tuple[int, ...]:
    """The budgets at which a set is asked."""
    return SHORT if name in LANGUAGES else BUDGETS


class Step:
    """One thing that is measured on a set.

    Args:
        dataset: the set.
        kept: where the recalls go.
        cache: folder with finished rows.
    """

    def __init__(self, dataset: Dataset, kept: Kept, cache: Path | None) -> None:
        self.dataset, self.kept, self.cache = dataset, kept, cache
        self.budgets = budgets_of(dataset.name)
        self.models = choose_models(Settings(embedding="lexical", llm="extractive"))

    def rows(self, dataset: Dataset, columns: Columns, target: int | None = None) -> list[Row]:
        """Whole chunks in the order of their rank, read until the budget is full."""
        plan = EvaluationPlan(
            budgets=self.budgets,
            ks=(),
            sizes=(),
            target=target,
            options=QueryOptions(mode="sparse"),
            draws=_DRAWS,
        )
        report = evaluate(
            dataset, columns(self.dataset.name), plan=plan, models=self.models, cache=self.cache
        )
        return [row for row in report.rows if row.role != "control"]

    def keep(self, step: str, row: Row, name: str = "") -> None:
        """Keep a row; one that failed is only said."""
        if row.error:
            print(self.dataset.name, row.name, "failed:", row.error, flush=True)
            return
        recall = {
            budget: [one.scores[f"recall@{budget}"] for one in row.outcomes]
            for budget in self.budgets
        }
        self.kept.put(
            step,
            name or row.name,
            recall,
            mean=row.chunks["mean"],
            chunks=int(row.cost["chunks"] or 0),
        )

    def plain(self) -> None:
        """Every splitter at its own options."""
        for columns in (ours, peers):
            for row in self.rows(self.dataset, columns):
                self.keep("plain", row)

    def ladder(self) -> None:
        """The sentences of what was found, by the ladder of widths."""
        recall, index = self._laddered(self.dataset)
        self.kept.put(
            "ladder", LADDER, recall, mean=index.statistics.mean, chunks=index.cost.chunks
        )

    def equal(self) -> None:
        """Splitters at one mean size."""
        for row in self.rows(self.dataset, of_equal_size, MEAN_SIZE):
            if row.role == "matched":
                self.keep("equal", row, row.column + (f" ({row.note})" if row.note else ""))

    def _laddered(self, dataset: Dataset) -> tuple[dict[int, list[float]], Index]:
        parser = as_parser(ours(dataset.name)[LADDER_ON])
        vectors = QuestionVectors(size=len(dataset.questions), ttl_hours=1e6)
        recall: dict[int, list[float]] = {budget: [] for budget in self.budgets}
        with open_store() as store:
            index = Index(
                Variant(LADDER, "own", parser),
                dataset.documents,
                store=store,
                models=self.models,
                options=QueryOptions(mode="sparse"),
                vectors=vectors,
            )
            retriever = RagNodesRetriever(
                store=store,
                collection=index.collection,
                models=self.models,
                options=QueryOptions(mode="sparse"),
            )
            for question in dataset.questions:
                runs = _candidates(retriever, question, dataset.texts)
                for budget in self.budgets:
                    read = _read(question, runs, budget)
                    scores = score(
                        question, read, index.chunks, dataset.texts, budgets=(budget,), ks=()
                    )
                    recall[budget].append(scores[f"recall@{budget}"])
        return recall, index


def _candidates(
    retriever: RagNodesRetriever, question: Question, texts: Mapping[str, str]
) -> list[Run]:
    """The best chunks and their neighbours, joined where only blank space is between them."""
    retriever.document_ids = question.within
    hits = retriever.hits(question.text, None, limit=CANDIDATES)
    around = {
        other.node_id
        for hit in hits
        for other in (hit.node.prev_node, hit.node.next_node)
        if other is not None
    }
    found = retriever.store.fetch(retriever.collection, sorted(around))
    pieces = [passage_of(hit) for hit in hits]
    pieces += [passage_of(replace(hits[0], node=node)) for node in found.values()]
    return joined_runs(
        Run(one.document, one.span.start, one.text + _blank(texts[one.document], one.span.end))
        for one in pieces
    )


def _blank(text: str, start: int) -> str:
    """The blank space from an offset on, which parsers leave out between two chunks."""
    rest = text[start : start + _GAP]
    return rest[: len(rest) - len(rest.lstrip())]


def _read(question: Question, runs: list[Run], budget: int) -> list[Ranked]:
    return [
        Ranked(
            runs[one.run].document,
            one.span,
            runs[one.run].text[
                one.span.start - runs[one.run].start : one.span.end - runs[one.run].start
            ],
        )
        for one in best_passages(question.text, runs, budget)
    ]


STEPS: dict[str, Callable[[Step], None]] = {
    "plain": Step.plain,
    "ladder": Step.ladder,
    "equal": Step.equal,
}


def kept_of(dataset: Dataset) -> Kept:
    """What is kept of a set so far, or nothing where its questions have changed."""
    questions = [one.id for one in dataset.questions]
    documents = [dataset.names[one.document] for one in dataset.questions]
    empty = Kept(dataset.name, questions, documents)
    if not (FOLDER / f"{dataset.name}.json").exists():
        return empty
    found = Kept.load(dataset.name)
    return found if (found.questions, found.documents) == (questions, documents) else empty


def main() -> None:
    """Measure the steps that are asked for, and keep each as soon as it is done."""
    parser = options_of(__doc__)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=list(STEPS))
    parser.add_argument("--cache", type=Path, help="folder that keeps finished rows")
    options = parser.parse_args()
    for step in options.steps:
        for name in options.sets:
            started = time.process_time()
            dataset = labelled_set(name, options.data, options.pages)
            kept = kept_of(dataset)
            STEPS[step](Step(dataset, kept, options.cache))
            kept.save()
            print(step, name, f"{time.process_time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
