"""ParentChildNodeParser: parents, their children, and what LlamaIndex makes of them (S2-23)."""

import uuid
from itertools import pairwise

import pytest
from hypothesis import given
from llama_index.core.node_parser import get_leaf_nodes, get_root_nodes
from llama_index.core.schema import Document, TextNode
from parser_laws import assert_slices_in_order_that_cover, parse
from strategies import TEXTS

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.parent_child import ParentChildNodeParser, leaf_nodes

TOPICS = ("pump", "lamp", "roof", "door")
TEXT = "\n\n".join(
    f"## The {topic}\n\n" + " ".join(f"The {topic} has part {n} in it." for n in range(12))
    for topic in TOPICS
)


def small_family(**options: object) -> ParentChildNodeParser:
    return ParentChildNodeParser(
        **{
            "parent": "heading",
            "parent_options": {"chunk_size": 120, "min_chunk_size": 0},
            "child": "token-overlap",
            "child_options": {"chunk_size": 30, "chunk_overlap": 0, "whole_document_below": 0},
            **options,
        }
    )


def parents_of(nodes: list[TextNode]) -> list[TextNode]:
    return [node for node in nodes if node.child_nodes]


def children_of(parent: TextNode, nodes: list[TextNode]) -> list[TextNode]:
    return [n for n in nodes if n.parent_node and n.parent_node.node_id == parent.node_id]


def test_parents_come_first_and_leaves_are_picked_as_llama_index_picks_them() -> None:
    nodes = parse(small_family(), TEXT)
    parents = parents_of(nodes)
    assert [parent.text[:7] for parent in parents] == ["## The "] * 4
    assert nodes[:4] == parents
    assert leaf_nodes(nodes) == nodes[4:] == get_leaf_nodes(nodes)
    assert get_root_nodes(nodes) == parents
    assert len(leaf_nodes(nodes)) > 8


def test_both_ends_of_each_relation_agree() -> None:
    nodes = parse(small_family(), TEXT)
    for parent in parents_of(nodes):
        assert [info.node_id for info in parent.child_nodes or []] == [
            child.node_id for child in children_of(parent, nodes)
        ]


def test_a_preset_makes_the_same_splits_alone_and_as_a_level() -> None:
    nodes = parse(small_family(), TEXT)
    alone = get_parser("heading", chunk_size=120, min_chunk_size=0)([Document(text=TEXT)])
    assert [node.text for node in parents_of(nodes)] == [node.get_content() for node in alone]
    assert not {node.node_id for node in alone} & {node.node_id for node in nodes}


def test_children_know_headings_pages_and_their_place_in_the_document() -> None:
    nodes = parse(small_family(), TEXT, page_starts=[0, TEXT.index("## The roof")])
    for leaf in leaf_nodes(nodes):
        topic = next(topic for topic in TOPICS if topic in leaf.text)
        assert leaf.metadata[keys.HEADING_PATH] == [f"The {topic}"]
        assert leaf.metadata[keys.PAGE_START] == (1 if topic in TOPICS[:2] else 2)
        assert leaf.metadata[keys.PARSER].startswith("ParentChildNodeParser:")


@pytest.mark.parametrize("parent", ["heading", "token-overlap"])
@given(text=TEXTS)
def test_the_laws_hold_for_each_level(parent: str, text: str) -> None:
    sizes = {
        "heading": {"chunk_size": 60, "min_chunk_size": 10},
        "token-overlap": {"chunk_size": 60, "chunk_overlap": 20, "whole_document_below": 0},
    }
    nodes = parse(small_family(parent=parent, parent_options=sizes[parent]), text)
    parents = parents_of(nodes)
    assert_slices_in_order_that_cover(text, parents)
    for node in parents:
        children = children_of(node, nodes)
        for child in children:
            assert node.start_char_idx <= child.start_char_idx
            assert child.end_char_idx <= node.end_char_idx
            assert child.metadata[keys.TOKEN_COUNT] <= 30
            assert text[child.start_char_idx : child.end_char_idx] == child.text
        inner = [
            child.model_copy(
                update={
                    "start_char_idx": child.start_char_idx - node.start_char_idx,
                    "end_char_idx": child.end_char_idx - node.start_char_idx,
                }
            )
            for child in children
        ]
        assert_slices_in_order_that_cover(node.text, inner)
    assert len({node.node_id for node in nodes}) == len(nodes)
    assert all(uuid.UUID(node.node_id).version == 5 for node in nodes)


@given(text=TEXTS)
def test_each_level_is_numbered_and_linked_through_the_whole_document(text: str) -> None:
    nodes = parse(small_family(), text)
    for level in (parents_of(nodes), leaf_nodes(nodes)):
        for index, node in enumerate(level):
            assert node.ref_doc_id == "doc"
            assert node.metadata[keys.CHUNK_INDEX] == index
            assert node.metadata[keys.TOTAL_CHUNKS] == len(level)
        for left, right in pairwise(level):
            assert left.next_node
            assert left.next_node.node_id == right.node_id
            assert right.prev_node
            assert right.prev_node.node_id == left.node_id
        assert not level or (level[0].prev_node is None and level[-1].next_node is None)


def test_whatever_changes_a_level_changes_the_ids_of_both() -> None:
    options = {"chunk_size": 31, "chunk_overlap": 0, "whole_document_below": 0}
    parsers = [
        small_family(),
        small_family(child_options=options),
        small_family(parent_options={"chunk_size": 121, "min_chunk_size": 0}),
        small_family(child="fixed", child_options={}),
        small_family(language="en"),
    ]
    ids = [node.node_id for parser in parsers for node in parse(parser, TEXT)]
    assert len(set(ids)) == len(ids)


def test_a_tokenizer_set_once_holds_for_both_levels() -> None:
    parser = small_family(tokenizer="o200k_base")
    assert {level.tokenizer for level in (parser._parents, parser._children)} == {"o200k_base"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"parent": "nope"}, "unknown parser 'nope'"),
        ({"child_options": {"chunk_sise": 3}}, "unknown option 'chunk_sise'"),
        ({"child_options": {"embed_model": object()}}, "child_options must be plain data"),
        ({"parent_options": {"include_metadata": False}}, "set it on ParentChildNodeParser"),
        (
            {"child_options": {"chunk_size": 120}},
            "children of up to 120 tokens must be smaller than their parents of up to 120; lower",
        ),
    ],
)
def test_a_bad_option_is_refused_with_the_remedy(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        small_family(**options)


@pytest.mark.parametrize(
    ("options", "parents", "children"),
    [
        (
            {"child_options": {"chunk_size": 100}},
            {"chunk_size": 1500, "min_chunk_size": 500},
            {"chunk_size": 100, "chunk_overlap": 0, "whole_document_below": 0},
        ),
        (
            {"parent_options": {"min_chunk_size": 0}, "child": "sentence"},
            {"chunk_size": 1500, "min_chunk_size": 0},
            {},
        ),
    ],
)
def test_options_that_are_left_out_keep_the_defaults_of_their_preset(
    options: dict[str, object], parents: dict[str, int], children: dict[str, int]
) -> None:
    parser = ParentChildNodeParser(**options)
    assert (parser.parent_options, parser.child_options) == (parents, children)


def test_sizes_in_different_units_are_not_compared() -> None:
    parser = small_family(child="fixed", child_options={"chunk_size": 500})
    assert parser.child_options == {"chunk_size": 500}


def test_a_family_within_a_family_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    from rag_nodes.parsers import presets

    family = presets.Preset("parent-child", presets.PRESETS["parent-child"].path, "", "")
    monkeypatch.setitem(presets.PRESETS, "parent-child", family)
    with pytest.raises(ConfigurationError, match="child must not be 'parent-child'"):
        small_family(child="parent-child", child_options={})
