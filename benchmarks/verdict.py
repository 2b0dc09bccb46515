"""How often a verdict is wrong: sets with a known truth, drawn out of a real run or made up.

Each set has 400 questions. Nothing to find: two columns whose names change places at random,
document by document. Something to find: one column loses five of a hundred answers it found.

    rag-nodes evaluate docs/ --questions q.json -p recursive -p heading --output run.json
    python benchmarks/verdict.py --run run.json
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rag_nodes.evaluation.bootstrap import Bootstrap
from rag_nodes.evaluation.report import EvaluationReport

QUESTIONS = 400
GAP = 0.05
MOST_ALARMS = 0.05
LEAST_FOUND = 0.80
PER_DOCUMENT = 10
LUCK = 0.1
"""Share of the questions in which a column ends otherwise than the document lets expect."""


class Sample(NamedTuple):
    """Two columns over questions.

    Attributes:
        documents: what each question is about.
        values: questions x 2, from 0 to 1.
    """

    documents: NDArray[np.str_]
    values: NDArray[np.float64]


def of_run(path: Path) -> Sample:
    """The two best columns of a run."""
    report = EvaluationReport.load(path)
    rows = sorted(report.of_role("own"), key=lambda row: -row.means[report.measure])[:2]
    rows = rows if len(rows) > 1 else [*rows, *rows]
    documents = np.array([question["document"] for question in report.questions])
    columns = [[one.scores[report.measure] for one in row.outcomes] for row in rows]
    return Sample(documents, np.array(columns).T)


def made_up(generator: np.random.Generator) -> Sample:
    """Questions that are hard or easy together with their document, answered or not."""
    count = 60
    ease = np.repeat(generator.beta(4, 2, count), PER_DOCUMENT)
    luck = generator.random((ease.size, 2)) < LUCK
    found = (generator.random(ease.size) < ease)[:, None] ^ luck
    names = np.repeat([f"document {number}" for number in range(count)], PER_DOCUMENT)
    return Sample(names, found.astype(float))


def drawn(sample: Sample, generator: np.random.Generator) -> Sample:
    """Documents drawn with replacement until there are enough questions; each counts as new."""
    names = np.unique(sample.documents)
    documents: list[str] = []
    rows: list[NDArray[np.float64]] = []
    while len(documents) < QUESTIONS:
        name = generator.choice(names)
        values = sample.values[sample.documents == name]
        values = values[generator.integers(len(values), size=len(values))]
        documents += [f"{name} {len(rows)}"] * len(values)
        rows.append(values)
    kept = slice(QUESTIONS)
    return Sample(np.array(documents)[kept], np.concatenate(rows)[kept])


def shuffled(sample: Sample, generator: np.random.Generator) -> NDArray[np.float64]:
    """Differences without a cause: names change places, for all questions of a document."""
    gaps = sample.values[:, 0] - sample.values[:, 1]
    for name in np.unique(sample.documents):
        gaps[sample.documents == name] *= generator.choice((-1.0, 1.0))
    return gaps


def planted(sample: Sample, generator: np.random.Generator) -> NDArray[np.float64]:
    """Differences of a column to itself without five of a hundred answers."""
    values = sample.values[:, 0]
    share = min(1.0, GAP / max(values.mean(), 1e-9))
    return np.where(generator.random(len(values)) < share, values, 0.0)


def winners(sample: Sample, sets: int, *, draws: int, seed: int) -> tuple[float, float]:
    """Shares of the sets in which a winner is named: without a gap, and with one."""
    generator = np.random.default_rng(seed)
    named = np.zeros(2)
    for number in range(sets):
        one = drawn(sample, generator)
        bootstrap = Bootstrap(one.documents.tolist(), draws=draws, seed=number)
        gaps = (shuffled(one, generator), planted(one, generator))
        named += [bootstrap.gap(one).shows_a_gap for one in gaps]
    alarms, found = named / sets
    return float(alarms), float(found)


def main() -> None:
    """Print both shares, and end with 1 where one misses its goal."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, help="JSON of `rag-nodes evaluate --output`")
    parser.add_argument("--sets", type=int, default=200)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sample = of_run(options.run) if options.run else made_up(np.random.default_rng(options.seed))
    alarms, found = winners(sample, options.sets, draws=options.draws, seed=options.seed)
    print(f"{options.sets} sets of {QUESTIONS} questions")
    print(f"a winner where there is none: {alarms:.1%} (goal: at most {MOST_ALARMS:.0%})")
    print(f"a gap of {100 * GAP:.0f} points seen: {found:.1%} (goal: at least {LEAST_FOUND:.0%})")
    raise SystemExit(alarms > MOST_ALARMS or found < LEAST_FOUND)


if __name__ == "__main__":
    main()
