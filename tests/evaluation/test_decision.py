"""A report starts with what to take, how sure that is, and what it costs."""

from collections.abc import Mapping

import numpy as np
import pytest

from rag_nodes.evaluation.leads import own_mean
from rag_nodes.evaluation.plan import of_probes
from rag_nodes.evaluation.report import ReportDecision, Row
from rag_nodes.evaluation.tables import ChunkStatistics, Cost
from rag_nodes.evaluation.verdicts import Judge, decision_of, likely, pairs_of
from rag_nodes.parsers import get_parser

COUNT = 60
IDS = [f"d{number}" for number in range(12) for _ in range(5)]


def decided(
    columns: dict[str, tuple[int, int | None]], documents: list[str] = IDS, standard: str = ""
) -> ReportDecision:
    """What is taken of columns by how many answers each finds, and by its bytes."""
    values = {
        name: np.array([float((7 * n) % COUNT < found) for n in range(COUNT)])
        for name, (found, _) in columns.items()
    }
    return decided_by(
        values, {name: size for name, (_, size) in columns.items()}, documents, standard
    )


def decided_by(
    values: dict[str, np.ndarray],
    sizes: Mapping[str, int | None],
    documents: list[str],
    standard: str = "",
) -> ReportDecision:
    """What is taken by the values of columns, and by their bytes."""
    usual = get_parser("retrieval").fingerprint
    rows = [
        Row(
            name, name, "own", {"fingerprint": usual if name == standard else name}, None, "",
            ChunkStatistics(mean=200.4),
            Cost(chunks=1234, tokens=56789, bytes=sizes[name], price=0.01),
            {}, own_mean(values[name]), {}, (),
        )
        for name in values
    ]  # fmt: skip
    judge = Judge(values, pairs_of(rows), documents)
    contrasts = judge.contrasts({row.name: row for row in rows})
    errors = dict(zip(contrasts, judge.questions.errors, strict=True))
    return decision_of(rows, contrasts, errors)


def test_a_column_that_is_better_than_every_other_is_taken_with_its_costs() -> None:
    found = decided({"A": (50, 2_000_000), "B": (20, 1_000_000)})
    assert found == ReportDecision(
        "A",
        200,
        "documents like these",
        "Take A (200 tokens a chunk on average): it is better than B by 50.0 (34.7 to 62.0) in "
        "these documents, and in documents like these (27.8 to 67.8).",
        "It takes 1,234 chunks, 56,789 tokens, 2.0 MB of vectors and texts and $0.0100 to embed.",
    )


def test_what_few_documents_show_is_not_said_of_others() -> None:
    found = decided({"A": (50, 1), "B": (20, 1)}, ["d", "e", "f"] * 20)
    assert found.grade == "these documents"
    assert found.words.endswith("in these documents; 3 documents say nothing about others.")


def test_of_columns_that_may_each_be_the_best_the_cheapest_is_taken() -> None:
    found = decided({"A": (50, 1_000), "B": (50, 600), "C": (20, 100)})
    assert found.words == (
        "Take B (200 tokens a chunk on average), as good as A, at 60 % of its space: A and B may "
        "each be the best; C is behind in these documents, and in documents like these."
    )


def test_an_index_of_unknown_size_is_taken_only_where_it_leads_and_costs_are_not_said() -> None:
    assert decided({"A": (50, 1_000), "B": (50, None), "C": (20, 100)}).take == "A"
    found = decided({"A": (50, None), "B": (50, 600), "C": (20, 100)})
    assert (found.take, found.cost) == ("A", "")


def test_a_leader_that_is_not_better_than_all_says_who_is_behind() -> None:
    found = decided({"A": (50, 100), "B": (46, 100), "C": (10, 100), "D": (10, 100)})
    assert found.words.startswith(
        "Take A (200 tokens a chunk on average): A and B may each be the best; C and D are"
    )


@pytest.mark.parametrize(
    ("standard", "start", "end"),
    [
        ("B", "Keep B: A leads B by 5.0 (", "show it."),
        ("", "Keep what you have: A leads B by 5.0 (", "retrieval, was not measured here."),
    ],
)
def test_where_nothing_is_shown_what_stands_is_kept_and_what_would_tell_is_said(
    standard: str, start: str, end: str
) -> None:
    found = decided({"A": (33, 1), "B": (30, 1)}, standard=standard)
    assert (found.take, found.grade, found.cost) == (None, "not shown", "")
    assert found.words.startswith(start)
    assert found.words.endswith(end)
    assert f"about {found.more_questions:,} more questions" in found.words


def test_one_column_alone_leaves_no_choice() -> None:
    found = decided({"A": (33, 1)})
    assert (found.take, found.grade) == (None, "alone")
    assert found.words == "Nothing to choose from: A was measured alone."


def test_of_columns_that_are_level_none_is_said_to_lead() -> None:
    found = decided({"A": (50, 1_000), "B": (50, 996), "C": (20, 5_000), "D": (50, 400)})
    assert ", as good as A, at 40 % of its space: A, B and D may each be" in found.words
    found = decided({"A": (50, 1_000), "B": (49, 940), "C": (20, 5_000)}, standard="B")
    assert "as good as A, which leads, at 94 % of its space: A and B" in found.words
    found = decided({"A": (50, 1_000), "B": (49, 999), "C": (20, 5_000)}, standard="B")
    assert "as good as A, which leads: A and B may" in found.words


def test_a_column_that_is_behind_another_than_the_leader_is_shown_to_be_behind() -> None:
    # B wins against C question by question; A, ahead of both, scatters too much to show it.
    generator = np.random.default_rng(0)
    base = (np.arange(COUNT) < 20).astype(float)
    values = {"B": base.copy(), "C": base.copy(), "A": base.copy()}
    values["B"][20:30] = 1
    wins = generator.permutation(COUNT)
    values["A"] = np.zeros(COUNT)
    values["A"][wins[:31]] = 1
    assert decided_by(values, {"A": 10, "B": 10, "C": 10}, IDS).words.startswith(
        "Take A (200 tokens a chunk on average): A and B may each be the best; C is behind in these"
    )


def test_a_report_none_of_whose_columns_was_measured_as_it_is_takes_none() -> None:
    found = decision_of([], [], {})
    assert (found.take, found.words) == (None, "No column could be measured as it is.")


@pytest.mark.parametrize(("short", "same"), [(0.9, True), (0.1, False)])
def test_where_short_and_long_probes_put_the_same_first_the_length_does_not_matter(
    short: float, same: bool
) -> None:
    rows = [
        Row(
            name, name, "own", {}, None, "", ChunkStatistics(mean=200.0), Cost(),
            {of_probes(200): of_200, of_probes(2500): of_2500}, own_mean(np.full(4, by)), {}, (),
        )
        for name, by, of_200, of_2500 in (("a", 0.8, short, 0.7), ("b", 0.5, 0.5, 0.6))
    ]  # fmt: skip
    decision = likely(rows, 700, 60, lambda _: "")
    assert decision.take == "a"
    assert ("looks best, the same for short and long answers." in decision.words) is same
