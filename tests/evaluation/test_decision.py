"""A report starts with what to take, how sure that is, and what it costs."""

from collections.abc import Mapping

import numpy as np
import pytest

from rag_nodes.evaluation.conclusions import ReportDecision
from rag_nodes.evaluation.leads import own_mean
from rag_nodes.evaluation.plan import of_probes
from rag_nodes.evaluation.report import Row
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
    return decision_of(rows, judge.contrasts({row.name: row for row in rows}), judge)


def test_a_column_that_is_better_than_every_other_is_taken_with_its_costs() -> None:
    found = decided({"A": (50, 2_000_000), "B": (20, 1_000_000)})
    assert found == ReportDecision(
        "A",
        200,
        "documents like these",
        "Take A (200 tokens a chunk on average): it is better than B by 50.0 (34.7 to 62.0) in "
        "these documents, and in documents like these (27.8 to 67.8).",
        "It takes 1,234 chunks, 56,789 tokens, 2.0 MB of vectors and texts and $0.0100 to embed.",
        certainty="Sure, for documents like these: only 1 of 2 settings may be best.",
    )


def test_what_few_documents_show_is_not_said_of_others() -> None:
    found = decided({"A": (50, 1), "B": (20, 1)}, ["d", "e", "f"] * 20)
    assert found.grade == "these documents"
    assert found.words.endswith("in these documents; 3 documents say nothing about others.")


def test_of_columns_that_may_each_be_the_best_the_cheapest_is_taken() -> None:
    found = decided({"A": (50, 1_000), "B": (50, 600), "C": (20, 100)})
    assert found.words == (
        "Proposed: B (200 tokens a chunk on average), level with A, at 60 % of its space: A and B "
        "may each be the best; C is behind in these documents, and in documents like these."
    )


def test_an_index_of_unknown_size_is_taken_only_where_it_leads_and_costs_are_not_said() -> None:
    assert decided({"A": (50, 1_000), "B": (50, None), "C": (20, 100)}).take == "A"
    found = decided({"A": (50, None), "B": (50, 600), "C": (20, 100)})
    assert (found.take, found.cost) == ("A", "")


def test_a_leader_that_is_not_better_than_all_says_who_is_behind() -> None:
    found = decided({"A": (50, 100), "B": (46, 100), "C": (10, 100), "D": (10, 100)})
    assert found.words.startswith(
        "Proposed: A (200 tokens a chunk on average): A and B may each be the best; C and D are"
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


def asked_often(*columns: int, times: int = 40) -> ReportDecision:
    """Decide between columns that each find so many of 60 answers, asked many times over."""
    found = {
        name: np.tile(np.array([float((7 * n) % COUNT < count) for n in range(COUNT)]), times)
        for name, count in zip("ABC", columns, strict=False)
    }
    documents = [f"d{n % 40}" for n in range(COUNT * times)]
    return decided_by(found, dict.fromkeys(found, 1_000), documents)


def test_a_choice_is_not_sure_while_several_settings_may_be_best() -> None:
    worse = {f"W{number}": (5, 1_000) for number in range(2)}
    close = {f"C{number}": (40 - number % 4, 1_000) for number in range(8)}
    found = decided({**close, **worse})
    assert found.grade == "not shown"
    assert found.certainty.startswith("Not decided yet: 8 of 10 settings may be best; it takes ")
    assert found.certainty.endswith(f"about {found.more_questions:,} more questions to settle it.")
    assert found.more_questions > 0
    assert found.words.startswith("Proposed: C0 (")
    assert found.take == "C0"


def test_a_choice_is_sure_if_those_that_may_be_best_differ_by_at_most_three_points() -> None:
    found = asked_often(40, 40, 10)
    assert found.grade == "documents like these"
    assert found.certainty == (
        "Sure, for documents like these: the 2 of 3 settings that may be best differ by at most "
        "3 points."
    )
    assert (found.take, found.more_questions) == ("A", 0)
    assert found.words.startswith("Take A (")


def test_a_tie_of_all_settings_is_sure_as_well() -> None:
    found = asked_often(40, 40)
    assert found.certainty.startswith("Sure, for documents like these: the 2 of 2 settings that ")
    assert (found.take, found.more_questions) == (None, 0)


def questions_to_settle(lead: int) -> int:
    """Count the questions that settle a lead of so many of 600, 100 of which differ."""
    wins = (100 + lead) // 2
    values = {"A": np.zeros(600), "B": np.zeros(600)}
    values["A"][:wins] = 1
    values["B"][wins:100] = 1
    return decided_by(values, {"A": 1, "B": 1}, [f"d{n % 12}" for n in range(600)]).more_questions


def test_a_lead_of_half_of_three_points_takes_the_most_questions_to_settle() -> None:
    none, half, whole = (questions_to_settle(lead) for lead in (0, 10, 18))
    assert 0 < whole <= none < half


def test_one_column_alone_leaves_no_choice() -> None:
    found = decided({"A": (33, 1)})
    assert (found.take, found.grade) == (None, "alone")
    assert found.words == "Nothing to choose from: A was measured alone."


def test_of_columns_that_are_level_none_is_said_to_lead() -> None:
    found = decided({"A": (50, 1_000), "B": (50, 996), "C": (20, 5_000), "D": (50, 400)})
    assert ", level with A, at 40 % of its space: A, B and D may each be" in found.words
    found = decided({"A": (50, 1_000), "B": (49, 940), "C": (20, 5_000)}, standard="B")
    assert ", 1.7 points behind A, at 94 % of its space: A and B" in found.words
    found = decided({"A": (50, 1_000), "B": (49, 999), "C": (20, 5_000)}, standard="B")
    assert ", 1.7 points behind A: A and B may" in found.words


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
        "Proposed: A (200 tokens a chunk on average): A and B may each be the best; C is behind in "
    )


def test_a_report_none_of_whose_columns_was_measured_as_it_is_takes_none() -> None:
    found = decision_of([], [], Judge({"A": np.zeros(1)}, [], ["d"]))
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
    decision = likely(rows, 700, 60, lambda _: {})
    assert decision.take == "a"
    assert ("looks best, the same for short and long answers." in decision.words) is same
