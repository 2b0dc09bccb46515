"""What somebody tries who does not believe a verdict: again, elsewhere, shuffled, and cheating."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from tests.evaluation.labelled import BARE, TOPICS, columns

from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser

ELSEWHERE = """
import sys
from tests.evaluation.labelled import PLAN, corpus, columns
from rag_nodes.evaluation.run import evaluate
sys.stdout.buffer.write(evaluate(corpus(2), columns(), plan=PLAN).to_json().encode())
"""


def test_the_same_run_in_another_process_with_another_hash_seed_gives_the_same_bytes(
    report: EvaluationReport,
) -> None:
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root), str(root / "tests"), *sys.path])
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE], check=True, capture_output=True, env=environment
    )
    assert done.stdout == report.to_json().encode()


def test_the_only_times_of_a_report_are_not_in_its_json(report: EvaluationReport) -> None:
    assert all((row.cost.seconds or 0) > 0 for row in report.rows)
    slower = tuple(
        replace(row, cost=replace(row.cost, seconds=99.0, search_ms=99.0)) for row in report.rows
    )
    decision = replace(report.decision, search_ms=99.0)
    assert replace(report, rows=slower, decision=decision).to_json() == report.to_json()


def test_another_seed_moves_intervals_by_less_than_a_point_and_no_verdict(
    dataset: Dataset,
) -> None:
    first, other = (
        evaluate(dataset, columns(), plan=replace(BARE, draws=10_000, seed=seed)) for seed in (0, 1)
    )
    for row, twin in zip(first.rows, other.rows, strict=True):
        assert (row.means, row.outcomes) == (twin.means, twin.outcomes)
        assert row.interval == twin.interval
    for contrast, twin in zip(first.contrasts, other.contrasts, strict=True):
        assert contrast.these.low == pytest.approx(twin.these.low, abs=0.01)
        assert contrast.these.high == pytest.approx(twin.these.high, abs=0.01)
    assert first.to_json() != other.to_json()
    named = [[(pair.left, pair.right, pair.these.is_significant) for pair in run.contrasts]
             for run in (first, other)]  # fmt: skip
    assert named[0] == named[1]


def test_gold_of_other_questions_is_not_found(dataset: Dataset, report: EvaluationReport) -> None:
    """Each question gets the answer to one about another topic, of the same document."""
    topics, golds = list(TOPICS), {question.id: question.gold for question in dataset.questions}
    turned = {topic: topics[(number + 3) % len(topics)] for number, topic in enumerate(topics)}
    mixed = []
    for question in dataset.questions:
        topic, number = question.id.split("-")
        mixed.append(replace(question, gold=golds[f"{turned[topic]}-{number}"]))
    mismatched = evaluate(replace(dataset, questions=tuple(mixed)), columns(), plan=BARE)
    assert report.row("small").means["recall@30"] > 0.8
    assert mismatched.row("small").means["recall@30"] < 0.05
    assert mismatched.row("small").means["mrr"] < report.row("small").means["mrr"] / 3


def test_a_column_that_retrieves_everything_has_no_advantage(dataset: Dataset) -> None:
    everything = get_parser("fixed", unit="tokens", chunk_size=100_000, chunk_overlap=0)
    with_everything = evaluate(
        dataset, {"everything": everything, "small": columns()["small"]}, plan=BARE
    )
    all_of_it, small = with_everything.row("everything"), with_everything.row("small")
    assert all_of_it.means["recall@k1"] == 1.0
    assert all_of_it.means["tokens@60"] <= 60
    for measure in ("recall@60", "precision@60", "precision@k1", "iou@k1", "omega"):
        assert all_of_it.means[measure] < small.means[measure]
    assert with_everything.contrasts[0].left == "small"


def test_the_order_of_columns_changes_no_number(dataset: Dataset, report: EvaluationReport) -> None:
    """Neither the order of columns, nor that of questions."""
    turned = replace(dataset, questions=dataset.questions[::-1])
    reversed_report = evaluate(turned, dict(reversed(columns().items())), plan=BARE)
    for row in reversed_report.rows:
        assert row.means == pytest.approx(report.row(row.name).means)
    gaps = [{frozenset((pair.left, pair.right)): pair.these.mean for pair in run.contrasts
             if pair.role == "own"} for run in (report, reversed_report)]  # fmt: skip
    assert gaps[0] == pytest.approx(gaps[1])
