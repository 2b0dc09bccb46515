"""Drafts that nobody has accepted put no column first, pass no gate, and choose no parser."""

from dataclasses import replace

import pytest
from tests.evaluation.labelled import BARE, PLAN, columns, corpus

from rag_nodes.evaluation import Dataset, recommend
from rag_nodes.evaluation.diagnosis import REMEDIES
from rag_nodes.evaluation.gates import against_baseline, under
from rag_nodes.evaluation.page import html_of
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import DEFAULT_PARSER

NAMES_A_WINNER = ("better", "ahead", "leads", "level", "behind", "best", "answer every", "Take ")


def draft_corpus(accepted: int = 0, documents: int = 2) -> Dataset:
    """The corpus with all questions drafts, but for the first ones."""
    dataset = corpus(documents)
    marked = (
        replace(question, draft=at >= accepted) for at, question in enumerate(dataset.questions)
    )
    return replace(dataset, questions=tuple(marked))


@pytest.fixture(scope="module")
def by_drafts() -> EvaluationReport:
    return evaluate(draft_corpus(), columns(), plan=PLAN)


def test_numbers_are_measured_and_no_column_is_put_first(by_drafts: EvaluationReport) -> None:
    assert {"small", "large"} <= {row.column for row in by_drafts.rows}
    assert all(row.means["recall@60"] >= 0 for row in by_drafts.rows)
    assert not by_drafts.contrasts + by_drafts.sizes
    assert EvaluationReport.from_dict(by_drafts.as_dict()).by_drafts
    sentences = " ".join(by_drafts.said)
    assert not [word for word in NAMES_A_WINNER if word in sentences]


def test_the_verdict_says_what_stands_and_what_to_do(by_drafts: EvaluationReport) -> None:
    certainty, first, basis, *_ = by_drafts.said
    assert certainty == "Not decided: nobody has accepted a question yet."
    assert first == (
        "Drafts cannot choose: nobody has accepted any of these questions, so the preset "
        f"{DEFAULT_PARSER} (recursive, 200 tokens) stands. Accept those that people "
        "would ask, or write about 20 of your own."
    )
    assert basis.startswith("Based on 16 questions about 2 documents.")


def test_the_page_draws_no_column_above_another(by_drafts: EvaluationReport) -> None:
    page = html_of(by_drafts)
    assert "<svg" not in page
    assert "Drafts cannot choose" in page
    assert "Is it the size?" not in page
    assert "is better than" not in page
    assert "All intervals of differences" not in page
    assert "best of all" not in page.lower()


def test_the_report_says_why_answers_were_missed_and_advises_nothing() -> None:
    long = {"large": columns()["large"]}
    plan = replace(BARE, budgets=(5, 10))
    drafts, accepted = (
        evaluate(dataset, long, plan=plan)
        for dataset in (draft_corpus(), draft_corpus(accepted=32))
    )
    (reason,) = drafts.of_role("own")[0].reasons
    advice = REMEDIES[reason]  # type: ignore[index] # a str in plain data
    assert reason in html_of(drafts)
    assert advice in html_of(accepted)
    assert advice not in html_of(drafts)


def test_no_gate_can_tell_by_drafts(by_drafts: EvaluationReport) -> None:
    results = [*against_baseline(by_drafts, by_drafts), *under(by_drafts, "recall@60=0.01")]
    assert [result.outcome for result in results] == ["inconclusive"] * 4
    assert all("inconclusive: drafts cannot choose" in result.words for result in results)


def test_accepted_questions_leave_drafts_out_and_count_them() -> None:
    dataset = draft_corpus(accepted=10)
    report, alone = (
        evaluate(questions, columns(), plan=BARE)
        for questions in (dataset, replace(dataset, questions=dataset.questions[:10]))
    )
    assert [row.means for row in report.rows] == [row.means for row in alone.rows]
    assert not report.by_drafts
    assert (report.dataset.questions, report.dataset.drafts) == (10, 0)
    assert report.dataset.unaccepted == 6
    assert "6 drafts that nobody has accepted were left out." in report.verdict
    assert "Based on 10 questions about 2 documents." in " ".join(report.verdict)


def test_recommend_takes_nothing_by_drafts() -> None:
    parsers = {"recursive": get_parser("recursive")}
    drafts = recommend(draft_corpus(), parsers, plan=replace(PLAN, sizes=(30,)))
    assert (drafts.decision.take, drafts.decision.grade) == (None, "drafts")
