"""Filters by file, pages, headings and documents, on every kind of store."""

from collections.abc import Callable
from typing import Any

import pytest
from llama_index.core.schema import TextNode
from stored_nodes import MakeNode, fill, names_found

from rag_nodes import FlatMetadata
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.store import Query, SearchMode, Store
from rag_nodes.store.conditions import HEADING_LEVELS
from rag_nodes.store.filters import Filter


@pytest.fixture
def filled(store: Store, collection: str, make_node: MakeNode) -> Store:
    fill(store, collection, make_node)
    return store


PASSING: list[tuple[Filter, set[str]]] = [
    (Filter(), {"one", "two", "three", "four"}),
    (Filter(file_name="annex.pdf"), {"four"}),
    (Filter(file_name="annex"), set()),
    (Filter(pages=(3, 3)), {"two", "four"}),
    (Filter(pages=(2, 3)), {"one", "two", "four"}),
    (Filter(pages=(5, 9)), {"three"}),
    (Filter(heading="install"), {"two", "four"}),
    (Filter(heading="pump install"), {"two", "four"}),
    (Filter(heading="instal"), set()),
    (Filter(heading_path=("Setup",)), {"one", "two", "four"}),
    (Filter(heading_path=("Setup", "Install the pump")), {"two", "four"}),
    (Filter(heading_path=("Install the pump",)), set()),
    (Filter(document_ids=("manual",)), {"one", "two", "three"}),
    (Filter(document_ids=()), set()),
    (Filter(document_ids=("manual",), pages=(3, 9), heading="install"), {"two"}),
    (Filter(source="https://example.org/annex"), {"four"}),
    (Filter(source="https://example.org/old-annex"), {"four"}),
    (Filter(source="https://example.org/manual", pages=(3, 3)), {"two"}),
    (Filter(source="https://example.org/"), set()),
]


def test_a_filter_lets_exactly_its_chunks_pass_in_every_mode(
    filled: Store, collection: str
) -> None:
    for wanted, names in PASSING:
        for mode in ("hybrid", "dense", "sparse"):
            assert names_found(filled, collection, wanted, mode=mode) == names, (wanted, mode)


@pytest.mark.parametrize("step", [list, FlatMetadata()])
def test_headings_inside_chunks_pass_as_those_above_do(
    store: Store, collection: str, make_node: MakeNode, step: Callable[..., list[TextNode]]
) -> None:
    def node(name: str, *paths: list[str], **facts: Any) -> TextNode:
        inside = [[10 + at, path] for at, path in enumerate(paths)]
        return make_node(f"pump {name}", [1.0, 0.0, 0.5], headings_inside=inside, **facts)

    above = {"heading_path": ["Use"], "Heading": "Use"}
    nodes = [
        node("one", ["Setup", "3.4 Install"], ["Setup", "3.7 Moor"]),
        node("two", ["Use", "Install"], **above),
        node("three", Heading="Use"),
        node("four"),
    ]
    store.add(collection, step(nodes))
    for wanted, names in (
        (Filter(heading="install"), {"one", "two"}),
        (Filter(heading="3.7 moor"), {"one"}),
        (Filter(heading="3.4 moor"), set()),
        (Filter(heading="instal"), set()),
        (Filter(heading="use"), {"two", "three"}),
        (Filter(heading_path=("Setup", "3.7 Moor")), {"one"}),
        (Filter(heading_path=("Use", "3.7 Moor")), set()),
        (Filter(heading_path="Install"), set()),
    ):
        for mode in ("hybrid", "dense", "sparse"):
            assert names_found(store, collection, wanted, mode=mode) == names, (wanted, mode)
            assert {n.text.split()[1] for n in nodes if wanted.passes(n)} == names, wanted


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_chunks_with_the_words_in_several_headings_crowd_out_no_heading(
    store: Store, collection: str, make_node: MakeNode, mode: SearchMode
) -> None:
    inside = [[10, ["Tea"]], [20, ["Storage"]]]
    crowd = [make_node(f"pump {n}", [1.0, 0, 0], headings_inside=inside) for n in range(1_100)]
    above = {"heading_path": ["Tea storage"], "Heading": "Tea storage"}
    target = make_node("pump target and more", [0.1, 1.0, 0], **above)
    store.add(collection, [*crowd, target])
    query = Query([1.0, 0, 0], "pump", 3, mode, Filter(heading="tea storage"))
    assert [hit.node.text for hit in store.search(collection, query)] == [target.text]


def test_documents_given_twice_must_agree(filled: Store, collection: str) -> None:
    wanted = Filter(document_ids=("manual", "annex")).within(["annex", "other"])
    assert names_found(filled, collection, wanted) == {"four"}


def test_every_fusion_finds_the_same_chunks(filled: Store, collection: str) -> None:
    for fusion in ("score", "rank"):
        assert len(names_found(filled, collection, Filter(), fusion=fusion)) == 4
    with pytest.raises(ConfigurationError, match="score or rank"):
        names_found(filled, collection, Filter(), fusion="vote")


def test_nodes_are_read_by_id_and_missing_ones_left_out(filled: Store, collection: str) -> None:
    [hit] = filled.search(collection, Query(vector=None, text="three", limit=1, mode="sparse"))
    absent = "00000000-0000-0000-0000-000000000000"
    nodes = filled.fetch(collection, [hit.node.node_id, absent])
    assert [node.text for node in nodes.values()] == ["pump three"]
    assert filled.fetch(collection, []) == {}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"pages": (0, 3)}, "count from 1"),
        ({"pages": (4, 3)}, "must not exceed"),
        ({"file_name": " "}, "file_name is blank"),
        ({"heading": ""}, "heading is blank"),
        ({"source": " "}, "source is blank"),
        ({"file_name": 5}, "file_name must be a text, not 5"),
        ({"source": b"x"}, "source must be a text"),
        ({"pages": 3}, "pages must be the first and the last one"),
        ({"pages": (3,)}, "pages must be the first and the last one"),
        ({"pages": ("3", "9")}, "pages must be the first and the last one"),
        ({"pages": (1.5, 3)}, "pages must be the first and the last one"),
        ({"pages": "39"}, "pages must be the first and the last one"),
        ({"document_ids": 5}, "document_ids must be a list of texts"),
        ({"document_ids": [1]}, "document_ids must be a list of texts"),
        ({"heading_path": b"Setup"}, "heading_path must be a list of texts"),
        ({"heading_path": tuple("1234567")}, "7 headings and no chunk has more than 6"),
    ],
)
def test_a_filter_that_finds_nothing_by_mistake_is_refused(
    options: dict[str, object], words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Filter(**options)


def test_a_path_of_headings_may_be_as_deep_as_markdown_allows() -> None:
    assert Filter(heading_path=("x",) * HEADING_LEVELS)


def test_a_node_in_memory_whose_metadata_is_of_another_kind_passes_no_filter_on_it() -> None:
    odd = TextNode(text="x", metadata={"page_start": "3", "page_end": None, "Heading": 7})
    for wanted in (Filter(pages=(1, 9)), Filter(heading="7"), Filter(file_name="a.pdf")):
        assert not wanted.passes(odd)
    assert Filter().passes(odd)
