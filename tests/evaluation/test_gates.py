"""A build passes only where a drop is excluded; a drop, and what cannot be told, end it apart."""

import re
from dataclasses import replace

import pytest
from tests.evaluation.labelled import corpus

from rag_nodes.core.errors import ConfigurationError, DatasetError
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


def change_recall(report: EvaluationReport, every: int, by: float) -> EvaluationReport:
    """The report with the recall of some questions another."""

    def other(row: Row) -> Row:
        outcomes = tuple(
            replace(
                outcome, scores={**outcome.scores, "recall@60": outcome.scores["recall@60"] + by}
            )
            if number % every == 0
            else outcome
            for number, outcome in enumerate(row.outcomes)
        )
        return replace(row, outcomes=outcomes)

    return replace(report, rows=tuple(other(row) for row in report.rows))


@pytest.mark.parametrize(
    ("every", "by", "tolerance", "outcome", "words"),
    [
        (1, 0.0, 0.05, "holds", r"^small holds: recall@60 is the same for each of 48 questions$"),
        (1, 0.2, 0.05, "holds", "no drop of 5 points or more"),
        (1, -0.2, 0.05, "fell",
         r"^small fell by 20\.0 \(17\.5 to 20\.9\): recall@60 over 48 questions$"),
        (1000, -0.3, 0.05, "holds",
         r"holds: recall@60 -0\.6 \(.*\), no drop of 5 points or more, over 48 questions$"),
        (1, -0.02, 0.05, "holds",
         r"recall@60 -2\.0 \(-2\.1 to -1\.8\), a drop of less than 5 points, over"),
        (1, -0.02, 0.0, "fell", r"fell by 2\.0"),
        (10, -0.4, 0.02, "inconclusive",
         r"inconclusive: recall@60 -4\.2 \(.* over 48 questions; about \d+ more questions could"),
    ],
)  # fmt: skip
def test_a_drop_holds_where_a_large_one_is_excluded_and_fell_where_it_is_shown(
    report: EvaluationReport, every: int, by: float, tolerance: float, outcome: str, words: str
) -> None:
    (result,) = against_baseline(change_recall(report, every, by), report, tolerance=tolerance)
    assert result.outcome == outcome
    assert re.search(words, result.words)
    assert result.gap is not None
    assert result.gap.low <= result.gap.mean <= result.gap.high


def lost(report: EvaluationReport, count: int) -> EvaluationReport:
    """63 questions of which 50 were found, and so many of those no longer are."""
    (row,) = report.of_role("own")
    asked = tuple(replace(report.questions[0], id=f"q{at}") for at in range(63))
    outcomes = tuple(
        replace(row.outcomes[0], question=f"q{at}", scores={"recall@60": float(count <= at < 50)})
        for at in range(63)
    )
    return replace(report, questions=asked, rows=(replace(row, outcomes=outcomes),))


@pytest.mark.parametrize(
    ("count", "outcome", "words"),
    [
        (1, "inconclusive", "-1.6 (-6.9 to +3.8) over 63 questions; about 240 more questions"),
        (3, "inconclusive", "-4.8 (-11.5 to +2.2) over 63 questions; about 200 more questions"),
        (5, "inconclusive", "-7.9 (-16.9 to +1.5) over 63 questions; about 94 more questions"),
        (6, "fell", "small fell by 9.5 (0.7 to 17.7): recall@60 over 63 questions"),
        (20, "fell", "small fell by 31.7 (18.4 to 43.1): recall@60 over 63 questions"),
    ],
)
def test_losses_of_63_questions_hold_fall_or_are_inconclusive(
    report: EvaluationReport, count: int, outcome: str, words: str
) -> None:
    (result,) = against_baseline(lost(report, count), lost(report, 0))
    assert (result.outcome, words in result.words) == (outcome, True)


def test_all_columns_of_a_gate_are_judged_at_once(report: EvaluationReport) -> None:
    (row,) = report.of_role("own")
    names = [f"column {at}" for at in range(6)]

    def many(measured: EvaluationReport) -> EvaluationReport:
        (own,) = measured.of_role("own")
        turned = [
            tuple(replace(o, question=f"q{(at + 7 * n) % 63}") for at, o in enumerate(own.outcomes))
            for n in range(6)
        ]
        rows = (replace(row, name=n, outcomes=o) for n, o in zip(names, turned, strict=True))
        return replace(measured, rows=tuple(rows))

    alone = against_baseline(lost(report, 6), lost(report, 0))[0]
    gates = against_baseline(many(lost(report, 6)), many(lost(report, 0)))
    assert alone.outcome == "fell"
    assert {gate.outcome for gate in gates} == {"inconclusive"}


def test_new_questions_do_not_matter_and_reworded_ones_are_not_compared(
    report: EvaluationReport,
) -> None:
    worse = change_recall(report, 1, -0.2)
    reworded = tuple(
        replace(question, text=f"{question.text} Really?") for question in worse.questions[2:]
    )
    mixed = replace(worse, questions=(*worse.questions[:2], *reworded))
    assert "each of 2 questions" in against_baseline(mixed, worse)[0].words
    with pytest.raises(DatasetError, match="other questions"):
        against_baseline(replace(worse, questions=reworded), worse)


def test_a_baseline_of_other_columns_or_budgets_is_refused(report: EvaluationReport) -> None:
    renamed = replace(report, rows=tuple(replace(row, name="other") for row in report.rows))
    with pytest.raises(DatasetError, match="name the same parsers"):
        against_baseline(report, renamed)
    other = replace(report, settings=replace(report.settings, measure="recall@77"))
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


@pytest.mark.parametrize(("limit", "outcome"), [("0.75", "holds"), ("0.7501", "fell")])
def test_a_limit_is_reached_or_not(report: EvaluationReport, limit: str, outcome: str) -> None:
    rows = tuple(replace(row, means={**row.means, "iou@60": 0.75}) for row in report.rows)
    assert under(replace(report, rows=rows), f"iou@60 = {limit}")[0].outcome == outcome


@pytest.mark.parametrize(
    ("limit", "remedy"),
    [
        *((text, r"such as recall@1000=0\.85")
          for text in ("recall", "recall@60", "recall@60=85", "recall@60=x", "=0.5")),
        *((text, "recall@60") for text in ("recall@500=0.5", "tokens@60=0.5", "full=0.5")),
    ],
)  # fmt: skip
def test_a_limit_that_cannot_be_read_or_was_not_measured_is_refused(
    report: EvaluationReport, limit: str, remedy: str
) -> None:
    with pytest.raises(ConfigurationError, match=remedy):
        under(report, limit)


def test_a_column_that_failed_fails_its_gates(report: EvaluationReport) -> None:
    failed = replace(report, rows=tuple(replace(row, error="it broke") for row in report.rows))
    assert under(failed, "recall@60=0.1")[0].outcome == "fell"
    assert against_baseline(failed, report)[0].outcome == "fell"
