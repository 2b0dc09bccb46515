"""How much of the answers is read, on five labelled sets: splitters at their sizes, and the ladder.

Offline, and by words alone (BM25), but for the step "minilm". Recall of every question is kept in
`benchmarks/results`, from which `scripts/docs/make_results.py` makes all tables and the picture.

    python benchmarks/quality.py --data FOLDER --pages PAGES.json --cache FOLDER
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from labelled_sets import LANGUAGES, OWN_DOCUMENT, labelled_set, options_of, part_of, without_marks
from results.kept import FOLDER, PARTS, Kept, System
from systems import (
    LADDER_ON,
    PEER,
    STOCK,
    ours,
    ours_of_equal_size,
    peers,
    peers_of_equal_size,
)

from rag_nodes.evaluation.columns import Searched
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import Row
from rag_nodes.evaluation.run import evaluate
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.query import QueryOptions
from rag_nodes.store import SearchMode

BUDGETS = (500, 1000, 2000)
"""Tokens that are read."""
SHORT = (100, 200, 400)
"""The same of XQuAD, whose documents have about 1,000."""
MEAN_SIZE = 150
"""Tokens of a chunk on average where splitters are compared at one size."""
LADDER = "ladder"
Rows = Literal["all", "ours", "sentences"]
"""Rows that a run can measure."""
UNMARKED = ("zh", "hi")
"""Sets that are asked without the marks that end sentences, too."""
_DRAWS = 100
"""Of the intervals of `evaluate`, which nobody sees: those in the tables are of what is kept."""


class Measurement:
    """One way of searching a set.

    Args:
        dataset: the set.
        cache: folder with paid vectors.
        models: what embeds; None for what is there offline.
        options: how is searched.
    """

    def __init__(
        self,
        dataset: Dataset,
        cache: Path | None,
        *,
        models: Models | None = None,
        options: QueryOptions | None = None,
    ) -> None:
        self.dataset, self._cache = dataset, cache
        self._models = models or Models.of(embed_model="lexical", llm="extractive")
        self._options = options or QueryOptions(mode="sparse")
        self._budgets = SHORT if dataset.name in LANGUAGES else BUDGETS

    def systems(self, columns: Mapping[str, object], target: int | None = None) -> list[System]:
        """What each column reads: whole chunks in the order of their rank, if it is not `Searched`.

        Args:
            columns: splitters by name, each searched as it says or as all are.
            target: mean size that all are brought to; None for their own options.
        """
        plan = EvaluationPlan(
            budgets=self._budgets,
            ks=(),
            sizes=(),
            target=target,
            options=replace(self._options, granularity="chunks"),
            draws=_DRAWS,
        )
        report = evaluate(self.dataset, columns, plan=plan, models=self._models, cache=self._cache)
        role = "matched" if target else "own"
        return [self._system(row) for row in report.of_role(role) if not self._failed(row)]

    def ladder(self) -> Searched:
        """The sentences of what was found, by the ladder of widths: what `ask` does."""
        options = replace(self._options, granularity="sentences")
        return Searched(get_parser(DEFAULT_PARSER), options)

    def _failed(self, row: Row) -> bool:
        if row.error:
            print(self.dataset.name, row.name, "failed:", row.error, flush=True)
        return bool(row.error)

    def _system(self, row: Row) -> System:
        recall = {
            budget: [outcome.scores[f"recall@{budget}"] for outcome in row.outcomes]
            for budget in self._budgets
        }
        return System(row.column, row.chunks.mean, row.cost.chunks or 0, recall, row.note)


class Task(NamedTuple):
    """A set that a step measures.

    Attributes:
        dataset: the set.
        cache: folder with paid vectors.
        rows: "all"; "ours" without splitters of other packages; "sentences" without splitters.
    """

    dataset: Dataset
    cache: Path | None
    rows: Rows = "all"

    def few(
        self, dataset: Dataset, models: Models | None = None, mode: SearchMode = "sparse"
    ) -> list[System]:
        """Measure sentence selection, and the splitters that stand beside it in most tables."""
        options = QueryOptions(mode=mode)
        measurement = Measurement(dataset, self.cache, models=models, options=options)
        systems = measurement.systems({LADDER: measurement.ladder()})
        if self.rows == "sentences":
            return systems
        candidates, names = self._columns(ours(), peers), (LADDER_ON, PEER, STOCK)
        few = {name: candidates[name] for name in names if name in candidates}
        return [*measurement.systems(few), *systems]

    def splitters(self) -> dict[str, object]:
        """Return the splitters of the rows, each at its own options."""
        return self._columns(ours(), partial(peers, markdown=self.dataset.name == "headed"))

    def of_equal_size(self) -> dict[str, object]:
        """Return the splitters of the rows that are brought to a mean size."""
        others = partial(peers_of_equal_size, markdown=self.dataset.name == "headed")
        return self._columns(ours_of_equal_size(), others)

    def _columns(
        self, own: dict[str, object], others: Callable[[], dict[str, object]]
    ) -> dict[str, object]:
        """Return the splitters of the rows; other packages are imported only if they are asked."""
        if self.rows == "sentences":
            return {}
        return own if self.rows == "ours" else {**own, **others()}


def plain(task: Task) -> Iterable[System]:
    """Measure every splitter at its own options."""
    columns = task.splitters()
    return Measurement(task.dataset, task.cache).systems(columns) if columns else ()


def ladder(task: Task) -> Iterable[System]:
    """Measure sentence selection over chunks of 200 tokens."""
    return task._replace(rows="sentences").few(task.dataset)


def equal(task: Task) -> Iterable[System]:
    """Measure splitters at one mean size."""
    columns = task.of_equal_size()
    return Measurement(task.dataset, task.cache).systems(columns, MEAN_SIZE) if columns else ()


def unmarked(task: Task) -> Iterable[System]:
    """Measure texts without the marks that end sentences."""
    return task.few(without_marks(task.dataset)) if task.dataset.name in UNMARKED else ()


def alone(task: Task) -> Iterable[System]:
    """Measure each document as a collection of its own, with the questions about it."""
    dataset = task.dataset
    if dataset.name not in OWN_DOCUMENT:
        return ()
    order = {question.id: number for number, question in enumerate(dataset.questions)}
    places: list[int] = []
    parts: list[list[System]] = []
    for document in dataset.documents:
        asked = tuple(
            question for question in dataset.questions if question.document == document.id_
        )
        if asked:
            own = task._replace(dataset=replace(dataset, documents=(document,), questions=asked))
            parts.append([*plain(own), *ladder(own)])
            places += [order[question.id] for question in asked]
    return [System.joined(systems, places) for systems in zip(*parts, strict=True)]


def together(task: Task) -> Iterable[System]:
    """Ask every question of all documents, also those about a single document."""
    if task.dataset.name not in OWN_DOCUMENT:
        return ()
    anywhere = tuple(replace(question, within=None) for question in task.dataset.questions)
    return task.few(replace(task.dataset, questions=anywhere))


def pairs(task: Task) -> Iterable[System]:
    """Join each question with one about another document: no rule may read too few documents."""
    asked, half = task.dataset.questions, len(task.dataset.questions) // 2
    joined = []
    for number, question in enumerate(asked):
        others = (*asked[number + half :], *asked[: number + half])
        other = next(two for two in others if two.document != question.document)
        gold = tuple(first + second for first in question.gold for second in other.gold)
        joined.append(
            replace(question, text=f"{question.text} {other.text}", gold=gold, within=None)
        )
    return ladder(task._replace(dataset=replace(task.dataset, questions=tuple(joined))))


def minilm(task: Task) -> Iterable[System]:
    """Search with MiniLM and keywords; see `minilm.py` for where the model comes from."""
    from minilm import MiniLM

    models = Models.of(embed_model=MiniLM(), llm="extractive")
    return task.few(task.dataset, models, "hybrid")


STEPS: dict[str, Callable[[Task], Iterable[System]]] = {
    step.__name__: step for step in (ladder, plain, equal, unmarked, together, pairs, alone, minilm)
}
OFFLINE = [name for name in STEPS if name != "minilm"]


def kept_of(dataset: Dataset, folder: Path = FOLDER) -> Kept:
    """Return what is kept of a set so far, or nothing if its questions have changed."""
    questions = [question.id for question in dataset.questions]
    documents = [dataset.names[question.document] for question in dataset.questions]
    empty = Kept(dataset.name, questions, documents)
    if not (folder / f"{dataset.name}.json").exists():
        return empty
    loaded = Kept.load(dataset.name, folder)
    return loaded if (loaded.questions, loaded.documents) == (questions, documents) else empty


def main() -> None:
    """Measure what is asked for, and keep each set of a step as soon as it is done."""
    parser = options_of(__doc__)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=OFFLINE)
    parser.add_argument("--cache", type=Path, help="folder that keeps paid vectors")
    parser.add_argument(
        "--rows",
        choices=get_args(Rows),
        default="all",
        help="ours: no splitters of other packages; sentences: no splitters; other rows stay",
    )
    parser.add_argument(
        "--parts", action="store_true", help="ask the questions about a part of the documents"
    )
    options = parser.parse_args()
    folder = PARTS if options.parts else FOLDER
    for step in options.steps:
        for name in options.sets:
            started = time.process_time()
            dataset = labelled_set(name, options.data, options.pages)
            dataset = part_of(dataset) if options.parts else dataset
            task = Task(dataset, options.cache, options.rows)
            systems = list(STEPS[step](task))
            if systems:
                kept = kept_of(dataset, folder)
                for system in systems:
                    kept.put(step, system)
                kept.save(folder)
            print(step, name, f"{time.process_time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
