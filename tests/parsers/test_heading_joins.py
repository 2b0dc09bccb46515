"""HeadingHierarchyNodeParser leaves no short node beside one that has room, and is honest of it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from crawls import WORDS, page, write_crawl
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core.schema import Document, TextNode
from strategies import MARKDOWN

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import HeadingHierarchyNodeParser
from rag_nodes.readers import read_all
from rag_nodes.text.markdown import Kind, scan_blocks
from rag_nodes.text.tokens import count_tokens

OPTIONS: dict[str, dict[str, Any]] = {
    "narrow": {"chunk_size": 24, "min_chunk_size": 12},
    "least is most": {"chunk_size": 16, "min_chunk_size": 16},
    "wide": {"chunk_size": 60, "min_chunk_size": 10, "oversize": "split"},
    "shared": {"chunk_size": 24, "chunk_overlap": 9, "min_chunk_size": 8},
    "shallow": {"chunk_size": 30, "min_chunk_size": 10, "max_level": 2},
    "semantic": {"chunk_size": 30, "min_chunk_size": 10, "long_sections": "semantic"},
}

_body = st.integers(0, 40).map(lambda words: " ".join(["Word"] + ["word"] * words) + ".")
_code = st.integers(1, 30).map(lambda lines: "```\n" + "call()\n" * lines + "```")
_section = st.tuples(
    st.integers(1, 4).map(lambda level: "#" * level + " Heading"),
    st.lists(st.one_of(_body, _body, _code), max_size=3),
)
SECTIONS = st.tuples(st.one_of(st.just(""), _body), st.lists(_section, max_size=12)).map(
    lambda parts: "\n\n".join(
        [parts[0], *(block for heading, body in parts[1] for block in (heading, *body))]
    )
)
"""Documents of headings with short, long and no text under them."""


def parse(text: str, title: str = "", **options: Any) -> list[TextNode]:
    parser = HeadingHierarchyNodeParser(**options)
    metadata = {keys.TITLE: title} if title else {}
    return parser([Document(text=text, id_="doc", metadata=metadata)])  # type: ignore[return-value]


def short_with_room(text: str, nodes: list[TextNode], least: int, most: int) -> list[str]:
    """Nodes below the least size that would fit into one node together with a neighbour."""
    shorter = []
    for left, right in pairwise(nodes):
        sizes = [count_tokens(node.text) for node in (left, right)]
        both = count_tokens(text[left.start_char_idx : right.end_char_idx])
        if min(sizes) < least and both <= most:
            shorter.append((left if sizes[0] <= sizes[1] else right).text)
    return shorter


EVERY = pytest.mark.parametrize("name", OPTIONS)


@EVERY
@given(text=MARKDOWN)
def test_no_node_is_below_the_least_size_where_a_neighbour_has_room(name: str, text: str) -> None:
    options = OPTIONS[name]
    nodes = parse(text, **options)
    assert not short_with_room(text, nodes, options["min_chunk_size"], options["chunk_size"])


@EVERY
@example(text="# A\n\n" + "Word word. " * 15 + "\n\n# B\n\nTiny.\n\n# C\n\n" + "Word word. " * 15)
@given(text=SECTIONS)
def test_joining_splits_no_code_keeps_to_the_size_and_names_headings_that_are_there(
    name: str, text: str
) -> None:
    options = OPTIONS[name]
    nodes = parse(text, title="Title", **options)
    assert not short_with_room(text, nodes, options["min_chunk_size"], options["chunk_size"])
    blocks = list(scan_blocks(text))
    ends = {offset for n in nodes for offset in (n.start_char_idx, n.end_char_idx)}
    ceiling = options["chunk_size"] * (1 if options.get("oversize") == "split" else 4)
    above = 0
    for block in blocks:
        if block.kind is Kind.CODE and (
            count_tokens(text[block.start : block.end]) <= options["chunk_size"]
            or count_tokens(text[above : block.end]) <= ceiling  # with its headings
        ):
            assert not [end for end in ends if end and block.start < end < block.end]
        above = above if block.kind is Kind.HEADING else block.end
    headings = {text[block.title.start : block.title.end] for block in blocks if block.level}
    for node in nodes:
        assert node.metadata.get(keys.OVERSIZED) or (
            count_tokens(node.text) <= options["chunk_size"]
        )
        assert set(node.metadata[keys.HEADING_PATH]) <= headings | {"Title"}


LINE = "The machine draws water from the tank and heats it. "


def test_a_short_section_behind_a_long_one_joins_its_last_part() -> None:
    text = f"# Guide\n\n## Long\n\n{LINE * 24}\n\n## Note\n\nTiny."
    nodes = parse(text, chunk_size=200, min_chunk_size=50)
    assert nodes[-1].text.endswith("## Note\n\nTiny.")
    assert nodes[-1].text.startswith("The machine")
    assert nodes[-1].metadata[keys.HEADING_PATH] == ["Guide", "Long"]


def test_a_short_end_of_a_long_section_joins_the_short_section_behind_it() -> None:
    table = "| a | b |\n| --- | --- |\n" + "| one | two |\n" * 28
    text = f"# Guide\n\n{LINE * 2}\n\n{table}\n\n## Note\n\nTiny. {LINE * 3}"
    nodes = parse(text, chunk_size=120, min_chunk_size=60)
    assert not short_with_room(text, nodes, 60, 120)
    assert nodes[-1].metadata[keys.HEADING_PATH] in (["Guide"], ["Guide", "Note"])


def test_a_node_of_two_sections_is_no_numbered_part_of_either() -> None:
    text = f"# Guide\n\n## Long\n\n{LINE * 40}\n\n## Note\n\nTiny."
    *parts, joined = parse(text, chunk_size=200, min_chunk_size=50)
    assert keys.PART not in joined.metadata
    assert [node.metadata.get(keys.PARTS) for node in parts] == [2, 2]
    assert [path for _, path in joined.metadata[keys.HEADINGS_INSIDE]] == [["Guide", "Note"]]


def test_a_short_part_stays_with_its_own_section_where_both_neighbours_have_room() -> None:
    code = "```\n" + "call()\n" * 30 + "```"
    text = f"# A\n\n{LINE}\n\n# B\n\n{code}\n\nAfter the code.\n\n# C\n\n{LINE * 2}"
    nodes = parse(text, chunk_size=100, min_chunk_size=20)
    (holding,) = [node for node in nodes if "After the code." in node.text]
    assert "```" in holding.text


BREADCRUMB = f"Docs\n\n# Custom mail server\n\n{LINE * 3}\n\n## Limits\n\n{LINE * 3}"


@pytest.mark.parametrize("size", [60, 100, 1000])
def test_a_breadcrumb_above_the_first_h1_is_filed_under_the_h1_and_not_the_title(size: int) -> None:
    first, *others = parse(
        BREADCRUMB, title="Custom mail server | Docs", chunk_size=size, min_chunk_size=60
    )
    assert first.text.startswith("Docs\n\n# Custom mail server")
    assert first.metadata[keys.HEADING_PATH] == ["Custom mail server"]
    assert all(n.metadata[keys.HEADING_PATH][0] == "Custom mail server" for n in others)


def test_text_above_the_first_h1_that_is_long_enough_is_a_node_under_the_title() -> None:
    text = f"{LINE * 6}\n\n# One\n\n{LINE * 6}"
    first, second = parse(text, title="Manual", chunk_size=100, min_chunk_size=20)
    assert first.metadata[keys.HEADING_PATH] == ["Manual"]
    assert second.metadata[keys.HEADING_PATH] == ["One"]


def crawl_pages(folder: Path) -> list[Document]:
    """Pages as documentation sites have them: a breadcrumb, stubs, tables, code spans, tails."""
    code = "`\n_10\n" + "fill(litres=9)\n_10\n" * 20 + "`"
    table = "| name | value |\n| --- | --- |\n" + "| litres | nine of them |\n" * 30
    sections = [
        f"## Start [\\#](\\#start)\n\n{WORDS * 2}",
        "## Terms\n\nTiny.",
        f"## Long\n\n{WORDS * 25}\n\n{code}\n\nEnd.",
        f"### Below\n\n{WORDS}",
        f"## Table\n\n{table}\n\n## Resources\n\n- [One](one)\n- [Two](two)",
        f"## Code\n\n{code}\n\nJavaScript\n\n{code * 3}",
        "## Footnotes\n\n1. The rate.",
    ]
    pages = [
        page(f"page-{n}", f"Docs\n\n# Page {n}\n\n" + "\n\n".join(sections[n:] + sections[:n]))
        for n in range(len(sections))
    ]
    results = read_all([write_crawl(folder / "crawl.json", pages)], isolate=False)
    return [result.document for result in results if result.document]


@pytest.mark.parametrize("size", [300, 500, 1000])
def test_pages_of_a_crawl_have_no_short_node_with_room_beside_it_and_start_under_their_h1(
    size: int, tmp_path: Path
) -> None:
    documents = crawl_pages(tmp_path)
    assert len(documents) == 7
    for document in documents:
        nodes = HeadingHierarchyNodeParser(chunk_size=size)([document])
        assert len(nodes) > 1
        assert not short_with_room(document.text, nodes, 100, size)  # type: ignore[arg-type]
        for node in nodes:
            assert node.metadata[keys.HEADING_PATH][0].startswith("Page")
            assert " | " not in node.metadata[keys.HEADING]
