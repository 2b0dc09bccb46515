"""Tokenizers by name; counts of spans are exact with each of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from steps import steps_of
from strategies import TEXTS

from rag_nodes.core.errors import ConfigurationError, MissingExtraError
from rag_nodes.text.tokens import tokenizers as ours
from rag_nodes.text.tokens.tokenizers import (
    LengthIndex,
    SliceIndex,
    check_tokenizer,
    count_tokens,
    is_estimate,
    load_hugging_face,
    token_index,
)

tokenizers = pytest.importorskip("tokenizers")

CORPUS = [
    "The pump in the north house starts when the soil is dry.",
    "Rinse the filters monthly, and the pump before that.",
    "Überprüfen Sie die Pumpe; naïve café résumé.",
    "你好。今日は。世界。",
]


def train(kind: str) -> tokenizers.Tokenizer:
    """A small tokenizer of a kind that models use, learnt from a few sentences."""
    from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

    special = ["[UNK]", "[CLS]", "[SEP]"]
    if kind == "byte-level":
        tokenizer = tokenizers.Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        )
    else:
        tokenizer = tokenizers.Tokenizer(
            models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=20)
        )
        tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=200, special_tokens=special, show_progress=False
        )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.enable_truncation(16)
    tokenizer.enable_padding(length=16)
    return tokenizer


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saved tokenizers: each truncates and pads, as those of embedding models do."""
    folder = tmp_path_factory.mktemp("tokenizers")
    paths = {}
    for kind in ("byte-level", "word-piece"):
        paths[kind] = folder / kind / "tokenizer.json"
        paths[kind].parent.mkdir()
        train(kind).save(str(paths[kind]))
    return paths


KINDS = ["chars", "estimate", "byte-level", "word-piece", "cl100k_base", "o200k_base"]


def name_of(kind: str, files: dict[str, Path]) -> str:
    return f"hf:{files[kind]}" if kind in files else kind


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS, data=st.data())
def test_the_count_of_any_span_is_that_of_the_slice_encoded_alone(
    files: dict[str, Path], kind: str, text: str, data: st.DataObject
) -> None:
    name = name_of(kind, files)
    index = token_index(text, name)
    for _ in range(4):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        assert index.count(start, end) == count_tokens(text[start:end], name)
    assert index.count() == count_tokens(text, name)


@pytest.mark.parametrize("kind", KINDS)
@given(text=TEXTS, data=st.data())
def test_the_fitting_text_is_within_limit_and_document(
    files: dict[str, Path], kind: str, text: str, data: st.DataObject
) -> None:
    name = name_of(kind, files)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    limit = data.draw(st.integers(1, 30))
    fitting = token_index(text, name).fit(start, limit, end)
    assert start <= fitting <= end
    assert count_tokens(text[start:fitting], name) <= limit


@pytest.mark.parametrize("kind", KINDS)
def test_prose_fills_the_limit(files: dict[str, Path], kind: str) -> None:
    index = token_index("The pump starts when the soil is dry. " * 60, name_of(kind, files))
    assert 98 <= index.count(0, index.fit(0, 100)) <= 100


def test_chars_counts_characters_and_estimate_every_three_begun() -> None:
    assert [count_tokens("x" * n, "chars") for n in range(5)] == [0, 1, 2, 3, 4]
    assert [count_tokens("x" * n, "estimate") for n in range(8)] == [0, 1, 1, 1, 2, 2, 2, 3]
    assert LengthIndex("abcdefgh", 3).fit(1, 2) == 7
    assert len(LengthIndex("abcdefgh", 3)) == 3


def test_c11_only_the_estimate_is_one() -> None:
    names = ("estimate", "chars", "cl100k_base", "hf:any")
    assert [is_estimate(name) for name in names] == [True, False, False, False]


def test_special_tokens_padding_and_truncation_are_not_counted(files: dict[str, Path]) -> None:
    name = name_of("byte-level", files)
    assert count_tokens("The pump starts. " * 100, name) > 16
    assert count_tokens("The", name) < 16


def test_special_tokens_in_a_text_are_plain_text(files: dict[str, Path]) -> None:
    for kind in ("byte-level", "word-piece"):
        assert count_tokens("[SEP]", name_of(kind, files)) > 1


def test_a_folder_and_its_file_are_the_same_tokenizer(files: dict[str, Path]) -> None:
    path = files["byte-level"]
    assert count_tokens("the pump", f"hf:{path.parent}") == count_tokens("the pump", f"hf:{path}")


def test_ends_of_tokens_never_decrease_and_reach_the_end(files: dict[str, Path]) -> None:
    text = "naïve 你好 👩‍👩‍👧 e\u0301 pump"
    for kind in ("byte-level", "word-piece"):
        ends = load_hugging_face(name_of(kind, files)).encode_ends(text).tolist()
        assert ends == sorted(ends)
        assert ends[-1] == len(text)


def test_a_long_unknown_word_that_is_one_token_whole_and_many_in_part(
    files: dict[str, Path],
) -> None:
    text = "pump" * 30
    index = SliceIndex(text, load_hugging_face(name_of("word-piece", files)))
    assert index.count() == 1
    assert index.count(0, 19) > 8
    end = index.fit(0, 3, 19)
    assert end > 0
    assert index.count(0, end) <= 3


def test_many_blocks_are_encoded_as_one_text(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "The pump in the north house. " * 40
    name = name_of("byte-level", files)
    whole = token_index(text, name)
    monkeypatch.setattr(ours, "_BLOCK", 100)
    blocks = token_index(text, name)
    spans = [(0, 57), (30, 400), (500, len(text))]
    assert [blocks.count(*span) for span in spans] == [whole.count(*span) for span in spans]
    assert all(abs(blocks.estimate(*span) - blocks.count(*span)) <= 30 for span in spans)
    assert len(SliceIndex(text, load_hugging_face(name))) == count_tokens(text, name)


def test_steps_grow_with_the_length_of_the_text_and_no_faster(
    files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = name_of("byte-level", files)

    def fill_index(length: int) -> None:
        index, at = token_index(("The pump starts. " * length)[:length], name), 0
        while at < length:
            at = index.fit(at, 200)

    fill_index(100)
    once, twice = (
        steps_of(lambda size=size: fill_index(size), monkeypatch) for size in (40_000, 80_000)
    )
    assert twice < 2.5 * once


def test_an_unknown_tokenizer_names_every_kind() -> None:
    with pytest.raises(ConfigurationError, match=r"cl100k_base.*hf:<model or path>.*'chars'"):
        check_tokenizer("no-such-encoding")


def test_known_tokenizers_pass_the_check(files: dict[str, Path]) -> None:
    for kind in KINDS:
        check_tokenizer(name_of(kind, files))


@pytest.mark.parametrize("model", ["nobody/no-such-model", "/no/such/folder", "a b c", ""])
def test_a_model_that_is_not_here_says_what_to_do(model: str) -> None:
    with pytest.raises(ConfigurationError, match=r"hf download .* tokenizer\.json"):
        check_tokenizer(f"hf:{model}")


def test_a_model_in_the_local_cache_is_found_by_its_name(
    files: dict[str, Path], tmp_path: Path
) -> None:
    model = tmp_path / "models--us--pump-model"
    snapshot = model / "snapshots" / "abc"
    snapshot.mkdir(parents=True)
    (model / "refs").mkdir()
    (model / "refs" / "main").write_text("abc")
    (snapshot / "tokenizer.json").write_bytes(files["byte-level"].read_bytes())
    code = (
        "import socket\n"
        "def refuse(*a, **k): raise OSError('no network')\n"
        "socket.socket.connect = refuse\n"
        "from rag_nodes.text.tokens.tokenizers import count_tokens\n"
        "print(count_tokens('The pump in the north house', 'hf:us/pump-model'))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "HF_HUB_CACHE": str(tmp_path)},
    )
    expected = count_tokens("The pump in the north house", name_of("byte-level", files))
    assert int(run.stdout) == expected


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ConfigurationError, match=r"tokenizer\.json cannot be read"):
        check_tokenizer(f"hf:{tmp_path}")


@pytest.mark.parametrize("missing", ["tokenizers", "huggingface_hub"])
def test_a_missing_package_says_how_to_install_it(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    load_hugging_face.cache_clear()
    with pytest.raises(MissingExtraError, match=r"pip install 'rag-nodes\[hf\]'"):
        check_tokenizer("hf:us/some-model")
