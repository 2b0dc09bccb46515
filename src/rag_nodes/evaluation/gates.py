"""Gates for a build: a drop below an earlier run, and minimum values."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from rag_nodes.core.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.basis import NOT_MEASURABLE
from rag_nodes.evaluation.checks import ACCEPT
from rag_nodes.evaluation.plan import shares
from rag_nodes.evaluation.sign_flips import Interval, SignFlips
from rag_nodes.evaluation.verdicts import more_of
from rag_nodes.evaluation.wording import about, points

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.report import EvaluationReport, Row

_LIMIT = re.compile(r"(?P<measure>[a-z]+(?:@k?\d+)?)\s*=\s*(?P<value>\d*\.?\d+)")
_FEWEST = 2
"""Questions that both runs must have asked."""
TOLERANCE = 0.05
"""A drop of fewer points of a hundred holds; one of as many must lie outside the interval."""
Outcome = Literal["holds", "fell", "inconclusive", "not compared"]
"""No drop beyond the tolerance, or the limit is reached; a drop is shown, the limit is not reached
or the column failed; the questions exclude neither; only the baseline has the column."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """Result of the gate of a row; `gap` is this run minus the baseline, if there is one."""

    row: str
    outcome: Outcome
    words: str
    gap: Interval | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def against_baseline(
    report: EvaluationReport, baseline: EvaluationReport, *, tolerance: float = TOLERANCE
) -> list[GateResult]:
    """Compare each row with an earlier run: as good, worse, or inconclusive.

    A row holds where no question changed, or where the interval of its change excludes a drop of
    `tolerance`; it fell where the interval lies below 0. All rows are judged at once, by flips of
    questions, since a build always has the same documents. Questions are compared one by one, as
    far as both runs asked them in the same words; so a baseline outlives new questions. Where all
    questions are drafts, every outcome is inconclusive.

    Args:
        report: now.
        baseline: then.
        tolerance: a drop of less holds, from 0 to 1; 0 for none.

    Returns:
        A result per row at its own options that both have, in the order of the report; then those
        that only the baseline has: what is no longer looked at must not pass in silence.

    Raises:
        DatasetError: they have no measure, row or question in common.
    """
    check_measured(baseline, report.measure)
    own = report.of_role("own")
    shared = _shared_columns(baseline, [row.name for row in own])
    rows = [row for row in own if row.name in shared]
    results = {row.name: _unmeasured(row, report) or _read_otherwise(row, baseline) for row in rows}
    names = [name for name, result in results.items() if result is None]
    if names:
        both = _shared_questions(
            baseline, {question.id: question.text for question in report.questions}
        )
        results |= _changes(report, baseline, names, both, tolerance)
    gone = sorted({*_measured(baseline)} - {row.name for row in own})
    words = "is in the baseline and not in this run, so it was not compared"
    left = [GateResult(name, "not compared", f"{name} {words}") for name in gone]
    return [*filter(None, results.values()), *left]


def check_measured(baseline: EvaluationReport, measure: str) -> None:
    """Refuse a baseline with which nothing can be compared.

    Raises:
        DatasetError: it did not measure this.
    """
    if not any(measure in row.means for row in baseline.of_role("own")):
        raise DatasetError(f"the baseline did not measure {measure}; use the same budgets")


def check_comparable(
    baseline: EvaluationReport, columns: Iterable[str], questions: Iterable[Question]
) -> None:
    """Refuse a baseline of other columns or questions, before anything is measured.

    Where all questions are drafts nothing is compared.

    Raises:
        DatasetError: it measured none of the columns, or asked too few of the questions.
    """
    _shared_columns(baseline, columns)
    if accepted := {question.id: question.text for question in questions if not question.draft}:
        _shared_questions(baseline, accepted)


def _shared_columns(baseline: EvaluationReport, columns: Iterable[str]) -> set[str]:
    shared = {*columns} & {*_measured(baseline)}
    if not shared:
        raise DatasetError("no column of the baseline is in this run; name the same parsers")
    return shared


def _shared_questions(baseline: EvaluationReport, asked: dict[str, str]) -> list[str]:
    """The ids of questions, given by id and text, that the baseline asked in the same words."""
    then = {question.id: question.text for question in baseline.questions}
    both = [name for name, text in asked.items() if then.get(name) == text]
    if len(both) < _FEWEST:
        raise DatasetError("the baseline asked other questions; make a new one with these")
    return both


def _measured(baseline: EvaluationReport) -> list[str]:
    return [row.name for row in baseline.of_role("own") if not row.error]


class Limit(NamedTuple):
    """The least value of a measure that passes."""

    measure: str
    least: float


def limit_of(text: str, measured: Iterable[str]) -> Limit:
    """A limit as people type it, such as "recall@1000=0.85", of one of the measures.

    Raises:
        ConfigurationError: it cannot be read, or nobody measures such a thing.
    """
    match = _LIMIT.fullmatch(text.strip())
    if match is None or not 0 <= float(match["value"]) <= 1:
        raise ConfigurationError(
            f"the limit '{text}' cannot be read; write a measure and a value from 0 to 1, "
            "such as recall@1000=0.85"
        )
    measures = sorted(measured)
    if match["measure"] not in measures:
        raise ConfigurationError(
            f"the limit names {match['measure']}, which is not measured; measured are "
            f"{', '.join(measures)}"
        )
    return Limit(match["measure"], float(match["value"]))


def under(report: EvaluationReport, limit: str) -> list[GateResult]:
    """Check that every row at its own options reaches a value; drafts are inconclusive.

    Args:
        report: now.
        limit: such as "recall@1000=0.85".

    Raises:
        ConfigurationError: see `limit_of`.
    """
    measure, least = limit_of(limit, shares(report.settings.budgets, report.settings.ks))
    results = []
    for row in report.of_role("own"):
        result = _unmeasured(row, report)
        if result is None:
            value = row.means[measure]
            relation = "reaches" if value >= least else "is under"
            words = f"{row.name} {relation} {measure} {least:.3f}: {value:.3f}"
            result = GateResult(row.name, "holds" if value >= least else "fell", words)
        results.append(result)
    return results


def _unmeasured(row: Row, report: EvaluationReport) -> GateResult | None:
    """The outcome of a row that failed, and where nobody has accepted a question."""
    if row.error and row.error.startswith(NOT_MEASURABLE):
        return GateResult(row.name, "inconclusive", f"{row.name} cannot be judged: {row.error}")
    if row.error:
        return GateResult(row.name, "fell", f"{row.name} failed: {row.error}")
    if report.inconclusive:
        words = f"{row.name}: inconclusive: {report.inconclusive}; {ACCEPT}"
        return GateResult(row.name, "inconclusive", words)
    return None


def _read_otherwise(row: Row, baseline: EvaluationReport) -> GateResult | None:
    """The outcome of a row that read chunks then and reads sentences now, or the other way."""
    then = baseline.row(row.name).granularity or baseline.settings.granularity
    if then == row.granularity:
        return None
    words = f"by {row.granularity} now and by {then} in the baseline"
    remedy = f"use --granularity {then}, or make a new baseline"
    return GateResult(row.name, "inconclusive", f"{row.name} was read {words}; {remedy}")


def _changes(
    report: EvaluationReport,
    baseline: EvaluationReport,
    names: Sequence[str],
    both: Sequence[str],
    tolerance: float,
) -> dict[str, GateResult]:
    """Return the change of each row, over the questions that both runs asked of all rows."""
    measure = report.measure
    runs = [
        {
            outcome.question: outcome.scores[measure]
            for outcome in row.outcomes
            if measure in outcome.scores
        }
        for run in (report, baseline)
        for row in map(run.row, names)
    ]
    asked = [question for question in both if all(question in scores for scores in runs)]
    if len(asked) < _FEWEST:
        raise DatasetError(f"the baseline did not measure {measure}; use the same budgets")
    table = np.array([[scores[question] for scores in runs] for question in asked])
    pairs = [(at, at + len(names)) for at in range(len(names))]
    settings = report.settings
    flips = SignFlips(table, pairs, draws=settings.draws, seed=settings.seed)
    changed = [bool((table[:, now] != table[:, then]).any()) for now, then in pairs]
    return {
        name: _told(name, measure, flips, at, tolerance, changed=changed[at])
        for at, name in enumerate(names)
    }


def _told(
    name: str, measure: str, flips: SignFlips, at: int, tolerance: float, *, changed: bool
) -> GateResult:
    """Judge an interval of this run minus the baseline."""
    gap, count = flips.intervals[at], round(flips.effective)
    over = f"over {count} questions"
    signed = f"{100 * gap.mean:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"
    large = f"{100 * tolerance:g} points"
    outcome: Outcome = "holds"
    if not changed:
        words = f"{name} holds: {measure} is the same for each of {count} questions"
    elif gap.low >= -tolerance:
        drop = f"a drop of less than {large}" if gap.high < 0 else f"no drop of {large} or more"
        words = f"{name} holds: {measure} {signed}, {drop}, {over}"
    elif gap.high < 0:
        outcome, words = "fell", f"{name} fell by {points(gap.turned)}: {measure} {over}"
    else:
        more = about(more_of(flips, at, tolerance))
        outcome = "inconclusive"
        words = f"{name}: inconclusive: {measure} {signed} {over}; {more} could"
    return GateResult(name, outcome, words, gap)
