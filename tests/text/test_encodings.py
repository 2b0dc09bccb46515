"""The two libraries that encode give the same tokens, and one stands in for the other."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from rag_nodes.text import encodings
from rag_nodes.text.encodings import (
    GigatokenEncoder,
    TiktokenEncoder,
    load_encoder,
    load_encoding,
)
from rag_nodes.text.tokens import TokenIndex, encodable

NAMES = ["cl100k_base", "o200k_base"]
MARKS = st.lists(
    st.sampled_from([*"aZé中ाक1३\u00a0\u3000\u2028'.,!/😀\u200d\u0301\x00\x85K\ufeff \n\r\t"])
    | st.sampled_from(["22", "'s", "'S", "'LL", "\u2019s", "'\u017f", "//", "  ", "\r\n"])
    | st.sampled_from(["<|endoftext|>", "<|fim_prefix|>", "the", "The", " quick"]),
    max_size=60,
).map("".join)


@pytest.fixture(autouse=True)
def _loaded_anew() -> None:
    load_encoder.cache_clear()


def same_tokens(name: str, text: str) -> bool:
    fast = load_encoder(name).encode(text)
    return fast.tolist() == load_encoding(name).encode_ordinary(text)


@pytest.mark.parametrize("name", NAMES)
def test_the_encodings_that_come_with_llamaindex_are_encoded_by_the_fast_library(name: str) -> None:
    assert isinstance(load_encoder(name), GigatokenEncoder)


@pytest.mark.parametrize("name", NAMES)
@given(text=TEXTS | MARKS)
def test_any_text_has_the_tokens_that_tiktoken_gives_it(name: str, text: str) -> None:
    assert same_tokens(name, encodable(text))


@pytest.mark.parametrize("name", NAMES)
def test_every_character_has_the_tokens_that_tiktoken_gives_it(name: str) -> None:
    surrogates = range(0xD800, 0xE000)
    wrong = [
        first
        for first in range(0, 0x20000, 256)
        if first not in surrogates
        and not same_tokens(
            name,
            "".join(f"a{c}b {c}1{c}{c}\n{c}'{c}. " for c in map(chr, range(first, first + 256))),
        )
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "text", ["a" * 9_000, " " * 9_000, "\n" * 9_000, "中文" * 4_000, "<|endoftext|>"]
)
def test_texts_that_never_end_have_the_tokens_that_tiktoken_gives_them(text: str) -> None:
    assert same_tokens("cl100k_base", text)


def test_an_encoding_that_only_tiktoken_knows_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    encoding = load_encoding("cl100k_base")
    monkeypatch.setattr(encodings, "load_encoding", lambda name: asked.append(name) or encoding)
    assert isinstance(load_encoder("p50k_base"), TiktokenEncoder)
    assert asked == ["p50k_base"]


def test_without_the_fast_library_counts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Naïve café 中文 \U0001f469\u200d\U0001f680 <|endoftext|> and 1,234.5\r\n" * 9
    fast = TokenIndex(text)
    load_encoder.cache_clear()
    monkeypatch.setattr(encodings, "find_spec", lambda _: None)
    slow = TokenIndex(text)
    assert isinstance(load_encoder("cl100k_base"), TiktokenEncoder)
    assert fast.ends.tolist() == slow.ends.tolist()


@pytest.mark.parametrize("content", [b"", b"IQ== 0\n"])
def test_a_damaged_vocabulary_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    for name in ("9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "other"):
        (tmp_path / name).write_bytes(content)
    encoding = load_encoding("cl100k_base")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(encodings, "load_encoding", lambda _: encoding)
    assert isinstance(load_encoder("cl100k_base"), TiktokenEncoder)


def test_tokens_stay_the_same_when_remembered_words_are_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encodings, "_RENEWED", 100)
    encoder = load_encoder("cl100k_base")
    text = "Words are remembered, and then they are not. " * 2
    assert len({tuple(encoder.encode(text).tolist()) for _ in range(4)}) == 1
