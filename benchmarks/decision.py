"""How much the decision of a report loses: reports of few questions about sets with many.

Seven settings are measured on each labelled set, with whole chunks and BM25. A report is a sample
of its questions, drawn with replacement. Its loss is by how much the setting that it proposes is
behind the best one on all questions. The languages of XQuAD count as one family in the mean.

    python benchmarks/decision.py --data FOLDER --pages FILE --cache FOLDER
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from labelled_sets import LANGUAGES, labelled_set, options_of
from llama_index.core.node_parser import SentenceSplitter
from measuring import markdown_table
from numpy.typing import NDArray

from rag_nodes.evaluation.decision import estimates, proposed
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import EvaluationReport, Row
from rag_nodes.evaluation.run import evaluate
from rag_nodes.query import QueryOptions

Floats = NDArray[np.float64]
DEFAULT = "retrieval"
PRESETS = (DEFAULT, "heading", "token-overlap", "semantic", "fixed", "sentence")
QUESTIONS = (20, 50, 200)
"""Questions of a report."""
GOALS = ((1.5, 3.0), (1.1, 2.0), (0.4, 1.0))
"""Largest mean and worst loss in points, for each number of questions."""


class Measured(NamedTuple):
    """The rows of a set, and what each finds of each answer."""

    rows: Sequence[Row]
    values: Mapping[str, Floats]

    def without_default(self) -> Measured:
        """Return the same without the default setting."""
        rows = [row for row in self.rows if row.name != DEFAULT]
        return Measured(rows, {row.name: self.values[row.name] for row in rows})


Rule = Callable[[Sequence[Row], Mapping[str, Floats]], str]


def decision(rows: Sequence[Row], values: Mapping[str, Floats]) -> str:
    """Return what a report proposes."""
    default = DEFAULT if DEFAULT in values else ""
    return proposed(rows, estimates(values, default), default).name


def largest_mean(_: Sequence[Row], values: Mapping[str, Floats]) -> str:
    """Return the setting with the largest mean."""
    return max(values, key=lambda name: values[name].mean())


RULES: Mapping[str, Rule] = {
    "always the default": lambda *_: DEFAULT,
    "the largest mean": largest_mean,
    "decision of `evaluate`": decision,
}
WITHOUT_DEFAULT: Mapping[str, Rule] = {
    f"{name}, without the default": RULES[name]
    for name in ("the largest mean", "decision of `evaluate`")
}


def measured(name: str, options: Namespace) -> Measured:
    """Measure a set, or read its report from the cache."""
    path: Path = options.cache / f"{name}.json"
    if path.is_file():
        report = EvaluationReport.load(path)
    else:
        budget = 200 if name in LANGUAGES else 1000
        search = QueryOptions(mode="sparse", granularity="chunks", top_k=None, budget=budget)
        plan = EvaluationPlan(budgets=(budget,), ks=(1,), sizes=(), target=None, options=search)
        columns = {**{name: name for name in PRESETS}, "SentenceSplitter": SentenceSplitter()}
        report = evaluate(labelled_set(name, options.data, options.pages), columns, plan=plan)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(report.to_json(), encoding="utf-8")
    values = {row.name: np.array([outcome.scores[report.measure] for outcome in row.outcomes])
              for row in report.rows}  # fmt: skip
    return Measured(report.rows, values)


def loss_of(rule: Rule, measured_set: Measured, questions: int, samples: int, seed: int) -> float:
    """Return the mean loss in points of reports with so many questions."""
    generator = np.random.default_rng(seed)
    truth = {name: float(each.mean()) for name, each in measured_set.values.items()}
    losses = []
    for _ in range(samples):
        asked = generator.integers(len(next(iter(measured_set.values.values()))), size=questions)
        chosen = rule(
            measured_set.rows, {name: each[asked] for name, each in measured_set.values.items()}
        )
        losses.append(max(truth.values()) - truth[chosen])
    return 100 * float(np.mean(losses))


def mean_of(losses: Mapping[str, float]) -> float:
    """Return the mean over families of sets."""
    languages = [losses[name] for name in LANGUAGES if name in losses]
    families = [each for name, each in losses.items() if name not in LANGUAGES]
    return float(np.mean([*families, *([np.mean(languages)] if languages else [])]))


def main() -> None:
    """Print the table, and end with 1 if the decision loses more than `GOALS`."""
    parser = options_of(__doc__)
    parser.add_argument("--cache", type=Path, required=True, help="folder for the reports")
    parser.add_argument("--samples", type=int, default=200, help="reports of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sets = {name: measured(name, options) for name in options.sets}
    lines, is_good = [], True
    for rule_name, rule in {**RULES, **WITHOUT_DEFAULT}.items():
        cells, details, without = [], "", rule_name in WITHOUT_DEFAULT
        for questions, (most, worst) in zip(QUESTIONS, GOALS, strict=True):
            losses = {name: loss_of(rule, scores.without_default() if without else scores,
                                    questions, options.samples, options.seed)
                      for name, scores in sets.items()}  # fmt: skip
            mean, largest = mean_of(losses), max(losses.values())
            cells.append(f"{mean:.1f}, worst {largest:.1f}")
            if questions == QUESTIONS[1]:
                details = ", ".join(f"{each:.1f}" for each in losses.values())
            is_good &= rule is not decision or without or (mean <= most and largest <= worst)
        lines.append([rule_name, *cells, details])
    heads = ["rule", *(f"{number} questions" for number in QUESTIONS), f"at 50: {', '.join(sets)}"]
    print(markdown_table(heads, lines))
    raise SystemExit(not is_good)


if __name__ == "__main__":
    main()
