"""The laws of HeadingHierarchyNodeParser under every option that changes where it cuts."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core.schema import Document, TextNode
from parser_laws import (
    assert_clusters_are_whole,
    assert_neighbours_share,
    assert_slices_in_order_that_cover,
    parse,
)
from strategies import MARKDOWN, TEXTS

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import HeadingHierarchyNodeParser
from rag_nodes.text.markdown import Block, Kind, scan_blocks
from rag_nodes.text.tokens import count_tokens

WEB = {"chunk_size": 40, "chunk_overlap": 10, "min_chunk_size": 8, "split_only_if_over": 40}
OPTIONS: dict[str, dict[str, Any]] = {
    "web": WEB,
    "split": {"chunk_size": 24, "min_chunk_size": 6, "oversize": "split"},
    "shallow": {"chunk_size": 32, "min_chunk_size": 6, "max_level": 2},
    "overlap": {"chunk_size": 24, "chunk_overlap": 9, "min_chunk_size": 0},
    "nearly all shared": {
        "chunk_size": 12,
        "chunk_overlap": 11,
        "min_chunk_size": 4,
        "oversize": "split",
    },
    "semantic": {"chunk_size": 32, "min_chunk_size": 6, "long_sections": "semantic"},
    "semantic, shared": {
        "chunk_size": 24,
        "chunk_overlap": 9,
        "min_chunk_size": 6,
        "max_level": 1,
        "long_sections": "semantic",
        "oversize": "split",
    },
}
"""Sizes so small that generated documents are cut many times."""
EVERY = pytest.mark.parametrize("name", OPTIONS)


def parser_of(name: str) -> HeadingHierarchyNodeParser:
    return HeadingHierarchyNodeParser(**OPTIONS[name])


def nodes_of(parser: HeadingHierarchyNodeParser, text: str) -> list[TextNode]:
    metadata = {keys.TEXT_FORMAT: "markdown"}  # as by `scan_blocks`, which the laws compare with
    return parser([Document(text=text, id_="doc", metadata=metadata)])  # type: ignore[return-value]


def is_cut(block: Block, nodes: list[TextNode]) -> bool:
    """Whether a node starts or ends inside the block."""
    offsets = {offset for n in nodes for offset in (n.start_char_idx, n.end_char_idx)}
    return any(block.start < offset < block.end for offset in offsets if offset is not None)


@EVERY
@given(text=TEXTS)
def test_nodes_are_whole_slices_that_cover_the_text_and_only_code_is_over_the_size(
    name: str, text: str
) -> None:
    parser = parser_of(name)
    assert_slices_in_order_that_cover(text, parse(parser, text))
    nodes = nodes_of(parser, text)
    assert_clusters_are_whole(text, nodes, count_tokens, parser.chunk_size)
    assert_neighbours_share(text, nodes, count_tokens, parser.chunk_overlap)
    opens = [
        block.start
        for before, block in pairwise(scan_blocks(text))
        if before.kind is not Kind.HEADING and 1 <= block.level <= parser.max_level
    ]
    for left, right in pairwise(nodes):  # only the parts of one section share text
        shared = range(right.start_char_idx, left.end_char_idx)
        assert not [start for start in opens if start in shared]
    for node in nodes:
        tokens = count_tokens(node.text)
        over = tokens > parser.chunk_size
        assert tokens <= parser.block_ceiling
        assert node.metadata.get(keys.OVERSIZED, False) is over
        if over:
            assert parser.oversize == "keep"
            (code,) = (b for b in scan_blocks(node.text) if b.kind is not Kind.HEADING)
            assert code.kind is Kind.CODE


@EVERY
@example(text="# A\n\n# \n\n<!-- hidden\n\nmore -->\n\n" + "| the | the |\n|---|---|\n" * 8)
@given(text=MARKDOWN)
def test_code_stays_whole_parts_are_numbered_and_a_heading_after_text_starts_a_node(
    name: str, text: str
) -> None:
    parser = parser_of(name)
    nodes = nodes_of(parser, text)
    start = 0
    for block in scan_blocks(text):
        if block.kind is Kind.CODE and is_cut(block, nodes):
            assert count_tokens(text[block.start : block.end]) > parser.chunk_size
            assert count_tokens(text[start : block.end]) > parser.block_ceiling
            assert [node for node in nodes if node.metadata.get(keys.SPLIT_BLOCK)]
        start = start if block.kind is Kind.HEADING else block.end
    parts = [n.metadata for n in nodes if keys.PART in n.metadata]
    while parts:
        section = parts[: parts[0][keys.PARTS]]
        assert [part[keys.PART] for part in section] == list(range(1, len(section) + 1))
        assert len({tuple(part.get(keys.HEADING_PATH, ())) for part in section}) == 1
        parts = parts[len(section) :]
    unmerged = parser.model_copy(update={"min_chunk_size": 0, "split_only_if_over": 0})
    starts = {node.start_char_idx for node in nodes_of(unmerged, text)}
    for before, block in pairwise(scan_blocks(text)):
        if before.kind is not Kind.HEADING and 1 <= block.level <= parser.max_level:
            assert block.start in starts


@pytest.mark.parametrize("long_sections", ["sentences", "semantic"])
@given(count=st.integers(20, 40), words=st.integers(2, 4))
def test_parts_share_whole_sentences_wherever_one_fits(
    long_sections: str, count: int, words: int
) -> None:
    body = " ".join(" ".join(["Word"] + ["word"] * (words - 1)) + "." for _ in range(count))
    parser = HeadingHierarchyNodeParser(
        chunk_size=32, chunk_overlap=9, min_chunk_size=0, long_sections=long_sections
    )
    nodes = nodes_of(parser, f"# Heading\n\n{body}")
    assert len(nodes) > 1
    for left, right in pairwise(nodes):
        assert right.start_char_idx < left.end_char_idx
        assert right.text.startswith("Word")
