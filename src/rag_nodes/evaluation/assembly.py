"""Rows put together: what can be said about all of them, and what has to be known to repeat it."""

from __future__ import annotations

import platform
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.evaluation.checks import mean_leakage
from rag_nodes.evaluation.decision import decision_of, likely, undecided
from rag_nodes.evaluation.leads import own_mean
from rag_nodes.evaluation.report import UNNAMED, EvaluationReport, Row
from rag_nodes.evaluation.sizes import TOLERANCE
from rag_nodes.evaluation.verdicts import Judge, pairs_of, shares_of
from rag_nodes.evaluation.wording import basis, drafts_left_out, lost, summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.judgement import Judgement
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.report import LeftOut
    from rag_nodes.models import Models

_CONTEXT = 300
"""Characters around an answer that the report keeps, in whole words where blanks part them."""
_BLANK = re.compile(r"\s+")
_SHOWN = 2_000
"""Characters of one answer that the report keeps with what is around it."""
_PACKAGES = ("rag-nodes", "llama-index-core", "qdrant-client", "tiktoken", "numpy")
"""What can change the numbers."""


def assemble(
    dataset: Dataset,
    plan: EvaluationPlan,
    models: Models,
    rows: Sequence[Row],
    left_out: Sequence[LeftOut] = (),
    judgement: Judgement | None = None,
    preset: Callable[[str], str] = lambda _: "",
) -> EvaluationReport:
    """The rows with everything that can be said about them together.

    Args:
        dataset: documents and questions.
        plan: what was measured.
        models: what embedded.
        rows: one per variant.
        left_out: sizes that columns cannot have.
        judgement: of the answers; None where nobody asked.
        preset: of the name of a row, a preset file as text.
    """
    values = {
        row.name: np.array([one.scores[plan.main] for one in row.outcomes])
        for row in rows
        if not row.error
    }
    about = described(dataset)
    facts: dict[str, Any] = {"contrasts": (), "sizes": (), "verdict": ()}
    facts["decision"] = undecided(by_draft=bool(values) and dataset.by_drafts)
    rows = [row if row.error else replace(row, interval=own_mean(values[row.name])) for row in rows]
    documents = [question.document for question in dataset.questions]
    if values and dataset.probed:
        own = [row for row in rows if row.role == "own" and not row.error]
        facts["decision"] = likely(own, dataset.probed, len(documents), preset)
    elif values and dataset.by_drafts:
        facts["verdict"] = (basis(len(documents), len({*documents})),)
    elif values:
        facts = _facts(rows, values, documents, plan, preset)
        facts["verdict"] += tuple(drafts_left_out(dataset.unaccepted))
    facts["verdict"] += tuple(said for row in rows if row.role == "own" for said in lost(row))
    return EvaluationReport(
        dataset=about,
        settings=settings_of(plan, models),
        documents=tuple(
            {"id": one.id_, "name": dataset.names[one.id_], "characters": len(one.text)}
            for one in dataset.documents
        ),
        questions=tuple(_question(dataset, question) for question in dataset.questions),
        rows=tuple(rows),
        breakdown=_breakdown(dataset, rows, plan.main),
        left_out=tuple(left_out),
        judgement=judgement,
        **facts,
    )


def _facts(
    rows: Sequence[Row],
    values: Mapping[str, NDArray[np.float64]],
    documents: Sequence[str],
    plan: EvaluationPlan,
    preset: Callable[[str], str],
) -> dict[str, Any]:
    good = [row for row in rows if not row.error]
    own = [row for row in good if row.role == "own"]
    equal = equal_rows(good)
    compared = {row.name: row for row in (*own, *equal)}
    swaps = {"draws": plan.draws, "seed": plan.seed}
    # One family: a report that looks in two ways has twice the luck.
    pairs = pairs_of(own) + pairs_of(equal)
    judge = Judge({name: values[name] for name in compared}, pairs, documents, **swaps)
    contrasts = judge.contrasts(compared)
    matched = {row.column: row.name for row in equal}
    errors = dict(zip(contrasts, judge.questions.errors, strict=True))
    of_own = contrasts[: len(pairs_of(own))]
    return {
        "decision": decision_of(own, of_own, errors, preset),
        "contrasts": tuple(contrasts),
        "sizes": tuple(shares_of(values, judge, own, matched, **swaps)),
        "verdict": tuple(summary(own, equal, contrasts, len(documents), len({*documents}))),
    }


def equal_rows(rows: Sequence[Row]) -> list[Row]:
    """Those of the rows made for an equal mean size that have one, as nearly as can be had.

    Short documents cannot always be cut to the target; what is compared is of one size all the
    same: that of the middle row, with the tolerance of both.
    """
    matched = [row for row in rows if row.role == "matched" and row.chunks.get("mean")]
    if not matched:
        return []
    middle = median(row.chunks["mean"] for row in matched)
    return [row for row in matched if abs(row.chunks["mean"] / middle - 1) <= 2 * TOLERANCE]


def described(dataset: Dataset) -> dict[str, Any]:
    """The data in a few numbers."""
    return {
        "name": dataset.name,
        "fingerprint": dataset.fingerprint,
        "documents": len(dataset.documents),
        "questions": len(dataset.questions),
        "drafts": sum(question.draft for question in dataset.questions),
        "unaccepted": dataset.unaccepted,
        "probed": dataset.probed,
        "overlap": mean_leakage(dataset),
        "unplaced": [asdict(one) for one in dataset.unplaced],
        "left_out": dict(dataset.left_out),
    }


def settings_of(plan: EvaluationPlan, models: Models) -> dict[str, Any]:
    """Everything that has to be equal to get the same numbers from the same data.

    Args:
        plan: what is measured.
        models: what embeds.
    """
    return {
        "measure": plan.main,
        "budget": plan.budget,
        "budgets": list(plan.budgets),
        "ks": list(plan.ks),
        "sizes": list(plan.sizes),
        "target": plan.target,
        "chosen_from": plan.chosen_from,
        "mode": plan.options.mode,
        "vector": plan.options.vector,
        "granularity": plan.options.granularity or "chunks",
        "draws": plan.draws,
        "seed": plan.seed,
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
    if start and (gap := _BLANK.search(text, start - 1, first.span.start)):
        start = gap.end()
    reach = min(len(text), end + _CONTEXT)
    if reach < len(text):
        reach = max((one.start() for one in _BLANK.finditer(text, end, reach + 1)), default=reach)
    return {"document": first.document, "start": start, "text": text[start:reach]}


def _breakdown(
    dataset: Dataset, rows: Sequence[Row], measure: str
) -> dict[str, dict[str, dict[str, float]]]:
    """Means of a measure by kind of question and by document, for each row."""
    names = dataset.names
    groups = {
        "kind": [question.kind or UNNAMED for question in dataset.questions],
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
