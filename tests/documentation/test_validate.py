import re

import pytest
from crawls import GUIDE, LONG, WORDS
from hypothesis import given
from llama_index.core import Document
from llama_index.core.schema import TextNode
from strategies import MARKDOWN

from rag_nodes.documentation import PageCheck, check_page
from rag_nodes.parsers import get_parser
from rag_nodes.text.tokens import count_tokens

PARSER = get_parser("heading", chunk_size=200, min_chunk_size=20)


def cut(text: str) -> tuple[Document, list[TextNode]]:
    document = Document(text=text, metadata={"source": "https://tea.test"})
    return document, PARSER([document])  # type: ignore[return-value]


def check(document: Document, nodes: list[TextNode]) -> PageCheck:
    return check_page(document, nodes, PARSER)


def kinds(result: PageCheck) -> list[str]:
    return [finding.kind for finding in result.findings]


@pytest.mark.parametrize("text", [GUIDE, LONG])
def test_a_page_that_was_cut_well_has_nothing_to_report(text: str) -> None:
    document, nodes = cut(text)
    result = check(document, nodes)
    assert result.findings == ()
    figures = result.figures
    assert figures.headings == figures.headings_kept
    assert figures.covered == figures.visible == len(re.sub(r"\s", "", text))
    assert figures.page_tokens == count_tokens(text)
    assert figures.tokens == sum(count_tokens(node.text) for node in nodes)


def test_a_chunk_that_is_missing_shows_as_lost_headings_text_code_and_tokens() -> None:
    document, nodes = cut(GUIDE)
    gone = next(node for node in nodes if "fill(" in node.text)
    result = check(document, [node for node in nodes if node is not gone])
    assert set(kinds(result)) == {"lost-heading", "split-code", "lost-text"}
    [heading] = [found for found in result.findings if found.kind == "lost-heading"]
    assert "## Water" in heading.detail
    assert heading.page == "https://tea.test"
    assert result.figures.headings_lost == 1
    assert result.figures.visible - result.figures.covered == len(re.sub(r"\s", "", gone.text))


def test_a_heading_or_code_block_cut_in_two_is_lost() -> None:
    text = f"# A heading of words\n\n```\none\ntwo\n```\n\n{WORDS}"
    document = Document(text=text, metadata={"source": "https://tea.test"})
    nodes = get_parser("fixed", chunk_size=12, chunk_overlap=0)([document])
    result = check(document, nodes)  # type: ignore[arg-type]
    assert {"lost-heading", "split-code"} <= set(kinds(result))
    assert result.figures.coverage == 100


def test_a_chunk_that_is_not_the_text_at_its_offsets_covers_nothing() -> None:
    document, nodes = cut(GUIDE)
    nodes[0].text = nodes[0].text.replace("water", "sugar")
    result = check(document, nodes)
    assert "misplaced" in kinds(result)
    assert "lost-text" in kinds(result)
    assert result.figures.coverage < 100


def test_a_chunk_that_is_there_twice_is_found() -> None:
    document, nodes = cut(GUIDE)
    [finding] = [
        found
        for found in check(document, [*nodes[:2], *nodes[1:]]).findings
        if found.kind == "duplicate"
    ]
    assert finding.chunk_id == nodes[1].node_id


def test_chunks_that_changed_places_are_found() -> None:
    document, nodes = cut(GUIDE)
    swapped = check(document, [nodes[1], nodes[0], *nodes[2:]])
    assert [(found.kind, found.chunk_id) for found in swapped.findings] == [
        ("misplaced", nodes[0].node_id)
    ]


def test_chunks_whose_numbers_changed_places_are_found() -> None:
    document, nodes = cut(GUIDE)
    first, second = (node.metadata["chunk_index"] for node in nodes[:2])
    nodes[0].metadata["chunk_index"], nodes[1].metadata["chunk_index"] = second, first
    assert "misplaced" in kinds(check(document, nodes))


def test_a_wrong_token_count_is_found() -> None:
    document, nodes = cut(GUIDE)
    nodes[1].metadata["token_count"] += 1
    [finding] = check(document, nodes).findings
    assert (finding.kind, finding.chunk_id) == ("wrong-tokens", nodes[1].node_id)


def test_chunks_outside_the_range_are_named_with_their_size() -> None:
    code = "```\n" + "call(one, two)\n" * 100 + "```"
    document, nodes = cut(f"# Code\n\n{code}\n\n# Small\n\nWords.")
    large, small = check(document, nodes).findings
    assert (large.kind, small.kind) == ("too-large", "too-small")
    assert "code kept whole" in large.detail
    assert "under 20" in small.detail
    assert nodes[-1].node_id == small.chunk_id


def test_a_short_page_is_not_too_small() -> None:
    assert check(*cut("# Hello\n\nShort.")).findings == ()


@given(MARKDOWN)
def test_whatever_the_heading_parser_cuts_is_whole(text: str) -> None:
    result = check(*cut(text))
    assert not {"misplaced", "lost-text", "lost-heading"} & set(kinds(result))
