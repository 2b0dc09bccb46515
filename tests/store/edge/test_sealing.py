"""A collection is sealed part by part, and nobody who asks or writes can tell."""

import json
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import cycle, islice, product
from pathlib import Path
from typing import NamedTuple

import pytest
from llama_index.core.schema import TextNode
from stored_nodes import MakeNode

from rag_nodes.core import metadata as keys
from rag_nodes.store import Filter, Query, Store, open_store
from rag_nodes.store.edge import collection as collections_
from rag_nodes.store.edge import memory, shards
from rag_nodes.store.edge.memory import SharedCollection
from rag_nodes.store.engine import SPARSE, Point
from rag_nodes.store.queries import SearchMode

NUMBERS = 64
"""Of an embedding."""
WORDS = [f"word{number}" for number in range(60)]

SEAL_UNTIL_KILLED = """
import sys, time
from itertools import count
from pathlib import Path
from rag_nodes.store.edge import collection, shards
from rag_nodes.store.edge.engine import FolderEdge
from rag_nodes.store.engine import Layout
from rag_nodes.store.engine import Point
from uuid import UUID

shards.SEGMENT, shards._LEAST, collection.CHECKPOINT = 40, 1, 20
folder = FolderEdge(Path(sys.argv[1]))
folder.create("c", Layout(64))
opened = folder.collection("c")
tidy = shards.seal
def told(shard):
    print("seals", flush=True)
    tidy(shard)
shards.seal = told
for number in count(int(sys.argv[2])):
    if number == 100_000:
        break
    opened.write([Point(str(UUID(int=number)), {"n": number}, [1.0] * 64, ([7], [1.0]))])
    print(number, flush=True)
"""


class Scored(NamedTuple):
    """Of a hit."""

    similarity: float | None
    keywords: float | None


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "SEGMENT", 60)
    monkeypatch.setattr(shards, "_LEAST", 1)
    monkeypatch.setattr(collections_, "CHECKPOINT", 30)


@pytest.fixture
def drawn() -> random.Random:
    return random.Random(5)  # noqa: S311 -- no secret


@pytest.fixture
def make_nodes(make_node: MakeNode, drawn: random.Random) -> Callable[[range], list[TextNode]]:
    """Nodes of some numbers; for the same numbers the same ids and other content."""

    def make(numbers: range) -> list[TextNode]:
        nodes = []
        for number in numbers:
            metadata = {keys.FILE_NAME: f"f{number % 4}.md", keys.PAGE_START: number}
            vector = [drawn.gauss() for _ in range(NUMBERS)]
            node = make_node(f"{number}", vector, document=f"d{number // 10}", **metadata)
            node.text = " ".join(drawn.choices(WORDS, k=12))
            nodes.append(node)
        return nodes

    return make


def count_sealed(folder: Path) -> int:
    """Parts that are."""
    notes = [json.loads(path.read_bytes()) for path in folder.rglob("segment.json")]
    kinds = [note["config"]["sparse_vector_data"][SPARSE]["index"]["index_type"] for note in notes]
    return kinds.count("Mmap")


def answers(store: Store, drawn: random.Random) -> list[dict[str, Scored]]:
    """All that is found of eighteen questions in each mode, with filters and without."""
    hits_by_query = []
    scopes = [Filter(), Filter(file_name="f1.md"), Filter(pages=(20, 90))]
    modes: list[SearchMode] = ["dense", "sparse", "hybrid"]
    for mode, scope, _ in islice(cycle(product(modes, scopes, range(2))), 18):
        vector, text = [drawn.gauss() for _ in range(NUMBERS)], " ".join(drawn.choices(WORDS, k=3))
        hits = store.search(
            "c", Query(vector=vector, text=text, mode=mode, limit=999, filter=scope)
        )
        hits_by_query.append(
            {hit.node.text: Scored(hit.similarity, hit.keyword_score) for hit in hits}
        )
    return hits_by_query


def stored_points(store: Store) -> list[Point]:
    """Every point with all that it holds, in the order of ids."""
    engine = store.engine
    with engine.step("c"):
        points = engine.collection("c").select(None, None, vectors=True)
        return sorted(points, key=lambda node: node.node_id)


def are_alike(points: Sequence[Point], others: Sequence[Point]) -> bool:
    """Whether the same points hold the same."""
    return len(points) == len(others) and all(
        node.node_id == other.node_id
        and node.payload == other.payload
        and node.vector == pytest.approx(other.vector)
        and sorted(zip(*node.words, strict=True)) == sorted(zip(*other.words, strict=True))
        for node, other in zip(points, others, strict=True)
    )


def test_collections_in_memory_are_sealed_by_what_all_of_them_wrote(
    make_nodes: Callable[[range], list[TextNode]],
    drawn: random.Random,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "_shards", {})  # none that was made before segments got small
    each = {f"c{number}": make_nodes(range(25)) for number in range(6)}
    stores = [open_store() for _ in range(2)]
    for number, (name, nodes) in enumerate(each.items()):
        stores[number % 2].add(name, nodes)
        stores[number % 2].flush(name)
    collection = stores[0].engine.collection("c0")
    assert isinstance(collection, SharedCollection)

    assert count_sealed(collection.shared.folder), "none of them wrote as many as are sealed"

    for number, (name, nodes) in enumerate(each.items()):
        vector = [drawn.gauss() for _ in range(NUMBERS)]
        hits = stores[number % 2].search(name, Query(vector=vector, text="word7", limit=999))
        assert {hit.node.text for hit in hits} == {node.text for node in nodes}
    for store in stores:
        store.close()


def test_a_sealed_collection_answers_and_holds_what_one_that_is_not_does(
    tmp_path: Path, make_nodes: Callable[[range], list[TextNode]]
) -> None:
    steps: Sequence[tuple[str, list[TextNode]]] = [
        ("add", make_nodes(range(200))),
        ("add", make_nodes(range(40, 70))),
        ("delete", make_nodes(range(100, 150))),
        ("add", make_nodes(range(180, 320))),
        ("delete", make_nodes(range(30))),
    ]
    with open_store() as unsealed:
        for kind, nodes in steps:
            with open_store(tmp_path) as store:
                for hit in (unsealed, store):
                    if kind == "add":
                        for first in range(0, len(nodes), 10):
                            hit.add("c", nodes[first : first + 10])
                    else:
                        hit.delete("c", [node.node_id for node in nodes])
        with open_store(tmp_path) as store:
            assert count_sealed(tmp_path) >= 3
            assert store.count("c") == unsealed.count("c") == 240
            assert are_alike(stored_points(store), stored_points(unsealed))
            seed = 7
            found_by_both = (
                answers(store_, random.Random(seed))  # noqa: S311 -- no secret
                for store_ in (store, unsealed)
            )
            for scored, expected in zip(*found_by_both, strict=True):
                assert scored == {
                    text: Scored(pytest.approx(hit.similarity), pytest.approx(hit.keywords))
                    for text, hit in expected.items()
                }


def test_a_disk_without_room_for_a_sealed_part_is_left_as_it_is() -> None:
    class Full:
        def optimize(self) -> bool:
            raise RuntimeError("Service runtime error: Not enough space available for optimization")

    class Broken:
        def optimize(self) -> bool:
            raise RuntimeError("Service runtime error: it is damaged")

    shards.seal(Full())
    with pytest.raises(RuntimeError, match="damaged"):
        shards.seal(Broken())


def test_a_process_that_is_killed_while_it_seals_loses_nothing(
    tmp_path: Path, drawn: random.Random
) -> None:
    following = 1
    for _ in range(2):
        command = [sys.executable, "-c", SEAL_UNTIL_KILLED, str(tmp_path), str(following)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
            seals = drawn.randrange(3, 9)
            for line in running.stdout or ():
                seals -= line == "seals\n"
                if not seals:
                    break
            running.send_signal(signal.SIGKILL)
            lines = [*(running.stdout or ())]
        acknowledged = max(
            (int(line) for line in lines if line.strip().isdecimal()), default=following
        )
        with open_store(tmp_path) as store:
            numbers = {point.payload["n"] for point in stored_points(store)}
        assert numbers >= set(range(1, acknowledged + 1))
        following = max(numbers) + 1
    assert count_sealed(tmp_path)
