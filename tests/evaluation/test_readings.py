"""Each splitter is measured as it is read: by sentences, and in whole chunks beside them."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from llama_index.core.schema import NodeWithScore
from tests.evaluation.labelled import PLAN, columns, corpus

from rag_nodes.evaluation import load_dataset
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.gates import against_baseline
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.evaluation.scoring import best_recall
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest_documents
from rag_nodes.query import QueryOptions, RagNodesRetriever
from rag_nodes.readers import read
from rag_nodes.store import Query, Store
from rag_nodes.text.spans import Span

MANUAL = Path(__file__).parents[2] / "examples/corpus"
PARSERS = ("retrieval", "heading")
BY_SENTENCES = replace(PLAN, options=QueryOptions())


@pytest.fixture(scope="module")
def manual() -> Dataset:
    documents = [read(MANUAL / name) for name in ("manual.md", "handbook.pdf")]
    return load_dataset(MANUAL / "questions.json", documents)


@pytest.fixture(scope="module")
def read_both_ways(manual: Dataset) -> EvaluationReport:
    plan = EvaluationPlan(budgets=(150, 400), sizes=(400,), draws=400)
    return evaluate(manual, {name: get_parser(name) for name in PARSERS}, plan=plan)


def passages_of(nodes: list[NodeWithScore]) -> list[Passage]:
    return [
        Passage(
            str(node.node.ref_doc_id),
            Span(node.node.start_char_idx, node.node.end_char_idx),  # type: ignore[attr-defined]
        )
        for node in nodes
    ]


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize("budget", [150, 400])
def test_each_question_is_answered_from_what_the_retriever_gives(
    read_both_ways: EvaluationReport, manual: Dataset, store: Store, name: str, budget: int
) -> None:
    parser = get_parser(name)
    ingest_documents(manual.documents, {name: parser}, store, models=Models.of())
    asked = RagNodesRetriever(
        store=store, parser=parser, models=Models.of(), options=QueryOptions(budget=budget)
    )
    by_retriever = {
        question.id: best_recall(
            passages_of(asked.retrieve(question.text)), question.gold, manual.texts
        )
        for question in manual.questions
    }
    row = read_both_ways.row(name)
    assert row.granularity == "sentences"
    assert {
        outcome.question: outcome.scores[f"recall@{budget}"] for outcome in row.outcomes
    } == by_retriever


def test_whole_chunks_are_those_of_a_run_that_reads_nothing_else(
    read_both_ways: EvaluationReport, manual: Dataset
) -> None:
    plan = EvaluationPlan(
        budgets=(150, 400), sizes=(400,), draws=400, options=QueryOptions(granularity="chunks")
    )
    alone = evaluate(manual, {name: get_parser(name) for name in PARSERS}, plan=plan)
    for row in alone.rows:
        same = read_both_ways.row(row.name)
        if row.role != "own":
            assert replace(same, cost=row.cost) == row
            continue
        for budget in plan.budgets:
            assert same.means[f"chunks@{budget}"] == row.means[f"recall@{budget}"]
        assert same.whole == row.interval
        for measure in ("mrr", "ndcg@k10", "recall@k5", "omega"):
            assert same.means[measure] == row.means[measure]
        assert row.whole is None
    assert alone.sizes[0].size == read_both_ways.sizes[0].size
    assert alone.effects == ()


def test_the_report_says_what_reading_sentences_makes(read_both_ways: EvaluationReport) -> None:
    (effect,) = read_both_ways.effects
    own = read_both_ways.of_role("own")
    gaps = [row.mean - row.whole.mean for row in own if row.whole]
    assert effect.gap.mean == pytest.approx(sum(gaps) / 2)
    assert effect.words.startswith("Reading sentences instead of whole chunks: +")
    assert effect.words in read_both_ways.said
    assert EvaluationReport.from_dict(read_both_ways.as_dict()) == replace(
        read_both_ways,
        rows=tuple(
            replace(row, cost=replace(row.cost, seconds=0.0, search_ms=None))
            for row in read_both_ways.rows
        ),
        decision=replace(read_both_ways.decision, search_ms=None),
    )


def test_a_size_that_finds_the_most_is_named_beside_a_decision_that_does_not_try_it(
    read_both_ways: EvaluationReport,
) -> None:
    best = max(read_both_ways.rows, key=lambda row: row.in_chunks)
    assert best.role == "size"
    [words] = [words for words in read_both_ways.said if "It is no candidate here" in words]
    assert words.startswith(f"Of all sizes, {best.name} finds the most in whole chunks, ")


def test_one_search_serves_both_ways_of_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    dataset, searched = corpus(1), Counter[str]()
    search = Store.search

    def count_search(store: Store, collection: str, query: Query) -> object:
        if query.limit == 40:
            searched[str(query.text)] += 1
        return search(store, collection, query)

    monkeypatch.setattr(Store, "search", count_search)
    plan = replace(BY_SENTENCES, sizes=(), target=None, ks=(1,), budgets=(100, 200))
    evaluate(dataset, {"small": columns()["small"]}, plan=plan)
    assert searched == {question.text: 1 for question in dataset.questions}


def test_dense_search_reads_whole_chunks_as_it_does_for_ask() -> None:
    plan = replace(BY_SENTENCES, sizes=(), options=QueryOptions(mode="dense"))
    report = evaluate(corpus(1), columns(), plan=plan)
    assert {row.granularity for row in report.rows} == {"chunks"}
    assert report.settings.granularity == "chunks"


def test_a_baseline_that_was_read_otherwise_is_not_compared() -> None:
    dataset, plan = corpus(1), replace(BY_SENTENCES, sizes=(), target=None)
    given = {"small": columns()["small"]}
    now = evaluate(dataset, given, plan=plan)
    chunks = replace(plan, options=QueryOptions(granularity="chunks"))
    (gate,) = against_baseline(now, evaluate(dataset, given, plan=chunks))
    assert gate.outcome == "inconclusive"
    assert "use --granularity chunks, or make a new baseline" in gate.words
    (gate,) = against_baseline(now, now)
    assert gate.outcome == "holds"
