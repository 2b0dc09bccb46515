"""Each check finds its fault, and nothing in a page that was split well.

Headings are S1-24 and S1-25, coverage S1-26, token counts S1-24, figures S1-27 and S1-28.
"""

import re
from collections import Counter
from dataclasses import replace

import pytest
from crawls import GUIDE, LONG, WORDS
from hypothesis import given
from llama_index.core import Document
from llama_index.core.schema import TextNode
from strategies import MARKDOWN

from rag_nodes.operations.crawl import (
    CheckedPage,
    PageFinding,
    Statistics,
    check_page,
    page_statistics,
)
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.text.tokens import count_tokens

PARSER = get_parser("heading", chunk_size=200, min_chunk_size=20)


def split(text: str, parser: SpanNodeParser = PARSER) -> CheckedPage:
    document = Document(text=text, metadata={"source": "https://tea.test"})
    return CheckedPage(document, parser([document]), parser)  # type: ignore[arg-type]


def without(page: CheckedPage, node: TextNode) -> CheckedPage:
    return replace(page, nodes=[other for other in page.nodes if other is not node])


def kinds(findings: list[PageFinding]) -> list[str]:
    return [finding.kind for finding in findings]


def figures_of(page: CheckedPage) -> Statistics:
    return page_statistics(page, check_page(page))


@pytest.mark.parametrize("text", [GUIDE, LONG])
def test_a_page_that_was_split_well_has_nothing_to_report(text: str) -> None:
    page = split(text)
    assert check_page(page) == []
    figures = figures_of(page)
    assert figures.headings == figures.headings_kept
    assert figures.covered == figures.visible == len(re.sub(r"\s", "", text))
    assert figures.page_tokens == count_tokens(text)
    assert figures.tokens == sum(count_tokens(node.text) for node in page.nodes)


def test_a_missing_chunk_shows_as_lost_headings_code_and_text() -> None:
    page = split(GUIDE)
    gone = next(node for node in page.nodes if "fill(" in node.text)
    rest = without(page, gone)
    findings = check_page(rest)
    assert set(kinds(findings)) == {"lost-heading", "split-code", "lost-text"}
    [heading] = [finding for finding in findings if finding.kind == "lost-heading"]
    assert "## Water" in heading.detail
    assert heading.page == "https://tea.test"
    figures = figures_of(rest)
    assert figures.headings - figures.headings_kept == {"H2": 1}
    assert figures.visible - figures.covered == len(re.sub(r"\s", "", gone.text))
    assert figures.chunks_with_code == 0


@pytest.mark.parametrize("level", range(1, 7))
def test_a_lost_heading_is_found_at_every_level(level: int) -> None:
    page = split(f"# Tea\n\n{WORDS * 8}\n\n{'#' * level} Lost\n\n{WORDS * 8}")
    page = replace(page, nodes=[node for node in page.nodes if "Lost" not in node.text])
    [finding] = [finding for finding in check_page(page) if finding.kind == "lost-heading"]
    assert finding.detail == f"{'#' * level} Lost"
    figures = figures_of(page)
    assert figures.headings == Counter(["H1", f"H{level}"])


def test_a_heading_or_code_block_split_in_two_is_lost() -> None:
    text = f"# A heading of words\n\n```\none\ntwo\n```\n\n{WORDS}"
    page = split(text, get_parser("fixed", chunk_size=12, chunk_overlap=0))
    assert {"lost-heading", "split-code"} == set(kinds(check_page(page)))
    assert figures_of(page).coverage == 100


def test_a_chunk_that_is_not_the_text_at_its_offsets_covers_nothing() -> None:
    page = split(GUIDE)
    page.nodes[0].text = page.nodes[0].text.replace("water", "sugar")
    assert {"misplaced", "lost-text"} <= set(kinds(check_page(page)))
    assert figures_of(page).coverage < 100


def test_a_block_is_whole_in_a_long_chunk_that_starts_before_a_short_one() -> None:
    page = split("# Tea\n\nWords.")
    [whole] = page.nodes
    inside = TextNode(text="Tea", start_char_idx=0, end_char_idx=0, metadata={"token_count": 1})
    inside.start_char_idx, inside.end_char_idx = 2, 5
    nested = replace(page, nodes=[whole, inside])
    assert "lost-heading" not in kinds(check_page(nested))
    assert "lost-text" not in kinds(check_page(nested))


def test_a_wrong_token_count_is_found() -> None:
    page = split(GUIDE)
    page.nodes[1].metadata["token_count"] += 1
    [finding] = check_page(page)
    assert (finding.kind, finding.chunk_id) == ("wrong-tokens", page.nodes[1].node_id)


def test_chunks_outside_the_range_are_named_with_their_size() -> None:
    code = "```\n" + "call(one, two)\n" * 100 + "```"
    page = split(f"# Code\n\n{code}\n\n# Small\n\nWords.")
    large, small = check_page(page)
    assert (large.kind, small.kind) == ("too-large", "too-small")
    assert "code kept whole" in large.detail
    assert "under 20" in small.detail
    assert page.nodes[-1].node_id == small.chunk_id


def test_a_short_page_is_not_too_small() -> None:
    assert check_page(split("# Hello\n\nShort.")) == []


@given(MARKDOWN)
def test_pages_of_the_heading_parser_are_always_whole(text: str) -> None:
    assert not {"misplaced", "lost-text", "lost-heading"} & set(kinds(check_page(split(text))))


def test_figures_of_pages_add_up() -> None:
    first, second = figures_of(split(GUIDE)), figures_of(split("## Small\n\nWords."))
    total = Statistics()
    total.add(first)
    total.add(second)
    assert (total.pages, total.chunks) == (2, first.chunks + second.chunks)
    assert (total.tokens_min, total.tokens_max) == (second.tokens_min, first.tokens_max)
    assert total.headings == {"H1": 1, "H2": 3, "H3": 1}
    levels = {"H1": 0, "H2": 1, "H3": 0, "H4": 0, "H5": 0, "H6": 0}
    assert second.as_dict()["headings"] == levels
