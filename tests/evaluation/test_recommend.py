"""The short way to a choice: an evaluation of parsers at many sizes."""

from dataclasses import replace
from io import StringIO

import pytest
from llama_index.core import MockEmbedding, VectorStoreIndex
from llama_index.core.node_parser import SentenceSplitter
from rich.console import Console
from rich.table import Table

from rag_nodes.cli.views.evaluation import evaluation_view
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.evaluation import Dataset, EvaluationReport, recommend
from rag_nodes.evaluation.columns import REFERENCE, Searched
from rag_nodes.evaluation.drafts.probes import CHARACTERS, probes
from rag_nodes.evaluation.gates import under
from rag_nodes.evaluation.page import html_of
from rag_nodes.evaluation.plan import EvaluationPlan, of_probes
from rag_nodes.evaluation.run import standing
from rag_nodes.parsers import get_parser, load_parser
from rag_nodes.query import QueryOptions

OTHER_LENGTHS = (of_probes(700),)
"""The documents of the corpus are too short for a page."""
STANDARD = "retrieval + sentence selection"
SMALL = EvaluationPlan(budgets=(30, 60), sizes=(30, 300), ks=(1,), draws=400)


def parsers() -> dict[str, object]:
    return {name: get_parser(name) for name in ("recursive", "token-overlap")}


@pytest.fixture(scope="module")
def recommended(dataset: Dataset) -> EvaluationReport:
    return recommend(dataset, parsers(), plan=SMALL)


def test_each_parser_is_tried_at_each_size_beside_what_stands_and_what_others_do(
    recommended: EvaluationReport,
) -> None:
    assert [(row.name, row.role) for row in recommended.rows] == [
        (name, "own")
        for name in (STANDARD, "recursive at 30", "recursive at 300", "token-overlap at 30",
                     "token-overlap at 300", REFERENCE)
    ]  # fmt: skip
    assert recommended.row(STANDARD).parser["searched"]["granularity"] == "sentences"
    assert recommended.row("token-overlap at 30").parser["chunk_overlap"] == 0
    assert len(recommended.contrasts) == 6 * 5 / 2
    assert f"alone: {STANDARD} reads selected sentences; " in recommended.verdict[0]
    (effect,) = recommended.effects
    assert effect.words.startswith("Reading sentences instead of whole chunks: ")
    assert f" for {STANDARD}" in effect.words


def test_every_size_is_given_in_the_form_that_parser_options_take(
    recommended: EvaluationReport,
) -> None:
    row = recommended.row("recursive at 30")
    assert row.preset.startswith("recursive:chunk_size=30,")
    assert "unit=tokens" in row.preset
    assert f'-p "{row.preset}"' in html_of(recommended)
    terminal = Console(width=200, record=True, file=StringIO())
    terminal.print(*evaluation_view(recommended))
    assert 'A size after "at" is in tokens' in terminal.export_text()


def test_large_chunks_are_not_taken_where_answers_are_short(recommended: EvaluationReport) -> None:
    decision = recommended.decision
    assert decision.take in (STANDARD, "recursive at 30", "token-overlap at 30")
    assert decision.certainty.startswith("Not decided yet: 3 of 6 settings may be best.")
    assert decision.words.startswith(f"Proposed: {decision.take} (")
    assert recommended.said[:2] == (decision.certainty, decision.words)
    behind = (
        "recursive at 300, token-overlap at 300 and LlamaIndex SentenceSplitter are clearly worse"
    )
    assert any(behind in sentence for sentence in recommended.verdict)
    assert "A search took " in recommended.said[2]


def test_the_chosen_setting_splits_and_searches_as_measured(
    dataset: Dataset,
) -> None:
    plan = replace(SMALL, options=QueryOptions(granularity="chunks", mode="sparse"))
    report = recommend(dataset, parsers(), plan=plan)
    row = report.row(report.decision.take or "")
    parser = load_parser(report.decision.parser)
    assert len(parser(list(dataset.documents))) == row.cost.chunks
    assert report.decision.query == {"granularity": "chunks", "mode": "sparse", "budget": 60}


def test_the_choice_is_named_for_llama_index_with_its_way_of_reading(
    recommended: EvaluationReport,
) -> None:
    select = ", node_postprocessors=[SentencePostprocessor(budget=60, store=index.docstore)]"
    for take, preset, arguments, ends in (
        (STANDARD, "retrieval", '"retrieval"', f"]{select}"),
        ("recursive at 30", "recursive:unit=tokens,chunk_size=30",
         "\"recursive\", unit='tokens', chunk_size=30", "]"),
    ):  # fmt: skip
        decision = replace(recommended.decision, take=take, preset=preset)
        use = replace(recommended, decision=decision).use_in_llama_index
        assert use == f"transformations=[get_parser({arguments}){ends}"
        assert use in html_of(replace(recommended, decision=decision)).replace(
            "&#39;", "'"
        ).replace("&#34;", '"')
    for preset, use in (
        ("", ""),
        ("mine:Splitter", "transformations=[Splitter()]"),
        ("mine:Splitter(n=1)", "transformations=[Splitter(n=1)]"),
    ):
        decision = replace(recommended.decision, take="recursive at 30", preset=preset)
        assert replace(recommended, decision=decision).use_in_llama_index == use


def test_a_splitter_without_sizes_and_one_that_fails_are_rows_beside_the_others(
    dataset: Dataset,
) -> None:
    def fail_to_split(text: str) -> list[str]:
        raise RuntimeError(f"no {len(text)} characters today")

    report = recommend(
        dataset, {"broken": fail_to_split, "recursive": get_parser("recursive")}, plan=SMALL
    )
    error = report.row("broken").error or ""
    assert "fail_to_split failed: RuntimeError; fix the splitter" in error
    assert report.decision.words
    assert [omission.column for omission in report.left_out] == ["broken"]


@pytest.mark.parametrize(
    "given",
    [
        {"retrieval": SentenceSplitter(chunk_size=300)},
        {"recursive": get_parser("heading"), "retrieval": get_parser("retrieval")},
    ],
)
def test_no_column_takes_the_name_of_what_stands_or_the_place_of_another(
    given: dict[str, object], dataset: Dataset
) -> None:
    with pytest.raises(ConfigurationError, match="choose another name for that column"):
        recommend(dataset, given, plan=SMALL)


@pytest.mark.parametrize("names", [("retrieval",), ("recursive", "retrieval")])
def test_the_default_preset_is_recursive_at_other_sizes(
    names: tuple[str, ...], dataset: Dataset
) -> None:
    given = {name: get_parser(name) for name in names}
    report = recommend(dataset, given, plan=replace(SMALL, sizes=(30,)))
    assert [row.name for row in report.rows] == [STANDARD, "recursive at 30", REFERENCE]


@pytest.mark.parametrize(
    ("characters", "measure", "chosen_by"),
    [(200, "", "recall@200"), (2500, "", "recall@1000"), (200, "mrr", "mrr")],
)
def test_keywords_choose_where_not_everything_is_found(
    characters: int, measure: str, chosen_by: str
) -> None:
    plan = EvaluationPlan(measure=measure)
    chosen = plan.by_probes(characters)
    assert chosen.main == chosen_by
    assert set(plan.budgets) <= set(chosen.budgets)
    assert chosen.budget == plan.budget


def test_keywords_are_searched_for_at_the_only_budget_of_a_plan() -> None:
    plan = EvaluationPlan(budgets=(1500,))
    assert plan.by_probes(200) == replace(plan, measure="recall@1500")


def test_by_keywords_of_passages_the_best_is_proposed_and_nothing_is_compared(
    dataset: Dataset,
) -> None:
    probed = probes(dataset.documents, CHARACTERS["sentence"], count=12)
    report = recommend(probed, parsers(), plan=SMALL)
    decision = report.decision
    best = max(report.rows, key=lambda row: row.means["recall@60"])
    assert decision.take == best.name
    close = [row for row in report.rows if (best.mean - row.mean) * len(report.questions) <= 1]
    assert (decision.grade, len(close) > 1) == ("not shown", True)
    assert decision.words.startswith(
        f"For answers of a sentence, {len(close)} settings find as much, within 1 passage: "
        f"{best.name}, "
    )
    assert f"; take {best.name}, because it finds the most." in decision.words
    others = [kind for kind in best.means if kind.startswith("probes of ")]
    assert {*OTHER_LENGTHS} <= {*others}
    assert "not by questions" in decision.words
    assert decision.preset
    assert report.contrasts == ()
    assert {gate.outcome for gate in under(report, "recall@60=0.01")} == {"inconclusive"}
    assert "keywords of passages are not questions" in under(report, "recall@60=0.01")[0].words


def test_whole_chunks_are_shown_at_the_budget_by_which_keywords_choose(dataset: Dataset) -> None:
    probed = probes(dataset.documents, CHARACTERS["sentence"], count=4)
    plan = replace(SMALL, budgets=(30, 300, 400), sizes=(30,))
    report = recommend(probed, parsers(), plan=plan)
    assert report.measure == "recall@200"
    table = next(part for part in evaluation_view(report) if isinstance(part, Table))
    assert "whole\nchunks\n@200" in [column.header for column in table.columns]


def test_a_foreign_retriever_is_a_row_beside_the_sizes_of_others(dataset: Dataset) -> None:
    index = VectorStoreIndex.from_documents(dataset.documents, embed_model=MockEmbedding(8))
    by_words = Searched(get_parser("heading"), QueryOptions(mode="sparse"), at_sizes=False)
    columns = {"mine": index, "words": by_words, "recursive": get_parser("recursive")}
    rows = recommend(dataset, columns, plan=SMALL).rows
    names = [STANDARD, "mine", "words", "recursive at 30", "recursive at 300", REFERENCE]
    assert [row.name for row in rows] == names
    assert not any(row.error for row in rows)


def test_before_anything_is_measured_the_decision_says_so_and_names_the_default() -> None:
    decision = standing()
    assert (decision.take, decision.grade) == ("retrieval", "not shown")
    assert decision.words.startswith("Nothing was measured on these documents yet. ")
    assert decision.preset == "retrieval"
    assert load_parser(decision.parser) == get_parser("retrieval")
    assert decision.query["budget"] == EvaluationPlan().budget


@pytest.mark.parametrize(
    ("options", "read"),
    [
        (QueryOptions(), "sentences"),
        (QueryOptions(mode="dense"), "chunks"),
        (QueryOptions(granularity="chunks"), "chunks"),
    ],
)
def test_the_default_preset_is_read_as_the_plan_searches(options: QueryOptions, read: str) -> None:
    decision = standing(EvaluationPlan(budgets=(300,), options=options))
    assert f"read by {read})" in decision.words
    query = decision.query
    assert (query["granularity"], query["budget"]) == (read, 300)
