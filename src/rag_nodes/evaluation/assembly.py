"""Rows put together: what can be said about all of them, and what has to be known to repeat it."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from rag_nodes.evaluation.basis import asked_twice, basis, lost, unused
from rag_nodes.evaluation.decision import alone, decision_of
from rag_nodes.evaluation.effects import NO_MEANING, effects_of, mixture_of
from rag_nodes.evaluation.importers.names import file_of
from rag_nodes.evaluation.likely import likely
from rag_nodes.evaluation.report import EvaluationReport, Row
from rag_nodes.evaluation.sign_flips import own_mean
from rag_nodes.evaluation.sizes import TOLERANCE
from rag_nodes.evaluation.tables import (
    GoldQuote,
    ReportDataset,
    ReportDecision,
    ReportDocument,
    ReportQuestion,
    ReportSettings,
    TextAround,
)
from rag_nodes.evaluation.verdicts import Judge, pairs_of, shares_of
from rag_nodes.evaluation.wording import BY_DRAFTS, at_sizes, beside, certainty_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from rag_nodes.evaluation.dataset import Dataset, Question
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.report import LeftOut, SizeShare
    from rag_nodes.evaluation.tables import Judgement
    from rag_nodes.models import Models

_CONTEXT = 300
"""Characters around an answer that the report keeps, in whole words where blanks part them."""
_BLANK = re.compile(r"\s+")
_SHOWN = 2_000
"""Characters of one answer that the report keeps with what is around it."""
_PACKAGES = ("rag-nodes", "llama-index-core", "qdrant-client", "tiktoken", "numpy")
"""Settings that can change the numbers."""


def assemble(
    dataset: Dataset,
    plan: EvaluationPlan,
    models: Models,
    rows: Sequence[Row],
    left_out: Sequence[LeftOut] = (),
    judgement: Judgement | None = None,
    use: Callable[[str], dict[str, Any]] = lambda _: {},
    in_use: Collection[str] = (),
) -> EvaluationReport:
    """The rows with everything that can be said about them together.

    `use` and `in_use` are those of `decision_of`.
    """
    values = _values(rows, plan.main)
    whole = _values(rows, f"chunks{plan.main.removeprefix('recall')}")
    rows = [
        row
        if row.error
        else replace(
            row,
            interval=own_mean(values[row.name]),
            whole=own_mean(whole[row.name]) if row.name in whole else None,
        )
        for row in rows
    ]
    # Pages of one file are one document: what holds of them is not shown of others.
    files = {document.id_: file_of(document) for document in dataset.documents}
    documents = [files[question.document] for question in dataset.questions]
    own = [row for row in rows if row.role == "own"]
    parts: dict[str, Any] = {"contrasts": (), "sizes": (), "decision": alone()}
    sentences: tuple[str, ...] = ()
    rests = (
        *basis(len(documents), len({*documents}), dataset.unaccepted, dataset.repeats),
        *asked_twice(dataset),
    )
    if not values:
        rests = ()
    elif dataset.probed:
        measured = [row for row in own if not row.error]
        parts["decision"] = likely(measured, dataset.probed, len(documents), use, in_use, plan.main)
        sentences = tuple(filter(None, [mixture_of(measured), *at_sizes(rows)]))
        rests = ()
    elif dataset.by_drafts:
        parts["decision"] = ReportDecision(
            None, None, "drafts", BY_DRAFTS, certainty=certainty_of("drafts")
        )
    else:
        mode = plan.options.search_mode(by_meaning=models.embeds_meaning)
        parts, sentences = _compared(rows, values, whole, documents, plan, use, in_use, mode)
    lost_by = tuple(sentence for row in own for sentence in lost(row))
    return EvaluationReport(
        dataset=_described(dataset),
        settings=_settings(plan, models, rows),
        documents=tuple(
            ReportDocument(document.id_, dataset.names[document.id_], len(document.text))
            for document in dataset.documents
        ),
        questions=tuple(_question(dataset, question) for question in dataset.questions),
        rows=tuple(rows),
        verdict=(*sentences, *rests, *_searched_by_words(rows, models), *unused(dataset), *lost_by),
        left_out=tuple(left_out),
        judgement=judgement,
        **parts,
    )


def _values(rows: Sequence[Row], measure: str) -> dict[str, NDArray[np.float64]]:
    """Return a measure of each question, by the name of the rows that have it."""
    return {
        row.name: np.array([outcome.scores[measure] for outcome in row.outcomes])
        for row in rows
        if row.outcomes and measure in row.outcomes[0].scores
    }


def _searched_by_words(rows: Sequence[Row], models: Models) -> Iterator[str]:
    """Say so if a search by meaning was asked for, and the model knows none."""
    if not models.embeds_meaning and {"dense", "hybrid"}.intersection(row.mode for row in rows):
        yield NO_MEANING


def _compared(
    rows: Sequence[Row],
    values: Mapping[str, NDArray[np.float64]],
    whole: Mapping[str, NDArray[np.float64]],
    documents: Sequence[str],
    plan: EvaluationPlan,
    use: Callable[[str], dict[str, Any]],
    in_use: Collection[str],
    mode: str,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Compare all rows, and return the sentences beside the decision."""
    own = [row for row in rows if row.role == "own" and not row.error]
    equal = _equal_rows([row for row in rows if not row.error])
    compared = {row.name: row for row in (*own, *equal)}
    flips = {"draws": plan.draws, "seed": plan.seed}
    # One family: a report that looks in two ways finds twice as much by chance.
    pairs = pairs_of(own) + pairs_of(equal)
    judge = Judge({name: values[name] for name in compared}, pairs, documents, **flips)
    contrasts = judge.contrasts(compared)
    parts = {
        "decision": decision_of(
            own, contrasts[: len(pairs_of(own))], values, use, in_use, mode, whole
        ),
        "contrasts": tuple(contrasts),
        "sizes": _size_shares(own, equal, {**values, **whole}, documents, flips),
        "effects": (effects := effects_of(own, values, whole, **flips)),
    }
    effects_said = (effect.words for effect in effects)
    mixed = filter(None, [mixture_of(own)])
    return parts, (*mixed, *effects_said, *beside(own, equal, contrasts), *at_sizes(rows))


def _size_shares(
    own: Sequence[Row],
    equal: Sequence[Row],
    values: Mapping[str, NDArray[np.float64]],
    documents: Sequence[str],
    flips: Mapping[str, int],
) -> tuple[SizeShare, ...]:
    """Return the shares of size in the gaps between columns that are read in whole chunks."""
    first = {row.column: row for row in reversed(own)}
    rows = [row for row in own if row is first[row.column]]
    pairs = pairs_of(rows) + pairs_of(equal)
    judge = Judge(
        {row.name: values[row.name] for row in (*rows, *equal)}, pairs, documents, **flips
    )
    rows = [replace(row, interval=own_mean(values[row.name])) for row in rows]
    matched = {row.column: row.name for row in equal}
    shares = shares_of(values, judge, rows, matched, **flips)
    if not any(row.whole for row in own):
        return tuple(shares)
    return tuple(replace(share, words=f"In whole chunks: {share.words}") for share in shares)


def _equal_rows(rows: Sequence[Row]) -> list[Row]:
    """Those of the rows made for an equal mean size that have that of the middle one."""
    # Short documents cannot always be split to the target; both have a tolerance.
    matched = [row for row in rows if row.role == "matched" and row.chunks.mean]
    middle = median(row.chunks.mean for row in matched) if matched else 1
    return [row for row in matched if abs(row.chunks.mean / middle - 1) <= 2 * TOLERANCE]


def _described(dataset: Dataset) -> ReportDataset:
    """The data in a few numbers."""
    return ReportDataset(
        name=dataset.name,
        fingerprint=dataset.fingerprint,
        documents=len(dataset.documents),
        questions=len(dataset.questions),
        drafts=sum(question.draft for question in dataset.questions),
        unaccepted=dataset.unaccepted,
        repeated=len(dataset.repeats),
        probed=dataset.probed,
        not_located=dataset.not_located,
        left_out=dict(dataset.left_out),
    )


def _settings(plan: EvaluationPlan, models: Models, rows: Sequence[Row]) -> ReportSettings:
    """Everything that has to be equal to get the same numbers from the same data."""
    usual = plan.options.search_mode(by_meaning=models.embeds_meaning)
    return ReportSettings(
        measure=plan.main,
        budget=plan.budget,
        budgets=plan.budgets,
        ks=plan.ks,
        sizes=plan.sizes,
        target=plan.target,
        chosen_from=plan.chosen_from,
        mode=", ".join(dict.fromkeys(row.mode for row in rows if row.mode)) or usual,
        granularity=", ".join(
            dict.fromkeys(row.granularity for row in rows if row.role == "own" and row.granularity)
        ),
        draws=plan.draws,
        seed=plan.seed,
        models=models.describe(),
        python=platform.python_version(),
        versions={name: version(name) for name in _PACKAGES},
    )


def _question(dataset: Dataset, question: Question) -> ReportQuestion:
    return ReportQuestion(
        id=question.id,
        text=question.text,
        kind=question.kind,
        document=question.document,
        draft=question.draft,
        confidence=question.confidence,
        around=_around(dataset, question),
        gold=tuple(
            tuple(
                GoldQuote(passage.document, *passage.span, dataset.quote(passage))
                for passage in answer
            )
            for answer in question.gold
        ),
    )


def _around(dataset: Dataset, question: Question) -> TextAround:
    """The text around the first passage of the gold: where chunks begin is seen in it."""
    first = question.gold[0][0]
    text = dataset.texts[first.document]
    start, end = max(0, first.span.start - _CONTEXT), min(first.span.end, first.span.start + _SHOWN)
    if start and (gap := _BLANK.search(text, start - 1, first.span.start)):
        start = gap.end()
    reach = min(len(text), end + _CONTEXT)
    if reach < len(text):
        reach = max(
            (blank.start() for blank in _BLANK.finditer(text, end, reach + 1)), default=reach
        )
    return TextAround(first.document, start, text[start:reach])
