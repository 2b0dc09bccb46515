"""Keys that points have are indexed in a large collection, others when they are asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes import metadata as keys
from rag_nodes.store import Filter, open_store
from rag_nodes.store.edge import collection as collections_
from rag_nodes.store.edge.indexes import NAMES, asked_for
from rag_nodes.store.filters import DOCUMENT_ID, INDEXES

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store

X = [1.0, 0.0, 0.0]
EVERYTHING = Filter(
    file_name="a.md",
    source="a.md",
    pages=(1, 2),
    heading="a",
    heading_path=tuple("abcdef"),
    document_ids=["d"],
)


def indexed(store: Store) -> set[str]:
    return set(store.engine.collection("c").shard.info().payload_schema)


@pytest.mark.parametrize("in_memory", [False, True])
def test_a_key_is_indexed_with_the_first_point_that_has_it(
    in_memory: bool,
    tmp_path: Path,
    make_node: Callable[..., TextNode],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(collections_, "INDEXED", 4)
    with open_store(":memory:" if in_memory else tmp_path) as store:
        store.add("c", [make_node(f"{n}", X, **{keys.FILE_NAME: "a.md"}) for n in range(3)])
        assert indexed(store) <= {"_collection"}
        store.add("c", [make_node("4", X, **{keys.HEADING_PATH: ["A", "B"]})])
        some = {DOCUMENT_ID, keys.FILE_NAME, f"{keys.HEADING_PATH}[0]", f"{keys.HEADING_PATH}[1]"}
        assert indexed(store) - {"_collection"} == some
        store.add("c", [make_node("5", X, **{keys.PAGE_START: 1})])
        assert indexed(store) - {"_collection"} == {*some, keys.PAGE_START}


def test_a_key_that_no_point_has_is_indexed_when_it_is_asked_for(
    tmp_path: Path, make_node: Callable[..., TextNode], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collections_, "INDEXED", 4)
    with open_store(tmp_path) as store:
        store.add("c", [make_node(f"{n}", X) for n in range(4)])
    with open_store(tmp_path) as store:
        store.add("c", [make_node("5", X)])
        pages = Filter(pages=(1, 2))
        assert not store.search("c", vector=X, text="5", limit=9, filter=pages)
        assert indexed(store) == {DOCUMENT_ID, keys.PAGE_START, keys.PAGE_END}


def test_every_key_that_a_filter_may_name_has_an_index_and_is_looked_for() -> None:
    assert set(asked_for(EVERYTHING)) == INDEXES.keys()
    assert not set(asked_for(Filter()))
    assert {key.partition("[")[0] for key in INDEXES} == set(NAMES)
