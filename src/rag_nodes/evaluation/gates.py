"""What fails a build: a drop that is more than noise, or a value under a limit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.bootstrap import Bootstrap, Interval
from rag_nodes.evaluation.plan import shares

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.evaluation.report import EvaluationReport, Row

_LIMIT = re.compile(r"(?P<measure>[a-z]+(?:@k?\d+)?)\s*=\s*(?P<value>\d*\.?\d+)")
_FEWEST = 2
"""Questions that both runs must have asked."""


@dataclass(frozen=True, slots=True)
class GateResult:
    """What came of one gate.

    Attributes:
        row: name of the row.
        passed: whether it holds.
        words: what was found, for people.
        gap: now minus then, where a drop was looked for.
    """

    row: str
    passed: bool
    words: str
    gap: Interval | None = None


def against_baseline(report: EvaluationReport, baseline: EvaluationReport) -> list[GateResult]:
    """Whether a row is worse than it was, by more than chance makes of these questions.

    Questions are compared one by one, as far as both runs asked them in the same words; so a
    baseline outlives new questions.

    Args:
        report: now.
        baseline: then.

    Returns:
        A result per row at its own options that both have, in the order of the report; then those
        that only the baseline has: what is no longer looked at must not pass in silence.

    Raises:
        DatasetError: they have no measure, row or question in common.
    """
    measure = report.measure
    check_measured(baseline, measure)
    names = {row.name for row in baseline.of_role("own") if not row.error}
    own = report.of_role("own")
    shared = [row for row in own if row.name in names]
    if not shared:
        raise DatasetError("no column of the baseline is in this run; name the same parsers")
    then = {one["id"]: one["text"] for one in baseline.questions}
    asked = [one for one in report.questions if then.get(one["id"]) == one["text"]]
    if len(asked) < _FEWEST:
        raise DatasetError("the baseline asked other questions; make a new one with these")
    found = [_drop(row, baseline.row(row.name), measure, asked, report) for row in shared]
    gone = [name for name in names if name not in {row.name for row in own}]
    return [*found, *map(_gone, sorted(gone))]


def check_measured(baseline: EvaluationReport, measure: str) -> None:
    """Refuse a baseline with which nothing can be compared.

    Raises:
        DatasetError: it did not measure this.
    """
    measured = [row for row in baseline.of_role("own") if measure in row.means]
    if not measured:
        raise DatasetError(f"the baseline did not measure {measure}; use the same budgets")


class Limit(NamedTuple):
    """The least value of a measure that passes."""

    measure: str
    least: float


def limit_of(text: str, measured: Iterable[str]) -> Limit:
    """A limit as people type it.

    Args:
        text: such as "recall@1000=0.85".
        measured: the measures from 0 to 1 that are measured.

    Raises:
        ConfigurationError: it cannot be read, or nobody measures such a thing.
    """
    found = _LIMIT.fullmatch(text.strip())
    if found is None or not 0 <= float(found["value"]) <= 1:
        raise ConfigurationError(
            f"--fail-under {text!r} cannot be read; write a measure and a value from 0 to 1, "
            "such as recall@1000=0.85"
        )
    known = sorted(measured)
    if found["measure"] not in known:
        raise ConfigurationError(
            f"--fail-under: {found['measure']} is not measured; measured are {', '.join(known)}"
        )
    return Limit(found["measure"], float(found["value"]))


def under(report: EvaluationReport, limit: str) -> list[GateResult]:
    """Whether every row at its own options reaches a value.

    Args:
        report: now.
        limit: such as "recall@1000=0.85".

    Raises:
        ConfigurationError: see `limit_of`.
    """
    asked = limit_of(limit, shares(report.settings["budgets"], report.settings["ks"]))
    return [_reaches(row, asked) for row in report.of_role("own")]


def _reaches(row: Row, limit: Limit) -> GateResult:
    if row.error:
        return GateResult(row.name, passed=False, words=f"{row.name} failed: {row.error}")
    measure, least = limit
    value = row.means[measure]
    relation = "reaches" if value >= least else "is under"
    words = f"{row.name} {relation} {measure} {least:.3f}: {value:.3f}"
    return GateResult(row.name, passed=value >= least, words=words)


def _gone(name: str) -> GateResult:
    words = f"{name} is in the baseline and not in this run, so it was not compared"
    return GateResult(name, passed=True, words=words)


def _drop(
    row: Row,
    before: Row,
    measure: str,
    asked: Iterable[dict[str, object]],
    report: EvaluationReport,
) -> GateResult:
    if row.error:
        return GateResult(row.name, passed=False, words=f"{row.name} failed: {row.error}")
    now = {one.question: one.scores for one in row.outcomes}
    then = {one.question: one.scores for one in before.outcomes}
    both = [one for one in asked if measure in then.get(str(one["id"]), ())]
    if len(both) < _FEWEST:
        raise DatasetError(f"the baseline did not measure {measure}; use the same budgets")
    ids = [str(one["id"]) for one in both]
    gaps = np.array([now[one][measure] - then[one][measure] for one in ids])
    bootstrap = Bootstrap(
        [str(one["document"]) for one in both],
        draws=int(report.settings["draws"]),
        seed=int(report.settings["seed"]),
    )
    gap = bootstrap.gap(gaps)
    points = f"{100 * gap.mean:+.1f} ({100 * gap.low:+.1f} to {100 * gap.high:+.1f})"
    if gap.high < 0:
        words = f"{row.name} dropped by more than chance: {measure} {points}"
    else:
        words = f"{row.name} holds: {measure} {points} over {len(ids)} questions"
    return GateResult(row.name, passed=gap.high >= 0, words=words, gap=gap)
