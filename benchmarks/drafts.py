"""Whether drafted questions rank ways of cutting as people's questions do.

The same columns and sizes, documents, budget and search; only the questions differ. Kendall's tau
over all rows, the pairs that both put in the same order by how far apart they are, and what
choosing the row that drafts put first costs with people's questions. A second draw of drafts tells
how much is chance.

    python benchmarks/drafts.py docs/ questions.json --budget 1000 --own-document
"""

from __future__ import annotations

import argparse
import hashlib
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rag_nodes.evaluation.checks import mean_leakage
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.evaluation.importers import load_dataset
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions
from rag_nodes.readers import read_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.evaluation.dataset import Dataset

COLUMNS = ("fixed", "recursive", "heading", "semantic")
SIZES = (100, 200, 400, 800)
SEEDS = (0, 1)
GAPS = (0.0, 0.03, 0.06, 1.01)
"""Gaps of people's questions, in steps: the larger one is, the surer."""


def asked(given: argparse.Namespace) -> tuple[Dataset, list[Dataset]]:
    """People's questions, a fair sample where there are many, and drafts about the same texts."""
    read = [one.document for one in read_all([given.documents]) if one.document is not None]
    human = load_dataset(given.questions, read)
    about = {one.document for one in human.questions}
    texts = tuple(one for one in human.documents if one.id_ in about)
    sample = sorted(human.questions, key=lambda one: hashlib.sha256(one.id.encode()).digest())
    human = replace(human, questions=tuple(sample[: given.most]))
    if given.own_document:
        human = replace(human, documents=texts)
    drafts = [draft_questions(human.documents, count=given.drafts, seed=seed) for seed in SEEDS]
    return human, drafts


def recalls(
    datasets: Sequence[Dataset], plan: EvaluationPlan, *, own_document: bool
) -> list[dict[str, float]]:
    """Mean recall of every column at every size, for each set of questions about the same texts."""
    # Drafts count as accepted here: what they would choose is what is measured.
    marked = [replace(one, id=f"{number} {one.id}", draft=False)
              for number, each in enumerate(datasets) for one in each.questions]  # fmt: skip
    marked.sort(key=lambda one: one.document)  # a filter is looked up once for all its questions
    together = replace(datasets[0], questions=tuple(marked))
    report = evaluate(
        together.narrowed() if own_document else together,
        {name: get_parser(name) for name in COLUMNS},
        plan=plan,
    )
    found: list[dict[str, float]] = [{} for _ in datasets]
    for row in (row for row in report.of_role("size") if not row.error):
        for number, own in enumerate(found):
            values = [one.scores[plan.main] for one in row.outcomes
                      if one.question.startswith(f"{number} ")]  # fmt: skip
            own[row.name] = float(np.mean(values))
    return found


def tau(left: list[float], right: list[float]) -> float:
    """Kendall's tau-b: 1 for the same order, 0 for none, -1 for the opposite."""
    one, other = (
        np.array([np.sign(a - b) for a, b in combinations(values, 2)]) for values in (left, right)
    )
    ties = np.sqrt(float((one != 0).sum()) * float((other != 0).sum()))
    return float((one * other).sum() / ties) if ties else 0.0


def agreement(human: list[float], drafts: list[float], least: float, most: float) -> str:
    """Of the pairs that people's questions put so far apart, those that drafts order alike."""
    alike = [
        (one[0] - other[0]) * (one[1] - other[1]) > 0
        for one, other in combinations(zip(human, drafts, strict=True), 2)
        if least <= abs(one[0] - other[0]) < most
    ]
    return f"{sum(alike)} of {len(alike)}"


def main() -> None:
    """Measure one set and print its row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("documents", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--name", default="")
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--mode", default="sparse")
    parser.add_argument("--own-document", action="store_true")
    parser.add_argument("--most", type=int, default=150, help="of people's questions")
    parser.add_argument("--drafts", type=int, default=100)
    given = parser.parse_args()
    plan = EvaluationPlan(
        budgets=(given.budget,), ks=(), sizes=SIZES, target=None, draws=100,
        options=QueryOptions(mode=given.mode),
    )  # fmt: skip
    human, drafts = asked(given)
    rows, *drafted = recalls([human, *drafts], plan, own_document=given.own_document)
    names = list(rows)
    truth = list(rows.values())
    values = [list(one.values()) for one in drafted]
    alike = [agreement(truth, values[0], *gaps) for gaps in pairwise(GAPS)]
    chosen = max(names, key=lambda name: drafted[0][name])
    print(
        f"| {given.name or given.questions.stem} | {len(human.questions)} | "
        f"{len(drafts[0].questions)} | {mean_leakage(human):.2f} | {mean_leakage(drafts[0]):.2f} | "
        f"{tau(truth, values[0]):+.2f} | {tau(values[0], values[1]):+.2f} | {' | '.join(alike)} | "
        f"{chosen}: {100 * rows[chosen]:.1f} of {100 * max(truth):.1f} |",
        flush=True,
    )
    for name in names:
        print(f"  {name}: {100 * rows[name]:.1f}", *(f"{100 * one[name]:.1f}" for one in drafted))


if __name__ == "__main__":
    main()
