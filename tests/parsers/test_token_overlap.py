"""TokenOverlapNodeParser: the defaults of S2 and the six defects of its sketch (S2-16)."""

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from llama_index.core.schema import Document, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import TokenOverlapNodeParser, get_parser
from rag_nodes.parsers.sizes import best_start
from rag_nodes.text.tokens import count_tokens

SENTENCE = "The pump in the north house starts when the soil is dry. "


def parse(text: str, **options: int) -> list[TextNode]:
    parser = get_parser("token-overlap", **options)
    return parser([Document(text=text, id_="doc", metadata={"author": "us"})])  # type: ignore[return-value]


def paragraphs(count: int, sentences: int = 5) -> str:
    return "\n\n".join(f"Paragraph {n}. " + SENTENCE * sentences for n in range(count))


def test_s2_06_a_document_under_500_tokens_is_one_node() -> None:
    text = paragraphs(6)
    assert 300 < count_tokens(text) < 500
    (node,) = parse(text)
    assert node.metadata[keys.WHOLE_DOCUMENT] is True


def test_s2_03_nodes_end_at_paragraphs_and_never_inside_a_sentence() -> None:
    nodes = parse(paragraphs(60))
    assert len(nodes) > 4
    assert all(node.text.endswith("dry.") for node in nodes)
    assert all(node.text.startswith(("Paragraph", "The pump")) for node in nodes)


def test_s2_16_defect_1_a_paragraph_over_the_size_is_split_at_sentences() -> None:
    nodes = parse(SENTENCE * 200)
    assert len(nodes) > 2
    assert all(node.text.startswith("The pump") and node.text.endswith("dry.") for node in nodes)


def test_s2_16_defect_2_tokens_between_paragraphs_count() -> None:
    text = "\n\n\n\n".join("word" for _ in range(2000))
    for node in parse(text, chunk_size=50, chunk_overlap=10):
        assert count_tokens(node.text) <= 50


def test_s2_16_defect_3_the_limit_holds_with_the_overlap_included() -> None:
    text = "\n\n".join(SENTENCE * (1 + n % 9) for n in range(60))
    for node in parse(text, chunk_size=120, chunk_overlap=60):
        assert count_tokens(node.text) <= 120


def test_s2_16_defect_4_overlap_is_there_also_where_paragraphs_are_longer_than_it() -> None:
    nodes = parse("\n\n".join(SENTENCE * 20 for _ in range(8)), chunk_size=300)
    for left, right in pairwise(nodes):
        assert right.start_char_idx < left.end_char_idx


def test_s2_16_defect_5_no_two_nodes_share_a_metadata_dict() -> None:
    first, second, *_ = parse(paragraphs(60))
    first.metadata["author"] = "changed"
    assert second.metadata["author"] == "us"


def test_s2_16_defect_6_page_and_offsets_are_set() -> None:
    text = paragraphs(60)
    middle = text.index("Paragraph 30")
    document = Document(text=text, metadata={keys.PAGE_STARTS: [0, middle], keys.TOTAL_PAGES: 2})
    nodes = TokenOverlapNodeParser()([document])
    assert nodes[0].metadata[keys.PAGE_START] == 1
    assert nodes[-1].metadata[keys.PAGE_END] == 2
    crossing = [node for node in nodes if node.metadata.get(keys.PAGE_BREAKS)]
    assert [node.metadata[keys.PAGE_BREAKS] for node in crossing] == [[middle]] * len(crossing)
    assert crossing
    assert crossing[0].metadata[keys.PAGE_START] == 1
    assert crossing[0].metadata[keys.PAGE_END] == 2
    assert all(keys.PAGE_STARTS not in node.metadata for node in nodes)


def test_s2_07_a_table_is_split_between_rows_and_its_header_goes_along() -> None:
    rows = "\n".join(f"| item {n} | a value of some length for row {n} |" for n in range(60))
    table = "| name | value |\n| --- | --- |\n" + rows
    nodes = parse("Intro.\n\n" + table, chunk_size=100, chunk_overlap=0)
    assert len(nodes) > 5
    assert nodes[0].text.startswith("Intro.")
    for node in nodes[1:]:
        assert node.text.startswith("| item")
        assert node.text.endswith("|")
        assert node.metadata[keys.TABLE_HEADER] == "| name | value |\n| --- | --- |"


def test_s2_07_a_table_that_fits_is_not_split() -> None:
    table = "| name | value |\n| --- | --- |\n" + "| a | b |\n" * 10
    nodes = parse(SENTENCE * 6 + "\n\n" + table, chunk_size=100, chunk_overlap=20)
    assert any(node.text.endswith(table.strip()) for node in nodes)


def test_s2_07_a_list_is_split_between_items() -> None:
    items = "\n".join(f"- item {n} is about something of its own" for n in range(60))
    nodes = parse(items, chunk_size=80, chunk_overlap=0)
    assert len(nodes) > 3
    assert all(node.text.startswith("- item") for node in nodes)


def test_s2_18_only_blank_lines_give_no_node() -> None:
    assert parse("\n\n \n\t\n") == []


def test_s2_18_ten_pages_give_the_expected_number_of_nodes() -> None:
    page = " ".join([SENTENCE.strip()] * 42)
    text = "\n\n".join([page] * 10)
    # A page and the sentences shared with the one before fit together; two pages do not.
    assert 750 / 2 < count_tokens(page) < 650
    nodes = parse(text)
    assert len(nodes) == 10
    assert all(page in node.text for node in nodes)


def test_a_long_paragraph_is_begun_where_the_one_before_leaves_room() -> None:
    first, second, *_ = parse("Short intro.\n\n" + SENTENCE * 100, chunk_size=200)
    assert first.text.startswith("Short intro.")
    assert count_tokens(first.text) > 150
    assert count_tokens(second.text) > 150


def test_no_node_ends_with_a_heading() -> None:
    text = "\n\n".join(f"{SENTENCE * 7}\n\n## Heading {n}" for n in range(20)) + "\n\nEnd."
    for node in parse(text, chunk_size=150, chunk_overlap=30):
        assert not node.text.splitlines()[-1].startswith("##")


@pytest.mark.parametrize(
    ("candidates", "paragraph_end", "size", "start"),
    [
        ((), 150, 100, 100),
        ((60, 80, 95), 150, 100, 60),
        ((60, 80, 95), 150, 75, 80),
        ((60, 80, 95), 150, 45, 80),
        ((60, 80, 95), 150, 10, 95),
    ],
    ids=[
        "no overlap",
        "all of it leaves room for the next paragraph",
        "less of it leaves room for the next paragraph",
        "less of it leaves room for the next sentence",
        "nothing leaves room",
    ],
)
def test_the_overlap_is_shortened_only_to_keep_what_follows_whole(
    candidates: tuple[int, ...], paragraph_end: int, size: int, start: int
) -> None:
    packer: Any = SimpleNamespace(
        visible_from=lambda offset: offset,
        tokens=SimpleNamespace(estimate=lambda low, high: high - low),
        block_at=lambda _: SimpleNamespace(end=paragraph_end),
        unit_end=lambda offset: offset + 20,
    )
    assert best_start(packer, candidates, 100, size) == start
