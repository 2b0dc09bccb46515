"""Retrieved pieces of documents as runs of text."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.text.ladder import Run, joined_runs


def test_overlapping_and_touching_pieces_of_a_document_become_one_run() -> None:
    pieces = [Run("a", 6, "world"), Run("b", 0, "other"), Run("a", 0, "hello worl")]
    assert joined_runs(pieces) == [Run("a", 0, "hello world"), Run("b", 0, "other")]


def test_pieces_with_something_between_them_stay_apart() -> None:
    apart = [Run("a", 0, "one"), Run("a", 4, "two")]
    assert joined_runs(apart) == apart


def test_a_piece_inside_of_another_adds_nothing() -> None:
    assert joined_runs([Run("a", 2, "llo"), Run("a", 0, "hello world")]) == [
        Run("a", 0, "hello world")
    ]


def test_nothing_retrieved_is_no_run() -> None:
    assert joined_runs([]) == []


TEXT = "The ferry leaves at nine. Dogs travel free on the car deck."


@given(st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 20)), max_size=12))
def test_runs_are_slices_with_gaps_between_them_and_hold_what_the_pieces_hold(
    places: list[tuple[int, int]],
) -> None:
    pieces = [Run("a", start, TEXT[start : start + size]) for start, size in places]
    runs = joined_runs(pieces)
    held = [set(range(run.start, run.start + len(run.text))) for run in runs]
    assert all(TEXT.startswith(run.text, run.start) for run in runs)
    assert all(max(low) + 1 < min(high) for low, high in pairwise(filter(None, held)))
    assert set().union(*held) == {
        at for piece in pieces for at in range(piece.start, piece.start + len(piece.text))
    }
