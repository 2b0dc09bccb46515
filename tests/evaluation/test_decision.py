"""A report starts with what to take, how sure that is, and what it costs."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_nodes.evaluation.decision import decision_of, estimates, proposed
from rag_nodes.evaluation.report import Row
from rag_nodes.evaluation.sign_flips import own_mean
from rag_nodes.evaluation.tables import ChunkStatistics, Cost, ReportDecision
from rag_nodes.evaluation.verdicts import Judge, pairs_of
from rag_nodes.evaluation.wording import SELECTING, at_sizes
from rag_nodes.parsers import get_parser

COUNT = 60
IDS = [f"d{number}" for number in range(12) for _ in range(5)]


def decide_between(
    columns: dict[str, tuple[int, int | None]],
    documents: list[str] = IDS,
    standard: str = "",
    in_use: tuple[str, ...] = (),
) -> ReportDecision:
    """What is taken of columns by how many answers each finds, and by its bytes."""
    values = {
        name: np.array([float((7 * n) % COUNT < wins) for n in range(COUNT)])
        for name, (wins, _) in columns.items()
    }
    sizes = {name: size for name, (_, size) in columns.items()}
    return decided_by(values, sizes, documents, standard, in_use)


def rows_of(
    values: Mapping[str, np.ndarray], sizes: Mapping[str, int | None], standard: str = ""
) -> list[Row]:
    """Rows of columns, one of which is the default."""
    usual = get_parser("retrieval").fingerprint
    return [
        Row(
            name, name, "own", {"fingerprint": usual if name == standard else name}, None, "",
            ChunkStatistics(mean=200.4),
            Cost(chunks=1234, tokens=56789, bytes=sizes[name], price=0.01),
            {}, own_mean(values[name]), {}, (),
        )
        for name in values
    ]  # fmt: skip


def decided_by(
    values: dict[str, np.ndarray],
    sizes: Mapping[str, int | None],
    documents: list[str],
    standard: str = "",
    in_use: tuple[str, ...] = (),
) -> ReportDecision:
    """What is taken by the values of columns, and by their bytes."""
    rows = rows_of(values, sizes, standard)
    judge = Judge(values, pairs_of(rows), documents)
    contrasts = judge.contrasts({row.name: row for row in rows})
    return decision_of(rows, contrasts, values, in_use=in_use)


def test_a_column_that_is_better_than_the_other_is_taken_with_its_costs() -> None:
    decision = decide_between({"A": (50, 2_000_000), "B": (20, 1_000_000)})
    assert decision == ReportDecision(
        "A",
        200,
        "documents like these",
        "Take A (200 tokens a chunk on average). It is better than B by 50.0 (34.7 to 62.0) in "
        "these documents, and in documents like these (27.8 to 67.8). You lose nothing by it in "
        "these documents.",
        "It takes 1,234 chunks, 56,789 tokens, 2.0 MB of vectors and texts and $0.0100 to embed.",
        certainty="Sure, for documents like these: only 1 of 2 settings may be best.",
        may_cost=0.0,
    )
    assert decision.headline[0] == "Take A (200 tokens a chunk on average)."
    assert decision.words == " ".join(decision.headline)


def test_the_words_name_what_to_take_if_whole_chunks_are_read() -> None:
    values = {"A": np.ones(60), "B": np.zeros(60)}
    rows = rows_of(values, {"A": 1, "B": 1})
    contrasts = Judge(values, pairs_of(rows), IDS).contrasts({row.name: row for row in rows})
    selected = "Take A (200 tokens a chunk on average), if you read selected sentences, as "
    turned = {"A": values["B"], "B": values["A"]}
    decision = decision_of(rows, contrasts, values, whole=turned)
    assert decision.words.startswith(
        f"{selected}rag-nodes does by default. If you read whole chunks, of these 2 settings: "
        "B, which finds 100.0 % (A: 0.0 %). A "
    )
    assert decision.other == "B"
    same = decision_of(rows, contrasts, values, whole=values)
    assert same.words.startswith(
        f"{selected.replace(', if', ', whether')}rag-nodes does by default, or whole chunks. It is "
    )
    assert same.other == ""
    only_b = decision_of(rows, contrasts, values, whole={"B": values["B"]})
    assert only_b.words.startswith("Take A (200 tokens a chunk on average). It is ")


def test_the_words_name_what_holds_for_selected_sentences_if_whole_chunks_win() -> None:
    values = {"A": np.ones(60), f"B{SELECTING}": np.zeros(60)}
    rows = rows_of(values, dict.fromkeys(values, 1))
    a, b = (replace(row, granularity="chunks") for row in rows)
    contrasts = Judge(values, pairs_of([a, b]), IDS).contrasts({row.name: row for row in (a, b)})
    start = "Take A (200 tokens a chunk on average), if you read whole chunks. "
    other = "If you read selected sentences, as rag-nodes does by default: B, which finds 0.0 %; "
    decision = decision_of([a, b], contrasts, values, whole={b.name: values[b.name]})
    assert decision.words.startswith(
        f"{start}{other}no other setting was measured in this way. A is better than B"
    )
    assert decision.other == b.name
    assert decision_of([a, b], contrasts, values).words.startswith(f"{start}It is better than B")
    own = decision_of([replace(a, mode="own"), b], contrasts, values)
    assert own.words.startswith("Take A (200 tokens a chunk on average). ")


def test_a_size_that_finds_the_most_in_whole_chunks_is_named_if_it_is_no_candidate() -> None:
    values = {"A": np.repeat([1.0, 0.0], 30), "B": np.zeros(60)}
    a, b = rows_of(values, {"A": 1, "B": 1})
    size = replace(b, name="B at 200", role="size", interval=own_mean(np.full(4, 0.9)))
    words = "Of all sizes, B at 200 finds the most in whole chunks, 90.0 %. It is no candidate here"
    assert list(at_sizes([a, b, size])) == [f"{words}: rag-nodes recommend compares sizes."]
    assert list(at_sizes([a, b, replace(size, interval=a.interval)])) == []
    assert list(at_sizes([a, b, replace(size, role="own")])) == []
    assert list(at_sizes([a, b, replace(size, role="reference")])) == []
    by_sentences = replace(a, interval=own_mean(np.ones(4)), whole=own_mean(np.full(4, 0.4)))
    assert "B at 200" in next(at_sizes([by_sentences, b, size]))


def test_settings_that_are_tied_with_the_proposal_are_named() -> None:
    decision = decide_between(
        {"A": (33, 1), "B": (33, 2), "C": (33, 3), "D": (30, 1)}, standard="D"
    )
    assert " It is 5.0 points ahead of D " in decision.words
    assert " all the same. B and C are tied with A. If another " in decision.words
    decision = decide_between({"A": (33, 1), "B": (33, 2), "C": (30, 1)})
    assert " It is tied with B " in decision.words
    assert "tied with A" not in decision.words


def test_a_column_that_is_better_than_every_other_is_taken_with_the_next_best() -> None:
    decision = decide_between({"A": (50, 100), "B": (36, 100), "C": (10, 100)})
    assert (
        " It is the best in these documents, and in documents like these; next is B, by 23.3 (9.3 "
        "to 35.9). "
    ) in decision.words


def test_few_documents_do_not_generalise() -> None:
    decision = decide_between({"A": (50, 1), "B": (20, 1)}, ["d", "e", "f"] * 20)
    assert decision.grade == "these documents"
    assert (
        "in these documents; 3 documents are too few to generalise to others. You lose"
        in decision.words
    )


def test_a_proposal_without_significance_names_its_cost_and_the_questions_needed() -> None:
    decision = decide_between({"A": (33, 1), "B": (30, 1)}, standard="B")
    assert (decision.take, decision.grade) == ("A", "not shown")
    assert decision.certainty == "Not decided yet: 2 of 2 settings may be best."
    assert decision.words == (
        "Proposed: A (200 tokens a chunk on average). It is 5.0 points ahead of B in these 60 "
        "questions, which could be chance; it is likely the better choice all the same. If B were "
        f"better, you would lose at most 2.4 points. About {decision.more_questions} more "
        "questions would settle it."
    )
    assert decision.may_cost == pytest.approx(0.0235, abs=1e-4)


def test_the_default_is_proposed_where_a_small_lead_of_another_says_too_little() -> None:
    values = {"A": np.zeros(40), "B": np.zeros(40)}
    values["A"][:10], values["B"][9:18] = 1, 1
    decision = decided_by(values, {"A": 1, "B": 1}, [f"d{n % 8}" for n in range(40)], "B")
    assert decision.take == "B"
    assert (
        "A is 2.5 points ahead of it in these 40 questions, which could be chance; in other "
        "document collections other settings are 3 points behind B on average, so B is likely "
        "the better choice all the same. If A were better, you would lose at most "
    ) in decision.words


def test_a_choice_with_hardly_an_estimated_lead_is_a_toss_up() -> None:
    for wins, losses, take, words in (
        (12, 9, "A", "which could be chance; the choice is a toss-up. If B were better"),
        (11, 10, "B", "average, so B is proposed, but the choice is a toss-up. If A were better"),
    ):
        values = {"A": np.zeros(100), "B": np.zeros(100)}
        values["A"][:wins], values["B"][wins : wins + losses] = 1, 1
        lead = estimates(values, "B")["A"]
        assert abs(lead) < 0.01
        decision = decided_by(values, {"A": 1, "B": 1}, [f"d{n % 8}" for n in range(100)], "B")
        assert decision.take == take
        assert words in decision.words


def test_the_most_that_may_be_lost_is_said_with_the_setting_that_would_gain_it() -> None:
    decision = decide_between({"A": (50, 1), "B": (49, 1), "C": (48, 1), "D": (5, 1)})
    assert (
        " If another setting were better, you would lose at most 4.1 points (B). " in decision.words
    )


def test_two_questions_cannot_tell_what_a_choice_may_cost() -> None:
    values = {"A": np.array([1.0, 1]), "B": np.array([0.0, 1])}
    decision = decided_by(values, {"A": 1, "B": 1}, ["d"] * 2)
    assert " 2 questions cannot tell what it may cost. About " in decision.words
    assert decision.may_cost == 1


@pytest.mark.parametrize(
    ("found_by_a", "in_use", "start"),
    [
        (50, (), "Take A ("),
        (50, ("A",), "Keep A ("),
        (50, ("B",), "Take A ("),
        (33, ("A",), "Proposed: keep A ("),
        (33, ("B",), "Proposed: A ("),
        (33, ("elsewhere",), "Proposed: A ("),
    ],
)
def test_only_what_the_user_has_is_kept(
    found_by_a: int, in_use: tuple[str, ...], start: str
) -> None:
    decision = decide_between({"A": (found_by_a, 1), "B": (30, 1)}, standard="A", in_use=in_use)
    assert decision.words.startswith(start)


def test_what_the_user_has_is_kept_if_it_answers_every_question_alike() -> None:
    equal: dict[str, tuple[int, int | None]] = {"A": (50, 1_000), "B": (50, 600), "C": (20, 1)}
    assert decide_between(equal).take == "B", "of equal settings the smallest"
    kept = decide_between(equal, in_use=("C", "A"))
    assert kept.take == "A"
    assert "eep A (" in kept.words
    pair: dict[str, tuple[int, int | None]] = {"A": (50, 1_000), "B": (50, 600)}
    assert "It is tied with B in these 60 questions; you have it now." in decide_between(
        pair, in_use=("A",)).words  # fmt: skip
    assert decide_between(pair, standard="B", in_use=("A",)).take == "A", (
        "also in place of the default"
    )
    assert decide_between({"A": (49, 1), "B": (50, 1)}, in_use=("A",)).take == "B"


def test_a_proposal_is_compared_with_what_the_user_has() -> None:
    three = {"A": (33, 1), "B": (32, 1), "C": (30, 1)}
    assert "It is 1.7 points ahead of B" in decide_between(three, standard="C", in_use=("B",)).words
    assert "It is 5.0 points ahead of C" in decide_between(three, standard="C").words
    assert "It is 1.7 points ahead of B" in decide_between(three).words


def test_without_the_default_that_is_said_until_the_choice_is_sure() -> None:
    words = "The default preset, retrieval, was not measured here."
    assert decide_between({"A": (33, 1), "B": (30, 1)}).words.endswith(words)
    assert words not in decide_between({"A": (50, 1), "B": (30, 1)}).words


def test_equal_columns_go_to_the_default_then_to_the_one_that_takes_least_space() -> None:
    equal: dict[str, tuple[int, int | None]] = {"A": (50, 1_000), "B": (50, 600), "C": (50, 900)}
    decision = decide_between({**equal, "D": (20, 100)})
    assert decision.take == "B"
    tied = (
        "in these 60 questions; of equal settings the one that needs the least storage is proposed."
    )
    assert f"It is tied with A {tied}" in decision.words
    decision = decide_between(equal, standard="C")
    assert decision.take == "C"
    assert "in these 60 questions; in other document collections other" in decision.words
    assert decide_between({"A": (50, None), "B": (50, 600)}).take == "B"
    assert f"It is tied with B {tied}" in decide_between({"A": (50, 1), "B": (50, 1)}).words


def test_a_cheaper_column_that_finds_less_is_not_taken() -> None:
    assert decide_between({"A": (50, 9_000), "B": (49, 10)}).take == "A"
    decision = decide_between({"A": (50, None), "B": (49, 600), "C": (20, 100)})
    assert (decision.take, decision.cost) == ("A", "")


def decide_often(*columns: int, times: int = 40) -> ReportDecision:
    """Decide between columns that each find so many of 60 answers, asked many times over."""
    values = {
        name: np.tile(np.array([float((7 * n) % COUNT < count) for n in range(COUNT)]), times)
        for name, count in zip("ABC", columns, strict=False)
    }
    documents = [f"d{n % 40}" for n in range(COUNT * times)]
    return decided_by(values, dict.fromkeys(values, 1_000), documents)


def test_a_choice_is_not_sure_while_several_settings_may_be_best() -> None:
    worse = {f"W{number}": (5, 1_000) for number in range(2)}
    close = {f"C{number}": (40 - number % 4, 1_000) for number in range(8)}
    decision = decide_between({**close, **worse})
    assert decision.grade == "not shown"
    assert decision.certainty == "Not decided yet: 8 of 10 settings may be best."
    assert f"About {decision.more_questions:,} more questions would settle it." in decision.words
    assert decision.more_questions > 0
    assert decision.take == "C0"


def test_a_choice_is_sure_if_those_that_may_be_best_differ_by_at_most_three_points() -> None:
    decision = decide_often(40, 40, 10)
    assert decision.grade == "documents like these"
    assert decision.certainty == (
        "Sure, for documents like these: the 2 of 3 settings that may be best differ by at most "
        "3 points."
    )
    assert (decision.take, decision.more_questions) == ("A", 0)
    assert decision.words == (
        "Take A (200 tokens a chunk on average). It is tied with B in these 2,400 questions; of "
        "equal settings the one that needs the least storage is proposed. If B were better, you "
        "would lose at most 0.2 points."
    )


def test_a_tie_of_all_settings_is_sure_as_well() -> None:
    decision = decide_often(40, 40)
    assert decision.certainty.startswith(
        "Sure, for documents like these: the 2 of 2 settings that "
    )
    assert (decision.take, decision.more_questions) == ("A", 0)


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
    decision = decide_between({"A": (33, 1)})
    assert (decision.take, decision.grade) == (None, "alone")
    assert decision.words == "A was measured alone."


tables = st.integers(2, 4).flatmap(
    lambda columns: st.lists(
        st.lists(st.integers(0, 8), min_size=columns, max_size=columns), min_size=1, max_size=30
    )
)
"""Questions x columns, in eighths, so that sums are exact."""


def by_name(table: list[list[int]]) -> dict[str, np.ndarray]:
    """Return the columns of a table by name."""
    return dict(zip("ABCD", np.array(table).T / 8, strict=False))


def expected(values: dict[str, np.ndarray], default: str) -> dict[str, float]:
    """Return the estimates by the formulas of the method, one column after another."""
    middle = values[default] if default else np.mean([*values.values()], axis=0)
    prior, count = -0.03 if default else 0.0, len(middle)
    squares = [x * x for each in values.values() for x in each - middle if abs(x) > 1e-9]
    imagined = sum(squares) / len(squares) if squares else 1.0
    shrunk = {}
    for name, each in values.items():
        gap = each - middle
        error = sum((gap - gap.mean()) ** 2) / count**2 + 2 * imagined / (count + 2) ** 2
        shrunk[name] = prior + 0.0036 / (0.0036 + error) * (gap.mean() - prior)
    return shrunk | ({default: 0.0} if default else {})


@settings(deadline=None, max_examples=60)
@given(tables, st.sampled_from(["A", "B", ""]), st.permutations("ABCD"))
def test_the_proposal_has_the_largest_estimate_whatever_the_order_of_columns(
    table: list[list[int]], standard: str, order: list[str]
) -> None:
    values, documents = by_name(table), [f"d{n % 7}" for n in range(len(table))]
    sizes = {"A": 3, "B": 2, "C": None, "D": 1}
    decision = decided_by(values, sizes, documents, standard)
    largest = expected(values, standard)
    assert largest[decision.take or ""] == pytest.approx(max(largest.values()), abs=1e-8)
    shuffled = {name: values[name] for name in order if name in values}
    assert decided_by(shuffled, sizes, documents, standard) == decision


@settings(max_examples=60)
@given(tables, st.sampled_from(["A", "B", ""]), st.integers(-16, 16))
def test_questions_that_all_columns_answer_change_no_estimate(
    table: list[list[int]], standard: str, more: int
) -> None:
    values = by_name(table)
    shrunk = estimates(values, standard)
    assert shrunk == pytest.approx(expected(values, standard))
    assert not standard or shrunk[standard] == 0
    more_of_all = {name: each + more / 8 for name, each in values.items()}
    assert estimates(more_of_all, standard) == pytest.approx(shrunk)


@settings(max_examples=60)
@given(tables, st.sampled_from(["A", ""]))
def test_a_copy_of_a_column_is_proposed_only_if_it_is_cheaper_and_no_default_is_there(
    table: list[list[int]], standard: str
) -> None:
    values = by_name(table)
    values = {"A": values["A"], "B": values["A"]}
    rows = rows_of(values, {"A": 2, "B": 1}, standard)
    assert proposed(rows, estimates(values, standard), standard).name == (standard or "B")


def test_equal_estimates_prefer_the_default_then_the_smallest() -> None:
    rows = rows_of({name: np.ones(2) for name in "ABC"}, {"A": 3, "B": 1, "C": 1})
    level = dict.fromkeys("ABC", 0.0)
    assert proposed(rows, level, "A").name == "A"
    assert proposed(rows, level).name == "B"
    assert proposed(rows[::-1], level).name == "B"
    assert proposed(rows, {**level, "C": 1e-6}, "A").name == "C"


def test_a_report_none_of_whose_columns_was_measured_as_it_is_takes_none() -> None:
    decision = decision_of([], [], {})
    assert (decision.take, decision.words) == (None, "No column could be measured as it is.")
