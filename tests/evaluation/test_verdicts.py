"""What is said of rows agrees with their intervals, and reads well."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_nodes.evaluation.bootstrap import Bootstrap
from rag_nodes.evaluation.report import Row
from rag_nodes.evaluation.verdicts import Judge, contrasts_of, drafts_left_out, shares_of, summary

DOCUMENTS, EACH = 12, 5
BOOTSTRAP = Bootstrap([f"d{n}" for n in range(DOCUMENTS) for _ in range(EACH)], draws=200)


def row(name: str, judge: Judge, role: str = "own") -> Row:
    column = name.partition(" at ")[0]
    return Row(name, column, role, {}, None, "", {}, {}, {}, judge.interval(name), None, {}, ())


def said(*means: float) -> list[str]:
    """The summary of columns that each find a share of the questions, the same ones first."""
    count = DOCUMENTS * EACH
    values = {
        name: np.array([float((7 * n) % count < mean * count) for n in range(count)])
        for name, mean in zip("ABCD", means, strict=False)
    }
    judge = Judge(values, BOOTSTRAP)
    rows = [row(name, judge) for name in values]
    return summary(rows, [], contrasts_of(judge, rows), count, DOCUMENTS)


def test_a_winner_over_two_others_is_named_with_the_next_by_its_own_name() -> None:
    assert said(1.0, 0.2, 0.5)[0].startswith(
        "At their own options: A is better than every other; next is C, by 50.0 ("
    )


def test_columns_with_equal_means_are_level_and_none_is_ahead() -> None:
    assert said(0.5, 0.5, 0.0)[0].endswith(". 1 other is behind.")
    assert "A and B are level with 50.0 (" in said(0.5, 0.5, 0.0)[0]


def test_who_is_ahead_is_named_with_all_that_cannot_be_told_from_it() -> None:
    sentence = said(0.55, 0.5, 0.5)[0]
    assert "A is ahead with 55.0 (" in sentence
    assert sentence.endswith("), but no difference to B and C is shown.")
    assert "((" not in sentence


def test_a_single_column_is_said_in_percent() -> None:
    assert said(0.5)[0].startswith("A finds 50.0 (")
    assert said(0.5)[0].endswith(") % of the answers.")


def test_one_question_is_one_question_and_shows_nothing() -> None:
    judge = Judge({"A": np.array([1.0]), "B": np.array([0.0])}, Bootstrap(["d"], draws=20))
    rows = [row(name, judge) for name in "AB"]
    sentences = summary(rows, [], contrasts_of(judge, rows), 1, 1)
    assert sentences[0].endswith("No difference shown between A and B; one question says nothing.")
    assert sentences[1].startswith("1 question about one document was asked")


@pytest.mark.parametrize(
    ("drafts", "said"),
    [
        (0, []),
        (1, ["1 draft that nobody has accepted was left out."]),
        (3, ["3 drafts that nobody has accepted were left out."]),
    ],
)
def test_drafts_that_were_left_out_are_counted(drafts: int, said: list[str]) -> None:
    assert list(drafts_left_out(drafts)) == said


def test_columns_that_do_not_reach_the_equal_size_are_named() -> None:
    judge = Judge({name: np.ones(60) for name in ("A", "B", "A at equal size")}, BOOTSTRAP)
    own = [row("A", judge), row("B", judge)]
    equal = [row("A at equal size", judge, "matched")]
    sentences = summary(own, equal, contrasts_of(judge, own), 60, 12)
    assert "Not compared at equal size, which they do not reach: B." in sentences


@pytest.mark.parametrize(
    ("own", "equal", "words"),
    [
        ((0.8, 0.4), (0.7, 0.4), "10 of the 40 points of A over B are size; at equal size A is"),
        ((0.8, 0.4), (0.7, 0.4), "; at equal size A is better by 30.0 ("),
        ((0.8, 0.4), (0.4, 0.4), "40 of the 40 points of A over B are size; at equal size no dif"),
        ((0.8, 0.4), (0.8, 0.4), "none of the 40 points of A over B are size; at equal size A is"),
        ((0.8, 0.4), (0.4, 0.8), "A is better than B by 40.0 ("),
        ((0.8, 0.4), (0.4, 0.8), "; at equal size B is better by 40.0 ("),
        ((0.8, 0.4), (0.9, 0.3), "A is better than B by 40.0 ("),
        ((0.5, 0.5), (0.2, 0.8), "A and B: no difference shown at their own options; at equal si"),
        ((0.5, 0.5), (0.2, 0.8), "; at equal size B is better by 60.0 ("),
        ((0.5, 0.5), (0.5, 0.5), "A and B: no difference shown, at their own options or at equal"),
    ],
)
def test_how_much_of_a_gap_is_size(
    own: tuple[float, float], equal: tuple[float, float], words: str
) -> None:
    count = DOCUMENTS * EACH
    means = dict(zip(("A", "B", "A at equal size", "B at equal size"), own + equal, strict=True))
    judge = Judge({name: np.array([float((7 * n) % count < mean * count) for n in range(count)])
                   for name, mean in means.items()}, BOOTSTRAP)  # fmt: skip
    matched = {"A": "A at equal size", "B": "B at equal size"}
    (share,) = shares_of(judge, [row("A", judge), row("B", judge)], matched)
    assert words in share.words


def test_questions_that_are_missing_are_those_beyond_the_ones_there_are() -> None:
    generator = np.random.default_rng(3)
    values = {name: (generator.random(60) < 0.5).astype(float) for name in "AB"}
    judge = Judge(values, BOOTSTRAP)
    (contrast,) = contrasts_of(judge, [row("A", judge), row("B", judge)])
    error = (contrast.gap.high - contrast.gap.low) / 2 / 1.96
    assert contrast.needed == pytest.approx((2.8 * error / 0.03) ** 2 * 60, rel=0.15)
    assert f"about {contrast.needed - 60:,} more questions are needed" in contrast.words


@pytest.mark.parametrize(("documents", "few"), [(9, True), (10, False)])
def test_few_documents_are_said_to_be_few(documents: int, *, few: bool) -> None:
    judge = Judge({"A": np.ones(60)}, BOOTSTRAP)
    sentences = summary([row("A", judge)], [], [], 60, documents)
    assert sentences[-1].endswith(" are few: ask about more of them.") == few


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.integers(0, 2**60 - 1), min_size=2, max_size=2),
    st.lists(st.integers(0, 2**60 - 1), min_size=2, max_size=2),
)
def test_words_agree_with_the_intervals(own: list[int], equal: list[int]) -> None:
    def bits(number: int) -> np.ndarray:
        return np.array([float(number >> n & 1) for n in range(DOCUMENTS * EACH)])

    values = {"A": bits(own[0]), "B": bits(own[1]),
              "A at equal size": bits(equal[0]), "B at equal size": bits(equal[1])}  # fmt: skip
    judge = Judge(values, BOOTSTRAP)
    rows = [row("A", judge), row("B", judge)]
    (contrast,) = contrasts_of(judge, rows)
    assert contrast.gap.mean >= 0
    assert (" is better than " in contrast.words) == contrast.gap.shows_a_gap
    assert ("No difference shown" in contrast.words) != contrast.gap.shows_a_gap
    if "would have been seen" in contrast.words:
        assert contrast.gap.high - contrast.gap.low < 0.06

    matched = {"A": "A at equal size", "B": "B at equal size"}
    (share,) = shares_of(judge, rows, matched)
    assert (" points of " in share.words) <= share.own.shows_a_gap
    assert ("at equal size no difference is shown" in share.words) <= (not share.equal.shows_a_gap)
    if share.equal.shows_a_gap:
        better = share.left if share.equal.mean > 0 else share.right
        assert f"at equal size {better} is better by " in share.words
