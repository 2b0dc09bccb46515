"""A build passes only where a drop is excluded; a drop, and what cannot be told, end it apart."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from tests.evaluation.labelled import corpus

from rag_nodes.errors import ConfigurationError, DatasetError
from rag_nodes.evaluation.gates import against_baseline, under
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import EvaluationReport, Row
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser

PLAN = EvaluationPlan(budgets=(40, 60), sizes=(), target=None, draws=400, ks=(1,))


@pytest.fixture(scope="module")
def report() -> EvaluationReport:
    small = get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0)
    return evaluate(corpus(6), {"small": small}, plan=PLAN)


def changed(report: EvaluationReport, every: int, by: float) -> EvaluationReport:
    """The report with the recall of some questions another."""

    def other(row: Row) -> Row:
        outcomes = tuple(
            replace(one, scores={**one.scores, "recall@60": one.scores["recall@60"] + by})
            if number % every == 0
            else one
            for number, one in enumerate(row.outcomes)
        )
        return replace(row, outcomes=outcomes)

    return replace(report, rows=tuple(other(row) for row in report.rows))


def of_document(report: EvaluationReport, document: str, by: float) -> EvaluationReport:
    """The report with the recall of all questions about one document another."""
    about = {one["id"] for one in report.questions if one["document"] == document}

    def other(row: Row) -> Row:
        outcomes = tuple(
            replace(one, scores={**one.scores, "recall@60": one.scores["recall@60"] + by})
            if one.question in about
            else one
            for one in row.outcomes
        )
        return replace(row, outcomes=outcomes)

    return replace(report, rows=tuple(other(row) for row in report.rows))


def test_the_same_run_holds_and_says_that_nothing_changed(report: EvaluationReport) -> None:
    (result,) = against_baseline(report, report)
    assert result.outcome == "holds"
    assert result.words == "small holds: recall@60 is the same for each of 48 questions"


def test_a_drop_on_most_questions_fell_and_says_how_far(report: EvaluationReport) -> None:
    (result,) = against_baseline(changed(report, 1, -0.2), report)
    assert result.outcome == "fell"
    assert result.gap is not None
    assert result.gap.mean == pytest.approx(-0.2)
    assert result.words == "small fell by 20.0 (17.5 to 20.9): recall@60 over 48 questions"


def test_a_drop_on_one_question_holds_where_a_large_one_is_excluded(
    report: EvaluationReport,
) -> None:
    (result,) = against_baseline(changed(report, 1000, -0.3), report)
    assert result.outcome == "holds"
    assert result.gap is not None
    assert -0.05 <= result.gap.low < result.gap.mean < 0
    assert "holds: recall@60 -0.6 (" in result.words
    assert result.words.endswith("), no drop of 5 points or more, over 48 questions")


def test_a_drop_that_is_shown_and_surely_small_holds_and_is_named(
    report: EvaluationReport,
) -> None:
    (result,) = against_baseline(changed(report, 1, -0.02), report)
    assert result.outcome == "holds"
    assert "recall@60 -2.0 (-2.1 to -1.8), a drop of less than 5 points, over" in result.words
    (strict,) = against_baseline(changed(report, 1, -0.02), report, tolerance=0.0)
    assert strict.outcome == "fell"


def test_a_rise_holds(report: EvaluationReport) -> None:
    assert against_baseline(report, changed(report, 1, -0.2))[0].outcome == "holds"


def test_a_drop_in_one_document_alone_cannot_be_told_at_a_strict_tolerance(
    report: EvaluationReport,
) -> None:
    (result,) = against_baseline(changed(report, 10, -0.4), report, tolerance=0.02)
    assert result.outcome == "cannot tell"
    assert result.gap is not None
    assert result.gap.low < -0.02
    assert result.gap.high >= 0
    assert "small: cannot tell: recall@60 -4.2 (" in result.words
    assert re.search(r"over 48 questions; about \d+ more questions could$", result.words)


def lost(report: EvaluationReport, count: int) -> EvaluationReport:
    """63 questions of which 50 were found, and so many of those no longer are."""
    (row,) = report.of_role("own")
    asked = tuple({**report.questions[0], "id": f"q{at}"} for at in range(63))
    outcomes = tuple(
        replace(row.outcomes[0], question=f"q{at}", scores={"recall@60": float(count <= at < 50)})
        for at in range(63)
    )
    return replace(report, questions=asked, rows=(replace(row, outcomes=outcomes),))


@pytest.mark.parametrize(
    ("count", "outcome", "words"),
    [
        (0, "holds", "small holds: recall@60 is the same for each of 63 questions"),
        (1, "cannot tell", "-1.6 (-6.9 to +3.8) over 63 questions; about 330 more questions could"),
        (3, "cannot tell", "-4.8 (-11.5 to +2.2) over 63 questions; about 200 more questions coul"),
        (5, "cannot tell", "-7.9 (-16.9 to +1.5) over 63 questions; about 94 more questions could"),
        (6, "fell", "small fell by 9.5 (0.7 to 17.7): recall@60 over 63 questions"),
        (20, "fell", "small fell by 31.7 (18.4 to 43.1): recall@60 over 63 questions"),
    ],
)
def test_losses_of_63_questions_hold_fall_or_cannot_be_told(
    report: EvaluationReport, count: int, outcome: str, words: str
) -> None:
    (result,) = against_baseline(lost(report, count), lost(report, 0))
    assert (result.outcome, words in result.words) == (outcome, True)


def test_one_lost_of_63_holds_at_a_wider_tolerance(report: EvaluationReport) -> None:
    (result,) = against_baseline(lost(report, 1), lost(report, 0), tolerance=0.1)
    assert result.outcome == "holds"
    assert result.words.endswith(", no drop of 10 points or more, over 63 questions")


def test_all_columns_of_a_gate_are_judged_at_once(report: EvaluationReport) -> None:
    (row,) = report.of_role("own")
    names = [f"column {at}" for at in range(6)]

    def many(one: EvaluationReport) -> EvaluationReport:
        (own,) = one.of_role("own")
        turned = [
            tuple(replace(o, question=f"q{(at + 7 * n) % 63}") for at, o in enumerate(own.outcomes))
            for n in range(6)
        ]
        rows = (replace(row, name=n, outcomes=o) for n, o in zip(names, turned, strict=True))
        return replace(one, rows=tuple(rows))

    alone = against_baseline(lost(report, 6), lost(report, 0))[0]
    found = against_baseline(many(lost(report, 6)), many(lost(report, 0)))
    assert alone.outcome == "fell"
    assert {one.outcome for one in found} == {"cannot tell"}


def test_over_two_documents_the_loss_of_most_answers_is_seen() -> None:
    small = get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0)
    before = evaluate(corpus(2), {"small": small}, plan=PLAN)
    (row,) = before.of_role("own")
    outcomes = tuple(
        replace(one, scores={**one.scores, "recall@60": 0.0}) if number % 5 < 3 else one
        for number, one in enumerate(row.outcomes)
    )
    (result,) = against_baseline(replace(before, rows=(replace(row, outcomes=outcomes),)), before)
    assert result.outcome == "fell"


def test_new_questions_do_not_matter_and_reworded_ones_are_not_compared(
    report: EvaluationReport,
) -> None:
    worse = changed(report, 1, -0.2)
    reworded = tuple({**one, "text": f"{one['text']} Really?"} for one in worse.questions[2:])
    mixed = replace(worse, questions=(*worse.questions[:2], *reworded))
    assert "each of 2 questions" in against_baseline(mixed, worse)[0].words
    with pytest.raises(DatasetError, match="other questions"):
        against_baseline(replace(worse, questions=reworded), worse)


def test_a_baseline_of_other_columns_or_budgets_is_refused(report: EvaluationReport) -> None:
    renamed = replace(report, rows=tuple(replace(row, name="other") for row in report.rows))
    with pytest.raises(DatasetError, match="name the same parsers"):
        against_baseline(report, renamed)
    other = replace(report, settings={**report.settings, "measure": "recall@77"})
    with pytest.raises(DatasetError, match="did not measure"):
        against_baseline(other, report)


def test_a_column_that_only_the_baseline_has_is_named_and_fails_nothing(
    report: EvaluationReport,
) -> None:
    (row,) = report.of_role("own")
    both = replace(report, rows=(*report.rows, replace(row, name="gone")))
    held, gone = against_baseline(report, both)
    assert held.row == "small"
    assert gone.outcome == "not compared"
    assert gone.words == "gone is in the baseline and not in this run, so it was not compared"


def test_a_limit_is_reached_or_not(report: EvaluationReport) -> None:
    value = report.row("small").means["iou@60"]
    assert under(report, f"iou@60={value - 0.01:.3f}")[0].outcome == "holds"
    assert under(report, f"iou@60 = {value + 0.001:.4f}")[0].outcome == "fell"


def test_a_limit_that_is_just_reached_is_reached(report: EvaluationReport) -> None:
    rows = tuple(replace(row, means={**row.means, "recall@60": 0.75}) for row in report.rows)
    assert under(replace(report, rows=rows), "recall@60=0.75")[0].outcome == "holds"


@pytest.mark.parametrize("limit", ["recall", "recall@60", "recall@60=85", "recall@60=x", "=0.5"])
def test_a_limit_that_cannot_be_read_is_refused(report: EvaluationReport, limit: str) -> None:
    with pytest.raises(ConfigurationError, match=r"such as recall@1000=0\.85"):
        under(report, limit)


@pytest.mark.parametrize("limit", ["recall@500=0.5", "tokens@60=0.5", "full=0.5"])
def test_a_limit_on_what_is_no_share_or_was_not_measured_names_what_was(
    report: EvaluationReport, limit: str
) -> None:
    with pytest.raises(ConfigurationError, match="recall@60"):
        under(report, limit)


def test_a_column_that_failed_fails_its_gates(report: EvaluationReport) -> None:
    failed = replace(report, rows=tuple(replace(row, error="it broke") for row in report.rows))
    assert under(failed, "recall@60=0.1")[0].outcome == "fell"
    assert against_baseline(failed, report)[0].outcome == "fell"
