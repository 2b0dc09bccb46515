"""Tokens found by other threads are those found without them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.text import ahead
from rag_nodes.text.ahead import tokens_ahead
from rag_nodes.text.tokens import DEFAULT_ENCODING, TokenIndex

SENTENCE = "Wärme und 42 words, then «more» of them; 中文 too.\n\n"


@pytest.fixture(autouse=True)
def _two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(ahead, "_WORTH", 1)


def found(texts: list[str], encoding: str = DEFAULT_ENCODING) -> list[TokenIndex]:
    return [tokens() for tokens in tokens_ahead(texts, encoding) if tokens is not None]


def assert_as_without_threads(texts: list[str]) -> None:
    indexes = found(texts)
    assert len(indexes) == len(texts)
    for index, text in zip(indexes, texts, strict=True):
        assert index.ends.tolist() == TokenIndex(text).ends.tolist()


def test_many_texts_and_a_long_one_have_the_tokens_they_have_alone() -> None:
    assert_as_without_threads([SENTENCE * n for n in range(100)] + [SENTENCE * 12_000])


def test_a_long_text_without_a_space_is_encoded_in_one_piece() -> None:
    assert_as_without_threads(["ab" * 30_000 + "\n" * 30_000, SENTENCE])


def test_texts_that_spell_the_separator_keep_it_as_plain_text() -> None:
    assert_as_without_threads([SENTENCE, "one <|endoftext|> two", "", SENTENCE])


def test_lone_surrogates_count_as_replacement_characters() -> None:
    assert_as_without_threads([f"a \ud800 b {SENTENCE}", SENTENCE])


@given(st.lists(st.text(alphabet=" \n\tab.é中😀", max_size=40), max_size=30))
def test_any_texts_have_the_tokens_they_have_alone(texts: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ahead, "_JOB", 15)
        indexes = found(texts)
    for index, text in zip(indexes, texts, strict=False):
        assert index.ends.tolist() == TokenIndex(text).ends.tolist()


@pytest.mark.parametrize("encoding", ["chars", "estimate"])
def test_other_tokenizers_are_left_to_the_caller(encoding: str) -> None:
    assert list(tokens_ahead([SENTENCE] * 3, encoding)) == [None] * 3


def test_one_text_alone_is_left_to_the_caller() -> None:
    assert list(tokens_ahead([SENTENCE * 9_000], DEFAULT_ENCODING)) == [None]


def test_one_processor_gets_no_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 1)
    assert list(tokens_ahead([SENTENCE] * 2, DEFAULT_ENCODING)) == [None] * 2
