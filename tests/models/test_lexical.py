"""Vectors of words: the same everywhere, close where words are shared."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.models.lexical import LexicalEmbedding, _features
from rag_nodes.store.bm25 import _stems_in
from rag_nodes.text.words import term_id, words

TEXT = "Straße, 天气 and 3.5 million reasons"


@pytest.fixture(scope="module")
def embedding() -> LexicalEmbedding:
    return LexicalEmbedding()


def cosine(embedding: LexicalEmbedding, first: str, second: str) -> float:
    pairs = zip(
        embedding.get_text_embedding(first), embedding.get_query_embedding(second), strict=True
    )
    return sum(pair * other for pair, other in pairs)


@pytest.mark.parametrize("text", ["", " \n", "…", "\ud800", "a" * 100_000])
def test_degenerate_text_gets_a_vector_too(embedding: LexicalEmbedding, text: str) -> None:
    assert math.isclose(math.hypot(*embedding.get_text_embedding(text)), 1.0)


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        (
            "How do I delete an archive?",
            "Deleting archives cannot be undone.",
            "The printer is out of paper.",
        ),
        ("What is the weather?", "The weather is fine.", "What is the point of the house?"),
        ("Wie löscht man Dateien?", "Dateien werden so gelöscht.", "Das Wetter ist schön."),
        ("今天天气怎么样", "今天的天气很好", "我喜欢读书"),
        ("サーバーの再起動", "サーバーを再起動する", "猫が好きです"),
        ("राजधानी क्या है", "भारत की राजधानी दिल्ली है", "मौसम अच्छा है"),
        ("столица России", "Москва — столица России", "Погода хорошая"),
        ("ما هي عاصمة مصر", "القاهرة عاصمة مصر", "الطقس جميل"),
        ("เมืองหลวงของไทย", "กรุงเทพเป็นเมืองหลวงของไทย", "อากาศดีมาก"),
    ],
)
def test_a_question_is_closer_to_the_text_that_shares_its_words(
    embedding: LexicalEmbedding, question: str, right: str, wrong: str
) -> None:
    assert cosine(embedding, right, question) > cosine(embedding, wrong, question) + 0.1


def test_grammar_alone_does_not_make_texts_alike(embedding: LexicalEmbedding) -> None:
    assert cosine(embedding, "where is the red house", "where is the blue car") < 0.2


def test_order_and_case_do_not_matter(embedding: LexicalEmbedding) -> None:
    assert math.isclose(cosine(embedding, "Red House", "house red"), 1.0)


async def test_async_vectors_equal_the_sync_ones(embedding: LexicalEmbedding) -> None:
    assert await embedding.aget_text_embedding(TEXT) == embedding.get_text_embedding(TEXT)
    assert await embedding.aget_query_embedding(TEXT) == embedding.get_query_embedding(TEXT)


@pytest.mark.parametrize("dimension", [64, 1024])
def test_a_dict_of_it_gives_an_equal_one(dimension: int) -> None:
    embedding = LexicalEmbedding(dimension=dimension)
    copy = LexicalEmbedding.from_dict(embedding.to_dict())
    assert copy.model_name == f"lexical-{dimension}"
    assert copy.get_text_embedding(TEXT) == embedding.get_text_embedding(TEXT)


def test_values_never_change_between_releases(embedding: LexicalEmbedding) -> None:
    vector = embedding.get_text_embedding("chunk")
    places = {place: round(value, 4) for place, value in enumerate(vector) if value}
    assert places == {379: 0.4082, 469: -0.4082, 672: -0.4082, 734: -0.7071}


@given(st.lists(st.text(max_size=60), max_size=8))
def test_every_text_has_the_same_unit_vector_alone_and_among_others(
    embedding: LexicalEmbedding, texts: list[str]
) -> None:
    together = embedding.get_text_embedding_batch(texts)
    assert all(math.isclose(math.hypot(*vector), 1.0, rel_tol=1e-9) for vector in together)
    assert together == [embedding.get_text_embedding(text) for text in texts]


def test_a_vector_is_the_sum_of_signed_words_and_pieces_scaled_by_the_root_of_their_counts(
    embedding: LexicalEmbedding,
) -> None:
    text = "the Pump pumps 3.5 times, the pump; 今天 ß"
    vector = np.zeros(1024)
    for word, count in Counter(words(text)).items():
        for place, weight in zip(*_features(word, 1024), strict=True):
            vector[int(place)] += weight * np.sqrt(count)
    assert embedding.get_text_embedding(text) == (vector / np.linalg.norm(vector)).tolist()


@pytest.mark.parametrize("remembering", [_features, _stems_in("en"), term_id])
def test_words_of_visitors_who_have_left_are_held_by_the_ten_thousand_at_most(
    remembering: Any,
) -> None:
    """Of 65,536 words the three hold 40 MB, which a server never gets back."""
    assert remembering.cache_parameters()["maxsize"] < 20_000
    assert _stems_in.cache_parameters()["maxsize"] == 2, "languages"
