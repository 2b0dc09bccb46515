"""Whether answers are good: what a judge has to say before it counts, and what never counts."""

import json
from dataclasses import replace
from typing import Any

import pytest
from llama_index.core.llms import MockLLM
from llama_index.core.llms.mock import MockFunctionCallingLLM
from tests.evaluation.scripted_judge import but, good, kind_of, scripted_llm

from rag_nodes.core.errors import CancelledError, ConfigurationError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.evaluation import Judging, evaluate
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.judging import grade_in, yes_or_no_in
from rag_nodes.evaluation.page import html_of
from rag_nodes.evaluation.plan import EvaluationPlan, Step
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.tables import Judgement
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions

PLAN = EvaluationPlan(
    budgets=(30,), sizes=(), target=None, draws=300, ks=(1,),
    options=QueryOptions(granularity="chunks"),
)  # fmt: skip


def columns() -> dict[str, object]:
    """One that finds sentences, and one whose chunks drown them."""
    return {
        "small": get_parser("recursive", unit="tokens", chunk_size=30, chunk_overlap=0),
        "large": get_parser("token-overlap", chunk_size=300, chunk_overlap=0),
    }


def answering(llm: Any) -> Models:
    return Models.of(embed_model="lexical", llm=llm)


def judge_dataset(dataset: Dataset, llm: Any, count: int = 12) -> Judgement:
    report = evaluate(dataset, columns(), plan=PLAN, judge=Judging(count), models=answering(llm))
    assert not [row.error for row in report.rows if row.error]
    assert report.judgement
    return report.judgement


def test_answers_from_the_column_that_finds_more_are_more_correct(
    dataset: Dataset,
) -> None:
    judgement = judge_dataset(dataset, scripted_llm(), 16)
    small, large = judgement.columns
    assert (small.name, large.name) == ("small", "large")
    assert small.correctness.mean
    assert large.correctness.mean
    assert 1 <= large.correctness.mean < small.correctness.mean - 0.5 <= 4.5
    assert small.faithfulness.mean == 1


def test_every_column_answers_the_same_questions_and_fewer_are_the_first_of_more(
    dataset: Dataset,
) -> None:
    few, more = (judge_dataset(dataset, scripted_llm(), count).questions for count in (4, 9))
    assert set(few) < set(more)
    other = replace(PLAN, seed=3)
    models = answering(scripted_llm())
    report = evaluate(dataset, columns(), plan=other, models=models, judge=Judging(4))
    assert report.judgement
    assert report.judgement.questions != few
    for name in columns():
        asked = [answer.question for answer in report.judgement.answers if answer.column == name]
        assert tuple(asked) == report.judgement.questions


def test_answers_are_asked_for_from_what_the_column_read_and_with_the_prompts_of_the_models(
    dataset: Dataset,
) -> None:
    llm = scripted_llm()
    models = replace(Models.of(llm=llm), prompt="SEEN {context}\n\nWanted: {question}")
    evaluate(dataset, columns(), plan=PLAN, models=models, judge=Judging(2))
    asked = [prompt for prompt in llm.prompts if "SEEN" in prompt]
    assert len(asked) == 4
    assert all("[Source 1]:" in prompt for prompt in asked)
    judging = [prompt for prompt in llm.prompts if kind_of(prompt) == "correct"]
    assert not any("[Source" in prompt for prompt in judging)


@pytest.mark.parametrize(
    ("kind", "reply"), [("faithful", "The answer might be: yes"), ("correct", "4 or 5\nboth")]
)
def test_unreadable_replies_of_a_judge_are_counted_and_are_no_score(
    dataset: Dataset, kind: str, reply: str
) -> None:
    judgement = judge_dataset(dataset, scripted_llm(but(**{kind: lambda _: reply})), 6)
    assert judgement.error is None
    for column in judgement.columns:
        rating = column.faithfulness if kind == "faithful" else column.correctness
        assert (rating.mean, rating.judged, rating.not_judged) == (None, 0, 6)


@pytest.mark.parametrize(
    ("words", "value"),
    [("YES", 1), ("**Yes**, it is supported.", 1), ("no", 0), ("NO\nBecause yes.", 0),
     ("Yes and no", None), ("Eyes", None), ("Perhaps yes", None)],
)  # fmt: skip
def test_faithful_is_what_begins_with_yes(words: str, value: float | None) -> None:
    assert yes_or_no_in(words) == value


@pytest.mark.parametrize(
    ("words", "value"),
    [("4", 4), ("4.5\nGood.", 4.5), ("\n3\n\nSo so.", 3), ("5.5", None), ("6\nSuperb", None),
     ("0", None), ("-3", None), ("nan\n", None), ("Four", None), ("", None)],
)  # fmt: skip
def test_a_grade_stands_alone_in_its_line_and_on_the_scale(words: str, value: float | None) -> None:
    assert grade_in(words)[0] == value


def test_a_grade_without_an_explanation_counts(dataset: Dataset) -> None:
    short = but(correct=lambda prompt: good(prompt).partition("\n")[0])
    judgement = judge_dataset(dataset, scripted_llm(short), 4)
    assert [column.correctness.judged for column in judgement.columns] == [4, 4]


def test_a_judge_of_whom_nothing_can_be_read_gives_no_number(dataset: Dataset) -> None:
    judge = scripted_llm(lambda _: "as you like", model="vague-1")
    models, judging = answering(scripted_llm()), Judging(4, judge)
    report = evaluate(dataset, columns(), plan=PLAN, models=models, judge=judging)
    assert report.judgement
    assert "vague-1 judged nothing: not in the form asked for" in str(report.judgement.error)
    assert {column.faithfulness.mean for column in report.judgement.columns} == {None}
    assert {column.correctness.mean for column in report.judgement.columns} == {None}
    assert report.row("small").interval
    page = html_of(report)
    assert "were not judged" in page
    assert "of 5</th>" not in page


@pytest.mark.parametrize("mock", [MockLLM(), MockLLM(max_tokens=3), MockFunctionCallingLLM()])
def test_a_mock_is_refused_before_anything_is_measured(dataset: Dataset, mock: Any) -> None:
    for llm, judge in ((mock, None), (scripted_llm(), mock)):
        steps = list[Step]()
        with pytest.raises(ConfigurationError, match="is a mock"):
            evaluate(
                dataset, columns(), plan=PLAN, models=answering(llm), judge=Judging(2, judge),
                progress=steps.append,
            )  # fmt: skip
        assert not steps


def test_extracts_are_no_answers_to_judge(dataset: Dataset) -> None:
    with pytest.raises(ConfigurationError, match=r"no LLM answers.*--llm"):
        evaluate(dataset, columns(), plan=PLAN, judge=Judging(2, judge=scripted_llm()))
    with pytest.raises(ConfigurationError, match="at least 1 question"):
        evaluate(dataset, columns(), plan=PLAN, judge=Judging(0, judge=scripted_llm()))


def test_a_model_that_answers_nothing_fails_the_judgement_and_not_the_report(
    dataset: Dataset,
) -> None:
    def down(_: str) -> str:
        raise ValueError("the line is dead")

    llm, judging = scripted_llm(down, model="dead-1"), Judging(12, judge=scripted_llm())
    report = evaluate(dataset, columns(), plan=PLAN, models=answering(llm), judge=judging)
    assert report.judgement
    assert "dead-1 answered nothing" in str(report.judgement.error)
    assert "ScriptedLLM failed: ValueError; fix it" in str(report.judgement.error)
    assert len(llm.prompts) <= 12  # not asked for each of 24 answers when it is down
    assert report.verdict


def test_some_failures_are_counted_and_the_rest_is_judged(dataset: Dataset) -> None:
    calls = list[str]()

    def flaky(prompt: str) -> str:
        if kind_of(prompt) == "correct":
            calls.append(prompt)
            if len(calls) == 2:
                raise ValueError("a hiccup")
        return good(prompt)

    judgement = judge_dataset(dataset, scripted_llm(flaky), 6)
    assert sum(column.correctness.not_judged for column in judgement.columns) == 1
    assert any(
        "failed: ValueError; fix it" in words
        for answer in judgement.answers
        for words in answer.words
    )


def test_equal_runs_give_equal_reports_which_survive_json(dataset: Dataset) -> None:
    first, again = (
        evaluate(dataset, columns(), plan=PLAN, models=answering(scripted_llm()), judge=Judging(4))
        for _ in range(2)
    )
    assert first.to_json() == again.to_json()
    plain = json.loads(first.to_json())
    assert EvaluationReport.from_dict(plain).judgement == first.judgement
    plain.pop("judgement")
    assert EvaluationReport.from_dict(plain).judgement is None


def test_the_page_shows_the_grades_and_escapes_what_models_write(dataset: Dataset) -> None:
    def hostile(prompt: str) -> str:
        return good(prompt) + "<script>alert(1)</script>"

    report = evaluate(
        dataset, columns(), plan=PLAN, models=answering(scripted_llm(but(answer=hostile))),
        judge=Judging(3, scripted_llm()),
    )  # fmt: skip
    page = html_of(report)
    assert "Judged answers" in page
    assert "&lt;script&gt;" in page
    assert "<script" not in page


def test_leaving_ends_the_judging(dataset: Dataset) -> None:
    interrupt, llm = Interrupt(), scripted_llm()

    def leave(step: Step) -> None:
        if step.stage == "judge":
            interrupt.set()

    with interruptible(interrupt), pytest.raises(CancelledError):
        evaluate(
            dataset, columns(), plan=PLAN, models=answering(llm), judge=Judging(30), progress=leave
        )  # fmt: skip
    assert sum(kind_of(prompt) == "answer" for prompt in llm.prompts) <= 8
