"""Tables of a text, and the names of their columns on one line."""

from __future__ import annotations

import pytest

from rag_nodes.text.formats import Format
from rag_nodes.text.tables import (
    MAX_CELL_CHARACTERS,
    MAX_HEADER_CHARACTERS,
    MAX_LINE_CHARACTERS,
    Tables,
    column_names,
)

HEADER = "| a | b |\n|---|---|"


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ("| a | b |", "a | b"),
        ("a | b", "a | b"),
        (r"| a \| b | c |", "a | b | c"),
        ('| **a** | `b_c` | _d_ | [e](https://e.example "title") |', "a | b_c | d | e"),
        ("| <b>a</b><br>b | ![logo](logo.png) |", "a b | logo"),
        ("|  | 2016 |  |", "| 2016 |"),
        ("|  |  |", ""),
    ],
)
def test_column_names_have_no_markup(row: str, expected: str) -> None:
    columns = row.count("|") + 1
    assert column_names(f"{row}\n|{'---|' * columns}") == expected


def test_column_names_of_a_hostile_header_are_short() -> None:
    cell = "<script>alert(1)</script> " + "x" * 500
    names = column_names(f"| {' | '.join([cell] * 50)} |")
    assert "<" not in names
    assert max(map(len, names.split(" | "))) == MAX_CELL_CHARACTERS
    assert len(names) <= MAX_LINE_CHARACTERS + len(" | …")
    assert names.endswith(" | …")


def test_a_table_with_an_enormous_header_has_none() -> None:
    text = f"| {'x' * MAX_HEADER_CHARACTERS} | b |\n|---|---|\n| 1 | 2 |"
    assert Tables.of(text, Format.MARKDOWN).header_at(len(text) - 2) == ""


def test_the_first_character_of_a_table_and_what_follows_it_are_not_inside() -> None:
    text = f"Above.\n\n{HEADER}\n| 1 | 2 |\n\nBelow."
    tables = Tables.of(text, Format.MARKDOWN)
    headers = [tables.header_at(text.index(words)) for words in ("Above", "| a", "| 1", "Below")]
    assert headers == ["", "", HEADER, ""]


@pytest.mark.parametrize("part", ["| 1 | 2 |", " 2 |\n| 3 | 4 |", "\n| 1 | 2 |", "---|---|\n| 1 |"])
def test_a_part_of_a_table_is_inside_it_up_to_its_end(part: str) -> None:
    text = f"{part}\n\n# Below\n\n| c | d |\n|---|---|\n| 5 | 6 |"
    tables = Tables.of(text, Format.MARKDOWN, HEADER)
    assert tables.header_at(0) == HEADER
    assert tables.header_at(text.index("# Below")) == ""
    assert tables.header_at(text.index("| 5")) == "| c | d |\n|---|---|"


def test_plain_text_and_code_have_no_tables() -> None:
    text = f"{HEADER}\n| 1 | 2 |"
    assert not Tables.of(text, Format.PLAIN).tables
    assert not Tables.of(f"```\n{text}\n```", Format.MARKDOWN).tables
