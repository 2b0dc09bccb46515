"""RecursiveNodeParser: separators in order, merged up to a size (S0-19)."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from parser_laws import (
    assert_clusters_are_whole,
    assert_neighbours_share,
    assert_slices_in_order_that_cover,
    parse,
)
from strategies import TEXTS

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers.recursive import RecursiveNodeParser
from rag_nodes.text.tokens import count_tokens

SIZES = {"characters": len, "tokens": count_tokens}


def split(text: str, size: int, overlap: int = 0, **options: object) -> list[str]:
    return RecursiveNodeParser(chunk_size=size, chunk_overlap=overlap, **options).split_text(text)


def test_s0_19_the_coarsest_separator_that_fits_is_split_at() -> None:
    text = "One line\nand two.\n\nThree. Four five. Six."
    assert split(text, 17) == ["One line\nand two.", "Three. Four five.", "Six."]
    assert split(text, 12) == ["One line", "and two.", "Three.", "Four five.", "Six."]
    assert split(text, 4)[-4:] == ["Four", "five", ".", "Six."]


def test_pieces_are_merged_as_long_as_the_node_fits() -> None:
    assert split("a\n\nb\n\nc\n\nd", 4) == ["a\n\nb", "c\n\nd"]
    assert split("a\n\nb\n\nc\n\nd", 3 * 3 + 1) == ["a\n\nb\n\nc\n\nd"]


def test_pieces_of_a_long_paragraph_are_not_mixed_with_its_neighbours() -> None:
    assert split("Hi.\n\nThis is too long.\n\nBye.", 12) == ["Hi.", "This is too", "long.", "Bye."]


def test_a_separator_stays_with_the_piece_before_it() -> None:
    assert split("One two. Three. Four.", 9) == ["One two.", "Three.", "Four."]
    assert split("a;b;c;d", 3, separators=[";"]) == ["a;", "b;", "c;d"]


def test_the_size_is_that_of_the_node_as_it_comes_out() -> None:
    assert split("aaaa bbbb\n\ncccc", 9) == ["aaaa bbbb", "cccc"]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_every_kind_of_line_end_counts_as_one(end: str) -> None:
    text = "First paragraph.\n\nSecond line\nand its end."
    cuts = [chunk.replace(end, "\n") for chunk in split(text.replace("\n", end), 16)]
    assert cuts == ["First paragraph.", "Second line", "and its end."]


def test_neighbours_share_whole_pieces() -> None:
    assert split("aa bb cc dd ee ff", 8, 5) == ["aa bb cc", "bb cc dd", "cc dd ee", "dd ee ff"]
    assert split("aa bb cc dd ee ff", 8, 4) == ["aa bb cc", "cc dd ee", "ee ff"]


def test_pieces_larger_than_the_overlap_share_their_parts() -> None:
    text = "One two three.\n\nFour five six.\n\nSeven."
    assert split(text, 28, 10) == [
        "One two three.",
        "two three.\n\nFour five six.",
        "five six.\n\nSeven.",
    ]


def test_the_overlap_gives_way_where_the_next_piece_needs_the_room() -> None:
    assert split("aa bb cccccc", 7, 4) == ["aa bb", "cccccc"]


def test_a_text_without_separators_is_split_anywhere_but_inside_a_cluster() -> None:
    family = "\N{MAN}\u200d\N{WOMAN}\u200d\N{GIRL}"
    assert split("abcdefgh", 3) == ["abc", "def", "gh"]
    assert split("abcdefgh", 3, 1) == ["abc", "cde", "efg", "gh"]
    assert split(family * 3, 8) == [family] * 3


def test_a_cluster_that_fits_is_whole_also_where_tokens_end_inside_it() -> None:
    flag = "\U0001f1e6\U0001f1e6\u0300\u0300"
    assert count_tokens(flag) == 8
    assert split(flag + "\u0ec0", 9, unit="tokens") == [flag, "\u0ec0"]


def test_the_last_resort_is_there_also_where_it_is_not_named() -> None:
    assert split("abcdef gh", 3, separators=[" "]) == ["abc", "def", "gh"]


def test_a_separator_before_a_combining_mark_is_no_place_to_split() -> None:
    assert split("ab-\u0301cd-ef", 7, separators=["-"]) == ["ab-\u0301cd-", "ef"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"chunk_size": 100, "chunk_overlap": 100}, "must be smaller than chunk_size"),
        ({"separators": []}, "at least 1 item"),
        ({"separators": ["", " "]}, "must come last"),
        ({"separators": [" ", " "]}, "named once"),
        ({"separators": 5}, "valid tuple"),
        ({"unit": "tokens", "chunk_size": 4, "chunk_overlap": 0}, "at least 8 tokens"),
        ({"seperators": [" "]}, "unknown option 'seperators'"),
    ],
)
def test_a_bad_option_is_refused_with_the_remedy(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RecursiveNodeParser(**options)


@given(
    text=TEXTS,
    separators=st.lists(
        st.sampled_from([".", "\r", "\n", "e", "\u0301", "\u200d", "🇩", "ab", "。", " ", "- "]),
        min_size=1,
        max_size=4,
        unique=True,
    ),
    size=st.integers(1, 40),
    data=st.data(),
)
def test_the_laws_hold_for_any_separators(
    text: str, separators: list[str], size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    parser = RecursiveNodeParser(separators=separators, chunk_size=size, chunk_overlap=overlap)
    nodes = parse(parser, text)
    assert_slices_in_order_that_cover(text, nodes)
    assert_clusters_are_whole(text, nodes, len, size)
    assert_neighbours_share(text, nodes, len, overlap)
    assert all(len(node.text) <= size for node in nodes)


@given(words=st.lists(st.integers(1, 9), min_size=20, max_size=60))
def test_neighbours_share_something_wherever_a_word_fits_the_overlap(words: list[int]) -> None:
    text = " ".join("w" * length for length in words)
    nodes = parse(RecursiveNodeParser(chunk_size=40, chunk_overlap=12), text)
    for left, right in pairwise(nodes):
        assert right.start_char_idx < left.end_char_idx
