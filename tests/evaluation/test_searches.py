"""Modes of search and rerankers as rows, each splitter in all of them."""

from dataclasses import replace
from typing import Any

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from rerankers import Inventing, Raising, Reverse
from tests.evaluation.labelled import BARE, PLAN, columns, corpus

from rag_nodes.core.errors import CancelledError, ConfigurationError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.evaluation.dataset import Dataset
from rag_nodes.evaluation.decision import default_of
from rag_nodes.evaluation.effects import reading_of
from rag_nodes.evaluation.page import matrix
from rag_nodes.evaluation.plan import EvaluationPlan
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions
from rag_nodes.query.reranking import reranker_at
from rag_nodes.store import SearchMode

SPARSE, HYBRID = QueryOptions(mode="sparse"), QueryOptions(mode="hybrid")
MODES: tuple[SearchMode, ...] = ("dense", "sparse")


def evaluate_searches(
    searches: dict[str, QueryOptions], plan: EvaluationPlan = BARE
) -> EvaluationReport:
    return evaluate(corpus(1), {"small": columns()["small"]}, plan=replace(plan, searches=searches))


def test_each_splitter_is_a_row_in_each_search_and_sizes_are_searched_the_first_way() -> None:
    report = evaluate_searches({"sparse": SPARSE, "hybrid": HYBRID}, replace(PLAN, sizes=(40,)))
    assert [(row.name, row.column, row.search) for row in report.rows][:4] == [
        ("small (sparse)", "small", "sparse"),
        ("small (sparse) at 40", "small", "sparse"),
        ("small (sparse) at equal size", "small", "sparse"),
        ("small (hybrid)", "small", "hybrid"),
    ]
    assert [row.mode for row in report.rows][:4] == ["sparse", "sparse", "sparse", "hybrid"]
    alone = evaluate(
        corpus(1), {"small": columns()["small"]}, plan=replace(BARE, options=HYBRID)
    ).row("small")
    assert report.row("small (hybrid)").outcomes == alone.outcomes


def test_the_report_says_what_another_search_makes_and_that_a_lexical_model_knows_no_meaning() -> (
    None
):
    report = evaluate_searches({"sparse": SPARSE, "hybrid": HYBRID})
    first, second = (report.row(f"small ({mode})").mean for mode in ("sparse", "hybrid"))
    effect = next(effect for effect in report.effects if effect.of == "hybrid search")
    assert effect.over == "sparse search"
    assert effect.gap.mean == pytest.approx(second - first)
    assert effect.words in report.said
    warning = "Dense and hybrid search compared words here, as the offline lexical model"
    assert warning in " ".join(report.said)
    assert warning not in " ".join(evaluate_searches({"sparse": SPARSE}).said)


def test_the_default_is_the_preset_in_the_default_search_whatever_is_named_first() -> None:
    usual = get_parser("retrieval")
    searches = {mode: replace(SPARSE, mode=mode) for mode in MODES}
    report = evaluate(corpus(1), {"usual": usual}, plan=replace(BARE, searches=searches))
    assert default_of(report.rows, "sparse") == "usual (sparse)"
    assert default_of(report.rows, "hybrid") == "usual (dense)"
    assert "points behind usual (dense)" not in report.decision.words


def test_only_rows_that_were_read_by_sentences_are_named_as_such() -> None:
    searches = {mode: replace(SPARSE, mode=mode) for mode in MODES}
    report = evaluate_searches(searches)
    read = [row.name for row in report.rows if row.granularity == "sentences"]
    assert read == ["small (sparse)"]
    assert reading_of(report).startswith("Recall of small (sparse) is that of selected sentences")


def test_a_search_that_changes_nothing_makes_no_difference_and_not_one_by_chance() -> None:
    report = evaluate_searches({"sparse": SPARSE, "again": SPARSE})
    [words] = [effect.words for effect in report.effects if effect.of == "again"]
    assert words.startswith("Again instead of sparse search: no difference (")
    assert "chance" not in words


def test_a_reranker_that_turns_the_order_round_changes_the_row_and_is_asked_once() -> None:
    reverse = Reverse()
    report = evaluate_searches({"": HYBRID, "Reverse": replace(HYBRID, rerank=reverse)})
    plain, turned = report.row("small"), report.row("small (Reverse)")
    assert turned.means["mrr"] < plain.means["mrr"]
    assert turned.outcomes != plain.outcomes
    assert len(reverse.calls) == len(report.questions)
    assert max(reverse.calls) <= 50
    [effect] = [effect for effect in report.effects if effect.of == "Reverse"]
    assert effect.over == "the search alone"


@pytest.mark.parametrize(
    ("reranker", "words"),
    [
        (Raising(), "the reranker Raising failed: ValueError; run it alone to see where it fails"),
        (Inventing(), "the reranker Inventing returned nodes that it was not given (1)"),
    ],
)
def test_a_reranker_that_fails_is_a_row_with_its_error_and_stops_no_other(
    reranker: Reverse, words: str
) -> None:
    report = evaluate_searches({"": SPARSE, "bad": replace(SPARSE, rerank=reranker)})
    error = report.row("small (bad)").error or ""
    assert error.startswith(words)
    assert "sk-secret" not in error
    assert report.row("small").error is None
    assert [effect.of for effect in report.effects] == ["reading sentences"]


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("rerankers:__name__", "not an import path"),
        ("rag_nodes.evaluation.dataset:Dataset", "is not a subclass of BaseNodePostprocessor"),
        ("rerankers:Missing", "has no 'Missing'"),
        ("rerankers:Reverse(calls=1)", "cannot be made"),
    ],
)
def test_an_object_that_is_no_reranker_is_refused(path: str, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        reranker_at(path)


def test_a_query_engine_is_a_single_row_measured_by_its_answers() -> None:
    dataset: Dataset = corpus(1)
    index = VectorStoreIndex.from_documents(dataset.documents, embed_model=MockEmbedding(8))
    given = {"index": index, "small": get_parser("sentence")}
    plan = replace(BARE, searches={"sparse": SPARSE, "hybrid": HYBRID})
    report = evaluate(dataset, given, plan=plan)
    assert [row.name for row in report.rows] == ["index", "small (sparse)", "small (hybrid)"]
    row = report.row("index")
    assert (row.mode, row.granularity, row.whole) == ("own", "chunks", None)


def test_a_reranked_run_whose_owner_has_left_goes_no_further() -> None:
    interrupt = Interrupt()

    def leave(question: str, hits: Any) -> Any:
        assert question
        interrupt.set()
        return hits

    with interruptible(interrupt), pytest.raises(CancelledError):
        evaluate_searches({"": SPARSE, "leaves": replace(SPARSE, rerank=leave)})


def test_every_search_stands_among_the_questions_that_differ_and_is_named() -> None:
    report = evaluate_searches({"sparse": SPARSE, "hybrid": HYBRID})
    assert [row.name for row in matrix(report).rows] == ["small (sparse)", "small (hybrid)"]
    assert report.search == "sparse and hybrid search"
