"""Headings at an offset, and the nodes that hold a span."""

import pytest
from llama_index.core.schema import TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.query.locations import covering, headings_of
from rag_nodes.text.spans import Span


def node_at(start: int, end: int, **metadata: object) -> TextNode:
    text = "x" * (end - start)
    return TextNode(text=text, start_char_idx=start, end_char_idx=end, metadata=metadata)


@pytest.mark.parametrize(("offset", "path"), [(9, ("A",)), (10, ("A", "B")), (11, ("A", "B"))])
def test_a_heading_stands_above_the_text_from_its_first_character_on(
    offset: int, path: tuple[str, ...]
) -> None:
    headings = {keys.HEADING_PATH: ["A"], keys.HEADINGS_INSIDE: [[110, ["A", "B"]]]}
    assert headings_of(node_at(100, 120, **headings), offset) == path


def test_a_span_is_held_by_as_few_nodes_as_possible() -> None:
    short, whole, rest = node_at(0, 10), node_at(0, 20), node_at(10, 20)
    assert covering([short, whole, rest], Span(0, 20)) == [whole]
    assert covering([short, rest], Span(0, 20)) == [short, rest]
