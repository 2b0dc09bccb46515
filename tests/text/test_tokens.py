"""Token counts of spans are exact, wherever the span is cut."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from rag_nodes.errors import ConfigurationError
from rag_nodes.text.encodings import load_encoding
from rag_nodes.text.tokens import TokenIndex, count_tokens


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@given(text=TEXTS, data=st.data())
def test_the_count_of_any_span_is_that_of_the_slice_encoded_alone(
    encoding: str, text: str, data: st.DataObject
) -> None:
    index = TokenIndex(text, encoding)
    for _ in range(5):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        assert index.count(start, end) == count_tokens(text[start:end], encoding)


@given(text=TEXTS, start=st.integers(0, 50), limit=st.integers(1, 30))
def test_what_fits_is_within_the_limit(text: str, start: int, limit: int) -> None:
    start = min(start, len(text))
    end = TokenIndex(text).fit(start, limit)
    assert start <= end <= len(text)
    assert count_tokens(text[start:end]) <= limit


def test_what_fits_in_plain_prose_fills_the_limit() -> None:
    text = "The quick brown fox jumps over the lazy dog. " * 50
    index = TokenIndex(text)
    assert index.count(0, index.fit(0, 100)) == 100


def test_special_tokens_in_a_text_are_plain_text() -> None:
    text = "<|endoftext|> and <|fim_prefix|>"
    assert TokenIndex(text).count() > 4
    assert count_tokens("<|endoftext|>") > 1


def test_lone_surrogates_do_not_crash() -> None:
    assert TokenIndex("a\ud800b").count(1, 2) == count_tokens("\ufffd")


def test_an_unknown_tokenizer_names_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="cl100k_base"):
        load_encoding("no-such-encoding")


def test_a_missing_vocabulary_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import tiktoken

    def offline(name: str) -> None:
        raise OSError(name)

    monkeypatch.setattr(tiktoken, "get_encoding", offline)
    with pytest.raises(ConfigurationError, match="TIKTOKEN_CACHE_DIR"):
        load_encoding("p50k_base")


def test_counting_needs_no_network_and_leaves_the_environment_alone() -> None:
    code = (
        "import os, socket\n"
        "def refuse(*a, **k): raise OSError('no network')\n"
        "socket.socket.connect = refuse\n"
        "from rag_nodes.text.tokens import count_tokens\n"
        "print(count_tokens('hello world'), 'TIKTOKEN_CACHE_DIR' in os.environ)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "TIKTOKEN_CACHE_DIR"}
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert run.stdout.split() == ["2", "False"]
