"""Markdown blocks as they are seen from outside, with exact offsets."""

import gc

import pytest
from hypothesis import given
from strategies import TEXTS

from rag_nodes.text.markdown import Kind, scan_blocks


def scan_texts(text: str) -> list[tuple[str, str]]:
    return [(block.kind.value, text[block.start : block.end]) for block in scan_blocks(text)]


def test_each_kind_of_block_is_distinguished() -> None:
    text = (
        "---\ntitle: x\n---\n\n# H\n\npara one\nstill one\n\n- a\n  more a\n\n  of a\n- b\n\n"
        "| a | b |\n|---|---|\n| 1 | 2 |\n\n```py\ncode\n\n```\n\n    indented\n\n    too\n\n"
        "> quote\nlazy\n\n<!-- gone -->\n\n***\n\nlast `span\nover lines` here"
    )
    assert scan_texts(text) == [
        ("front_matter", "---\ntitle: x\n---"),
        ("heading", "# H"),
        ("paragraph", "para one\nstill one"),
        ("list", "- a\n  more a\n\n  of a\n- b"),
        ("table", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("code", "```py\ncode\n\n```"),
        ("code", "    indented\n\n    too"),
        ("quote", "> quote\nlazy"),
        ("html", "<!-- gone -->"),
        ("rule", "***"),
        ("code", "last `span\nover lines` here"),
    ]


def test_code_as_crawlers_write_it_is_one_block_blank_lines_included() -> None:
    text = "before\n\n`\n_10\nimport x\n\n_10\n# comment\n`\n\nafter"
    assert scan_texts(text)[1] == ("code", "`\n_10\nimport x\n\n_10\n# comment\n`")


def test_an_escaped_backtick_opens_no_code_span() -> None:
    assert [block.kind for block in scan_blocks("a: \\`\nb: \\`")] == [Kind.PARAGRAPH]


def test_a_table_knows_where_its_header_ends() -> None:
    text = "| a | b |\n|---|:-:|\n| 1 | 2 |"
    (table,) = scan_blocks(text)
    assert text[: table.header_end] == "| a | b |\n|---|:-:|"


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "a",
            " ",
            "\n",
            "\r",
            "\t",
            "\u2003",
            "#",
            "# a\n",
            "=\n",
            "a\n=\n",
            "```\n",
            "``\n\n",
            "`\n\n# a\n",
        ),
        *(
            "` `` ",
            "\\`",
            "| a\n",
            "|-|\n",
            "a|\n-|\n",
            "> ",
            "> a\n",
            ">\n",
            "- ",
            "- a\n",
            "- a\n\n",
            "1. ",
        ),
        *(
            "  - a\n",
            "<",
            "<a b ",
            "<!--\n\n",
            "<pre>\n",
            "a\n<b\n",
            "[",
            "[a]: b\n",
            "[a",
            "---\n",
            "* ",
        ),
        *("    a\n\n", "1990 was\n", "-\n\n", "> - ", "- >\n", "> ```\n"),
    ],
)
def test_long_repetitions_are_blocks_that_hold_everything(pattern: str) -> None:
    repeated = pattern * (10_000 // len(pattern))
    for text in (repeated, f"> - {repeated}", f"---\n{repeated}", f"{repeated}x\n==="):
        holds_everything(text)


@given(text=TEXTS)
def test_blocks_are_ordered_disjoint_and_hold_every_visible_character(text: str) -> None:
    holds_everything(text)


def holds_everything(text: str) -> None:
    end = 0
    for block in scan_blocks(text):
        assert block.start >= end
        assert not text[end : block.start].strip()
        assert text[block.start : block.end].strip()
        end = block.end
    assert not text[end:].strip()


def test_nothing_of_a_scanned_text_is_left_to_the_garbage_collection() -> None:
    gc.collect()
    gc.disable()
    try:
        assert len(list(scan_blocks("# A\n\n- b\n\nc"))) == 3
        assert gc.collect() == 0
    finally:
        gc.enable()
