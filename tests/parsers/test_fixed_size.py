"""FixedSizeNodeParser: windows of characters or tokens (S0-18, S3-03)."""

import pytest

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import FixedSizeNodeParser
from rag_nodes.text.tokens import count_tokens

TEXT = "".join(chr(97 + n % 26) for n in range(5000))


def test_s0_18_the_window_advances_by_size_minus_overlap() -> None:
    chunks = FixedSizeNodeParser().split_text(TEXT)
    assert chunks == [TEXT[start : start + 1000] for start in range(0, 4001, 800)]


def test_the_last_window_is_not_repeated_inside_another() -> None:
    assert FixedSizeNodeParser().split_text(TEXT[:1000]) == [TEXT[:1000]]


def test_token_windows_hold_exactly_the_size_in_plain_prose() -> None:
    text = "the cat sat on the mat and then " * 60
    chunks = FixedSizeNodeParser(unit="tokens", chunk_size=50, chunk_overlap=10).split_text(text)
    assert {count_tokens(chunk) for chunk in chunks[:-1]} == {50}


def test_blank_windows_are_left_out() -> None:
    text = "a" * 50 + " " * 500 + "b" * 50
    chunks = FixedSizeNodeParser(chunk_size=50, chunk_overlap=0).split_text(text)
    assert chunks == ["a" * 50, "b" * 50]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unit": "words"}, "'characters' or 'tokens'"),
        ({"unit": "tokens", "chunk_size": 4, "chunk_overlap": 0}, "at least 8 tokens"),
        ({"id_func": lambda i, _doc: str(i)}, "ids are derived"),
    ],
)
def test_a_bad_option_is_refused_with_the_remedy(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        FixedSizeNodeParser(**options)
