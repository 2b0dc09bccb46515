"""What of retrieved text is worth reading, sentence by sentence."""

from itertools import pairwise

from rag_nodes.text.ladder import Run, best_passages, joined_runs
from rag_nodes.text.tokens import count_tokens

FERRY = (
    "The ferry leaves at nine. Dogs travel free on the car deck. Bicycles cost four euros each. "
    "The café opens at ten and sells soup. The last boat returns at six in the evening."
)


def test_the_sentence_with_the_words_of_the_question_is_read_first() -> None:
    best, *_ = best_passages("What do bicycles cost?", [Run("ferry", 0, FERRY)], 10)
    assert FERRY[best.span.start : best.span.end] == "Bicycles cost four euros each."


def test_places_count_from_the_start_of_the_document_and_not_of_the_run() -> None:
    best, *_ = best_passages("What do bicycles cost?", [Run("ferry", 1_000, FERRY)], 10)
    assert best.span.start == 1_000 + FERRY.index("Bicycles")


def test_passages_are_disjoint_and_together_fill_the_budget() -> None:
    read = best_passages("when does the boat leave?", [Run("ferry", 0, FERRY * 20)], 200)
    spans = sorted(one.span for one in read)
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert sum(count_tokens((FERRY * 20)[a:b]) for a, b in spans) >= 195


def test_overlapping_and_touching_pieces_of_a_document_become_one_run() -> None:
    pieces = [Run("a", 6, "world"), Run("b", 0, "other"), Run("a", 0, "hello worl")]
    assert joined_runs(pieces) == [Run("a", 0, "hello world"), Run("b", 0, "other")]
    apart = [Run("a", 0, "one"), Run("a", 4, "two")]
    assert joined_runs(apart) == apart
