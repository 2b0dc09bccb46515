from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.text.words import term_id, words


def weight(text: str, word: str) -> float:
    indices, values = document_vectors([text])
    return dict(zip(indices[0], values[0], strict=True))[term_id(word)]


def test_repeats_of_a_word_count_less_and_less() -> None:
    once, twice, thrice = (weight("zebra " * n + "other " * (9 - n), "zebra") for n in (1, 2, 3))
    assert once < twice < thrice
    assert thrice - twice < twice - once


def test_a_word_weighs_less_in_a_longer_text() -> None:
    assert weight("zebra", "zebra") > weight("zebra " + "other " * 500, "zebra")


@pytest.mark.parametrize(
    ("times", "length", "expected"),
    [
        # count * (k1 + 1) / (count + k1 * (1 - b + b * length / average)) with k1 = 1.2,
        # b = 0.75 and an average of 150 words
        (1, 150, 2.2 / 2.2),
        (3, 150, 6.6 / 4.2),
        (1, 300, 2.2 / (1 + 1.2 * 1.75)),
        (2, 75, 4.4 / (2 + 1.2 * 0.625)),
    ],
)
def test_a_word_weighs_what_bm25_gives_it_with_its_usual_constants(
    times: int, length: int, expected: float
) -> None:
    text = "zebra " * times + "other " * (length - times)
    assert weight(text, "zebra") == pytest.approx(expected)


def test_indices_ascend_without_repeats_as_qdrant_wants_them() -> None:
    indices, values = document_vectors(["the cat saw the dog and the bird"])
    assert indices[0] == sorted(set(indices[0]))
    assert len(indices[0]) == len(values[0])


def test_a_query_asks_with_one_per_different_word() -> None:
    indices, values = query_vectors(["Zebra zebra ZEBRA crossing"])
    assert set(indices[0]) == {term_id("zebra"), term_id("crossing")}
    assert values[0] == [1.0, 1.0]


def test_a_query_asks_without_the_words_of_grammar_unless_it_has_no_others() -> None:
    (asked, only), _ = query_vectors(["What is the pump of a reactor?", "What is it?"])
    assert set(asked) == {term_id("pump"), term_id("reactor")}
    assert set(only) == {term_id("what"), term_id("is"), term_id("it")}


def test_a_text_without_words_has_an_empty_vector() -> None:
    assert document_vectors(["", " … "]) == ([[], []], [[], []])
    assert query_vectors(["?!"]) == ([[]], [[]])


@given(st.lists(st.text(alphabet="ab 1.,天ß\n"), max_size=6))
def test_a_text_weighs_the_same_alone_and_among_others(texts: list[str]) -> None:
    indices, values = document_vectors(texts)
    alone = [document_vectors([text]) for text in texts]
    assert list(zip(indices, values, strict=True)) == [(i[0], v[0]) for i, v in alone]


def test_every_word_has_the_weight_that_its_own_formula_gives() -> None:
    text = "the pump, the valve of the pump 天气很好"
    found = words(text)
    damping = 1.2 * (1 - 0.75 + 0.75 * len(found) / 150)
    expected = {term_id(w): n * (1.2 + 1) / (n + damping) for w, n in Counter(found).items()}
    indices, values = document_vectors([text])
    assert dict(zip(indices[0], values[0], strict=True)) == expected


def test_two_words_of_one_number_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = sum(document_vectors(["zebra other other"])[1][0])
    monkeypatch.setattr("rag_nodes.store.bm25.term_id", lambda _word: 7)
    assert document_vectors(["zebra other other", ""]) == ([[7], []], [[pytest.approx(apart)], []])
