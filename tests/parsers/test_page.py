"""PageNodeParser: pages as they are, long ones in parts."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core.schema import Document
from parser_laws import (
    assert_clusters_are_whole,
    assert_neighbours_share,
    assert_slices_in_order_that_cover,
    parse,
)
from strategies import TEXTS

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.page import PageNodeParser
from rag_nodes.text.tokens import count_tokens

PAGES = [f"Page {n} begins. " + "It has a few sentences. " * 9 + "It ends." for n in range(1, 6)]
TEXT = "\n\n".join(PAGES)
STARTS = [TEXT.index(page) for page in PAGES]


def test_every_page_is_a_node() -> None:
    nodes = parse(PageNodeParser(), TEXT, page_starts=STARTS)
    assert [node.text for node in nodes] == PAGES
    assert [node.metadata[keys.PAGE_START] for node in nodes] == [1, 2, 3, 4, 5]
    assert [node.metadata[keys.PAGE_END] for node in nodes] == [1, 2, 3, 4, 5]
    assert not any({keys.PART, keys.WHOLE_DOCUMENT} & node.metadata.keys() for node in nodes)


def test_a_page_over_the_size_is_split_between_sentences_and_its_parts_are_numbered() -> None:
    starts = [0, STARTS[1]]
    nodes = parse(PageNodeParser(chunk_size=100), TEXT, page_starts=starts)
    assert nodes[0].text == PAGES[0]
    assert keys.PART not in nodes[0].metadata
    rest = nodes[1:]
    assert [node.metadata[keys.PART] for node in rest] == list(range(1, len(rest) + 1))
    assert {node.metadata[keys.PARTS] for node in rest} == {len(rest)}
    assert {node.metadata[keys.PAGE_START] for node in rest} == {2}
    assert all(node.text.endswith(".") and count_tokens(node.text) <= 100 for node in rest)


def test_blank_pages_give_no_node() -> None:
    text = "One.\n\n \n\nThree."
    nodes = parse(PageNodeParser(), text, page_starts=[0, 5, 6, 9])
    assert [(node.text, node.metadata[keys.PAGE_START]) for node in nodes] == [
        ("One.", 1),
        ("Three.", 4),
    ]


@pytest.mark.parametrize(
    ("starts", "problem"),
    [
        ([4, 0], "are no sorted list of whole numbers"),
        ("0,4", "are no sorted list of whole numbers"),
        ([0, 4.5], "are no sorted list of whole numbers"),
        ([0, 99], "go up to 99, beyond the 7 characters of its text"),
        ([1, 4], "begin at 1, and there is text before that"),
        ([0, 4], ""),
        ([0, 0, 7], ""),
    ],
)
def test_page_starts_that_cannot_be_right_are_named_and_left_out(
    starts: object, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    document = Document(text="One two", metadata={keys.PAGE_STARTS: starts, "file_name": "a.pdf"})
    nodes = get_parser("page")([document])
    assert [keys.PAGE_START in node.metadata for node in nodes] == [not problem] * len(nodes)
    is_reported = [f"a.pdf: its page_starts {problem}" in message for message in caplog.messages]
    assert is_reported == ([True] if problem else [])


def test_a_document_without_pages_is_packed_as_one() -> None:
    (whole,) = parse(PageNodeParser(), TEXT)
    assert whole.text == TEXT
    assert whole.metadata[keys.WHOLE_DOCUMENT] is True
    parts = parse(PageNodeParser(chunk_size=100), TEXT)
    assert parts[-1].metadata[keys.PARTS] == len(parts) > 1
    assert PageNodeParser(chunk_size=100).split_text(TEXT) == [node.text for node in parts]


def test_behind_another_parser_a_node_is_split_at_the_pages_inside_it() -> None:
    document = Document(text=TEXT, id_="doc", metadata={keys.PAGE_STARTS: STARTS})
    first = get_parser("token-overlap", chunk_size=170, chunk_overlap=0, whole_document_below=0)
    between = first([document])
    assert len(between) > 1
    assert any(node.metadata.get(keys.PAGE_BREAKS) for node in between)
    nodes = PageNodeParser()(between)
    assert len(nodes) > len(between)
    for node in nodes:
        assert TEXT[node.start_char_idx : node.end_char_idx] == node.text
        assert node.metadata[keys.PAGE_START] == node.metadata[keys.PAGE_END]


def test_the_indentation_of_code_at_the_top_of_a_page_is_kept() -> None:
    text = "One.\n\n    code()\n    more()"
    nodes = parse(PageNodeParser(), text, page_starts=[0, 5])
    assert nodes[1].text == "    code()\n    more()"


def test_a_size_below_what_one_character_can_take_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="must be at least 8"):
        PageNodeParser(chunk_size=7)


@example(text="A\u0301 break inside a letter.", breaks=[1])
@given(text=TEXTS, breaks=st.lists(st.integers(1, 200), max_size=5))
def test_the_laws_hold_for_any_text_and_any_pages(text: str, breaks: list[int]) -> None:
    starts = sorted({0, *(min(start, len(text)) for start in breaks)}) if breaks else []
    nodes = parse(PageNodeParser(chunk_size=20), text, page_starts=starts)
    assert_slices_in_order_that_cover(text, nodes)
    assert_clusters_are_whole(text, nodes, count_tokens, 20)
    assert_neighbours_share(text, nodes, len, 0)
    assert all(count_tokens(node.text) <= 20 for node in nodes)
    for node in nodes if starts else ():
        first, last = node.start_char_idx or 0, (node.end_char_idx or 0) - 1
        assert node.metadata[keys.PAGE_START] == sum(start <= first for start in starts)
        assert node.metadata[keys.PAGE_END] == sum(start <= last for start in starts)


@pytest.mark.parametrize("preset", ["page", "token-overlap", "heading"])
def test_every_parser_says_the_same_of_a_node_that_starts_in_the_header_rows_of_a_table(
    preset: str,
) -> None:
    header = f"| {' | '.join(f'column {n}' for n in range(12))} |\n|{'---|' * 12}"
    text = f"# A\n\n{header}\n" + "| 1 " * 12 + "|\n" + "More prose below. " * 20
    size = count_tokens(header) - 4
    overlap = {"chunk_overlap": 0} if preset == "token-overlap" else {}
    nodes = parse(get_parser(preset, chunk_size=size, **_none_merged(preset), **overlap), text)
    inside = text.index(header), text.index(header) + len(header)
    (within,) = [node for node in nodes if inside[0] < node.start_char_idx < inside[1]]
    assert within.metadata[keys.TABLE_HEADER] == header


def _none_merged(preset: str) -> dict[str, int]:
    least = {"heading": "min_chunk_size", "token-overlap": "whole_document_below"}
    return {least[preset]: 0} if preset in least else {}
