"""Whether a piece of a text begins or ends inside a word, a line or a sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import Document

from rag_nodes.parsers import get_parser
from rag_nodes.text import edges
from rag_nodes.text.edges import EdgeFinder, Edges
from rag_nodes.text.formats import Format, blocks_of
from rag_nodes.text.markdown import Block
from rag_nodes.text.sentences import sentence_spans
from rag_nodes.text.spans import Span

TEXT = (
    "# Water\n\nThe filter is rinsed. It takes Dr. Low ten\nminutes in summer.\n\n"
    "- at once\n- daily\n"
)
TABLE = "| part | bar |\n|---|---|\n| valve | 2.4 |\n\n```sh\nrun it\n\nrun all\n```\n"


def edges_of(text: str, span: Span, text_format: Format = Format.MARKDOWN) -> Edges:
    return EdgeFinder(text, text_format).of(span)


def _edges(text: str, piece: str, text_format: Format = Format.MARKDOWN) -> Edges:
    start = text.index(piece)
    return edges_of(text, Span(start, start + len(piece)), text_format)


@pytest.mark.parametrize(
    ("piece", "start", "end"),
    [
        ("The filter is rinsed.", None, None),
        ("\n\nThe filter is rinsed. ", None, None),
        ("e filter is rins", "word", "word"),
        ("filter is rinsed. It takes", "sentence", "sentence"),
        ("It takes Dr.", None, "sentence"),
        ("minutes in summer.\n", "sentence", None),
        ("- at once", None, None),
        ("# Water", None, None),
    ],
)
def test_a_piece_of_prose_says_what_it_splits_in_two(
    piece: str, start: str | None, end: str | None
) -> None:
    assert _edges(TEXT, piece) == (start, end)


@pytest.mark.parametrize(
    ("piece", "start", "end"),
    [
        ("| valve | 2.4 |", None, None),
        ("|---|---|\n| valve |", None, "line"),
        ("2.4 |", "line", None),
        ("run it\n", None, None),
        ("it\n\nrun", "line", "line"),
        ("run all\n```", None, None),
    ],
)
def test_rows_and_lines_of_code_may_be_parted_but_not_split(
    piece: str, start: str | None, end: str | None
) -> None:
    assert _edges(TABLE, piece) == (start, end)


SENTENCES = "One sentence is here. Another is there. A third one ends it."


def test_an_underline_of_tildes_makes_no_lines_of_code_out_of_the_sentences_below_it() -> None:
    text = f"Title\n~~~~~\n\n{SENTENCES}\n"
    assert _edges(text, "Another is there.", Format.PLAIN) == Edges()


@pytest.mark.parametrize("code", ["```\ncode here\n```", "~~~\n```\n~~~", "````\n```\n````"])
def test_no_fence_makes_lines_of_code_out_of_the_sentences_below_its_block(code: str) -> None:
    text = f"{code}\n\n{SENTENCES}\n"
    assert _edges(text, "Another is there.") == Edges()
    assert _edges(text, code) == Edges()
    assert _edges(text, code[:-4]) == Edges()


def test_a_text_is_scanned_for_code_once_however_many_pieces_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scanned: list[str] = []

    def note_scan(text: str, text_format: Format) -> list[Block]:
        scanned.append(text)
        return blocks_of(text, text_format)

    monkeypatch.setattr(edges, "blocks_of", note_scan)
    text = "```\nx = 1\n```\n\nIt rains. Water flows.\n\n" * 40
    finder = EdgeFinder(text, Format.MARKDOWN)
    cut = [finder.of(Span(at, at + 20)) for at in range(0, len(text), 20)]
    assert any(span.start for span in cut)
    assert scanned == [text]


def test_scripts_without_blanks_between_words_have_sentences_only() -> None:
    text = "水是干净的。泵在运行。"
    assert _edges(text, "水是") == (None, "sentence")
    assert _edges(text, "泵在运行。") == (None, None)


@given(st.lists(st.sampled_from(["It rains. ", "Water flows ", "down. ", "\n\n"])).map("".join))
def test_whole_sentences_split_nothing(text: str) -> None:
    assert {edges_of(text, span) for span in sentence_spans(text)} <= {Edges()}


def test_fixed_windows_split_words_where_whole_sentences_do_not() -> None:
    text = "The machine needs oil on every second day. " * 60
    cut = {}
    for name in ("fixed", "sentence"):
        nodes = get_parser(name).get_nodes_from_documents([Document(text=text)])
        spans = [Span(node.start_char_idx, node.end_char_idx) for node in nodes]
        cut[name] = [side for span in spans for side in edges_of(text, span) if side]
    assert "word" in cut["fixed"]
    assert cut["sentence"] == []


def test_an_item_begins_again_however_long_the_one_above_it_is() -> None:
    text = "1. The filter is rinsed with plenty of water and dried\n2. The pump stops"
    assert _edges(text, "2. The pump stops") == (None, None)
