"""`evaluate`: one dataset, any columns, one honest report."""

from __future__ import annotations

import logging
import platform
import time
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.bootstrap import DRAWS, Bootstrap
from rag_nodes.evaluation.columns import Variant, variants_of
from rag_nodes.evaluation.diagnosis import Miss, diagnose
from rag_nodes.evaluation.indexing import Index
from rag_nodes.evaluation.report import EvaluationReport, Outcome, Row
from rag_nodes.evaluation.scoring import FOUND, score
from rag_nodes.evaluation.verdicts import Judge, contrasts_of, shares_of, summary
from rag_nodes.models import settled
from rag_nodes.query import QueryOptions, QuestionVectors
from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.models import Models
    from rag_nodes.store import Store

logger = logging.getLogger(__name__)

BUDGETS = (500, 1000, 2000)
"""Tokens of context at which columns are compared."""
SIZES = (100, 200, 400, 800)
"""Sizes of the curve, in tokens."""
TARGET = 200
"""Mean size of the comparison at equal size, in tokens."""
KS = (1, 3, 5, 10)
"""Numbers of chunks at which columns are compared as well."""
_CONTEXT = 300
"""Characters around an answer that the report keeps."""
_SHOWN = 2_000
"""Characters of one answer that the report keeps with what is around it."""
_DEEPEST = 2_000
"""Chunks among which the rank of a missed answer is looked for."""
_PACKAGES = ("rag-nodes", "llama-index-core", "qdrant-client", "tiktoken", "numpy")
"""What can change the numbers."""


class Step(NamedTuple):
    """How far a run is.

    Attributes:
        stage: finding a size, indexing a row, or asking it.
        name: of the column or row.
        done: questions asked so far, of all rows.
        total: questions that will have been asked; None while that is not known.
        seconds_left: estimate; None while there is none.
    """

    stage: Literal["size", "index", "ask"]
    name: str
    done: int
    total: int | None
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured, all of it with defaults.

    Attributes:
        budgets: tokens of context, filled exactly.
        ks: numbers of chunks.
        sizes: of the curve of each column, in tokens; () for no curve.
        target: mean size of the comparison at equal size, in tokens; None for none.
        options: how is searched; budget and number of chunks are set here.
        measure: the main measure; "" for recall at the middle budget.
        draws: of the bootstrap.
        seed: of the bootstrap.
    """

    budgets: tuple[int, ...] = BUDGETS
    ks: tuple[int, ...] = KS
    sizes: tuple[int, ...] = SIZES
    target: int | None = TARGET
    options: QueryOptions = field(default_factory=QueryOptions)
    measure: str = ""
    draws: int = DRAWS
    seed: int = 0

    @property
    def budget(self) -> int:
        """The main budget, for which misses are explained."""
        ordered = sorted(self.budgets)
        return ordered[len(ordered) // 2]

    @property
    def main(self) -> str:
        """The main measure."""
        return self.measure or f"recall@{self.budget}"


def evaluate(
    dataset: Dataset,
    columns: Mapping[str, object],
    *,
    plan: Plan | None = None,
    models: Models | None = None,
    embed_model: BaseEmbedding | str | None = None,
    store: Store | None = None,
    progress: Callable[[Step], None] | None = None,
) -> EvaluationReport:
    """Find out which way of cutting finds the answers, by how much, and whether it is the size.

    Every row reads the same number of tokens, filled exactly; every row sees the same questions;
    columns are compared at their own options and at an equal mean size.

    Args:
        dataset: documents and labelled questions.
        columns: parsers by name: ours, and splitters of LlamaIndex, LangChain, chonkie or your own.
        plan: what is measured; None for the defaults.
        models: embeds texts and questions; None for `embed_model`.
        embed_model: any embedding model of LlamaIndex; None for that of LlamaIndex's `Settings`
            where it was set, else offline.
        store: where chunks are while they are measured; None for memory. Collections are removed.
        progress: hears of every step.

    Returns:
        The report; a column that failed is a row with its error.

    Raises:
        DatasetError: there is nothing to ask.
        ConfigurationError: there is nothing to compare, or a column is no splitter.
        ModelError: the questions could not be embedded.
    """
    if not dataset.questions:
        raise DatasetError(f"{dataset.name}: no questions; label some, or let them be drafted")
    plan = plan or Plan()
    run = _Run(dataset, plan, settled(models, embed_model), progress or (lambda _: None))
    variants = variants_of(
        columns, dataset.documents, sizes=plan.sizes, target=plan.target, report=run.sizing
    )
    own = store or open_store()
    try:
        rows = list(run.rows(variants, own))
    finally:
        if store is None:
            own.close()
    return _report(dataset, plan, run.models, rows)


class _Run:
    """What the rows of one evaluation share."""

    def __init__(
        self, dataset: Dataset, plan: Plan, models: Models, progress: Callable[[Step], None]
    ) -> None:
        self.dataset, self.plan, self.models = dataset, plan, models
        self._progress = progress
        self._started = time.monotonic()
        self._options = replace(plan.options, step_factor=1.0)
        self._vectors = QuestionVectors(size=len(dataset.questions), ttl_hours=1e6)
        self._done = self._total = 0

    def sizing(self, column: str) -> None:
        """A column's sizes are being found."""
        self._progress(Step("size", column, 0, None, None))

    def rows(self, variants: Sequence[Variant], store: Store) -> Iterator[Row]:
        """A row per variant, each in the store only while it is measured."""
        self._total = len(variants) * len(self.dataset.questions)
        self._started = time.monotonic()
        first = self._vectors.get(
            self.models, self.dataset.questions[0].text, mode=self._options.mode
        )
        dimension = len(first.vector or ())
        for variant in variants:
            self._tell("index", variant)
            try:
                yield self._row(variant, store, dimension)
            except Exception as error:  # noqa: BLE001 -- one column must never take the others down
                logger.warning("%s: %s", variant.name, error)
                self._done += len(self.dataset.questions)
                yield _failed(variant, error)

    def _row(self, variant: Variant, store: Store, dimension: int) -> Row:
        index = Index(
            variant,
            self.dataset.documents,
            store=store,
            models=self.models,
            options=self._options,
            vectors=self._vectors,
            dimension=dimension,
        )
        try:
            outcomes = tuple(self._outcomes(index))
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
            reasons=dict(Counter(one.reason for one in outcomes if one.reason)),
            outcomes=outcomes,
        )

    def _outcomes(self, index: Index) -> Iterator[Outcome]:
        for question in self.dataset.questions:
            yield self._outcome(index, question)
            self._done += 1
            self._tell("ask", index.variant)

    def _outcome(self, index: Index, question: Question) -> Outcome:
        plan = self.plan
        ranked = index.ranking(question, budget=max(plan.budgets), chunks=max(plan.ks, default=1))
        scores = score(
            question,
            ranked,
            index.chunks,
            self.dataset.texts,
            budgets=plan.budgets,
            ks=plan.ks,
        )
        if scores[f"recall@{plan.budget}"] >= FOUND:
            return Outcome(question.id, scores)
        miss = self._miss(index, question)
        if miss is None:
            return Outcome(question.id, scores)
        chunks = tuple((one.document, *one.span) for one in miss.chunks)
        return Outcome(question.id, scores, miss.reason, miss.rank, chunks)

    def _miss(self, index: Index, question: Question) -> Miss | None:
        deep = index.search(question, min(_DEEPEST, max(1, index.cost.chunks)))
        options = self._options
        return diagnose(
            question,
            deep,
            index.chunks,
            self.dataset.texts,
            budget=self.plan.budget,
            is_filtered=bool(options.filter) or options.similarity_cutoff is not None,
        )

    def _tell(self, stage: Literal["index", "ask"], variant: Variant) -> None:
        spent = time.monotonic() - self._started
        left = spent / self._done * (self._total - self._done) if self._done else None
        self._progress(Step(stage, variant.name, self._done, self._total, left))


def means_of(outcomes: Sequence[Outcome]) -> dict[str, float]:
    """The mean of every score over the questions that have it."""
    values: dict[str, list[float]] = defaultdict(list)
    for outcome in outcomes:
        for name, value in outcome.scores.items():
            values[name].append(value)
    return {name: float(np.mean(each)) for name, each in values.items()}


def configuration_of(variant: Variant) -> dict[str, Any]:
    """The class and the plain options of a parser; what could hold a key is left out."""
    parser = variant.parser
    plain = (str, int, float, bool, dict)
    options = {
        name: value
        for name in type(parser).model_fields
        if isinstance(value := getattr(parser, name), plain)
    }
    return {"class": parser.class_name(), "fingerprint": parser.fingerprint, **options}


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


def _report(dataset: Dataset, plan: Plan, models: Models, rows: Sequence[Row]) -> EvaluationReport:
    """The rows with everything that can be said about them together."""
    values = {
        row.name: np.array([one.scores[plan.main] for one in row.outcomes])
        for row in rows
        if not row.error
    }
    facts: dict[str, Any] = {"contrasts": (), "sizes": (), "control": None, "verdict": ()}
    bootstrap = Bootstrap(
        [question.document for question in dataset.questions], draws=plan.draws, seed=plan.seed
    )
    if values:
        judge = Judge(values, bootstrap)
        rows = _judged(rows, judge)
        facts = _facts(rows, judge, len({question.document for question in dataset.questions}))
    return EvaluationReport(
        dataset=_described(dataset),
        settings=_settings(plan, models, bootstrap.unit),
        documents=tuple(
            {"id": one.id_, "name": dataset.names[one.id_], "characters": len(one.text)}
            for one in dataset.documents
        ),
        questions=tuple(_question(dataset, question) for question in dataset.questions),
        rows=tuple(rows),
        breakdown=_breakdown(dataset, rows, plan.main),
        **facts,
    )


def _judged(rows: Sequence[Row], judge: Judge) -> list[Row]:
    chances: dict[str, float] = {}
    for role in ("own", "matched"):
        names = [row.name for row in rows if row.role == role and not row.error]
        chances |= judge.chances(names) if names else {}
    return [
        row
        if row.error
        else replace(row, interval=judge.interval(row.name), chance=chances.get(row.name))
        for row in rows
    ]


def _facts(rows: Sequence[Row], judge: Judge, documents: int) -> dict[str, Any]:
    good = [row for row in rows if not row.error]
    own = [row for row in good if row.role == "own"]
    equal = [row for row in good if row.role == "matched"]
    contrasts = contrasts_of(judge, own) + contrasts_of(judge, equal)
    questions = len(good[0].outcomes)
    return {
        "contrasts": tuple(contrasts),
        "sizes": tuple(shares_of(judge, own, {row.column: row.name for row in equal})),
        "control": _control(good, own, judge),
        "verdict": tuple(summary(own, equal, contrasts, questions, documents)),
    }


def _control(rows: Sequence[Row], own: Sequence[Row], judge: Judge) -> Any:
    twin = next((row for row in rows if row.role == "control"), None)
    column = next((row for row in own if twin and row.parser == twin.parser), None)
    if twin is None or column is None:
        return None
    best = sorted(own, key=lambda row: -(row.interval.mean if row.interval else 0.0))[:2]
    pair = (best[0].name, best[1].name) if len(best) > 1 else None
    return judge.control(twin.name, column.name, pair)


def _described(dataset: Dataset) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "fingerprint": dataset.fingerprint,
        "documents": len(dataset.documents),
        "questions": len(dataset.questions),
        "drafts": sum(question.draft for question in dataset.questions),
        "unplaced": [asdict(one) for one in dataset.unplaced],
    }


def _settings(plan: Plan, models: Models, unit: str) -> dict[str, Any]:
    return {
        "measure": plan.main,
        "budget": plan.budget,
        "budgets": list(plan.budgets),
        "ks": list(plan.ks),
        "sizes": list(plan.sizes),
        "target": plan.target,
        "mode": plan.options.mode,
        "draws": plan.draws,
        "seed": plan.seed,
        "resampled": unit,
        "models": models.describe(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in _PACKAGES},
    }


def _question(dataset: Dataset, question: Question) -> dict[str, Any]:
    return {
        "id": question.id,
        "text": question.text,
        "kind": question.kind,
        "document": question.document,
        "draft": question.draft,
        "confidence": question.confidence,
        "around": _around(dataset, question),
        "gold": [
            [
                {"document": one.document, "start": one.span.start, "end": one.span.end,
                 "text": dataset.quote(one)}
                for one in answer
            ]
            for answer in question.gold
        ],
    }  # fmt: skip


def _around(dataset: Dataset, question: Question) -> dict[str, Any]:
    """The text around the first passage of the gold: where chunks begin is seen in it."""
    first = question.gold[0][0]
    text = dataset.texts[first.document]
    start, end = max(0, first.span.start - _CONTEXT), min(first.span.end, first.span.start + _SHOWN)
    end = min(len(text), end + _CONTEXT)
    return {"document": first.document, "start": start, "text": text[start:end]}


def _breakdown(
    dataset: Dataset, rows: Sequence[Row], measure: str
) -> dict[str, dict[str, dict[str, float]]]:
    """Means of a measure by kind of question and by document, for each row."""
    names = dataset.names
    groups = {
        "kind": [question.kind or "unnamed" for question in dataset.questions],
        "document": [names[question.document] for question in dataset.questions],
    }
    found: dict[str, dict[str, dict[str, float]]] = {}
    for by, keys in groups.items():
        found[by] = {}
        for row in rows:
            values: dict[str, list[float]] = defaultdict(list)
            for key, outcome in zip(keys, row.outcomes, strict=False):
                values[key].append(outcome.scores[measure])
            found[by][row.name] = {key: float(np.mean(each)) for key, each in values.items()}
    return found
