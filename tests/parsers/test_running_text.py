"""Text without full stops is cut and shared by line, else by word, in every parser (L6, S2-15)."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core.schema import Document, TextNode

from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.text.packing import Packer
from rag_nodes.text.tokens import count_tokens

BY_SENTENCE: dict[str, tuple[str, dict[str, Any]]] = {
    "token-overlap": (
        "token-overlap",
        {"chunk_size": 32, "chunk_overlap": 14, "whole_document_below": 0},
    ),
    "heading": ("heading", {"chunk_size": 32, "min_chunk_size": 0}),
    "heading that shares": (
        "heading",
        {"chunk_size": 32, "chunk_overlap": 14, "min_chunk_size": 0},
    ),
    "sentence, tokens": ("sentence", {"chunk_size": 32, "chunk_overlap": 14, "unit": "tokens"}),
    "sentence, characters": (
        "sentence",
        {"chunk_size": 160, "chunk_overlap": 60, "unit": "characters"},
    ),
    "sentence, counted": ("sentence", {"chunk_size": 3, "chunk_overlap": 1, "max_tokens": 32}),
    "pdf-qa": ("pdf-qa", {"chunk_size": 160}),
    "semantic": ("semantic", {"chunk_size": 32, "min_chunk_size": 6}),
    "page": ("page", {"chunk_size": 32}),
}
SHARING = [
    "token-overlap",
    "heading that shares",
    "sentence, tokens",
    "sentence, characters",
]
EVERY = pytest.mark.parametrize("name", BY_SENTENCE)

_words = st.integers(2, 9).map(lambda count: " ".join(["word"] * count))
LINES = st.lists(st.lists(_words, min_size=1, max_size=40).map("\n".join), max_size=4).map(
    "\n\n".join
)
"""Paragraphs of lines without a full stop, each line far below any size."""
_sentences = st.integers(1, 9).map(lambda count: "Word" + " word" * count + ".")
_long_sentences = st.integers(50, 120).map(lambda count: "Word" + " word" * count + ".")
PROSE = st.lists(
    st.one_of(
        st.lists(st.one_of(_sentences, _sentences, _long_sentences), max_size=12).map(" ".join),
        st.lists(_words, min_size=1, max_size=40).map("\n".join),
    ),
    max_size=4,
).map("\n\n".join)
"""Paragraphs of sentences, short or over any size, and of lines without a full stop."""

INVENTORY = "\n".join(
    f"Item {n} of the inventory with a value of {n * 7919 % 10_000}" for n in range(600)
)


def parse(name: str, text: str) -> list[TextNode]:
    preset, options = BY_SENTENCE[name]
    return get_parser(preset, **options)([Document(text=text, id_="doc")])  # type: ignore[return-value]


def cuts_inside_a_line(text: str, nodes: list[TextNode]) -> list[str]:
    """Nodes that end within a line, or start within one that the node before does not hold."""
    ends = [n.text for n in nodes if text[n.end_char_idx : n.end_char_idx + 1] not in {"", "\n"}]
    starts = [
        right.text
        for left, right in pairwise(nodes)
        if right.start_char_idx >= left.end_char_idx and text[right.start_char_idx - 1] != "\n"
    ]
    return ends + starts


@EVERY
@given(text=LINES)
def test_lines_without_full_stops_are_never_split_inside(name: str, text: str) -> None:
    assert not cuts_inside_a_line(text, parse(name, text))


def leaves_no_room(name: str, text: str, left: TextNode, right: TextNode) -> bool:
    """Whether the sentence that `right` starts with stays whole and fills a node up to a word."""
    preset, options = BY_SENTENCE[name]
    size = len if options.get("unit") == "characters" else count_tokens
    last_word = left.end_char_idx - len(left.text.split()[-1])
    end = min(Packer(text).unit_end(right.start_char_idx), right.end_char_idx)
    return preset == "sentence" and size(text[last_word:end]) > options["chunk_size"]


@pytest.mark.parametrize("name", SHARING)
@example(text="Word word.\n\n" + "word word\n" * 5 + "word " * 5 + "word\n" + "word " * 8 + "word")
@example(
    text="word word\n\n" + "word word\n" * 3 + "word " * 6 + "word" + ("\nword" + " word" * 8) * 2
)
@example(text="word   word\n\n" + "word " * 30 + "word")
@given(text=PROSE)
def test_neighbours_share_text_wherever_a_word_fits_into_the_overlap(name: str, text: str) -> None:
    for left, right in pairwise(parse(name, text)):
        assert right.start_char_idx < left.end_char_idx or leaves_no_room(name, text, left, right)
        assert right.start_char_idx == 0 or text[right.start_char_idx - 1].isspace()


@pytest.mark.parametrize(
    "preset", [name for name in PRESETS if name not in ("fixed", "parent-child")]
)
def test_an_inventory_is_split_between_its_lines_by_every_preset(preset: str) -> None:
    options = {"chunk_size": 500, "split_only_if_over": 500} if preset == "web" else {}
    parser = get_parser(preset, **options)
    nodes = parser([Document(text=INVENTORY, id_="doc")])
    assert len(nodes) > 1
    assert not cuts_inside_a_line(INVENTORY, nodes)  # type: ignore[arg-type]
    if getattr(parser, "chunk_overlap", 0):
        assert all(b.start_char_idx < a.end_char_idx for a, b in pairwise(nodes))  # type: ignore[attr-defined]
        assert all(node.text.startswith("Item") for node in nodes)  # type: ignore[attr-defined]


def test_s2_15_a_sentence_over_the_overlap_shares_its_last_words() -> None:
    sentences = [f"Sentence {n} says " + "one thing and " * 40 + "no more." for n in range(30)]
    nodes = get_parser("token-overlap")([Document(text=" ".join(sentences), id_="doc")])
    assert len(nodes) > 4
    for left, right in pairwise(nodes):
        shared = left.text[right.start_char_idx - left.start_char_idx :]  # type: ignore[attr-defined]
        assert 90 <= count_tokens(shared) <= 100


def test_a_language_without_blanks_shares_whole_characters() -> None:
    text = "長い文が続きますので" * 300
    nodes = get_parser("token-overlap")([Document(text=text, id_="doc")])
    assert len(nodes) > 2
    for left, right in pairwise(nodes):
        assert right.start_char_idx < left.end_char_idx  # type: ignore[attr-defined]


def test_neither_code_nor_a_row_of_a_table_is_shared_in_part() -> None:
    rows = "\n".join("| " + "word " * 30 + f"| {n} |" for n in range(40))
    text = "| a | b |\n|---|---|\n" + rows
    parser = get_parser("token-overlap", chunk_size=100, chunk_overlap=20, whole_document_below=0)
    assert not cuts_inside_a_line(text, parser([Document(text=text, id_="doc")]))  # type: ignore[arg-type]
