"""Which texts are read as Markdown, and what is seen in those that are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from rag_nodes.text.formats import Format, blocks_of, format_of, is_raw_html
from rag_nodes.text.markdown import LONGEST_HEADING, Block, Kind

RST = """=======
Drivers
=======

The core calls a driver like this::

    # echo 1 > enable

Probing
~~~~~~~

A driver is probed once.

.. note::

   It may be probed late.
"""
MARKDOWN = "# Drivers\n\n- [probing](#probing)\n\n## Probing\n\nA driver is probed once.\n"


def headings(text: str) -> list[tuple[int, str]]:
    blocks = blocks_of(text, Format.PLAIN)
    return [(b.level, b.title.of(text)) for b in blocks if b.kind is Kind.HEADING]


@pytest.mark.parametrize(
    ("text", "file_name", "expected"),
    [
        (RST, "", Format.PLAIN),
        (RST, "drivers.txt", Format.PLAIN),
        (RST.replace("\n", "\r\n"), "drivers.txt", Format.PLAIN),
        (RST, "drivers.md", Format.MARKDOWN),
        (MARKDOWN, "", Format.MARKDOWN),
        (MARKDOWN, "llms.txt", Format.MARKDOWN),
        (MARKDOWN.replace("\n", "\r"), "llms.txt", Format.MARKDOWN),
        (MARKDOWN, "drivers.rst", Format.PLAIN),
        ("Nothing but prose.\n\nOf two paragraphs.", "", Format.MARKDOWN),
        ("Nothing but prose.\n\n- and a list", "notes.TXT", Format.PLAIN),
        ("", "", Format.MARKDOWN),
        ("~~~~ {.sh}\nmake all the tests run\n~~~~\n\nProse.", "", Format.MARKDOWN),
        ("====\nPump\n====\n\nIt runs.", "", Format.PLAIN),
    ],
)
def test_file_name_and_marks_say_what_a_text_is(
    text: str, file_name: str, expected: Format
) -> None:
    assert format_of(text, file_name) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (RST, [(1, "Drivers"), (2, "Probing")]),
        (
            "Part\n----\n\nChapter\n~~~~~~~\n\nNext\n----\ntext",
            [(1, "Part"), (2, "Chapter"), (1, "Next")],
        ),
        ("====\nA\n====\n\nB\n====\n\n====\nC\n====", [(1, "A"), (2, "B"), (1, "C")]),
        ("A title\n^^^^^^^^^^\nB title\n*******", [(1, "A title"), (2, "B title")]),
        ("A title\r\n^^^^^^^\r\ntext", [(1, "A title")]),
        ("Longer than its line\n~~~~", []),
        ("Two lines are\nno title\n~~~~~~~~~~~~~", []),
        ("   An example\n   ==========", []),
        ("----\n====\n----", []),
        ("=====  =====\nleft   right\n=====  =====", []),
        ("# no heading\n\n```\n\n    ## none either", []),
        ("Bob\n--", []),
        (f"{'word ' * 60}\n{'=' * 300}", []),
        (
            "\n".join(f"T{n}\n{mark * 4}\n" for n, mark in enumerate('=-~^+*#"')),
            [
                (1, "T0"),
                (2, "T1"),
                (3, "T2"),
                (4, "T3"),
                (5, "T4"),
                (6, "T5"),
                (6, "T6"),
                (6, "T7"),
            ],
        ),
    ],
)
def test_underlined_titles_are_headings_in_order_of_their_styles(
    text: str, expected: list[tuple[int, str]]
) -> None:
    assert headings(text) == expected


def test_a_line_of_tildes_opens_no_fence_in_plain_text() -> None:
    text = "Above.\n\n~~~~~~~~\n\nBelow.\n\n```\n\nFurther below."
    kinds = [(b.kind, text[b.start : b.end]) for b in blocks_of(text, Format.PLAIN)]
    assert kinds == [(Kind.PARAGRAPH, part) for part in text.split("\n\n")]


def test_the_indentation_of_a_plain_paragraph_belongs_to_it() -> None:
    text = "\n  First.\n \t\n\n    Second,\n    two lines.  \n"
    assert [text[b.start : b.end] for b in blocks_of(text, Format.PLAIN)] == [
        "  First.",
        "    Second,\n    two lines.",
    ]


@given(text=st.one_of(TEXTS, st.text(alphabet="ab=-~ \n\r\t\x0b", max_size=80)))
def test_plain_blocks_are_ordered_disjoint_and_hold_every_visible_character(text: str) -> None:
    end = 0
    for block in blocks_of(text, Format.PLAIN):
        assert block.start >= end
        assert not text[end : block.start].strip()
        assert text[block.start : block.end].strip()
        assert_title_inside(block)
        end = block.end
    assert not text[end:].strip()


def assert_title_inside(block: Block) -> None:
    if block.kind is Kind.HEADING:
        assert block.start <= block.title.start < block.title.end <= block.end
        assert block.title.length <= LONGEST_HEADING


@pytest.mark.parametrize(
    ("text", "metadata", "expected"),
    [
        ("\ufeff<!DOCTYPE html><p>Tea.", {}, True),
        ("<?xml version='1.0'?><html xmlns='x'>", {}, True),
        ("<!-- a - b -- c -->\n<!-- d -->\n<!DOCTYPE html>", {}, True),
        ("\n<body class='a'>Tea.</body>", {}, True),
        ("<head><title>Tea</title></head>", {}, True),
        ("<div>Tea.</div>", {"file_name": "tea.HTM"}, True),
        ("\ufeff <p>Tea.", {"file_type": "application/xhtml+xml"}, True),
        ("<div align='center'>Tea.</div>", {"file_name": "README.md"}, False),
        ("<header>Tea.</header>", {}, False),
        ("<https://tea.example>", {"file_name": "tea.html", "text_format": "markdown"}, False),
        ("# Tea", {"file_name": "tea.html", "file_type": "text/html"}, False),
        ("<!-- a note -->\n# Tea", {}, False),
    ],
)
def test_raw_html_is_told_by_its_beginning_and_the_name_of_its_file(
    text: str, metadata: dict[str, str], expected: bool
) -> None:
    assert is_raw_html(text, metadata) is expected
