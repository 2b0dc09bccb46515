"""Column names for every node that begins inside a table."""

from __future__ import annotations

import pytest
from llama_index.core.schema import BaseNode, Document, MetadataMode, TextNode

from rag_nodes import EmbeddingGuard
from rag_nodes.core import metadata as keys
from rag_nodes.parsers import PRESETS, get_parser
from rag_nodes.text.tokens import count_tokens

HEADER = "| **name** | [value](https://a.example) |\n| --- | --- |"
ROWS = "\n".join(f"| item {n} | a value of some length for row {n} |" for n in range(400))
TABLE = f"{HEADER}\n{ROWS}"
TEXT = f"# A\n\nIntro.\n\n{TABLE}\n\n## B\n\nText below the table, which has no columns at all."


def _nodes(preset: str, text: str = TEXT) -> list[BaseNode]:
    return list(get_parser(preset)([Document(text=text, id_="tables")]))


def _begins_inside(node: BaseNode, start: int, end: int) -> bool:
    assert isinstance(node, TextNode)
    assert node.start_char_idx is not None
    return start < node.start_char_idx < end


@pytest.mark.parametrize("preset", PRESETS)
def test_nodes_that_begin_inside_a_table_and_no_others_have_its_header(preset: str) -> None:
    start = TEXT.index(TABLE)
    inside = 0
    for node in _nodes(preset):
        if _begins_inside(node, start, start + len(TABLE)):
            inside += 1
            assert node.metadata[keys.TABLE_HEADER] == HEADER
            assert node.metadata[keys.TABLE] == "name | value"
        else:
            assert keys.TABLE_HEADER not in node.metadata
            assert keys.TABLE not in node.metadata
    assert inside


def test_column_names_are_embedded_and_read_and_are_no_part_of_the_text() -> None:
    last = next(node for node in _nodes("retrieval") if "item 150" in node.get_content())
    expected = "Heading: A\nTable: name | value\n\n| item"
    assert last.get_content(MetadataMode.EMBED).startswith(expected)
    assert "Table: name | value" in last.get_content(MetadataMode.LLM)
    assert last.get_content().startswith("| item")


def test_a_node_of_a_plain_text_has_no_header() -> None:
    document = Document(text=TEXT, metadata={keys.TEXT_FORMAT: "plain"})
    assert not any(keys.TABLE_HEADER in node.metadata for node in get_parser("fixed")([document]))


def test_a_window_has_the_header_of_its_own_first_row() -> None:
    node = next(node for node in _nodes("sentence-window") if node.get_content().endswith("Intro."))
    assert keys.TABLE not in node.metadata[keys.WINDOW_PLACE]
    node = next(node for node in _nodes("sentence-window") if "item 150" in node.get_content())
    assert node.metadata[keys.WINDOW_PLACE][keys.TABLE] == "name | value"


@pytest.mark.parametrize("preset", ["fixed", "sentence", "recursive"])
def test_a_parser_behind_another_knows_the_table_that_its_fragment_begins_in(preset: str) -> None:
    first = get_parser("page", chunk_size=300)([Document(text=TEXT, id_="tables")])
    nodes = get_parser(preset)(first)
    start = TEXT.index(TABLE)
    for node in nodes:
        expected = HEADER if _begins_inside(node, start, start + len(TABLE)) else None
        assert node.metadata.get(keys.TABLE_HEADER) == expected


def test_pieces_for_the_embedding_model_have_their_own_header_within_its_limit() -> None:
    names = " | ".join(f"column {n}" for n in range(20))
    wide = f"| {names} |\n|{'---|' * 20}\n" + "\n".join(f"|{f' {n} |' * 20}" for n in range(40))
    text = f"# A\n\n{wide}\n\n" + "Words below the table. " * 60
    (whole,) = get_parser("page", chunk_size=7000)([Document(text=text)])
    guard = EmbeddingGuard(max_tokens=300)
    pieces = guard([whole])
    headed = [piece for piece in pieces if keys.TABLE in piece.metadata]
    assert 3 < len(headed) < len(pieces) - 2
    for piece in pieces:
        embedded = piece.get_content(MetadataMode.EMBED)
        assert count_tokens(embedded) <= guard.limit
        assert ("Table: column 0" in embedded) == piece.get_content().startswith("| ")
