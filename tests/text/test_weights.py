"""Weight of embedding similarity by the coverage of a question."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rag_nodes.text.passages import LEAST_WEIGHT, PassageRanker, Similarity, TextRun, largest_weight
from rag_nodes.text.passages.weights import LARGEST_WEIGHT, coverage, similarity_weights

COUNTS = arrays(
    float,
    st.tuples(st.integers(0, 12), st.integers(0, 5)),
    elements=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
SHARES = st.floats(0, 1)
LARGEST = st.floats(LEAST_WEIGHT, LARGEST_WEIGHT)


def cover_run(counts: np.ndarray) -> float:
    return coverage(counts, np.zeros(len(counts), np.intp))


def weight(covered: float, largest: float) -> float:
    return float(similarity_weights(covered, np.array([largest]))[0])


@given(COUNTS, st.data())
def test_coverage_is_a_share_and_does_not_depend_on_how_often_a_word_occurs(
    counts: np.ndarray, data: st.DataObject
) -> None:
    runs = np.array(
        data.draw(st.lists(st.integers(0, 3), min_size=len(counts), max_size=len(counts)))
    )
    runs = np.sort(runs).astype(np.intp)
    covered = coverage(counts, runs)
    assert 0 <= covered <= 1 + 1e-9
    assert covered == coverage(7 * counts, runs)


@given(COUNTS.filter(lambda counts: counts.size > 0))
def test_a_unit_with_every_word_covers_the_question(counts: np.ndarray) -> None:
    counts[0] = 1.0
    assert cover_run(counts) == pytest.approx(1)


@given(COUNTS.filter(lambda counts: len(counts) > 0))
def test_apart_units_cover_no_more_than_units_of_one_run(counts: np.ndarray) -> None:
    assert coverage(counts, np.arange(len(counts))) <= cover_run(counts) + 1e-9


def test_coverage_is_the_share_of_the_rarity_that_stands_in_a_unit_or_beside_it() -> None:
    counts = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    common, rare, absent = (log(1 + (4 - d + 0.5) / (d + 0.5)) for d in (4, 1, 0))
    assert cover_run(counts) == pytest.approx((common + rare) / (common + rare + absent))
    assert coverage(counts[[0, 2]], np.array([0, 0])) < cover_run(counts)


def test_without_a_word_or_a_unit_nothing_is_covered() -> None:
    assert (
        cover_run(np.zeros((3, 0)))
        == cover_run(np.zeros((0, 3)))
        == cover_run(np.zeros((3, 2)))
        == 0
    )


@given(SHARES, SHARES, LARGEST)
def test_the_more_is_covered_the_less_similarity_weighs(
    first: float, second: float, largest: float
) -> None:
    low, high = sorted((first, second))
    assert LEAST_WEIGHT <= weight(high, largest) <= weight(low, largest) <= largest


@given(SHARES)
def test_similarity_that_may_be_noise_weighs_the_least_and_none_stays_none(covered: float) -> None:
    assert weight(covered, LEAST_WEIGHT) == LEAST_WEIGHT
    assert weight(covered, 0.0) == 0


@pytest.mark.parametrize(
    ("covered", "expected"), [(0.0, 1.6), (0.35, 1.6), (0.5, 1.0), (0.65, 0.4), (1.0, 0.4)]
)
def test_the_weight_falls_between_both_ends_of_coverage(covered: float, expected: float) -> None:
    assert weight(covered, LARGEST_WEIGHT) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("tokens", "expected"), [(0, 1.6), (60, 1.6), (200, 1.6), (400, 1.0), (800, 0.7)]
)
def test_the_similarity_of_larger_chunks_says_less_about_a_sentence(
    tokens: float, expected: float
) -> None:
    assert largest_weight(tokens) == pytest.approx(expected)


TEXTS = (
    "The boat is cheap. Dogs are free.",
    "The tram is quick. It is blue.",
    "A bus stops here. Soup is sold.",
)


@given(
    st.lists(st.integers(-8, 8), min_size=3, max_size=3),
    st.floats(0.1, 10),
    st.floats(-5, 5),
    st.sampled_from(["What does a boat cost?", "Any soup on the tram?", "zebra", "the"]),
)
def test_only_the_order_and_relative_distances_of_similarities_matter(
    near: list[int], scale: float, shift: float, question: str
) -> None:
    runs = [TextRun(str(number), 0, text) for number, text in enumerate(TEXTS)]

    def read_ranking(scale: float, shift: float) -> list[tuple[int, int]]:
        similarity = Similarity(
            lambda run, _: scale * near[int(run.document)] + shift, lambda _: LARGEST_WEIGHT
        )
        passages = PassageRanker(question, runs, similarity).passages(30)
        return sorted((passage.run, passage.span.start) for passage in passages[:1])

    assert read_ranking(scale, shift) == read_ranking(1, 0)


def first_of(question: str, largest: dict[str, float]) -> str:
    """Return the document read first: that with the words, or the similar one without them."""
    runs = [
        TextRun("words", 0, "The boat is cheap. The boat is here."),
        TextRun("similar", 0, "Crossing costs four euros. Pay on board."),
        TextRun("other", 0, "Soup is sold. It is hot."),
    ]
    similarity = Similarity(lambda run, _: float(run.document == "similar"), largest.__getitem__)
    return runs[PassageRanker(question, runs, similarity).passages(5)[0].run].document


def test_similarity_decides_for_paraphrases_in_known_languages() -> None:
    question = "Which fare does the harbour office charge for a boat trip?"
    assert first_of(question, {"en": LARGEST_WEIGHT}) == "similar"
    assert first_of(question, {"en": LEAST_WEIGHT}) == "words"


def test_words_decide_for_questions_in_the_words_of_the_text() -> None:
    assert first_of("Is the boat cheap?", {"en": LARGEST_WEIGHT}) == "words"


def test_each_document_counts_similarity_as_its_language_has_it() -> None:
    english = "The ferry to the north of the island is blue and it was in the harbour."
    german = "Die Ferry im Norden der Insel ist blau und das war sie auch nicht im Hafen."
    runs = [TextRun("en", 0, english), TextRun("de", 0, german), TextRun("none", 0, "Soup.")]
    similarity = Similarity(
        lambda run, _: float(run.document != "none"), {"en": 0.0, "de": LARGEST_WEIGHT}.__getitem__
    )
    first, *_ = PassageRanker("Which ferry has zebra stripes?", runs, similarity).passages(20)
    assert runs[first.run].document == "de"


def test_words_alone_decide_in_unknown_languages() -> None:
    runs = [TextRun(str(number), 0, text) for number, text in enumerate(TEXTS)]
    similarity = Similarity(lambda run, _: float(run.document), lambda _: 0.0)
    question = "What does a boat cost?"
    assert PassageRanker(question, runs, similarity).passages(30) == PassageRanker(
        question, runs
    ).passages(30)
