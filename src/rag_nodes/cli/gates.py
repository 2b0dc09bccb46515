"""`--baseline` and `--fail-under`: refused before an hour is spent, and what came of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.cli.files import check_there

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from rag_nodes.evaluation.dataset import Question
    from rag_nodes.evaluation.gates import GateResult
    from rag_nodes.evaluation.plan import EvaluationPlan
    from rag_nodes.evaluation.report import EvaluationReport


class Gates:
    """What a build may rely on, as typed.

    Args:
        plan: what is measured.
        baseline: the run that was kept; None to compare with none.
        limits: each MEASURE=VALUE.
        tolerance: a drop that is surely smaller holds.

    Raises:
        ConfigurationError: a limit cannot be read, or the file is not there.
        DatasetError: the file is no report, or one of other budgets.
    """

    def __init__(
        self,
        plan: EvaluationPlan,
        baseline: Path | None,
        limits: Sequence[str],
        tolerance: float,
    ) -> None:
        from rag_nodes.evaluation.gates import check_measured, limit_of
        from rag_nodes.evaluation.report import EvaluationReport

        self._before: EvaluationReport | None = None
        self._limits, self._tolerance = limits, tolerance
        if baseline is not None:
            check_there([baseline])
            self._before = EvaluationReport.load(baseline)
            check_measured(self._before, plan.main)
        for limit in limits:
            limit_of(limit, plan.shares)

    def check_comparable(self, columns: Iterable[str], questions: Iterable[Question]) -> None:
        """Refuse a baseline with nothing in common with what is to be measured.

        Raises:
            DatasetError: it has no column, or too few of the questions.
        """
        from rag_nodes.evaluation.gates import check_comparable

        if self._before:
            check_comparable(self._before, columns, questions)

    def results(self, report: EvaluationReport) -> list[GateResult]:
        """A result per row and gate."""
        from rag_nodes.evaluation.gates import against_baseline, under

        before = self._before
        found = against_baseline(report, before, tolerance=self._tolerance) if before else []
        return [*found, *(one for limit in self._limits for one in under(report, limit))]
