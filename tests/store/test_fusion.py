from typing import Any

import pytest

from rag_nodes.store import fusion
from rag_nodes.store.queries import FUSIONS


def fuse(dense: Any, sparse: Any, *method: Any) -> list[tuple[str, float]]:
    return fusion.fuse(fusion.Scores(dense, sparse), *method).pairs


def test_both_rankings_have_a_say_whatever_their_scale() -> None:
    dense = {"meaning": 0.9, "both": 0.85, "words": 0.1, "neither": 0.1}
    sparse = {"words": 50.0, "both": 45.0, "meaning": 1.0}
    ranked = [node for node, _ in fuse(dense, sparse)]
    assert ranked[0] == "both"
    assert ranked[-1] == "neither"
    assert ranked == [node for node, _ in fuse({k: v * 1000 for k, v in dense.items()}, sparse)]


@pytest.mark.parametrize("method", FUSIONS)
def test_one_ranking_alone_keeps_its_scores_and_nothing_gives_nothing(method: Any) -> None:
    assert fuse({"a": 0.2, "b": 0.4}, None, method) == [("b", 0.4), ("a", 0.2)]
    assert fuse(None, {"a": 3.0, "b": 4.0}, method) == [("b", 4.0), ("a", 3.0)]
    for nothing in (({}, {}), (None, {}), (None, None)):
        assert fuse(*nothing, method) == []


def test_a_ranking_without_differences_decides_nothing_and_ids_decide_between_equals() -> None:
    assert [node for node, _ in fuse({"a": 0.5, "b": 0.5}, {"b": 1.0})] == ["b", "a"]
    assert [node for node, _ in fuse({"c": 0.5, "a": 0.5, "b": 0.5}, {})] == ["a", "b", "c"]


def test_chunks_behind_both_rankings_count_for_what_is_usual() -> None:
    dense = {f"{n:02}": 1 / (n + 1) for n in range(40)}
    sparse = {f"{n:02}": float(n % 7) for n in range(40) if n % 7}
    complete = dict(fuse(dense, sparse))
    best, behind = list(dense)[:10], list(dense)[10:]
    rest = fusion.Rest(
        30, [dense[node_id] for node_id in behind], [sparse.get(n, 0.0) for n in behind]
    )
    top = (
        {node_id: dense[node_id] for node_id in best},
        {node_id: sparse[node_id] for node_id in best if node_id in sparse},
    )
    fused = fusion.fuse(fusion.Scores(*top, rest))
    assert dict(fused.pairs) == pytest.approx({node_id: complete[node_id] for node_id in best})
    half = fusion.Rest(30, rest.dense[::2], rest.sparse[::2])
    near = fusion.fuse(fusion.Scores(*top, half))
    assert near.pairs[0][1] == pytest.approx(fused.pairs[0][1], rel=0.1)
    assert fuse(*top)[0][1] < 0.8 * fused.pairs[0][1]


def test_rank_fusion_sums_reciprocal_ranks_whatever_the_scores() -> None:
    fused = fuse({"a": 0.9, "b": 0.8, "c": 0.1}, {"b": 500.0, "c": 1.0}, "rank")
    assert fused == [("b", 1 / 62 + 1 / 61), ("c", 1 / 63 + 1 / 62), ("a", 1 / 61)]


def test_a_chunk_that_one_search_alone_found_has_the_least_of_the_other() -> None:
    for dense in ({"a": 0.9, "b": 0.7, "d": 0.2}, {"a": -0.1, "b": -0.3, "d": -0.6}):
        sparse = {"words": 4.0, "a": 1.0}
        assert fuse(dense, sparse) == fuse({**dense, "words": min(dense.values())}, sparse)
    dense, sparse = {"meaning": 0.9, "both": 0.4}, {"both": 2.0}
    assert dict(fuse(dense, sparse)) == pytest.approx(dict(fuse(dense, {**sparse, "meaning": 0.0})))


def test_no_score_leaves_the_range_from_0_to_1_by_rounding() -> None:
    cosines = fusion.Ranking([], 1.0)
    assert [cosines.share(score) for score in (-1e-7, 0.5, 1 + 1e-7)] == [0.0, 0.5, 1.0]
    assert fusion.Ranking([], 0.0).share(0.0) == 0.0, "nothing has anything in common with it"
