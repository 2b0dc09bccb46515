"""An indentation is not text: no node is made of it alone, however deep it is."""

from typing import Any

import pytest
from llama_index.core.schema import Document
from parser_laws import assert_slices_in_order_that_cover, parse

from rag_nodes.parsers import get_parser, leaf_nodes

DEEP = " \t" * 300
TEXT = f"Para one. Two more here.\n\n    {DEEP}x = 1\n    {DEEP}y = 2\n\nThe end."
PARSERS: list[tuple[str, dict[str, Any]]] = [
    ("token-overlap", {"chunk_size": 17, "chunk_overlap": 8, "whole_document_below": 0}),
    (
        "heading",
        {"chunk_size": 13, "min_chunk_size": 0, "split_only_if_over": 0, "oversize": "split"},
    ),
    ("heading", {"chunk_size": 13, "min_chunk_size": 0, "split_only_if_over": 0}),
    ("page", {"chunk_size": 19}),
    ("semantic", {"chunk_size": 16, "min_chunk_size": 1}),
    ("sentence", {"chunk_size": 1, "chunk_overlap": 0, "max_tokens": 16}),
    ("pdf-qa", {"chunk_size": 37}),
    ("recursive", {"chunk_size": 11, "chunk_overlap": 4}),
]


@pytest.mark.parametrize(("name", "options"), PARSERS)
def test_no_node_holds_only_an_indentation_that_exceeds_the_size(
    name: str, options: dict[str, Any]
) -> None:
    assert_slices_in_order_that_cover(TEXT, parse(get_parser(name, **options), TEXT))


def test_no_child_holds_only_an_indentation_that_exceeds_the_size() -> None:
    nodes = get_parser("parent-child")([Document(text=TEXT, id_="doc")])
    texts = [node.text for node in leaf_nodes(nodes)]
    assert len(texts) > 1
    assert all(text.strip() for text in texts)


def test_a_node_that_shares_sentences_holds_more_of_what_follows_than_its_indentation() -> None:
    family = "\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"  # 18 tokens
    text = f"One two three. Four five six seven.\n\n    {family}"
    parser = get_parser("token-overlap", chunk_size=20, chunk_overlap=8, whole_document_below=0)
    assert parser.split_text(text) == ["One two three. Four five six seven.", f"    {family}"]
