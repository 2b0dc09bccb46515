"""Token counts of spans are exact, wherever the span is cut."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.text.tokens import TokenIndex, count_tokens
from rag_nodes.text.tokens.encodings import load_encoder, load_encoding

_BLANKS = st.just("\n") | st.text(alphabet=" \n\t\r\u00a0\u3000", min_size=1, max_size=4)
_WORDS = st.one_of(
    st.text(alphabet="aé./'1", min_size=1, max_size=5),
    st.sampled_from(["the", "don't", "//", "end.", "2026", "世界。", "👩‍👩‍👧", "\ud800"]),
)
_STRETCH = st.lists(st.tuples(_WORDS, _BLANKS), min_size=4, max_size=12).map(
    lambda pairs: "".join(word + blank for word, blank in pairs)
)
_LONG = st.lists(_STRETCH, min_size=1, max_size=6).map(
    lambda parts: "".join(parts) * (3000 // len("".join(parts)) + 1)
)
"""Texts whose spans are long enough to be counted by the text's own tokens but for their ends."""


@pytest.mark.parametrize("encoding", ["cl100k_base", "o200k_base"])
@given(text=_LONG, data=st.data())
def test_p10_the_count_of_a_long_span_is_exact_where_only_its_ends_are_encoded_again(
    encoding: str, text: str, data: st.DataObject
) -> None:
    index = TokenIndex(text, encoding)
    quick = load_encoder(encoding).quick
    last = len(text) - quick - 1
    below_lines = [at for at in range(1, last) if text[at - 1] == "\n"]
    starts = st.integers(0, last) | st.sampled_from(below_lines or [0])
    for _ in range(8):
        start = data.draw(starts)
        end = data.draw(st.integers(start + quick + 1, len(text)))
        assert index.count(start, end) == count_tokens(text[start:end], encoding)


def test_p10_of_a_long_span_only_the_ends_are_encoded_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "The pump starts when the soil is dry, and stops at noon. " * 200
    index = TokenIndex(text)
    encoded: list[int] = []
    encode = TokenIndex._encode

    def counting(self: TokenIndex, start: int, end: int) -> int:
        encoded.append(end - start)
        return encode(self, start, end)

    monkeypatch.setattr(TokenIndex, "_encode", counting)
    assert index.count(3, 9_003) == count_tokens(text[3:9_003])
    assert sum(encoded) < 100


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
