"""What we assume about Qdrant's engine; raise its bound when all of this passes.

Each test fails with what breaks for our users where the assumption no longer holds, or says which
care of ours has become needless.
"""

import json
import shutil
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
import qdrant_edge as edge
from packaging.requirements import Requirement

from rag_nodes.store.edge import shards
from rag_nodes.store.engine import DENSE, SPARSE, Layout

PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def shard(tmp_path: Path) -> Iterator[Any]:
    opened = shards.made(tmp_path / "shard", Layout(2))
    yield opened
    opened.close()


def put(shard: Any, number: int, vector: Any, **payload: Any) -> None:
    words = edge.SparseVector([7], [1.0])
    point = edge.Point(UUID(int=number), {DENSE: vector, SPARSE: words}, payload)
    shard.update(edge.UpdateOperation.upsert_points([point]))


def word_score(shard: Any, params: Any) -> float:
    nearest = edge.Query.Nearest(edge.SparseVector([7], [1.0]), SPARSE)
    [best, *_] = shard.query(edge.QueryRequest(limit=1, query=nearest, params=params))
    return float(best.score)


def test_the_installed_engine_is_within_the_bound_that_was_tried() -> None:
    extras = tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"]
    [bound] = [
        collection
        for collection in map(Requirement, extras["qdrant"])
        if collection.name == "qdrant-edge-py"
    ]
    assert "<" in str(bound.specifier)
    assert bound.specifier.contains(version("qdrant-edge-py"))


@pytest.mark.parametrize(("value", "expected"), [(True, 2), (np.True_, 1), (np.False_, 3)])
def test_truth_values_of_numpy_are_found_and_those_of_python_are_numbers(
    shard: Any, value: Any, expected: int
) -> None:
    for number, flag in enumerate((True, 1, False, 0), 1):
        put(shard, number, [1.0, 0.0], flag=flag)
    condition = edge.FieldCondition(key="flag", match=edge.MatchValue(value=value))
    [record], _ = shard.scroll(edge.ScrollRequest(filter=edge.Filter(must=[condition])))
    assert record.id == UUID(int=expected), "`Terms.truth` is needed no more, or not enough"


def test_no_number_is_taken_for_a_number(shard: Any) -> None:
    put(shard, 1, [float("nan"), 0.0])
    assert shard.info().points_count == 1, "embeddings need not be looked at before a write"


def test_deeply_nested_metadata_are_stored_and_break_reading(shard: Any) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    put(shard, 1, [1.0, 0.0], deep=deep)
    with pytest.raises(Exception, match="recursion"):
        shard.scroll(edge.ScrollRequest(with_payload=True))


def test_deleted_points_count_as_documents_unless_the_corpus_is_named(shard: Any) -> None:
    plain, named = edge.SearchParams(), edge.SearchParams(idf=edge.IdfParams(corpus=edge.Filter()))
    put(shard, 1, [1.0, 0.0])
    expected = word_score(shard, named)
    for number in range(2, 30):
        put(shard, number, [1.0, 0.0])
    shard.update(edge.UpdateOperation.delete_points([UUID(int=n) for n in range(2, 30)]))
    assert word_score(shard, named) == pytest.approx(expected), "scores change with every delete"
    assert word_score(shard, plain) != pytest.approx(expected), "the corpus need not be named"


def test_one_folder_opens_once(shard: Any, tmp_path: Path) -> None:
    put(shard, 1, [1.0, 0.0])
    with pytest.raises(Exception, match="WouldBlock"):
        edge.EdgeShard.load(str(tmp_path / "shard"))


def test_opening_an_empty_folder_leaves_files_in_it(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="edge"):
        edge.EdgeShard.load(str(tmp_path))
    assert list(tmp_path.iterdir()), "a folder need not be looked at before it is opened"
    with pytest.raises(FileNotFoundError, match=r"edge_config\.json is lost"):
        shards.loaded(tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_batch_with_one_bad_point_is_refused_and_stored_in_part(shard: Any) -> None:
    good = [edge.Point(UUID(int=n), {DENSE: [1.0, 0.0]}, {}) for n in range(1, 41)]
    bad = edge.Point(UUID(int=99), {DENSE: [1.0, 0.0, 0.0]}, {})
    for _ in range(8):
        with pytest.raises(Exception, match="dimension"):
            shard.update(edge.UpdateOperation.upsert_points([*good, bad]))
    assert shard.info().points_count, "a batch is all or nothing: points need no look before"


def test_a_shard_keeps_to_few_threads(tmp_path: Path) -> None:
    tasks = Path("/proc/self/task")
    before = len([*tasks.glob("*")])
    shard = shards.made(tmp_path / "one", Layout(2))
    put(shard, 1, [1.0, 0.0])
    more = len([*tasks.glob("*")]) - before  # sixteen where nobody says how many
    assert more < 8, "hundreds of collections are thousands of threads"
    shards.closed(shard)
    kept = json.loads((tmp_path / "one" / "edge_config.json").read_text())
    assert kept["max_search_threads"] == 1


def test_a_place_in_a_list_has_an_index_of_its_own(shard: Any, tmp_path: Path) -> None:
    put(shard, 1, [1.0, 0.0], heading_path=["A", "B"])
    put(shard, 2, [1.0, 0.0], heading_path=["B", "A"])
    shards.index(shard, {"heading_path[1]": "keyword"}, tmp_path)
    assert list(shard.info().payload_schema) == ["heading_path[1]"]
    second = edge.FieldCondition(key="heading_path[1]", match=edge.MatchValue(value="B"))
    scope = edge.Filter(must=[second])
    assert shard.count(edge.CountRequest(exact=True, filter=scope)) == 1


def test_without_a_log_there_is_no_lock_and_nothing_is_kept_without_a_flush(tmp_path: Path) -> None:
    loose = shards.made(tmp_path / "loose", Layout(2), temporary=True)
    loose.flush()
    put(loose, 1, [1.0, 0.0])
    again = edge.EdgeShard.load(str(tmp_path / "loose"))
    assert again.info().points_count == 0, "the engine locks by itself: ours is needless"
    for point_id in (again, loose):
        point_id.close()


def test_closing_hides_what_could_not_be_written_and_flushing_tells(tmp_path: Path) -> None:
    shard = shards.made(tmp_path / "here", Layout(2))
    put(shard, 1, [1.0, 0.0])
    shutil.rmtree(tmp_path / "here")
    with pytest.raises(Exception, match="No such file"):
        shard.flush()
    shard.close()


def parts_of(shard: Any, *numbers: range) -> Any:
    """A shard with a sealed part for each range of points, of 1 KB for a point."""
    for chunk in numbers:
        for number in chunk:
            put(shard, number, [1.0] * 256)
        assert shard.optimize()
    return shard


def index_types(folder: Path) -> list[str]:
    """Of the words of each part, by what the engine notes."""
    notes = [json.loads(path.read_bytes()) for path in folder.glob("segments/*/segment.json")]
    return sorted(
        note["config"]["sparse_vector_data"][SPARSE]["index"]["index_type"] for note in notes
    )


@pytest.fixture
def sealing_shard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(shards, "SEGMENT", 20)
    monkeypatch.setattr(shards, "_LEAST", 1)
    opened = shards.made(tmp_path / "shard", Layout(256))
    yield opened
    opened.close()


def test_words_of_a_sealed_part_are_mapped_and_no_full_parts_are_made_one(
    sealing_shard: Any, tmp_path: Path
) -> None:
    parts_of(sealing_shard, range(1, 21), range(21, 41), range(41, 61))
    sealing_shard.flush()  # until then the files of what was sealed stay
    kinds = index_types(tmp_path / "shard")
    assert kinds == ["Mmap"] * 3 + ["MutableRam"], "memory, or the time of a write, grows"
    put(sealing_shard, 61, [1.0] * 256)
    assert not sealing_shard.optimize(), "sealing does again what is done"


def test_no_graph_is_built_of_a_sealed_part_nor_of_an_embedding_that_is_added(
    sealing_shard: Any, tmp_path: Path
) -> None:
    added = edge.UpdateOperation.create_dense_vector("more", 256, edge.Distance.Cosine)
    sealing_shard.update(added)
    for number in range(1, 21):
        vectors = {DENSE: [1.0] * 256, "more": [float(number)] * 256}
        point = edge.Point(UUID(int=number), vectors, {})
        sealing_shard.update(edge.UpdateOperation.upsert_points([point]))
    assert sealing_shard.optimize()
    links = list((tmp_path / "shard").glob("segments/*/vector_index*/links*"))
    assert len(links) == 2
    assert all(link.stat().st_size < 1_000 for link in links), "sealing takes as long as a graph"


def test_a_part_is_written_again_when_half_of_it_is_gone_and_what_is_left_joins_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "SEGMENT", 1_000)
    monkeypatch.setattr(shards, "_LEAST", 16)
    shard = shards.made(tmp_path / "shard", Layout(4))
    every = [UUID(int=number) for number in range(1, 1_101)]
    points = [edge.Point(point_id, {DENSE: [1.0] * 4}, {}) for point_id in every]
    shard.update(edge.UpdateOperation.upsert_points(points))
    assert shard.optimize()
    shard.update(edge.UpdateOperation.delete_points(every[:500]))
    assert not shard.optimize(), "parts are written again too often"
    shard.update(edge.UpdateOperation.delete_points(every[500:600]))
    assert shard.optimize(), "space of what is deleted is never given back"
    assert shard.info().points_count == 500
    shard.close()
