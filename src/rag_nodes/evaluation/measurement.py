"""Parsers in, rows out: each indexed and asked on its own, with what they share made once."""

from __future__ import annotations

import logging
import time
from collections import Counter, defaultdict
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from rag_nodes.errors import CancelledError
from rag_nodes.evaluation.assembly import settings_of
from rag_nodes.evaluation.cache import EvaluationCache, row_key
from rag_nodes.evaluation.columns import Variant, configuration_of
from rag_nodes.evaluation.diagnosis import Miss, diagnose
from rag_nodes.evaluation.indexing import Index
from rag_nodes.evaluation.plan import EvaluationPlan, Step
from rag_nodes.evaluation.report import Outcome, Row
from rag_nodes.evaluation.scoring import FOUND, score, texts_of
from rag_nodes.processes import current_interrupt
from rag_nodes.query import QueryOptions, QuestionVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.judging.stage import Judging, Stage
    from rag_nodes.models import Models
    from rag_nodes.pipeline.build import Parse
    from rag_nodes.store import Store
    from rag_nodes.text.filling import Ranked

    Enough = Callable[[str, Sequence[Outcome]], bool]

logger = logging.getLogger(__name__)

_ENOUGH = 10
"""Questions from which an estimate is made of how long the others take."""
_DEEPEST = 2_000
"""Chunks among which the rank of a missed answer is looked for."""


class Measurement:
    """What the rows of one evaluation share.

    Args:
        dataset: documents and questions, asked in this order.
        plan: what is measured.
        models: embeds texts and questions.
        cache: rows that were measured before.
        progress: hears of every step.
        parse: cuts a document; None to have the parser do it.
        enough: told a row's name and its outcomes so far, whether it need not be asked more; None
            to ask every row everything.

    Attributes:
        read: of each column what was read at the main budget, for the questions that are judged.
    """

    def __init__(
        self,
        dataset: Dataset,
        plan: EvaluationPlan,
        models: Models,
        *,
        cache: EvaluationCache,
        progress: Callable[[Step], None] | None = None,
        parse: Parse | None = None,
        enough: Enough | None = None,
    ) -> None:
        self.dataset, self.plan, self.models = dataset, plan, models
        self._cache = cache
        self._progress = progress or (lambda _: None)
        self._parse = parse
        self._enough = enough or (lambda _name, _outcomes: False)
        self._interrupt = current_interrupt()
        self._started = time.monotonic()
        self._options = replace(
            plan.options, step_factor=1.0, granularity=plan.options.granularity or "chunks"
        )
        self._vectors = QuestionVectors(size=len(dataset.questions), ttl_hours=1e6)
        self._done = self._total = 0
        self._indexed, self._indexing = 0, 0.0
        self._drawn: frozenset[str] = frozenset()
        self.read: dict[str, dict[str, list[str]]] = defaultdict(dict)

    def judging(self, asked: Judging) -> Stage:
        """What will judge the answers from what is read from now on.

        Raises:
            ConfigurationError: see `Judging.models`.
        """
        from rag_nodes.evaluation.judging.stage import Stage

        stage = Stage(
            asked,
            models=self.models,
            dataset=self.dataset,
            plan=self.plan,
            cache=self._cache,
            told=lambda done, total: self._say(Step("judge", stage.judge, done, total, None)),
        )
        self._drawn = frozenset(one.id for one in stage.questions)
        return stage

    def sizing(self, column: str) -> None:
        """A column's sizes are being found."""
        self._say(Step("size", column, 0, None, None))

    def rows(self, variants: Sequence[Variant], store: Store) -> Iterator[Row]:
        """A row per variant, each in the store only while it is measured."""
        self._total = self._done + len(variants) * len(self.dataset.questions)
        if not self._done:
            self._started = time.monotonic()
        self._dimension(self._options)  # a model that cannot be reached ends the whole run
        good: list[Variant] = []
        for one in variants:
            variant = _repeated(one, good) if one.role == "control" else one
            self._tell("index", variant)
            try:
                yield self._known_row(variant) or self._measured(variant, store)
                good.append(variant)
            except CancelledError:
                raise
            except Exception as error:  # noqa: BLE001 -- one column must never take the others down
                logger.warning("%s: %s", variant.name, error)
                self._done += len(self.dataset.questions)
                yield _failed(variant, error)

    def _known_row(self, variant: Variant) -> Row | None:
        """The row of an earlier run that was the same in everything that decides.

        What a column read is not kept, as it is text: to judge answers it is read again.
        """
        if self._drawn and variant.role == "own":
            return None
        row = self._cache.row(self._key(variant))
        outcomes = self._needed(row) if row else None
        if row is None or outcomes is None:
            return None
        self._done += len(self.dataset.questions)
        self._tell("ask", variant)
        return _with(row, outcomes)

    def _needed(self, row: Row) -> tuple[Outcome, ...] | None:
        """As many outcomes of a known row as would be asked for now; None where it has too few."""
        for asked in range(1, len(row.outcomes) + 1):
            if self._enough(row.name, row.outcomes[:asked]):
                return row.outcomes[:asked]
        return row.outcomes if len(row.outcomes) == len(self.dataset.questions) else None

    def _measured(self, variant: Variant, store: Store) -> Row:
        row = self._row(variant, store)
        self._cache.keep(self._key(variant), row)
        return row

    def _key(self, variant: Variant) -> bytes | None:
        known = [(document.id_, document.metadata) for document in self.dataset.documents]
        settings = [
            settings_of(self.plan, self.models, ""),
            # A function among them has an address, which makes it one of this process alone.
            repr(self._options),
            self.plan.explain,
        ]
        return row_key(variant, self.dataset.fingerprint, known, settings)

    def _row(self, variant: Variant, store: Store) -> Row:
        index = Index(
            variant,
            self.dataset.documents,
            store=store,
            models=self.models,
            options=self._options,
            vectors=self._vectors,
            dimension=self._dimension(variant.options or self._options),
            progress=lambda _: self._check(),
            parse=self._parse,
        )
        self._indexed, self._indexing = self._indexed + 1, self._indexing + index.cost.seconds
        try:
            outcomes = self._outcomes(index)
        finally:
            index.close()
        return Row(
            name=variant.name,
            column=variant.column,
            role=variant.role,
            parser=configuration_of(variant),
            nominal=variant.nominal,
            note=variant.note,
            chunks=asdict(index.statistics),
            cost=asdict(index.cost),
            means=means_of(outcomes),
            interval=None,
            chance=None,
            reasons=reasons_of(outcomes),
            outcomes=outcomes,
        )

    def _dimension(self, options: QueryOptions) -> int:
        """Numbers of a vector; 0 where the search makes none."""
        first = self.dataset.questions[0].text
        return len(self._vectors.get(self.models, first, mode=options.mode).vector or ())

    def _outcomes(self, index: Index) -> tuple[Outcome, ...]:
        outcomes: list[Outcome] = []
        for question in self.dataset.questions:
            outcomes.append(self._outcome(index, question))
            self._done += 1
            self._tell("ask", index.variant)
            if self._enough(index.variant.name, outcomes):
                break
        self._done += len(self.dataset.questions) - len(outcomes)
        return tuple(outcomes)

    def _outcome(self, index: Index, question: Question) -> Outcome:
        plan = self.plan
        most = max(plan.budgets)
        passages = index.passages(question, plan.budgets)
        ranked = passages.get(most) or index.ranking(
            question, budget=most, chunks=max(plan.ks, default=1)
        )
        main = passages.get(plan.budget, ranked)
        if question.id in self._drawn and index.variant.role == "own":
            self.read[index.variant.name][question.id] = texts_of(main, plan.budget)
        scores = score(
            question,
            ranked,
            index.chunks,
            self.dataset.texts,
            budgets=plan.budgets,
            ks=plan.ks,
            passages_at=passages,
        )
        if scores[f"recall@{plan.budget}"] >= FOUND or not plan.explain:
            return Outcome(question.id, scores)
        miss = self._miss(index, question, main)
        if miss is None:
            return Outcome(question.id, scores)
        chunks = tuple((one.document, *one.span) for one in miss.chunks)
        return Outcome(question.id, scores, miss.reason, miss.rank, chunks)

    def _miss(self, index: Index, question: Question, ranked: Sequence[Ranked]) -> Miss | None:
        options = index.options
        return diagnose(
            question,
            ranked,
            index.chunks,
            self.dataset.texts,
            budget=self.plan.budget,
            deeper=lambda: index.search(question, min(_DEEPEST, max(1, index.cost.chunks))),
            is_filtered=bool(options.filter) or options.similarity_cutoff is not None,
            by_sentence=options.granularity == "sentences",
        )

    def _tell(self, stage: Literal["index", "ask"], variant: Variant) -> None:
        self._say(Step(stage, variant.name, self._done, self._total, self._left()))

    def _left(self) -> float | None:
        """Seconds that are left: rows to be indexed, and questions to be asked."""
        if self._done < _ENOUGH:
            return None
        asking = time.monotonic() - self._started - self._indexing
        left = self._total - self._done
        rows = left // len(self.dataset.questions)
        return asking / self._done * left + self._indexing / max(1, self._indexed) * rows

    def _say(self, step: Step) -> None:
        self._check()
        self._progress(step)

    def _check(self) -> None:
        """Go no further where whoever started the run has left."""
        self._interrupt.check("the evaluation")


def _repeated(control: Variant, good: Sequence[Variant]) -> Variant:
    """The control with the first column that could be measured: it is that one once more."""
    first = next((one for one in good if one.role == "own"), None)
    if first is None:
        return control
    note = f"{first.name} once more"
    return replace(control, parser=first.parser, options=first.options, note=note)


def _with(row: Row, outcomes: tuple[Outcome, ...]) -> Row:
    """The row with some of its outcomes alone."""
    if len(outcomes) == len(row.outcomes):
        return row
    return replace(row, outcomes=outcomes, means=means_of(outcomes), reasons=reasons_of(outcomes))


def reasons_of(outcomes: Sequence[Outcome]) -> dict[str, int]:
    """How many questions were missed, by reason."""
    return dict(Counter(one.reason for one in outcomes if one.reason))


def means_of(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The mean of every score over the questions that have it."""
    values: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for name, value in outcome.scores.items():
            values[name].append(value)
    return {name: float(np.mean(each)) for name, each in values.items()}


def _failed(variant: Variant, error: Exception) -> Row:
    return Row(
        name=variant.name,
        column=variant.column,
        role=variant.role,
        parser=configuration_of(variant),
        nominal=variant.nominal,
        note=variant.note,
        chunks={},
        cost={},
        means={},
        interval=None,
        chance=None,
        reasons={},
        outcomes=(),
        error=str(error) or type(error).__name__,
    )
