from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes.errors import StoreError
from rag_nodes.store import open_store
from rag_nodes.store.server import engine

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store

X, Y, Z = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]


def fill(store: Store, collection: str, *nodes: TextNode) -> None:
    store.vector_store(collection).add(list(nodes))


def test_a_folder_keeps_its_chunks_and_memory_does_not(
    tmp_path: Path, collection: str, make_node: Callable[..., TextNode]
) -> None:
    for location, expected in ((tmp_path / "kept", 1), (":memory:", 0)):
        with open_store(location) as first:
            fill(first, collection, make_node("one", X))
        with open_store(location) as second:
            assert second.count(collection) == expected


def test_scores_are_complete_where_a_server_returns_only_the_best_of_each_ranking(
    store: Store,
    collection: str,
    make_node: Callable[..., TextNode],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = [f"zebra {'filler ' * n}" for n in range(1, 9)]
    nodes = [make_node(text, [1.0, n / 4, 0.0]) for n, text in enumerate(texts)]
    fill(store, collection, *reversed(nodes), make_node("no such animal", [1.0, 0.01, 0.0]))
    complete = store.search(collection, vector=[1.0, 2.0, 0.0], text="zebra", limit=9)
    expected = {hit.node.node_id: (hit.similarity, hit.keyword_score) for hit in complete}

    monkeypatch.setattr(engine, "DEPTH", 3)
    truncated = store.search(collection, vector=[1.0, 2.0, 0.0], text="zebra", limit=3)
    assert len(truncated) == 3
    for hit in truncated:
        similarity, keyword_score = expected[hit.node.node_id]
        assert hit.similarity == pytest.approx(similarity)
        assert hit.keyword_score == pytest.approx(keyword_score)


def test_a_closed_store_says_so(collection: str, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.count(collection)
