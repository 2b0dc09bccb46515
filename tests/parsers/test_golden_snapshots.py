"""What every preset makes of the example corpus, written down: no cut moves unnoticed.

One row per node. After a change that is meant: `pytest tests/parsers/test_golden_snapshots.py
--snapshot-update`, then read the difference.
"""

from functools import cache
from pathlib import Path

import pytest
from llama_index.core.schema import Document, NodeRelationship, TextNode
from syrupy.assertion import SnapshotAssertion

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.readers import read

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
FILES = ("handbook.pdf", "handbook.txt", "manual.md")
WRITTEN_DOWN = (
    "fixed",
    "heading",
    "token-overlap",
    "web",
    "semantic",
    "recursive",
    "retrieval",
    "sentence",
    "pdf-qa",
    "sentence-window",
    "page",
    "parent-child",
    "auto",
)
"""Presets whose cuts are settled; a new one is added once they are."""
EXCERPT = 30
"""Characters shown of either end of a node."""


@cache
def document_of(name: str) -> Document:
    document = read(CORPUS / name)
    # Its own metadata hold the path of this checkout, and nothing below depends on them.
    return Document(
        text=document.text,
        id_=name,
        metadata={
            key: document.metadata[key] for key in (keys.PAGE_STARTS,) if key in document.metadata
        },
    )


def rows_of(parser: SpanNodeParser, document: Document) -> str:
    nodes = [node for node in parser([document]) if isinstance(node, TextNode)]
    number_of = {node.node_id: number for number, node in enumerate(nodes)}
    return "\n".join(row_of(node, number_of) for node in nodes)


def row_of(node: TextNode, number_of: dict[str, int]) -> str:
    facts = node.metadata
    pages = f"p{facts[keys.PAGE_START]}-{facts[keys.PAGE_END]}" if keys.PAGE_START in facts else ""
    cells = [
        f"{node.start_char_idx}-{node.end_char_idx}",
        pages,
        f"{facts[keys.TOKEN_COUNT]} tokens",
        " > ".join(facts.get(keys.HEADING_PATH, ())),
        excerpt_of(node.text),
        *flags_of(node, number_of),
    ]
    return " | ".join(cell for cell in cells if cell)


def excerpt_of(text: str) -> str:
    if len(text) <= 2 * EXCERPT:
        return repr(text)
    return f"{text[:EXCERPT]!r} … {text[-EXCERPT:]!r}"


def flags_of(node: TextNode, number_of: dict[str, int]) -> list[str]:
    facts = node.metadata
    flags = [key for key in (keys.OVERSIZED, keys.WHOLE_DOCUMENT) if facts.get(key)]
    if keys.BLOCKS in facts:
        flags.append("+".join(facts[keys.BLOCKS]))
    if keys.PART in facts:
        flags.append(f"part {facts[keys.PART]} of {facts[keys.PARTS]}")
    if keys.TABLE_HEADER in facts:
        flags.append(f"continues {facts[keys.TABLE_HEADER]!r}")
    if keys.HEADINGS_INSIDE in facts:
        flags.append(f"{len(facts[keys.HEADINGS_INSIDE])} headings inside")
    if "window" in facts:
        flags.append(f"window of {len(facts['window'])} characters")
    if keys.DECISION in facts:
        flags.append(f"chose {facts[keys.DECISION].partition(':')[0]}")
    if NodeRelationship.PARENT in node.relationships and node.parent_node:
        flags.append(f"child of row {number_of[node.parent_node.node_id]}")
    return flags


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", WRITTEN_DOWN)
def test_every_settled_preset_splits_the_example_corpus_as_written_down(
    name: str, file: str, snapshot: SnapshotAssertion
) -> None:
    assert rows_of(get_parser(name), document_of(file)) == snapshot


def test_a_row_shows_a_split_that_moved_by_one_character_and_text_that_changed() -> None:
    document = document_of("handbook.txt")
    rows = rows_of(get_parser("fixed"), document).splitlines()
    shorter = rows_of(get_parser("fixed", chunk_size=999), document).splitlines()
    assert not set(rows) & set(shorter)
    changed = Document(text=f"{document.text[:-1]}?", id_="d")
    other = rows_of(get_parser("fixed"), changed).splitlines()
    assert [row for row, before in zip(other, rows, strict=True) if row != before] == [other[-1]]
