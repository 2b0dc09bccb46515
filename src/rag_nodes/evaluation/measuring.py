"""One row: a variant is split, indexed, asked every question and scored.

A row is a function of what all rows share and of its variant, whatever process it is made in.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.core.errors import CancelledError, EngineError
from rag_nodes.core.keys import words_of
from rag_nodes.evaluation.basis import NOT_MEASURABLE, not_located
from rag_nodes.evaluation.columns import Variant, configuration_of, typed
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.diagnosis import outcome_of
from rag_nodes.evaluation.indexing import Index, QuestionReads, RowStore
from rag_nodes.evaluation.plan import EvaluationPlan, of_probes
from rag_nodes.evaluation.report import LeftOut, Outcome, Row
from rag_nodes.evaluation.scoring import best_recall, score
from rag_nodes.evaluation.sizes import matched
from rag_nodes.evaluation.tables import ChunkStatistics, Cost
from rag_nodes.models import Models
from rag_nodes.models.pickling import unpickled
from rag_nodes.parsers import SpanNodeParser
from rag_nodes.query import QuestionVectors
from rag_nodes.query.cache import VectorCache
from rag_nodes.store import open_store
from rag_nodes.text.filling import fill

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.text.filling import Ranked

_NO_CHUNKS, _NO_COST = ChunkStatistics(), Cost()
MIN_LOCATED_SHARE = 0.9
"""Share of a column's chunks that must be located for it to be measured. Those that are not may
hold answers and score nothing, so a row may be too low by the share that is missing."""
_DEEPEST = 2_000
"""Chunks among which the rank of a missed answer is looked for."""


class Unit(NamedTuple):
    """A variant, and its place among those of the run."""

    number: int
    variant: Variant


class Measured(NamedTuple):
    """A row, or why there can be none of that size, and what was read at the main budget.

    `read` has it by id of the questions that are judged.
    """

    row: Row | None
    read: dict[str, list[str]]
    left_out: LeftOut | None = None


@dataclass(eq=False)
class Recipe:
    """Settings and models that all rows of a run share.

    Attributes:
        dataset: documents and questions, asked in this order.
        plan: what is measured.
        models: embed texts and questions.
        cache: folder with vectors that were paid for; None for memory.
        judged: ids of the questions of which is kept what was read.
        report: receives the name of a row in this process, and how many questions it was asked.
    """

    dataset: Dataset
    plan: EvaluationPlan
    models: Models
    cache: Path | None = None
    judged: frozenset[str] = frozenset()
    report: Callable[[str, int], None] | None = None
    opened: ExitStack | None = field(default=None, init=False, repr=False)

    def prepare(self) -> None:
        """Open cache and store, once in a process.

        Raises:
            DatasetError: the cache cannot be used.
        """
        if self.opened is not None:
            return
        self.opened = opened = ExitStack()  # as long as this process, or until it is closed
        self.known = opened.enter_context(VectorCache(self.cache)).of(self.models)
        self.room = opened.enter_context(RowStore(open_store().engine))
        self.vectors = QuestionVectors(size=len(self.dataset.questions), ttl_hours=1e6)

    def close(self) -> None:
        """Close what `prepare` opened."""
        if self.opened is not None:
            self.opened.close()

    def dimension(self) -> int:
        """Numbers of a vector.

        Raises:
            ModelError: the model cannot be reached.
        """
        return len(self.vectors.get(self.known, self.dataset.questions[0].text).vector or ())


def measure(recipe: Recipe, unit: Unit) -> Measured:
    """Measure a variant; a variant that fails becomes a row with its error."""
    variant, is_sized = unit.variant, False
    try:
        if isinstance(variant.parser, bytes):
            parser = unpickled(variant.parser, objects=[recipe.models.embedding])
            variant = replace(variant, parser=parser)
        if is_sized := variant.role == "matched":
            variant = _matched(recipe, variant)
            is_sized = False
        return _measured(recipe, variant)
    except (CancelledError, EngineError):
        raise
    except Exception as error:  # noqa: BLE001 -- one row must never take the others down
        why = words_of(error)
        if not is_sized:
            return Measured(row_of(variant, error=why), {})
        size = f"a mean of {recipe.plan.target}"
        return Measured(None, {}, LeftOut(variant.column, (size,), why))


def _matched(recipe: Recipe, variant: Variant) -> Variant:
    """The variant at the mean size of the plan, as nearly as its parser can have it."""
    parser, target = variant.parser, recipe.plan.target
    assert isinstance(parser, SpanNodeParser)  # noqa: S101 -- for the type checker
    assert target  # noqa: S101 -- for the type checker
    match = matched(parser, recipe.dataset.documents, target)
    note = "" if match.reached else f"mean size {match.mean:.0f}: {target} could not be reached"
    return replace(variant, parser=match.parser, note=note)


def _measured(recipe: Recipe, variant: Variant) -> Measured:
    """The row of a variant, which is in the store only meanwhile."""
    report, plan = recipe.report or (lambda _name, _asked: None), recipe.plan
    index = Index(variant, recipe)
    outcomes, read = list[Outcome](), dict[str, list[str]]()
    try:
        report(variant.name, 0)
        if (located := index.cost.recovery) is not None and located < MIN_LOCATED_SHARE:
            return Measured(_not_measurable(variant, index), {})
        for question in recipe.dataset.questions:
            reading = index.read(question, plan.budgets, max(plan.ks, default=1))
            main = reading.main[plan.budget]
            if question.id in recipe.judged and variant.role == "own":
                read[question.id] = _texts(main.ranked, plan.budget)
            scores = _scores(recipe, index, question, reading)
            outcomes.append(_outcome(recipe, index, question, scores, reading))
            report(variant.name, len(outcomes))
        means = {
            of_probes(size): _mean_beside(recipe, index, size) for size in recipe.dataset.beside
        }
        mode, seconds = index.mode, median(index.seconds)
    finally:
        index.close()
    cost = replace(index.cost, search_ms=round(1000 * seconds, 2))
    row = row_of(variant, index.statistics, cost, tuple(outcomes))
    means = {**row.means, **means}
    granularity = index.options.granularity or ""
    row = replace(row, means=means, mode=mode, granularity=granularity)
    if not index.lists_all:
        tokens = f"{means[f'tokens@{plan.budget}']:,.0f} tokens"
        row = replace(row, note=f"{variant.note}; it reads {tokens} on average")
    return Measured(row, read)


def _not_measurable(variant: Variant, index: Index) -> Row:
    """Return a row without scores: a chunk that cannot be located may hold any answer."""
    lost, chunks = sum(index.chunks.not_located.values()), index.chunks.count
    error = f"{NOT_MEASURABLE} ({not_located(lost, chunks)})"
    return row_of(variant, index.statistics, index.cost, error=error)


def _mean_beside(recipe: Recipe, index: Index, characters: int) -> float:
    """Mean recall by probes of another length, at the budget that they are judged at."""
    budget = recipe.plan.probed_at(characters)
    chunks, texts = max(recipe.plan.ks, default=1), recipe.dataset.texts
    return float(
        np.mean(
            [
                best_recall(
                    index.read(question, (budget,), chunks).main[budget].passages,
                    question.gold,
                    texts,
                )
                for question in recipe.dataset.beside[characters]
            ]
        )
    )


def _scores(
    recipe: Recipe, index: Index, question: Question, reading: QuestionReads
) -> dict[str, float]:
    """Return the scores of a question; those of whole chunks as well where sentences were read."""
    texts, ks = recipe.dataset.texts, recipe.plan.ks
    scores = score(question, reading.ranked, reading.main.values(), index.chunks, texts, ks)
    if reading.sentences:
        for at, whole in reading.whole.items():
            scores[f"chunks@{at}"] = best_recall(whole.passages, question.gold, texts)
    return scores


def _texts(ranked: Sequence[Ranked], budget: int) -> list[str]:
    """The texts that are read of a ranking within a budget of tokens, best first."""
    return [
        chunk.text[part.start - chunk.span.start : part.end - chunk.span.start]
        for chunk, parts in zip(ranked, fill(ranked, budget).parts, strict=False)
        for part in parts
    ]


def _outcome(
    recipe: Recipe,
    index: Index,
    question: Question,
    scores: dict[str, float],
    reading: QuestionReads,
) -> Outcome:
    """Return the outcome of a question, with the reason if its answer was not read whole."""
    return outcome_of(
        question,
        scores,
        reading.main[recipe.plan.budget],
        index.chunks,
        recipe.dataset.texts,
        index.options,
        rankings=_rankings(index, question, reading),
        lists_all=index.lists_all,
    )


def _rankings(
    index: Index, question: Question, reading: QuestionReads
) -> Iterator[Sequence[Ranked]]:
    """Yield what sentences are selected from, what was found, and what a rank is looked for in."""
    yield reading.ranked[: reading.candidates]
    yield reading.ranked
    yield index.search(question, min(_DEEPEST, max(1, index.statistics.chunks)))


def row_of(
    variant: Variant,
    chunks: ChunkStatistics = _NO_CHUNKS,
    cost: Cost = _NO_COST,
    outcomes: tuple[Outcome, ...] = (),
    error: str | None = None,
) -> Row:
    """The row of a variant that was measured, or could not be."""
    values: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for name, value in outcome.scores.items():
            values[name].append(value)
    return Row(
        name=variant.name,
        column=variant.column,
        search=variant.search,
        role=variant.role,
        parser=configuration_of(variant),
        nominal=variant.nominal,
        note=variant.note,
        chunks=chunks,
        cost=cost,
        means={name: float(np.mean(each)) for name, each in values.items()},
        interval=None,
        reasons=dict(Counter(outcome.reason for outcome in outcomes if outcome.reason)),
        outcomes=outcomes,
        error=error,
        preset=typed(variant),
    )
