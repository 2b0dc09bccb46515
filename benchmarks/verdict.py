"""How often a report is wrong: reports with a known truth, made of the scores of real systems.

Nothing to find: the columns of a report change places at random, within each question where it
speaks of these documents, and within each document where it speaks of documents like these. A
report is wrong where it names any column better than any other. Something to find: after that, all
columns but the first lose so many of the answers they found that it leads by ten points.

    python benchmarks/verdict.py               # five labelled sets together, some minutes
    python benchmarks/verdict.py --as-they-are # each set by itself, with its own questions
    python benchmarks/verdict.py --run run.json
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from labelled_sets import SETS
from measuring import markdown_table
from numpy.typing import NDArray
from results.kept import Kept

from rag_nodes.evaluation.leads import Swaps
from rag_nodes.evaluation.report import EvaluationReport

Floats = NDArray[np.float64]
COLUMNS = (2, 4, 8, 16)
THESE = ((1, 6), (1, 20), (1, 60), (1, 200), (3, 5), (3, 50))
"""Documents, and questions about each, of reports that speak of these documents."""
LIKE_THESE = ((6, 15), (10, 5), (24, 3), (40, 5), (21, 0))
"""The same of reports that speak of documents like these; the last has one of 200 questions beside
twenty of two."""
GAP = 0.10
MOST = 0.07
"""Share of reports that may name a winner where there is none; 5 % is meant, 600 reports scatter
by 0.9."""
BUDGET = "1000"


class Sample(NamedTuple):
    """Systems over the questions of a set.

    Attributes:
        documents: what each question is about.
        values: questions x systems, from 0 to 1.
    """

    documents: NDArray[np.str_]
    values: Floats

    def of(self, name: str) -> Floats:
        """The questions about one document."""
        return self.values[self.documents == name]


class Found(NamedTuple):
    """What a report says.

    Attributes:
        named: it names a winner.
        held: all its intervals hold the truth.
        shown: share of the true leads that it shows.
    """

    named: bool
    held: bool
    shown: float


def kept(name: str) -> Sample:
    """All systems that were measured on a set, with their recall."""
    found = Kept.load(name)
    systems = [one for step in ("plain", "ladder") for one in found.systems.get(step, {}).values()]
    recalls = [one["recall"] for one in systems]
    budget = BUDGET if BUDGET in recalls[0] else "200"
    return Sample(np.array(found.documents), np.array([one[budget] for one in recalls]).T)


def of_run(path: Path) -> Sample:
    """The columns of a run, at their own options and at all sizes."""
    report = EvaluationReport.load(path)
    rows = [row for role in ("own", "size") for row in report.of_role(role) if not row.error]
    columns = [[one.scores[report.measure] for one in row.outcomes] for row in rows]
    return Sample(np.array([one["document"] for one in report.questions]), np.array(columns).T)


def drawn(sample: Sample, layout: tuple[int, int], generator: np.random.Generator) -> Sample:
    """Documents drawn with replacement, each as a new one, and questions about them."""
    documents, each = layout
    sizes = [each] * documents if each else [200, *[2] * (documents - 1)]
    names = generator.choice(np.unique(sample.documents), documents)
    parts = [sample.of(name) for name in names]
    parts = [part[generator.integers(len(part), size=size)]
             for part, size in zip(parts, sizes, strict=True)]  # fmt: skip
    numbers = np.repeat(np.arange(documents), sizes).astype(str)
    return Sample(numbers, np.concatenate(parts))


def exchanged(
    sample: Sample, columns: int, generator: np.random.Generator, *, whole: bool
) -> Floats:
    """Some of the systems, with their places changed within each question or whole document."""
    systems = sample.values.shape[1]
    chosen = generator.choice(systems, columns, replace=columns > systems)
    units = sample.documents if whole else np.arange(len(sample.values)).astype(str)
    places = {name: generator.permutation(columns) for name in dict.fromkeys(units)}
    order = np.array([places[name] for name in units])
    return np.take_along_axis(sample.values[:, chosen], order, axis=1)


def judged(
    values: Floats, documents: Sequence[str] | None, truth: float, draws: int, seed: int
) -> Found:
    """What a report over all pairs of columns says, where the first leads by `truth`."""
    pairs = [*combinations(range(values.shape[1]), 2)]
    found = Swaps(values, pairs, documents, draws=draws, seed=seed).intervals
    truths = [truth if left == 0 else 0.0 for left, _ in pairs]
    held = all(one.low <= true <= one.high for one, true in zip(found, truths, strict=True))
    leads = [one.low > 0 for one, (left, _) in zip(found, pairs, strict=True) if left == 0]
    return Found(any(one.shows_a_gap for one in found), held, float(np.mean(leads)))


def reports(
    samples: Sequence[Sample],
    layout: tuple[int, int] | None,
    columns: int,
    *,
    whole: bool,
    gap: float,
    options: argparse.Namespace,
) -> Iterator[Found]:
    """Reports of one kind, of each set in turn."""
    generator = np.random.default_rng(options.seed)
    for number in range(options.sets):
        source = samples[number % len(samples)]
        sample = drawn(source, layout, generator) if layout else source
        values = exchanged(sample, columns, generator, whole=whole)
        if gap:
            share = gap / max(gap, float(values.mean()))
            lost = generator.random(values.shape) < share
            lost[:, 0] = False
            values = np.where(lost, 0.0, values)
        documents = sample.documents.tolist() if whole else None
        yield judged(values, documents, gap, options.draws, number)


def winners(samples: Sequence[Sample], options: argparse.Namespace) -> bool:
    """Print the share of reports with a winner where there is none; whether it is small enough."""
    rows, good = [], True
    for whole, layouts in ((False, THESE), (True, LIKE_THESE)):
        cells = {
            (layout, columns): [
                one.named
                for one in reports(samples, layout, columns, whole=whole, gap=0, options=options)
            ]
            for layout in (layouts if not options.as_they_are else (None,))
            for columns in COLUMNS
        }
        for layout in dict.fromkeys(layout for layout, _ in cells):
            shares = [f"{np.mean(cells[layout, columns]):.1%}" for columns in COLUMNS]
            rows.append([_population(whole=whole), _laid_out(layout), *shares])
        means = [
            float(np.mean([each for (_, columns), each in cells.items() if columns == one]))
            for one in COLUMNS
        ]
        rows.append(
            [f"**{_population(whole=whole)}**", "**all**", *(f"{one:.1%}" for one in means)]
        )
        good &= max(means) <= MOST
    print(markdown_table(["speaks of", "asked", *(f"{one} columns" for one in COLUMNS)], rows))
    return good


def gaps(samples: Sequence[Sample], options: argparse.Namespace) -> None:
    """Print how often a gap is shown, and how often all intervals hold the truth."""
    rows = []
    for whole, layouts in ((False, ((1, 60), (3, 50))), (True, ((24, 3), (40, 5)))):
        for layout in layouts:
            for columns in (2, 4):
                found = [*reports(samples, layout, columns, whole=whole, gap=GAP, options=options)]
                shown, held = (np.mean([one[at] for one in found]) for at in (2, 1))
                asked = [_population(whole=whole), _laid_out(layout), str(columns)]
                rows.append([*asked, f"{shown:.0%}", f"{held:.1%}"])
    heads = ["speaks of", "asked", "columns", "gap of 10 points shown", "all intervals hold"]
    print(markdown_table(heads, rows))


def _population(*, whole: bool) -> str:
    return "documents like these" if whole else "these documents"


def _laid_out(layout: tuple[int, int] | None) -> str:
    if layout is None:
        return "as it is"
    documents, each = layout
    return f"{documents} x {each}" if each else f"200 + {documents - 1} x 2"


def main() -> None:
    """Print the tables, and end with 1 where too many reports name a winner."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path, help="JSON of `rag-nodes evaluate --output`")
    parser.add_argument("--as-they-are", action="store_true", help="each set by itself")
    parser.add_argument("--sets", type=int, default=600, help="reports of each kind")
    parser.add_argument("--draws", type=int, default=600, help="swaps of each report")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    named = {"run": of_run(options.run)} if options.run else {name: kept(name) for name in SETS}
    if options.as_they_are:
        good = True
        for name, sample in named.items():
            asked = f"{len(sample.values)} questions, {len({*sample.documents.tolist()})} documents"
            print(f"\n{name}: {asked}\n")
            good &= winners([sample], options)
        raise SystemExit(not good)
    good = winners([*named.values()], options)
    print()
    gaps([*named.values()], options)
    raise SystemExit(not good)


if __name__ == "__main__":
    main()
