"""Spans, pages and grapheme boundaries."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from strategies import TEXTS

from rag_nodes.text.graphemes import boundary_at_or_after, boundary_at_or_before
from rag_nodes.text.packing import Packer
from rag_nodes.text.spans import PageMap, Span, merge, trimmed

GERMANY = "\U0001f1e9\U0001f1ea"
CLUSTERS = (
    GERMANY,
    GERMANY[0],
    f"{GERMANY}\u200d",
    f"a{GERMANY}",
    f"\u0600{GERMANY}",
    "\U0001f3f3\ufe0f\u200d\U0001f308",
    "\U0001f3f4\U000e0067\U000e0062\U000e007f",
    "e\u0301",
)
"""Flags, whole, halved, joined, after a letter and a mark; of other emoji and of tags."""


def test_spans_know_length_overlap_and_union() -> None:
    assert Span(2, 5).length == 3
    assert Span(2, 5).overlap(Span(4, 9)) == 1
    assert Span(2, 5).overlap(Span(6, 9)) == 0
    assert Span(2, 5).union(Span(8, 9)) == Span(2, 9)
    assert Span(1, 3).of("abcd") == "bc"


def test_merging_joins_what_touches() -> None:
    assert merge([Span(5, 7), Span(0, 2), Span(2, 4)]) == [Span(0, 4), Span(5, 7)]


def test_trimming_leaves_no_blank_at_either_end() -> None:
    text = "\n\n    code\n  "
    assert trimmed(text, 0, len(text)) == Span(6, 10)
    assert trimmed("   ", 0, 3).length == 0


def test_pages_are_counted_from_one_and_empty_pages_count() -> None:
    pages = PageMap([0, 10, 10, 25])
    assert [pages.page_of(offset) for offset in (0, 9, 10, 24, 25, 99)] == [1, 1, 3, 3, 4, 4]
    assert pages.breaks_within(5, 30) == [10, 10, 25]
    assert pages.breaks_within(10, 25) == []


def test_the_text_of_a_page_ends_where_the_next_one_starts() -> None:
    pages = PageMap([0, 10, 10, 25])
    assert [pages.span(page, page, 40) for page in (1, 2, 3, 4)] == [
        (0, 10), (10, 10), (10, 25), (25, 40),
    ]  # fmt: skip
    assert pages.span(2, 9, 40) == (10, 40)
    assert pages.span(5, 9, 40) is None
    assert pages.span(0, 1, 40) is None
    of_node = PageMap([10, 25], before=3)
    assert [of_node.span(page, page, 40) for page in (2, 3, 5, 6)] == [
        None, (0, 10), (25, 40), None,
    ]  # fmt: skip
    assert of_node.span(1, 4, 40) == (0, 25)


def test_unsorted_page_starts_are_refused() -> None:
    with pytest.raises(ValueError, match="sorted"):
        PageMap([5, 1])


@given(text=TEXTS, offset=st.integers(0, 400))
def test_boundaries_agree_with_unicode_clusters(text: str, offset: int) -> None:
    offset = min(offset, len(text))
    boundaries = [0, *(cluster.end() for cluster in regex.finditer(r"\X", text))]
    assert boundary_at_or_before(text, offset, 0) == max(b for b in boundaries if b <= offset)
    assert boundary_at_or_after(text, offset, 0) == min(b for b in boundaries if b >= offset)


@given(
    runs=st.lists(st.tuples(st.sampled_from(CLUSTERS), st.integers(1, 900)), max_size=5),
    places=st.tuples(st.integers(0, 4500), st.integers(0, 4500)),
)
def test_a_packer_finds_the_same_boundaries_however_long_runs_of_flags_are(
    runs: list[tuple[str, int]], places: tuple[int, int]
) -> None:
    text = "".join(cluster * times for cluster, times in runs)
    floor, offset = sorted(min(place, len(text)) for place in places)
    expected = boundary_at_or_after(text, offset, floor)
    assert Packer(text).cluster_boundary(offset, floor) == expected


def test_the_pages_of_a_node_are_those_of_its_document() -> None:
    document = PageMap.of({"page_starts": [3, 10, 10, 25]})
    assert document is not None
    assert [document.page_of(offset) for offset in (0, 3, 9, 10, 25)] == [1, 1, 1, 3, 4]
    facts = document.facts(5, 26)
    assert facts == {"page_start": 1, "page_end": 4, "page_breaks": [10, 10, 25]}
    node = PageMap.of(facts)
    assert node is not None
    assert [node.facts(start, 26) for start in range(5, 26)] == [
        document.facts(start, 26) for start in range(5, 26)
    ]
    assert node.facts(9, 10) == {"page_start": 1, "page_end": 1}
    assert PageMap.of({"source": "x"}) is None
