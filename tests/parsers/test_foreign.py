"""Splitters of other packages: a node has the place it came from, or none."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import MockEmbedding
from llama_index.core.node_parser import (
    HierarchicalNodeParser,
    MarkdownNodeParser,
    NodeParser,
    SemanticSplitterNodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
    TokenTextSplitter,
)
from llama_index.core.schema import Document, TextNode
from splitters import Given, Headed, LineChunker, WindowSplitter

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import as_parser, leaf_nodes
from rag_nodes.parsers.foreign import placing
from rag_nodes.parsers.foreign.placing import Visible
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens import count_tokens

MANUAL = """\
# Tea

Green tea takes eighty degrees.  It is poured off after two minutes.

## Black

Black tea takes boiling water. It may stand for five minutes.

See above.

# Coffee

Coffee takes ninety degrees. It is poured slowly.

See above.
"""


def stock() -> list[NodeParser]:
    return [
        SentenceSplitter(chunk_size=16, chunk_overlap=6),
        TokenTextSplitter(chunk_size=16, chunk_overlap=4),
        MarkdownNodeParser(),
        SentenceWindowNodeParser(window_size=1),
        SemanticSplitterNodeParser(embed_model=MockEmbedding(embed_dim=3)),
        HierarchicalNodeParser.from_defaults(chunk_sizes=[64, 24], chunk_overlap=4),
    ]


def cut(splitter: object, text: str, **metadata: object) -> list[TextNode]:
    document = Document(text=text, id_="doc", metadata=metadata)
    return as_parser(splitter)([document])  # type: ignore[return-value]


def places(nodes: Sequence[TextNode]) -> list[tuple[int | None, int | None]]:
    return [(node.start_char_idx, node.end_char_idx) for node in nodes]


def assert_slices(text: str, nodes: Sequence[TextNode]) -> None:
    for node in nodes:
        if node.start_char_idx is None:
            assert node.end_char_idx is None
            assert not {keys.START_CHAR, keys.PAGE_START, keys.HEADING} & node.metadata.keys()
        else:
            assert text[node.start_char_idx : node.end_char_idx] == node.text
            assert node.metadata[keys.START_CHAR] == node.start_char_idx
        assert node.metadata[keys.TOKEN_COUNT] == count_tokens(node.text)


@pytest.mark.parametrize("splitter", stock(), ids=lambda item: item.class_name())
def test_every_chunk_of_a_stock_parser_has_its_place(splitter: NodeParser) -> None:
    nodes = cut(splitter, MANUAL)
    assert len(nodes) > 0
    assert None not in {node.start_char_idx for node in nodes}
    assert_slices(MANUAL, nodes)
    assert len({node.node_id for node in nodes}) == len(nodes)
    again = cut(splitter, MANUAL)
    assert [node.to_dict() for node in again] == [node.to_dict() for node in nodes]


SENTENCES = st.lists(
    st.sampled_from(
        ["Tea is warm.", "No.", "Is it? ", "Wait\n\n", "a  b   c.", "日本語です。", "🙂 "]
    ),
    max_size=40,
).map(" ".join)


@given(SENTENCES, st.integers(0, 6))
def test_a_stock_sentence_splitter_keeps_its_overlap_in_its_places(text: str, overlap: int) -> None:
    splitter = SentenceSplitter(chunk_size=12, chunk_overlap=overlap)
    nodes = cut(splitter, text)
    assert_slices(text, nodes)
    assert [" ".join(node.text.split()) for node in nodes] == [
        " ".join(piece.split()) for piece in splitter.split_text(text) if piece.strip()
    ]
    for before, after in pairwise(nodes):
        if before.end_char_idx is None or after.start_char_idx is None:
            continue
        assert after.start_char_idx >= (before.start_char_idx or 0)
        shared = text[after.start_char_idx : before.end_char_idx]
        assert count_tokens(shared) <= overlap + 1  # blank space at its ends counts elsewhere


@st.composite
def cuttings(draw: st.DrawFn) -> tuple[str, list[Span], int]:
    """A text that repeats itself, and true places of chunks in it that overlap or do not."""
    text = draw(st.text("ab \n", min_size=1, max_size=60))
    visible = len("".join(text.split()))
    overlap = draw(st.integers(0, 6))
    spans, start, end = [], 0, 0
    while end < visible:
        end = min(visible, end + draw(st.integers(1, 12)))
        spans.append(Span(start, end))
        start = max(start + 1, end - draw(st.integers(0, overlap)))
    return text, spans, overlap


@given(cuttings(), st.booleans())
def test_a_place_that_is_given_is_the_true_one_whatever_repeats_and_overlaps(
    cutting: tuple[str, list[Span], int], is_given: bool
) -> None:
    text, spans, overlap = cutting
    visible = Visible(text)
    pieces = [" ".join(visible.letters[a:b]) for a, b in spans]  # blank space is not as it was
    splitter: Any = Given(pieces)
    if is_given:
        splitter._chunk_overlap, splitter._length_function = overlap, len
    nodes = cut(splitter, text)
    assert len(nodes) == len(spans)
    assert_slices(text, nodes)
    for node, span in zip(nodes, spans, strict=True):
        if node.start_char_idx is not None and node.end_char_idx is not None:
            assert visible.within(Span(node.start_char_idx, node.end_char_idx)) == span


@given(st.text("ab \n.", max_size=300), st.integers(0, 9))
def test_places_never_go_back_further_than_the_overlap_allows(text: str, overlap: int) -> None:
    nodes = cut(WindowSplitter(chunk_size=20, chunk_overlap=overlap), text)
    assert_slices(text, nodes)
    assert all(node.text.strip() for node in nodes)
    for before, after in pairwise(nodes):
        if before.end_char_idx is not None and after.start_char_idx is not None:
            assert before.end_char_idx - after.start_char_idx <= overlap


def test_repeated_text_has_the_place_of_each_repetition() -> None:
    text = "See above.\n\nTea.\n\nSee above.\n\nTea.\n\nSee above."
    splitter: Any = Given(text.split("\n\n"))
    splitter.chunk_overlap = 0
    assert places(cut(splitter, text)) == [(0, 10), (12, 16), (18, 28), (30, 34), (36, 46)]


def test_an_ambiguous_repeated_chunk_has_no_location() -> None:
    nodes = cut(Given(["no no", "no no"]), "no no no no")
    assert places(nodes) == [(0, 5), (None, None)]
    assert nodes[1].text == "no no"
    assert nodes[0].node_id != nodes[1].node_id


def test_a_splitter_that_says_it_shares_nothing_has_a_place_for_what_may_overlap() -> None:
    splitter: Any = Given(["x no", "no", "y"])
    assert places(cut(splitter, "x no no y"))[1] == (None, None)
    splitter.chunk_overlap = 0
    assert places(cut(splitter, "x no no y")) == [(0, 4), (5, 7), (8, 9)]


def test_a_chunk_equal_to_the_one_before_it_is_the_next_one() -> None:
    assert places(cut(Given(["no", "no"]), "no no")) == [(0, 2), (3, 5)]


def test_a_short_chunk_is_not_looked_for_further_on() -> None:
    nodes = cut(Given(["Alpha beta.", "(changed)", "1"]), "Alpha beta. Gamma 1 delta.")
    assert places(nodes) == [(0, 11), (None, None), (None, None)]


def test_a_chunk_that_stands_twice_further_on_is_before_the_one_that_follows_it() -> None:
    twice, once = "This sentence stands here twice.", "That sentence stands here only once."
    text = f"Tea.\n\nAnything.\n\n{twice}\n\n{once}\n\n{twice}"
    nodes = cut(Given(["Tea.", "(changed)", twice, once, twice]), text)
    assert [node.start_char_idx for node in nodes] == [
        0,
        None,
        text.index(twice),
        text.index(once),
        text.rindex(twice),
    ]


def test_normalised_blank_space_is_found_and_the_node_is_the_documents_own_text() -> None:
    text = "Green  tea\n takes\teighty degrees."
    (node,) = cut(Given(["Green tea takes eighty degrees."]), text)
    assert node.text == text


def test_the_blank_space_that_a_chunk_keeps_stays_part_of_its_node() -> None:
    text = "def f():\n    return 1\n"
    nodes = cut(Given(["def f():\n", "    return 1\n"]), text)
    assert places(nodes) == [(0, 9), (9, 22)]


def test_a_chunk_with_words_of_the_splitter_keeps_its_text_and_has_no_place() -> None:
    nodes = cut(Headed(), MANUAL, page_starts=[0, 40], total_pages=2)
    assert {place for place, _ in places(nodes)} == {None}
    assert nodes[1].text.startswith("From the manual:\nGreen tea")
    assert_slices(MANUAL, nodes)
    assert len({node.node_id for node in nodes}) == len(nodes)
    assert [node.metadata[keys.CHUNK_INDEX] for node in nodes] == list(range(len(nodes)))


def test_chunks_after_one_without_a_place_have_theirs_again() -> None:
    pieces = [part for part in MANUAL.split("\n\n") if part.strip()]
    pieces[1] = pieces[1].replace("eighty", "80")
    nodes = cut(Given(pieces), MANUAL)
    starts = [node.start_char_idx for node in nodes]
    assert starts[1] is None
    assert starts[3] == MANUAL.index("Black tea takes")
    assert starts[-2] == MANUAL.index("Coffee takes")


def test_headings_that_a_splitter_leaves_out_cost_the_chunks_below_no_place() -> None:
    pieces = [part for part in MANUAL.split("\n\n") if not part.startswith("#")]
    nodes = cut(Given([pieces[0], pieces[1], pieces[3]]), MANUAL)
    assert [node.start_char_idx for node in nodes] == [MANUAL.index(n.text) for n in nodes]
    assert [node.metadata[keys.HEADING] for node in nodes] == ["Tea", "Black", "Coffee"]


def test_blank_chunks_are_no_nodes() -> None:
    assert [node.text for node in cut(Given(["", " \n", "Tea."]), "Tea.")] == ["Tea."]
    assert cut(SentenceSplitter(), " \n ") == []


def test_a_place_that_a_chunker_states_counts_where_its_text_stands_there() -> None:
    text = "no\nno\nno no\nno\n"
    right = cut(LineChunker(), text)
    assert places(right) == [(0, 3), (3, 6), (6, 12), (12, 15)]
    wrong = cut(LineChunker(shift=1), MANUAL)
    assert_slices(MANUAL, wrong)
    assert wrong[0].start_char_idx == 0


def test_pages_and_headings_are_those_at_the_nodes_own_start() -> None:
    page = MANUAL.index("# Coffee")
    nodes = cut(
        SentenceSplitter(chunk_size=16, chunk_overlap=0),
        MANUAL,
        page_starts=[0, page],
        total_pages=2,
    )
    (coffee,) = [node for node in nodes if "ninety" in node.text]
    assert coffee.metadata[keys.PAGE_START] == 2
    assert coffee.metadata[keys.HEADING_PATH] == ["Coffee"]


def test_parents_and_children_of_a_stock_hierarchy_stay_a_family() -> None:
    text = MANUAL * 4
    nodes = cut(
        HierarchicalNodeParser.from_defaults(chunk_sizes=[96, 48, 24], chunk_overlap=4), text
    )
    by_id = {node.node_id: node for node in nodes}
    leaves = leaf_nodes(nodes)
    assert len(by_id) == len(nodes)
    assert 0 < len(leaves) < len(nodes)
    for node in nodes:
        if node.parent_node is not None and node.start_char_idx is not None:
            parent = by_id[node.parent_node.node_id]
            assert node.text in parent.text
            assert parent.start_char_idx is not None
            assert parent.start_char_idx <= node.start_char_idx
            assert node.node_id in {child.node_id for child in parent.child_nodes or []}
    assert {leaf.metadata[keys.TOTAL_CHUNKS] for leaf in leaves} == {len(leaves)}


def test_a_parent_and_its_only_child_are_two_nodes() -> None:
    nodes = cut(HierarchicalNodeParser.from_defaults(chunk_sizes=[96, 48, 24]), "Tea is warm.")
    assert places(nodes) == [(0, 12)] * 3
    assert len({node.node_id for node in nodes}) == 3


def test_windows_of_a_stock_parser_are_slices_around_their_node() -> None:
    nodes = cut(SentenceWindowNodeParser(window_size=1), MANUAL)
    windows = [node for node in nodes if keys.WINDOW in node.metadata]
    assert len(windows) > len(nodes) / 2
    for node in windows:
        place = node.metadata[keys.WINDOW_PLACE]
        start, end = place[keys.START_CHAR], place[keys.END_CHAR]
        assert MANUAL[start:end] == node.metadata[keys.WINDOW]
        assert start <= (node.start_char_idx or 0) < (node.end_char_idx or 0) <= end


def test_the_cost_of_chunks_that_have_no_place_grows_with_the_text_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked: list[int] = []
    search = placing._occurrences

    def counting(text: str, sought: str, low: int, high: int) -> list[int]:
        looked.append(max(0, high - low))
        return search(text, sought, low, high)

    monkeypatch.setattr(placing, "_occurrences", counting)

    def steps(paragraphs: int) -> int:
        looked.clear()
        cut(Headed(), "\n\n".join(f"Paragraph {n} of the manual." for n in range(paragraphs)))
        return sum(looked)

    assert steps(4000) <= 2.2 * steps(2000)


def test_headings_of_a_chunk_without_location_are_not_those_of_the_document() -> None:
    splitter = Given(["# Words of the splitter\n\nAnd more of them."])
    (node,) = as_parser(splitter)(
        [Document(text="# Pump\n\nIt runs.", metadata={"title": "Manual"})]
    )
    assert node.start_char_idx is None
    assert "heading_path" not in node.metadata
    assert "Heading" not in node.metadata


def test_a_short_chunk_after_one_without_a_place_has_none_though_its_words_stand_once() -> None:
    text = "The pump draws water from the lake. It rained. Nobody came."
    pieces = ["The pump draws water from the lake.", "Words of its own.", "Nobody came."]
    first, *others = as_parser(Given(pieces))([Document(text=text)])
    assert first.start_char_idx == 0
    assert [node.start_char_idx for node in others] == [None, None]
