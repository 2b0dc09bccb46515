"""Line breaks inside running text are spaces to the parsers that split by sentence.

`tests/data/wrapped_pages.txt` has three pages of NIST SP 800-223 (a work of the US Government) as
pypdf extracts them; a form feed separates pages.
"""

import textwrap
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode
from parser_laws import assert_slices_in_order_that_cover, parse

from rag_nodes.parsers import RecursiveNodeParser, get_parser
from rag_nodes.text.tokens import count_tokens

PAGES = (
    (Path(__file__).parents[1] / "data" / "wrapped_pages.txt")
    .read_text(encoding="utf-8")
    .split("\f")
)
SPLIT_BY_SENTENCE = {
    "retrieval": {},
    "sentence": {"unit": "tokens", "chunk_overlap": 0},
    "pdf-qa": {"unit": "tokens", "scale_by_script": False},
    "semantic": {"min_chunk_size": 8},
    "token-overlap": {"chunk_overlap": 0, "whole_document_below": 0},
    "heading": {"min_chunk_size": 8},
}
NAMES = pytest.mark.parametrize("name", SPLIT_BY_SENTENCE)
BEFORE = (
    "The pump stands in the hall beside the door. It was painted red in the spring of last year. "
    "Nobody may move it without a permit from the office. A second pump is kept in the cellar. "
) * 3
ANSWER = "The filter must be rinsed with warm water every four weeks by the person on duty."
WRAPPED = textwrap.fill(BEFORE + ANSWER + " " + BEFORE, 72)
SIZES = range(24, 84)


def nodes_of(name: str, text: str, size: int) -> list[TextNode]:
    return parse(get_parser(name, **{"chunk_size": size, **SPLIT_BY_SENTENCE[name]}), text)


def starts_inside_sentence(text: str, node: TextNode) -> bool:
    """Whether the first letter is in lower case and no sentence ends before it."""
    first = next((letter for letter in node.text if letter.isalpha()), "")
    before = text[: node.start_char_idx].rstrip(" \n\f\"')]”")
    return first.islower() and before != "" and before[-1] not in ".?!:"


@NAMES
@pytest.mark.parametrize("size", [100, 200])
def test_no_node_of_extracted_pages_starts_inside_a_sentence(name: str, size: int) -> None:
    nodes = [(page, node) for page in PAGES for node in nodes_of(name, page, size)]
    assert len(nodes) > len(PAGES)
    assert [node.text[:40] for page, node in nodes if starts_inside_sentence(page, node)] == []


@NAMES
@pytest.mark.parametrize("size", SIZES)
def test_no_size_splits_a_wrapped_sentence_that_fits(name: str, size: int) -> None:
    nodes = nodes_of(name, WRAPPED, size)
    assert any(ANSWER in " ".join(node.text.split()) for node in nodes)


@NAMES
@pytest.mark.parametrize(
    "text",
    [
        WRAPPED.replace("\n", "\r\n"),
        textwrap.indent(WRAPPED, "> "),
        textwrap.indent(WRAPPED, "       "),
        textwrap.fill("- " + " ".join(WRAPPED.split()), 72, subsequent_indent="  "),
    ],
    ids=["CRLF", "quotation", "indented", "list item"],
)
def test_other_ways_to_wrap_are_recognised(name: str, text: str) -> None:
    sentence = ANSWER.split()
    for size in (60, 90):
        nodes = nodes_of(name, text, size)
        words = [[word for word in node.text.split() if word not in {">", "-"}] for node in nodes]
        assert any(" ".join(sentence) in " ".join(own) for own in words)


@NAMES
def test_hyphens_at_line_ends_stay_in_the_text(name: str) -> None:
    text = WRAPPED.replace("person on\n", "per-\nson on\n")
    nodes = nodes_of(name, text, 80)
    assert_slices_in_order_that_cover(text, nodes)


@NAMES
@example(sentences=["Word" + " word" * 10 + "."], width=20, prefix="    ", size=16)
@given(
    sentences=st.lists(
        st.integers(1, 40).map(lambda count: "Word" + " word" * count + "."), min_size=1
    ),
    width=st.integers(20, 90),
    prefix=st.sampled_from(["", "> ", "    ", "- ", "1. "]),
    size=st.integers(16, 120),
)
def test_the_laws_hold_for_wrapped_text(
    name: str, sentences: list[str], width: int, prefix: str, size: int
) -> None:
    text = textwrap.fill(
        " ".join(sentences),
        width,
        initial_indent=prefix,
        subsequent_indent=prefix if prefix == "> " else " " * len(prefix),
    )
    nodes = nodes_of(name, text, size)
    assert_slices_in_order_that_cover(text, nodes)
    # Indented text is code, and heading keeps a block of code whole up to four times the size.
    is_whole_code = name == "heading" and prefix == "    " and len(nodes) == 1
    limit = 4 * size if is_whole_code else size
    assert all(count_tokens(node.text) <= limit for node in nodes)


def test_turns_of_a_meeting_are_split_between_lines() -> None:
    turn = "{}: we looked at the remote control and it is fine. And then we had lunch, all of us"
    lines = [turn.format(name) for name in ("Anna", "Ben", "Carla", "Dan") * 10]
    nodes = nodes_of("retrieval", "\n".join(lines), 60)
    assert {line for node in nodes for line in node.text.split("\n")} == set(lines)


def test_recursive_and_separators_of_your_own_split_at_every_line_break() -> None:
    for parser in (
        get_parser("recursive", chunk_size=72, chunk_overlap=0),
        get_parser("retrieval", unit="characters", chunk_size=72, separators=["\n"]),
        RecursiveNodeParser(chunk_size=72, chunk_overlap=0),
    ):
        assert [node.text for node in parse(parser, WRAPPED)] == WRAPPED.split("\n")


def test_a_sentence_over_the_size_is_split_between_its_lines() -> None:
    text = textwrap.fill("the list of parts has no full stop and goes on " * 20, 60)
    parser = get_parser("retrieval", chunk_size=40)
    lines = text.split("\n")
    assert {line for node in parse(parser, text) for line in node.text.split("\n")} == set(lines)
