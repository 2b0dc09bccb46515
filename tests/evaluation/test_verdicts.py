"""What is said of rows agrees with their intervals, and reads well."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_nodes.evaluation.basis import basis
from rag_nodes.evaluation.report import Contrast, Row
from rag_nodes.evaluation.sign_flips import Interval, own_mean
from rag_nodes.evaluation.tables import ChunkStatistics, Cost
from rag_nodes.evaluation.verdicts import Judge, pairs_of, shares_of
from rag_nodes.evaluation.wording import beside, best_of, found_alike, of_share, points

DOCUMENTS, EACH = 12, 5
COUNT = DOCUMENTS * EACH
IDS = [f"d{number}" for number in range(DOCUMENTS) for _ in range(EACH)]
LEAD = "A's 40-point lead over B"


def row(name: str, values: np.ndarray, role: str = "own") -> Row:
    column = name.partition(" at ")[0]
    chunks, cost = ChunkStatistics(), Cost()
    return Row(name, column, role, {}, None, "", chunks, cost, {}, own_mean(values), {}, ())


def scores_with(count: int) -> np.ndarray:
    """A column that finds so many of the questions, spread over all documents; others find more."""
    return np.array([float((7 * n) % COUNT < count) for n in range(COUNT)])


def judge_values(
    values: dict[str, np.ndarray], documents: list[str] = IDS, **swaps: int
) -> tuple[list[Row], list[Contrast]]:
    rows = [row(name, each) for name, each in values.items()]
    judge = Judge(values, pairs_of(rows), documents, **swaps)
    return rows, judge.contrasts({collection.name: collection for collection in rows})


def verdict_of(*counts: int) -> str:
    """What is said of columns that each find a number of the questions, the same ones first."""
    values = {name: scores_with(count) for name, count in zip("ABCD", counts, strict=False)}
    rows, contrasts = judge_values(values)
    return best_of(rows, contrasts)


def compare_two(
    wins: int, losses: int, count: int = COUNT, documents: list[str] | None = None
) -> str:
    """What is said of two columns, of which each finds some answers alone."""
    values = {name: np.zeros(count) for name in "AB"}
    values["A"][:wins] = 1
    values["B"][wins : wins + losses] = 1
    _, (contrast,) = judge_values(values, documents or [f"d{at}" for at in range(count)])
    return contrast.words


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (
            (13, 4),
            ("A is better than B by 15.0 (0.8 to 28.2) in these documents, and in documents like "
            "these (0.8 to 28.2)."),
        ),
        (
            (12, 4),
            ("A is 13.3 points ahead of B (-0.8 to 26.6), which could be chance; about 68 more "
            "questions would settle it."),
        ),
        ((0, 0, 30), ("A and B answer every question alike; up to 9.2 points either way are left "
         "open by 30 questions.")),
        ((5, 0, 5), "5 questions are too few to compare A and B."),
        ((1, 0, 1), "1 question is too few to compare A and B."),
        ((5, 0, 20), ("A is 25.0 points ahead of B (-5.3 to 50.7; only 5 questions differ), which "
         "could be chance; about 24 more questions would settle it.")),
        ((9, 9), ("A and B are tied, 0.0 (-14.6 to 14.6); about 2,700 more questions would settle "
         "it.")),
        ((9, 8, 600), ("A is 0.2 points ahead of B (-1.3 to 1.6), which could be chance; they "
         "differ by at most 3 points.")),
        ((4, 3, 12), ("A is 8.3 points ahead of B (-42.0 to 56.3), which could be chance; about "
         "610 more questions would settle it.")),
    ],
)  # fmt: skip
def test_a_lead_is_said_with_whom_it_speaks_for(asked: tuple[int, ...], words: str) -> None:
    assert compare_two(*asked) == words


@pytest.mark.parametrize(
    ("documents", "words"),
    [
        (["d"] * 60, ("A is better than B by 33.3 (19.4 to 45.1) in these documents; 1 document "
         "is too few to generalise to others.")),
        (["d", "e", "f"] * 20, ("in these documents; 3 documents are "
         "too few to generalise to others.")),
        (["d"] * 40 + [f"d{n}" for n in range(20)], ("in these documents; 40 of the 60 questions "
         "are about one document, which is too few to generalise to others.")),
        ([f"d{n // 10}" for n in range(60)], ("in these documents; 6 documents are too few to "
         "generalise to others (")),
    ],
)  # fmt: skip
def test_a_lead_that_these_documents_alone_show_says_what_is_missing(
    documents: list[str], words: str
) -> None:
    assert words in compare_two(20, 0, 60, documents)


def test_a_winner_is_better_than_every_other_with_the_next_by_its_own_name() -> None:
    assert verdict_of(60, 12, 30).startswith(
        "A is the best in these documents, and in documents like these; next is C, by 50.0 ("
    )


def test_those_that_may_be_the_best_are_named_and_those_behind() -> None:
    assert verdict_of(30, 30, 0) == (
        "A and B are too close to call; C is clearly worse in these documents, "
        "and in documents like these. These questions tell A from a setting that is at least 4.6 "
        "points behind."
    )
    assert "A and B are too close to call; C and D are clearly worse in" in verdict_of(
        60, 58, 20, 10
    )


def test_without_significance_the_leader_is_named_and_no_winner() -> None:
    assert verdict_of(33, 30, 31) == (
        "No significant difference between 3 strategies; A is ahead with 55.0."
    )
    assert verdict_of(30, 30, 29).endswith("A and B are ahead with 50.0.")


def test_a_single_column_is_said_in_percent() -> None:
    (sentence,) = beside([row("A", scores_with(30))], [], [])
    assert sentence == "A finds 50.0 (37.4 to 62.6) % of the answers."


@pytest.mark.parametrize(
    ("drafts", "words"),
    [
        (0, []),
        (1, ["1 draft that nobody has accepted was left out."]),
        (3, ["3 drafts that nobody has accepted were left out."]),
    ],
)
def test_the_report_counts_questions_and_omitted_drafts(drafts: int, words: list[str]) -> None:
    assert list(basis(60, 12, drafts)) == ["Based on 60 questions about 12 documents.", *words]
    assert next(basis(1, 1)) == "Based on 1 question about one document."


def test_significantly_worse_rows_are_named_beside_the_decision() -> None:
    rows, contrasts = judge_values(
        {"A": scores_with(30), "B": scores_with(30), "C": scores_with(0)}
    )
    assert list(beside(rows, [], contrasts)) == [best_of(rows, contrasts)]
    rows, contrasts = judge_values(
        {"A": scores_with(50), "B": scores_with(30), "C": scores_with(0)}
    )
    assert not list(beside(rows, [], contrasts))


def test_columns_that_do_not_reach_the_equal_size_are_named() -> None:
    ones = np.ones(COUNT)
    own = [row("A", ones), row("B", ones)]
    equal = [row("A at equal size", ones, "matched")]
    sentences = list(beside(own, equal, []))
    assert sentences == ["Not compared at equal chunk size, which these cannot have: B."]


def test_a_lead_that_is_shown_as_nothing_is_a_tie() -> None:
    words = of_share("A", "B", Interval(0.0004, -0.03, 0.03), Interval(0.0, -0.1, 0.1))
    assert words.startswith("A and B are tied; there are too few questions")


@pytest.mark.parametrize(
    ("own", "equal", "words"),
    [
        ((48, 24), (42, 36), f"30 (16 to 42) points of {LEAD} come from chunk size."),
        ((48, 24), (24, 24), f"40 (25 to 53) points of {LEAD} come from chunk size."),
        ((48, 24), (48, 24), f"We cannot tell how much of {LEAD} comes from chunk size (-5 to"),
        ((48, 24), (46, 24), "lead over B comes from chunk size ("),
        ((48, 24), (20, 40), f"Chunk size explains all of {LEAD} and more, 73 ("),
        ((30, 30), (30, 29), "A and B are tied; there are too few questions to separate the"),
        ((30, 30), (10, 40), "A and B are tied, although chunk size gains A 50 ("),
        ((48, 24), (55, 15), (f"Chunk size works against {LEAD}, by -27 (-38 to "
         "-13) points: at equal size A is farther ahead.")),
    ],
)  # fmt: skip
def test_the_share_of_size_in_a_difference(
    own: tuple[int, int], equal: tuple[int, int], words: str
) -> None:
    values = dict(
        zip(
            ("A", "B", "A at equal size", "B at equal size"),
            map(scores_with, own + equal),
            strict=True,
        )
    )
    rows = [row("A", values["A"]), row("B", values["B"])]
    matched = {name: f"{name} at equal size" for name in "AB"}
    equals = [row(name, values[name], "matched") for name in matched.values()]
    judge = Judge(values, pairs_of(rows) + pairs_of(equals), IDS)
    (share,) = shares_of(values, judge, rows, matched)
    assert words in share.words
    assert share.size.mean == pytest.approx(share.own.mean - share.equal.mean)


@pytest.mark.parametrize(
    ("size", "words"),
    [
        (
            Interval(0.4, -2, 2),
            f"how much of {LEAD} comes from chunk size (too few to say).",
        ),
        (
            Interval(0.4, -1.2, 0.6),
            f"how much of {LEAD} comes from chunk size (too few to say).",
        ),
        (Interval(0.4, 0.05, 1.3), f"40 (5 to over 100) points of {LEAD} come"),
    ],
)
def test_no_part_of_size_is_beyond_a_hundred_points(size: Interval, words: str) -> None:
    assert words in of_share("A", "B", Interval(0.4, 0.1, 0.6), size)


@pytest.mark.parametrize(
    ("lead", "size", "words"),
    [
        (
            0.004,
            (0.0, -0.07, 0.16),
            "of A's 0.4-point lead over B comes from chunk size (-7 to 16 p",
        ),
        (0.0, (0.0, -0.07, 0.16), "tied; there are too few questions to separate the effect of "),
        (0.0, (0.0, -0.07, 0.16), "chunk size (-7 to 16 points)."),
        (0.004, (0.2, 0.1, 0.3), "explains all of A's 0.4-point lead over B and more, 20"),
    ],
)
def test_only_columns_without_a_difference_are_tied(
    lead: float, size: tuple[float, float, float], words: str
) -> None:
    assert words in of_share("A", "B", Interval(lead, -0.1, 0.1), Interval(*size))


def test_an_interval_that_leaves_everything_open_is_said_to_rest_on_too_few() -> None:
    assert points(Interval(0.25, -1, 1)) == "25.0 (too few to say)"
    assert points(Interval(0.5, 0.0, 1.0)) == "50.0 (too few to say)"
    assert points(Interval(1.0, 0.12, 1.0)) == "100.0 (12.0 to 100.0)"
    assert points(Interval(0.0, 0.0, 0.4)) == "0.0 (0.0 to 40.0)"


def test_columns_that_find_nothing_do_not_lead() -> None:
    assert verdict_of(0, 0, 0) == "None of the 3 strategies finds any of the answers."


@pytest.mark.parametrize(
    ("found_by_all", "missed", "words"),
    [
        (11, 0, "All settings find 11 answers."),
        (0, 1, "None finds 1 answer whole."),
        (2, 3, "All settings find 2 answers and none finds 3 answers whole."),
        (0, 0, ""),
    ],
)
def test_counts_of_nothing_are_not_said(found_by_all: int, missed: int, words: str) -> None:
    assert found_alike(found_by_all, missed) == words


bits = st.integers(0, 2**COUNT - 1).map(
    lambda number: np.array([float(number >> at & 1) for at in range(COUNT)])
)


@settings(deadline=None, max_examples=40)
@given(st.lists(bits, min_size=2, max_size=4), st.integers(1, 12))
def test_words_agree_with_the_intervals_and_documents_with_questions(
    columns: list[np.ndarray], documents: int
) -> None:
    values = dict(zip("ABCD", columns, strict=False))
    ids = [f"d{at % documents}" for at in range(COUNT)]
    rows, contrasts = judge_values(values, ids, draws=400)
    for contrast in contrasts:
        assert contrast.these.mean >= 0
        assert (" is better than " in contrast.words) == contrast.these.is_significant
        of_others = contrast.like_these is not None and contrast.like_these.is_significant
        assert ("and in documents like these" in contrast.words) == of_others
        assert of_others <= contrast.these.is_significant
        assert (contrast.like_these is None) <= (contrast.more_documents is None)
        assert (contrast.more_questions == 0) >= contrast.these.is_significant
        if "differ by at most 3 points" in contrast.words:
            assert contrast.these.high - contrast.these.low < 0.06
            assert contrast.more_questions == 0

    sentence = best_of(rows, contrasts)
    shown = any(contrast.these.is_significant for contrast in contrasts)
    words = (" is better than ", " are too close to call; ", " is the best ")
    assert any(word in sentence for word in words) == shown
