"""A hybrid question ranks alike in every engine and process, also where it is not complete."""

import random
from pathlib import Path

import pytest
from llama_index.core.schema import TextNode
from stored_nodes import MakeNode

from rag_nodes.store import Filter, Query, fusion, open_store, terms
from rag_nodes.store.edge import collection as embedded
from rag_nodes.store.edge import memory
from rag_nodes.store.server import engine, models


@pytest.fixture
def nodes(make_node: MakeNode) -> list[TextNode]:
    """Chunks that share words and meaning with a question, no two of them alike."""
    drawn = random.Random(5)  # noqa: S311 -- no secret
    return [
        make_node(
            " ".join(drawn.choices(("zebra", "lion", "grass"), (1, 4, 30), k=20 + n)),
            [drawn.gauss(), drawn.gauss(), drawn.gauss()],
            document=f"d{n % 2}",
        )
        for n in range(300)
    ]


@pytest.fixture(autouse=True)
def sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rankings end early, and a small sample tells what is behind them."""
    monkeypatch.setattr(fusion, "COMPLETE", 10)
    for place in (fusion, engine):
        monkeypatch.setattr(place, "DEPTH", 30)
    for place in (terms, models, embedded):
        monkeypatch.setattr(place, "SAMPLE", 60)


@pytest.mark.parametrize("scope", [Filter(), Filter(document_ids=["d1"])])
def test_both_engines_rank_alike_by_a_sample_of_what_is_behind(
    nodes: list[TextNode],
    tmp_path: Path,
    server_url: str,
    collection: str,
    scope: Filter,
) -> None:
    rankings = []
    for location in (tmp_path, server_url):
        with open_store(location) as store:
            store.add(collection, nodes)
            for text in ("zebra lion", "?!"):
                hits = store.search(
                    collection, Query(vector=[1.0, 0.0, 0.0], text=text, limit=20, filter=scope)
                )
                rankings.append([(hit.node.node_id, hit.fused_score, hit.score) for hit in hits])
    for ours, served in zip(rankings[:2], rankings[2:], strict=True):
        assert [node_id for node_id, *_ in ours] == [node_id for node_id, *_ in served]
        for hit, other in zip(ours, served, strict=True):
            assert hit[1:] == pytest.approx(other[1:], rel=1e-3)


def test_memory_draws_the_sample_of_a_folder_in_every_process(
    nodes: list[TextNode], collection: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rankings = []
    for location in (":memory:", ":memory:", tmp_path):
        monkeypatch.setattr(memory, "_shards", {})  # as a process has none when it begins
        with open_store(location) as store:
            store.add("other", nodes[:20])
            store.add(collection, nodes)
            hits = store.search(
                collection, Query(vector=[1.0, 0.0, 0.0], text="zebra lion", limit=20)
            )
            rankings.append({hit.node.node_id: hit.fused_score for hit in hits})
    assert list(rankings[0]) == list(rankings[1]) == list(rankings[2])
    # The engine itself adds up BM25 scores in any order, in single precision.
    assert rankings[0] == pytest.approx(rankings[1], rel=1e-6)
    assert rankings[0] == pytest.approx(rankings[2], rel=1e-6)
