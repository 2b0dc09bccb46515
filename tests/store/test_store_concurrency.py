import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from stored_nodes import MakeNode

from rag_nodes.store import Query, Store, open_store, queries


@pytest.fixture
def memory() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def unit(n: int) -> list[float]:
    return [1.0, n / 10, 0.0]


def test_many_threads_may_create_the_same_collection(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    start = threading.Barrier(8)

    def write(worker: int) -> None:
        start.wait()
        for n in range(5):
            store.vector_store(collection).add([make_node(f"{worker} {n}", unit(n))])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert store.count(collection) == 40


def test_chunks_deleted_between_ranking_and_reading_make_room_for_the_next_best(
    store: Store, collection: str, make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = [make_node(f"old zebra {n}", unit(n), document="old") for n in range(10)]
    new = [make_node(f"new zebra {n}", unit(n), document="new") for n in range(10)]
    store.vector_store(collection).add([*old, *new])
    rank = queries.fuse

    def delete_while_ranking(*scores: Any) -> list[tuple[str, float]]:
        ranked = rank(*scores)
        store.delete(collection, [node.node_id for node in old])
        return ranked

    monkeypatch.setattr(queries, "fuse", delete_while_ranking)
    hits = store.search(collection, Query(vector=unit(3), text="zebra", limit=6))
    assert [hit.rank for hit in hits] == [1, 2, 3, 4, 5, 6]
    assert all(hit.node.text.startswith("new") for hit in hits)


def test_nobody_writes_to_an_embedded_store_between_ranking_and_reading(
    memory: Store, collection: str, make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    rank = queries.fuse

    def lock_is_free() -> bool:
        guard = memory.engine.guard  # type: ignore[attr-defined]
        free = guard.acquire(blocking=False)
        if free:
            guard.release()
        return bool(free)

    def watch_ranking(*scores: Any) -> list[tuple[str, float]]:
        with ThreadPoolExecutor(1) as pool:
            assert not pool.submit(lock_is_free).result()
        return rank(*scores)

    monkeypatch.setattr(queries, "fuse", watch_ranking)
    memory.vector_store(collection).add([make_node("zebra", unit(1))])
    assert len(memory.search(collection, Query(vector=unit(1), text="zebra", limit=2))) == 1


def test_searching_while_others_write_and_delete_always_gives_whole_results(
    store: Store, collection: str, make_node: MakeNode
) -> None:
    store.vector_store(collection).add([make_node(f"zebra {n}", unit(n)) for n in range(20)])
    writing = threading.Event()

    def write() -> None:
        try:
            for n in range(9):
                extra = make_node(f"extra zebra {n}", unit(n))
                store.vector_store(collection).add([extra])
                store.delete(collection, [extra.node_id])
        finally:
            writing.set()

    def search_until_written() -> int:
        searches = 0
        while not writing.is_set() or not searches:
            hits = store.search(collection, Query(vector=unit(3), text="zebra", limit=10))
            assert len(hits) == 10
            assert all(hit.similarity is not None and hit.node.text for hit in hits)
            searches += 1
        return searches

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(search_until_written) for _ in range(2)]
        pool.submit(write).result()
        assert all(reader.result() > 0 for reader in readers)
    assert store.count(collection) == 20


async def test_async_calls_leave_the_event_loop_free_while_another_thread_holds_the_store(
    memory: Store, collection: str, make_node: MakeNode
) -> None:
    store, vectors = memory, memory.vector_store(collection)
    vectors.add([make_node("one", unit(1))])
    holds, release = threading.Event(), threading.Event()

    def hold() -> None:
        with store.engine.guard:
            holds.set()
            release.wait()

    holder = asyncio.create_task(asyncio.to_thread(hold))
    await asyncio.to_thread(holds.wait)
    waiting = asyncio.create_task(vectors.aget_nodes())
    await asyncio.sleep(0)  # reached only if the call above does not block the loop
    assert not waiting.done()
    release.set()
    assert len(await waiting) == 1
    await holder
