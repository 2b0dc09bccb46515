"""The two libraries that encode give the same tokens, and one stands in for the other."""

import os
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest
import requests
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from rag_nodes.text.tokens import TokenIndex, encodable, encodings
from rag_nodes.text.tokens.encodings import (
    Encoder,
    GigatokenEncoder,
    TiktokenEncoder,
    load_encoder,
    load_encoding,
)

NAMES = ["cl100k_base", "o200k_base"]
MARKS = st.lists(
    st.sampled_from([*"aZé中ाक1३\u00a0\u3000\u2028'.,!/😀\u200d\u0301\x00\x85K\ufeff \n\r\t"])
    | st.sampled_from(["22", "'s", "'S", "'LL", "\u2019s", "'\u017f", "//", "  ", "\r\n"])
    | st.sampled_from(["<|endoftext|>", "<|fim_prefix|>", "the", "The", " quick"]),
    max_size=60,
).map("".join)


@pytest.fixture
def _loaded_anew() -> Iterator[None]:
    load_encoder.cache_clear()
    yield
    load_encoder.cache_clear()


def offline_without_anything_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(url: str) -> None:
        raise OSError(url)

    monkeypatch.setattr(requests, "get", refuse)
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    load_encoding.cache_clear()


def without_the_fast_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        encodings, "find_spec", lambda name: None if name == "gigatoken" else find_spec(name)
    )


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


@pytest.mark.usefixtures("_loaded_anew")
def test_an_encoding_that_only_tiktoken_knows_is_left_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    encoding = load_encoding("cl100k_base")
    monkeypatch.setattr(encodings, "load_encoding", lambda name: asked.append(name) or encoding)
    assert isinstance(load_encoder("p50k_base"), TiktokenEncoder)
    assert asked == ["p50k_base"]


@pytest.mark.usefixtures("_loaded_anew")
def test_without_the_fast_library_counts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Naïve café 中文 \U0001f469\u200d\U0001f680 <|endoftext|> and 1,234.5\r\n" * 9
    fast = TokenIndex(text)
    load_encoder.cache_clear()
    monkeypatch.setattr(encodings, "find_spec", lambda _: None)
    slow = TokenIndex(text)
    assert isinstance(load_encoder("cl100k_base"), TiktokenEncoder)
    assert fast.ends.tolist() == slow.ends.tolist()


@pytest.mark.usefixtures("_loaded_anew")
@pytest.mark.parametrize("content", [b"", b"IQ== 0\n"])
def test_a_damaged_vocabulary_is_not_believed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: bytes
) -> None:
    for name in ("9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "other"):
        (tmp_path / name).write_bytes(content)
    encoding = load_encoding("cl100k_base")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(encodings, "_bundled_folder", lambda: None)
    monkeypatch.setattr(encodings, "load_encoding", lambda _: encoding)
    assert isinstance(load_encoder("cl100k_base"), TiktokenEncoder)


@pytest.mark.usefixtures("_loaded_anew")
@pytest.mark.parametrize("has_fast_library", [True, False])
@pytest.mark.parametrize("folder", ["", "no/such/folder", "file"])
def test_a_folder_without_the_vocabulary_gives_way_to_the_one_that_comes_with_llamaindex(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str, *, has_fast_library: bool
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path / folder))
    offline_without_anything_loaded(monkeypatch)
    if not has_fast_library:
        without_the_fast_library(monkeypatch)
    assert len(load_encoder("cl100k_base").encode("Hello world")) == 2
    assert os.environ["TIKTOKEN_CACHE_DIR"] == str(tmp_path / folder)


@pytest.mark.usefixtures("_loaded_anew")
def test_threads_that_load_encodings_at_once_do_not_take_the_vocabulary_from_each_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    offline_without_anything_loaded(monkeypatch)
    without_the_fast_library(monkeypatch)
    second_is_in, first_is_out = threading.Event(), threading.Event()
    get_encoding = tiktoken.get_encoding
    second: list[Future[Encoder]] = []

    def held_up(name: str) -> tiktoken.Encoding:
        if name == "cl100k_base":
            second.append(threads.submit(load_encoder, "o200k_base"))
            second_is_in.wait(timeout=0.2)  # in vain, where the second has to wait for the first
        else:
            second_is_in.set()
            first_is_out.wait(timeout=10)
        return get_encoding(name)

    monkeypatch.setattr(tiktoken, "get_encoding", held_up)
    with ThreadPoolExecutor(1) as threads:
        load_encoder("cl100k_base")
        first_is_out.set()
        assert len(second[0].result().encode("Hello world")) == 2
    assert "TIKTOKEN_CACHE_DIR" not in os.environ


@pytest.mark.usefixtures("_loaded_anew")
def test_tokens_stay_the_same_when_remembered_words_are_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encodings, "_RENEWED", 100)
    encoder = load_encoder("cl100k_base")
    text = "Words are remembered, and then they are not. " * 2
    assert len({tuple(encoder.encode(text).tolist()) for _ in range(4)}) == 1


def test_two_threads_are_never_inside_the_fast_library_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    encoder = load_encoder("cl100k_base")
    inside, met = threading.Barrier(2), []

    def encode(text: str) -> str:
        with suppress(threading.BrokenBarrierError):
            met.append(inside.wait(timeout=0.3))
        return text

    monkeypatch.setattr(encoder, "_encode", encode)
    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(encoder.encode, "ab")) == ["a", "b"]
    assert met == []
