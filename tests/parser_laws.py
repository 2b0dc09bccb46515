"""The laws about spans, as functions for tests of parsers that the shared tests do not reach."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from itertools import pairwise

import regex
from llama_index.core.schema import Document, TextNode

from rag_nodes import metadata as keys
from rag_nodes.parsers import SpanNodeParser
from rag_nodes.text.tokens import count_tokens


def parse(parser: SpanNodeParser, text: str, **metadata: object) -> list[TextNode]:
    """The nodes of one document, which must be the same when awaited (L7)."""
    document = Document(text=text, id_="doc", metadata=metadata)
    nodes = parser([document])
    awaited = asyncio.run(parser.acall([document]))
    assert [node.to_dict() for node in awaited] == [node.to_dict() for node in nodes]
    return nodes  # type: ignore[return-value]


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
    assert not [i for i, one in enumerate(text) if not covered[i] and not one.isspace()]


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
