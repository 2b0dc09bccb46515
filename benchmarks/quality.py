"""How much of the answers is read, on five labelled sets: splitters at their sizes, and the ladder.

Offline, and by words alone (BM25), but for the step "minilm". Recall of every question is kept in
`benchmarks/results`, from which `scripts/docs/make_results.py` makes all tables and the picture.

    python benchmarks/quality.py --data FOLDER --pages PAGES.json --cache FOLDER
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from labelled_sets import LANGUAGES, OWN_DOCUMENT, labelled_set, options_of, without_marks
from results.kept import FOLDER, Kept, System
from systems import LADDER_ON, PEER, STOCK, of_equal_size, ours, peers

from rag_nodes.evaluation.columns import Searched
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import Row
from rag_nodes.evaluation.run import evaluate
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER
from rag_nodes.query import QueryOptions

BUDGETS = (500, 1000, 2000)
"""Tokens that are read."""
SHORT = (100, 200, 400)
"""The same of XQuAD, whose documents have about 1,000."""
MEAN_SIZE = 150
"""Tokens of a chunk on average where splitters are compared at one size."""
LADDER = "ladder"
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
            budget: [one.scores[f"recall@{budget}"] for one in row.outcomes]
            for budget in self._budgets
        }
        return System(row.column, row.chunks.mean, row.cost.chunks or 0, recall, row.note)


def _few(one: Measurement) -> Iterable[System]:
    """The ladder, and what stands beside it where not everything is measured again."""
    known = {**ours(), **peers(), LADDER: one.ladder()}
    return one.systems({name: known[name] for name in (LADDER_ON, PEER, STOCK, LADDER)})


def plain(dataset: Dataset, cache: Path | None) -> Iterable[System]:
    """Every splitter at its own options."""
    one, is_markdown = Measurement(dataset, cache), dataset.name == "headed"
    return [*one.systems(ours()), *one.systems(peers(markdown=is_markdown))]


def ladder(dataset: Dataset, cache: Path | None) -> Iterable[System]:
    """The ladder of widths, over chunks of 200 tokens."""
    one = Measurement(dataset, cache)
    return one.systems({LADDER: one.ladder()})


def equal(dataset: Dataset, cache: Path | None) -> Iterable[System]:
    """Splitters at one mean size."""
    columns = of_equal_size(markdown=dataset.name == "headed")
    return Measurement(dataset, cache).systems(columns, MEAN_SIZE)


def unmarked(dataset: Dataset, cache: Path | None) -> Iterable[System]:
    """Texts without the marks that end sentences."""
    return _few(Measurement(without_marks(dataset), cache)) if dataset.name in UNMARKED else ()


def alone(dataset: Dataset, cache: Path | None) -> Iterable[System]:
    """Each document as a collection of its own, with the questions about it."""
    if dataset.name not in OWN_DOCUMENT:
        return ()
    order = {question.id: number for number, question in enumerate(dataset.questions)}
    places: list[int] = []
    found: list[list[System]] = []
    for document in dataset.documents:
        asked = tuple(one for one in dataset.questions if one.document == document.id_)
        if asked:
            own = replace(dataset, documents=(document,), questions=asked)
            found.append([*plain(own, cache), *ladder(own, cache)])
            places += [order[one.id] for one in asked]
    return [System.joined(systems, places) for systems in zip(*found, strict=True)]


def together(dataset: Dataset, cache: Path | None) -> Iterable[System]:
    """Every question asked of all documents, also where it is about one."""
    if dataset.name not in OWN_DOCUMENT:
        return ()
    anywhere = tuple(replace(one, within=None) for one in dataset.questions)
    return _few(Measurement(replace(dataset, questions=anywhere), cache))


def pairs(dataset: Dataset, cache: Path | None) -> Iterable[System]:
    """Each question joined with one about another document: no rule may read too few documents."""
    asked, half = dataset.questions, len(dataset.questions) // 2
    joined = []
    for number, one in enumerate(asked):
        others = (*asked[number + half :], *asked[: number + half])
        other = next(two for two in others if two.document != one.document)
        gold = tuple(first + second for first in one.gold for second in other.gold)
        joined.append(replace(one, text=f"{one.text} {other.text}", gold=gold, within=None))
    one = Measurement(replace(dataset, questions=tuple(joined)), cache)
    return one.systems({LADDER: one.ladder()})


def minilm(dataset: Dataset, cache: Path | None) -> Iterable[System]:
    """Hybrid search with MiniLM; see `minilm.py` for where it comes from."""
    from minilm import MiniLM

    models = Models.of(embed_model=MiniLM(), llm="extractive")
    return _few(Measurement(dataset, cache, models=models, options=QueryOptions(mode="hybrid")))


STEPS: dict[str, Callable[[Dataset, Path | None], Iterable[System]]] = {
    one.__name__: one for one in (ladder, plain, equal, unmarked, together, pairs, alone, minilm)
}
OFFLINE = [name for name in STEPS if name != "minilm"]


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
    """Measure what is asked for, and keep each set of a step as soon as it is done."""
    parser = options_of(__doc__)
    parser.add_argument("--steps", nargs="+", choices=STEPS, default=OFFLINE)
    parser.add_argument("--cache", type=Path, help="folder that keeps paid vectors")
    options = parser.parse_args()
    for step in options.steps:
        for name in options.sets:
            started = time.process_time()
            dataset = labelled_set(name, options.data, options.pages)
            found = list(STEPS[step](dataset, options.cache))
            if found:
                kept = kept_of(dataset)
                for system in found:
                    kept.put(step, system)
                kept.save()
            print(step, name, f"{time.process_time() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
