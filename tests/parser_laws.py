"""The laws about spans, as functions for tests of parsers that the shared tests do not reach."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import regex
from hypothesis import settings
from llama_index.core.schema import Document, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.text.tokens import count_tokens

SMALL = {
    "fixed": {"chunk_size": 40, "chunk_overlap": 12},
    "fixed-tokens": {"chunk_size": 16, "chunk_overlap": 5, "unit": "tokens"},
    "heading": {"chunk_size": 40, "min_chunk_size": 8},
    "web": {
        "chunk_size": 40,
        "chunk_overlap": 10,
        "min_chunk_size": 8,
        "split_only_if_over": 40,
    },
    "token-overlap": {"chunk_size": 24, "chunk_overlap": 9, "whole_document_below": 0},
    "semantic": {"chunk_size": 32, "min_chunk_size": 6, "window": 5},
    "recursive": {"chunk_size": 40, "chunk_overlap": 12},
    "recursive-tokens": {"chunk_size": 16, "chunk_overlap": 5, "unit": "tokens"},
    "retrieval": {"chunk_size": 16},
    "sentence": {"chunk_size": 24, "chunk_overlap": 9, "unit": "tokens"},
    "pdf-qa": {"chunk_size": 40},
    "sentence-window": {"chunk_size": 24, "unit": "tokens", "max_tokens": 24},
    "page": {"chunk_size": 24},
    "auto": {
        "chunk_size": 32,
        "min_chunk_size": 6,
        "chunk_overlap": 9,
        "whole_document_below": 0,
    },
}
"""Sizes so small that generated documents are cut many times."""

FEW = settings(max_examples=max(5, settings().max_examples // 4))
"""For what another layer does to nodes, whatever their text."""


def small_parser(name: str) -> SpanNodeParser:
    return get_parser(name.removesuffix("-tokens"), **SMALL[name])


def parse(parser: SpanNodeParser, text: str, **metadata: object) -> list[TextNode]:
    """The nodes of one document."""
    return parser([Document(text=text, id_="doc", metadata=metadata)])  # type: ignore[return-value]


def assert_slices_in_order_that_cover(text: str, nodes: Sequence[TextNode]) -> None:
    """L1, L2, L3 and L11."""
    covered = bytearray(len(text))
    for node in nodes:
        assert text[node.start_char_idx : node.end_char_idx] == node.text
        assert node.text.strip()
        assert node.metadata[keys.TOKEN_COUNT] == count_tokens(node.text)
        covered[node.start_char_idx : node.end_char_idx] = b"\1" * len(node.text)
    for left, right in pairwise(nodes):
        assert left.start_char_idx < right.start_char_idx
        assert left.end_char_idx < right.end_char_idx
    assert not [i for i, character in enumerate(text) if not covered[i] and not character.isspace()]


def assert_clusters_are_whole(
    text: str, nodes: Sequence[TextNode], size: Callable[[str], int], limit: int
) -> None:
    """L5: only a cluster that alone exceeds the limit is cut, or blank space that was trimmed."""
    inside = {
        offset
        for match in regex.finditer(r"\X", text)
        if size(match.group()) <= limit
        for offset in range(match.start() + 1, match.end())
        if not text[offset - 1].isspace() and not text[offset].isspace()
    }
    for node in nodes:
        assert not {node.start_char_idx, node.end_char_idx} & inside


def assert_neighbours_share(
    text: str, nodes: Sequence[TextNode], size: Callable[[str], int], most: int
) -> None:
    """L6."""
    for left, right in pairwise(nodes):
        assert size(text[right.start_char_idx : left.end_char_idx]) <= most
