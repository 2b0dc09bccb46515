"""How often a report is wrong: reports with a known truth, made of the scores of real systems.

Nothing to find: the columns of a report change places at random, within each question where it
speaks of these documents, and within each document where it speaks of documents like these. A
report is wrong where it names any column better than any other. Something to find: after that, all
columns but the first lose so many of the answers they found that it leads by ten points.

A share over 6 % may be luck of few reports: it is counted again in ten times as many, with another
seed, before it is judged. No share may be over 7 %.

    python benchmarks/verdict.py               # five labelled sets together, some minutes
    python benchmarks/verdict.py --as-they-are # each set by itself, with its own questions
    python benchmarks/verdict.py --run run.json
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from labelled_sets import SETS
from measuring import markdown_table
from numpy.typing import NDArray
from results.kept import Kept

from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.sign_flips import SignFlips

Floats = NDArray[np.float64]
COLUMNS = (2, 4, 8, 16)
THESE = ((1, 6), (1, 20), (1, 60), (1, 200), (3, 5), (3, 50))
"""Documents, and questions about each, of reports that speak of these documents."""
LIKE_THESE = ((6, 15), (10, 5), (24, 3), (40, 5), (21, 0))
"""The same of reports that speak of documents like these; the last has one of 200 questions beside
twenty of two."""
GAP = 0.10
MOST = 0.07
"""Share of reports that may name a winner where there is none; 5 % is meant."""
DOUBTED, TIMES = 0.06, 10
"""A share above is counted again, in so many times as many reports: a true 5 % exceeds it in one of
eight cells of 600 reports, which scatter by 0.9."""
BUDGET = "1000"


class Sample(NamedTuple):
    """Systems over the questions of a set.

    Attributes:
        documents: what each question is about.
        values: questions x systems, from 0 to 1.
    """

    documents: NDArray[np.str_]
    values: Floats

    def values_of(self, name: str) -> Floats:
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


class Share(NamedTuple):
    """How many reports name a winner where there is none.

    Attributes:
        first: of the reports asked for.
        judged: what is judged: `first`, or the share of the repetition where that was doubted.
    """

    first: float
    judged: float

    def __str__(self) -> str:
        again = f" (first {self.first:.1%})" if self.judged != self.first else ""
        return f"{self.judged:.1%}{again}"


def share_of(count: Callable[[int, int], float], sets: int, seed: int) -> Share:
    """The share of a number of reports from a seed, counted again where luck may have made it."""
    first = count(sets, seed)
    return Share(first, count(TIMES * sets, seed + 1) if first > DOUBTED else first)


def kept(name: str) -> Sample:
    """All systems that were measured on a set, with their recall."""
    loaded = Kept.load(name)
    systems = [
        system for step in ("plain", "ladder") for system in loaded.systems.get(step, {}).values()
    ]
    recalls = [system["recall"] for system in systems]
    budget = BUDGET if BUDGET in recalls[0] else "200"
    return Sample(np.array(loaded.documents), np.array([recall[budget] for recall in recalls]).T)


def of_run(path: Path) -> Sample:
    """The columns of a run, at their own options and at all sizes."""
    report = EvaluationReport.load(path)
    rows = [row for role in ("own", "size") for row in report.of_role(role) if not row.error]
    columns = [[outcome.scores[report.measure] for outcome in row.outcomes] for row in rows]
    return Sample(
        np.array([question.document for question in report.questions]), np.array(columns).T
    )


def drawn(sample: Sample, layout: tuple[int, int], generator: np.random.Generator) -> Sample:
    """Documents drawn with replacement, each as a new one, and questions about them."""
    documents, each = layout
    sizes = [each] * documents if each else [200, *[2] * (documents - 1)]
    names = generator.choice(np.unique(sample.documents), documents)
    parts = [sample.values_of(name) for name in names]
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
    intervals = SignFlips(values, pairs, documents, draws=draws, seed=seed).intervals
    truths = [truth if left == 0 else 0.0 for left, _ in pairs]
    held = all(
        interval.low <= true <= interval.high
        for interval, true in zip(intervals, truths, strict=True)
    )
    leads = [
        interval.low > 0 for interval, (left, _) in zip(intervals, pairs, strict=True) if left == 0
    ]
    return Found(
        any(interval.is_significant for interval in intervals), held, float(np.mean(leads))
    )


class Cell(NamedTuple):
    """Reports of one kind.

    Attributes:
        samples: the sets that they are made of, in turn.
        whole: they speak of documents like these.
        layout: documents, and questions about each; None for those of the set.
        columns: of each report.
        draws: swaps of each report.
    """

    samples: Sequence[Sample]
    whole: bool
    layout: tuple[int, int] | None
    columns: int
    draws: int

    def reports(self, sets: int, seed: int, gap: float = 0.0) -> Iterator[Found]:
        """So many reports, the first column ahead by `gap`."""
        generator = np.random.default_rng(seed)
        for number in range(sets):
            source = self.samples[number % len(self.samples)]
            sample = drawn(source, self.layout, generator) if self.layout else source
            values = exchanged(sample, self.columns, generator, whole=self.whole)
            if gap:
                share = gap / max(gap, float(values.mean()))
                lost = generator.random(values.shape) < share
                lost[:, 0] = False
                values = np.where(lost, 0.0, values)
            documents = sample.documents.tolist() if self.whole else None
            yield judged(values, documents, gap, self.draws, seed * sets + number)

    def named(self, sets: int, seed: int) -> float:
        """Share of so many reports that name a winner where there is none."""
        return float(np.mean([report.named for report in self.reports(sets, seed)]))

    @property
    def asked(self) -> list[str]:
        """Whom its reports speak of, and what was asked."""
        laid_out = "as it is"
        if self.layout:
            documents, each = self.layout
            laid_out = f"{documents} x {each}" if each else f"200 + {documents - 1} x 2"
        return ["documents like these" if self.whole else "these documents", laid_out]


def winners(samples: Sequence[Sample], options: argparse.Namespace) -> bool:
    """Print the shares of reports with a winner where there is none; whether none is too large."""
    rows, most = [], 0.0
    for whole, layouts in ((False, THESE), (True, LIKE_THESE)):
        shares_by_layout = []
        for layout in (None,) if options.as_they_are else layouts:
            cells = [Cell(samples, whole, layout, columns, options.draws) for columns in COLUMNS]
            shares = [share_of(cell.named, options.sets, options.seed) for cell in cells]
            rows.append([*cells[0].asked, *map(str, shares)])
            shares_by_layout.append([share.judged for share in shares])
        if not options.as_they_are:
            means = [f"{mean:.1%}" for mean in np.mean(shares_by_layout, axis=0)]
            rows.append([f"**{cells[0].asked[0]}**", "**all**", *means])
        most = max(most, float(np.max(shares_by_layout)))
    print(
        markdown_table(["speaks of", "asked", *(f"{columns} columns" for columns in COLUMNS)], rows)
    )
    return most <= MOST


def gaps(samples: Sequence[Sample], options: argparse.Namespace) -> None:
    """Print how often a gap is shown, and how often all intervals hold the truth."""
    rows = []
    for whole, layouts in ((False, ((1, 60), (3, 50))), (True, ((24, 3), (40, 5)))):
        for layout, columns in product(layouts, (2, 4)):
            cell = Cell(samples, whole, layout, columns, options.draws)
            reports = [*cell.reports(options.sets, options.seed, GAP)]
            shown, held = (np.mean([report[at] for report in reports]) for at in (2, 1))
            rows.append([*cell.asked, str(columns), f"{shown:.0%}", f"{held:.1%}"])
    heads = ["speaks of", "asked", "columns", "gap of 10 points shown", "all intervals hold"]
    print(markdown_table(heads, rows))


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
