"""What a node states behind other parsers, ours or LlamaIndex's, is what its document says (L9)."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import (
    MarkdownNodeParser,
    NodeParser,
    SentenceSplitter,
    SentenceWindowNodeParser,
    TokenTextSplitter,
)
from llama_index.core.schema import (
    BaseNode,
    Document,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from parser_laws import SMALL, small_parser
from strategies import MARKDOWN

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import SpanNodeParser, get_parser
from rag_nodes.parsers.source import Origin
from rag_nodes.text.formats import HeadingTree, blocks_of, format_of
from rag_nodes.text.markdown import Block
from rag_nodes.text.spans import PageMap

OURS: dict[str, Callable[[], NodeParser]] = {
    **{name: lambda name=name: small_parser(name) for name in SMALL},  # type: ignore[misc]
    "parent-child": lambda: get_parser(
        "parent-child",
        parent_options={"chunk_size": 60, "min_chunk_size": 10},
        child_options={"chunk_size": 24, "chunk_overlap": 0, "whole_document_below": 0},
    ),
}
STOCK: dict[str, Callable[[], NodeParser]] = {
    "stock sentences": lambda: SentenceSplitter(chunk_size=70, chunk_overlap=5),
    "stock tokens": lambda: TokenTextSplitter(chunk_size=70, chunk_overlap=5),
    "stock markdown": MarkdownNodeParser,
    "stock windows": SentenceWindowNodeParser,
    "stock without metadata": lambda: TokenTextSplitter(
        chunk_size=70, chunk_overlap=0, include_metadata=False
    ),
}
NAMES_BY_OPENING_WORDS = {"heading", "web", "auto", "parent-child"}
"""Parsers that file text above the first heading under a name of their own making."""
KINDS = {"code", "list", "table"}
ADDRESS = "https://example.org/manual"


class Said:
    """What a document says at any of its characters."""

    def __init__(self, document: Document) -> None:
        self.text = document.text
        self.blocks: Sequence[Block] = blocks_of(self.text, format_of(self.text))
        self.tree = HeadingTree(self.text, self.blocks)
        self.pages = PageMap(document.metadata[keys.PAGE_STARTS])

    def path(self, offset: int) -> list[str]:
        return list(self.tree.path_at(offset))

    def link(self, offset: int) -> str:
        above = self.tree.above(offset)
        return ADDRESS + above.anchor if above else ADDRESS

    def kinds(self, start: int, end: int) -> set[str]:
        kinds = {str(b.kind) for b in self.blocks if b.start < end and b.end > start}
        return kinds & KINDS

    def places(self, text: str) -> list[int]:
        return [at for at in range(len(self.text)) if self.text.startswith(text, at)]


def document_of(text: str, breaks: Sequence[int]) -> Document:
    starts = sorted({0, *(at for at in breaks if at < len(text))})
    return Document(text=text, id_="doc", metadata={keys.SOURCE: ADDRESS, keys.PAGE_STARTS: starts})


def run(chain: Sequence[NodeParser], document: Document) -> list[BaseNode]:
    pipeline = IngestionPipeline(transformations=list(chain), disable_cache=True)
    return list(pipeline.run(documents=[document]))


def assert_true(node: TextNode, statement: Said, *, opening_named: bool) -> None:
    """Nothing the node states is false; where its place is known, headings are not missing."""
    facts = node.metadata
    path = facts.get(keys.HEADING_PATH, [])
    start, end = node.start_char_idx, node.end_char_idx
    if path:
        assert facts[keys.HEADING] == path[-1]
        assert facts[keys.BREADCRUMB] == " > ".join(path)
    assert bool(path) == (keys.HEADING in facts) == (keys.BREADCRUMB in facts)
    if start is None or end is None:
        assert keys.PAGE_START not in facts
        assert keys.HEADINGS_INSIDE not in facts
        places = statement.places(node.text)
        assert not path or path in [statement.path(at) for at in places] or opening_named
        return
    assert statement.text[start:end] == node.text
    pages = statement.pages.page_of(start), statement.pages.page_of(end - 1)
    assert (facts.get(keys.PAGE_START, pages[0]), facts.get(keys.PAGE_END, pages[1])) == pages
    assert (
        not path or path == statement.path(start) or (opening_named and not statement.path(start))
    )
    for offset, inner in facts.get(keys.HEADINGS_INSIDE, []):
        assert start <= offset < end
        assert inner == statement.path(offset)
    assert facts.get(keys.LINK, statement.link(start)) == statement.link(start)
    assert set(facts.get(keys.BLOCKS, ())) <= statement.kinds(start, end)
    if facts.get(keys.WHOLE_DOCUMENT):
        assert node.text.strip() == statement.text.strip()


@example(  # front matter is part of the section below it
    text="---\ntitle: A title\n---\n# Auth SMTP [\\#](\\#auth-smtp)",
    breaks=[],
    before=["stock tokens"],
    last="fixed",
)
@given(
    text=MARKDOWN,
    breaks=st.lists(st.integers(1, 600), max_size=4),
    before=st.lists(st.sampled_from([*OURS, *STOCK]), min_size=1, max_size=2),
    last=st.sampled_from(list(OURS)),
)
def test_l9_whatever_a_node_states_behind_other_parsers_is_what_the_document_says_there(
    text: str, breaks: list[int], before: list[str], last: str
) -> None:
    # LlamaIndex's own cannot hash lone surrogates, and shift a lone node by blanks before it.
    document = document_of(text.replace("\ud800", "?").lstrip(), breaks)
    statement = Said(document)
    chain = [(OURS | STOCK)[name]() for name in (*before, last)]
    nodes = run(chain, document)
    opening_named = bool(NAMES_BY_OPENING_WORDS & set(before))
    for node in nodes:
        assert isinstance(node, TextNode)
        assert_true(node, statement, opening_named=opening_named)
        if all(name in OURS for name in before):
            assert node.start_char_idx is not None
            assert keys.PAGE_START in node.metadata
            expected = statement.path(node.start_char_idx)
            assert not expected or node.metadata.get(keys.HEADING_PATH) == expected


SECTIONS = "\n\n".join(
    f"{heading}\n\n{sentence * 25}"
    for heading, sentence in (
        ("# Tea", "It is green or black. "),
        ("## Milk", "It is fresh or sour. "),
        ("# Rice", "It is long or short. "),
    )
)


def test_p3_children_stand_under_the_heading_they_start_under_not_their_parents_first() -> None:
    family = get_parser(
        "parent-child",
        parent_options={"chunk_size": 900, "min_chunk_size": 800},
        child_options={"chunk_size": 30, "chunk_overlap": 0, "whole_document_below": 0},
    )
    nodes = family([Document(text=SECTIONS)])
    leaves = [node for node in nodes if node.parent_node]
    assert len(nodes) - len(leaves) == 1
    by_word = {"green": ["Tea"], "fresh": ["Tea", "Milk"], "long": ["Rice"]}
    for word, path in by_word.items():
        nodes_of_word = [n for n in leaves if n.get_content().startswith(f"It is {word}")]
        assert nodes_of_word
        assert [n.metadata[keys.HEADING_PATH] for n in nodes_of_word] == [path] * len(nodes_of_word)


def test_p3_a_child_that_starts_with_a_heading_stands_under_that_heading() -> None:
    wide = get_parser("heading", chunk_size=900, min_chunk_size=800)([Document(text=SECTIONS)])
    children = get_parser("heading", chunk_size=300, min_chunk_size=0)(wide)
    opened = {n.get_content().partition("\n")[0]: n.metadata[keys.HEADING_PATH] for n in children}
    assert opened == {"# Tea": ["Tea"], "## Milk": ["Tea", "Milk"], "# Rice": ["Rice"]}


def ours() -> SpanNodeParser:
    return get_parser("token-overlap", chunk_size=24, chunk_overlap=0, whole_document_below=0)


def test_c4_offsets_behind_a_stock_parser_that_was_behind_ours_are_those_of_the_document() -> None:
    document = Document(text=SECTIONS, id_="doc")
    first = get_parser("heading", chunk_size=300, min_chunk_size=0)
    stock = TokenTextSplitter(chunk_size=150, chunk_overlap=0)
    nodes = run([first, stock, ours()], document)
    located = [n for n in nodes if isinstance(n, TextNode) and n.start_char_idx is not None]
    assert len(located) > 9  # LlamaIndex does not find all of them again
    statement = Said(document_of(SECTIONS, ()))
    for node in located:
        assert SECTIONS[node.start_char_idx : node.end_char_idx] == node.text
        assert node.metadata[keys.HEADING_PATH] == statement.path(node.start_char_idx)


def test_p3_without_offsets_a_node_names_a_heading_only_where_no_other_can_be_meant() -> None:
    wide = get_parser("heading", chunk_size=900, min_chunk_size=800)([Document(text=SECTIONS)])
    narrow = get_parser("heading", chunk_size=300, min_chunk_size=0)([Document(text=SECTIONS)])
    lost = [node.model_copy(update={"start_char_idx": None}) for node in (*wide, *narrow)]
    paths_stated = [node.metadata.get(keys.HEADING_PATH) for node in get_parser("page")(lost)]
    assert paths_stated == [None, ["Tea"], ["Tea", "Milk"], ["Rice"]]


@pytest.mark.parametrize(
    "text", [SECTIONS, "# Food\n\nShort.\n\n" + SECTIONS.split("\n\n## Milk")[0]]
)
@pytest.mark.parametrize("include_metadata", [True, False])
def test_c4_offsets_behind_two_stock_parsers_are_not_believed(
    text: str, *, include_metadata: bool
) -> None:
    stock = [
        MarkdownNodeParser(include_metadata=include_metadata),
        TokenTextSplitter(chunk_size=100, chunk_overlap=0, include_metadata=include_metadata),
    ]
    nodes = run([*stock, ours()], Document(text=text, id_="doc"))
    assert len(nodes) > 4
    assert {node.start_char_idx for node in nodes if isinstance(node, TextNode)} == {None}
    assert not [node for node in nodes if keys.HEADING_PATH in node.metadata]


def node_of(text: str, start: int, outer: tuple[int, int]) -> TextNode:
    return TextNode(
        text=text,
        start_char_idx=start,
        end_char_idx=start + len(text),
        metadata={keys.START_CHAR: outer[0], keys.END_CHAR: outer[1]},
        relationships={
            NodeRelationship.SOURCE: Document(text="x" * 900, id_="doc").as_related_node_info()
        },
    )


@pytest.mark.parametrize(
    ("claims", "starts"),
    [
        pytest.param([(0, 3, (100, 400))], [100], id="only right when counted from its parent"),
        pytest.param([(350, 3, (100, 400))], [350], id="only right when counted from the start"),
        pytest.param([(150, 3, (100, 400))], [None], id="right either way"),
        pytest.param(
            [(0, 3, (100, 400)), (150, 4, (100, 400))], [100, 250], id="its neighbour decides"
        ),
        pytest.param([(50, 3, (0, 400))], [50], id="its parent starts the document"),
        pytest.param([(700, 3, (100, 400))], [None], id="right neither way"),
        pytest.param(
            [(0, 3, (100, 400)), (350, 3, (100, 400))], [None, None], id="neighbours disagree"
        ),
    ],
)
def test_c4_an_offset_behind_ours_is_believed_only_where_it_can_mean_one_thing(
    claims: list[tuple[int, int, tuple[int, int]]], starts: list[int | None]
) -> None:
    given_nodes = [node_of("x" * length, start, outer) for start, length, outer in claims]
    assert [node.start_char_idx for node in get_parser("fixed")(given_nodes)] == starts


def test_a_heading_right_behind_a_fragment_is_not_inside_of_it() -> None:
    node = TextNode(text="One. Two.", start_char_idx=10, end_char_idx=19)
    node.relationships[NodeRelationship.SOURCE] = Document(
        text="", id_="doc"
    ).as_related_node_info()
    node.metadata = {keys.HEADINGS_INSIDE: [[15, ["A"]], [19, ["B"]]]}
    origin = Origin(node, 10, None)
    assert origin.headings_inside(0, 9) == [[15, ["A"]]]
    assert origin.headings_inside(0, 5) == []


def test_c4_offsets_that_give_the_same_characters_to_other_texts_are_not_believed() -> None:
    def node_at(text: str, start: int) -> TextNode:
        node = TextNode(text=text, start_char_idx=start, end_char_idx=start + len(text))
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id="manual")
        return node

    agreeing = [node_at("The pump runs.", 0), node_at("runs. It hums.", 9)]
    assert [node.start_char_idx for node in get_parser("fixed")(agreeing)] == [0, 9]
    contradicting = [node_at("The pump runs.", 0), node_at("Rinse it well.", 9)]
    nodes = get_parser("fixed")(contradicting)
    assert [(node.start_char_idx, node.metadata.get("start_char")) for node in nodes] == [
        (None, None),
        (None, None),
    ]
