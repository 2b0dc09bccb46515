from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from rag_nodes.store import open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from llama_index.core.schema import TextNode

    from rag_nodes.store import Store


@pytest.fixture
def memory() -> Iterator[Store]:
    with open_store(":memory:") as opened:
        yield opened


def unit(n: int) -> list[float]:
    return [1.0, n / 10, 0.0]


def test_many_threads_may_create_the_same_collection(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    start = threading.Barrier(8)

    def write(worker: int) -> None:
        start.wait()
        for n in range(5):
            store.vector_store(collection).add([make_node(f"{worker} {n}", unit(n))])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    assert store.count(collection) == 40


def test_searching_while_others_write_and_delete_always_gives_whole_results(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    store.vector_store(collection).add([make_node(f"zebra {n}", unit(n)) for n in range(20)])
    writing = threading.Event()

    def write() -> None:
        try:
            for n in range(60):
                extra = make_node(f"extra zebra {n}", unit(n))
                store.vector_store(collection).add([extra])
                store.delete(collection, [extra.node_id])
        finally:
            writing.set()

    def read() -> int:
        searches = 0
        while not writing.is_set() or not searches:
            hits = store.search(collection, vector=unit(3), text="zebra", limit=10)
            assert len(hits) == 10
            assert all(hit.similarity is not None and hit.node.text for hit in hits)
            searches += 1
        return searches

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(2)]
        pool.submit(write).result()
        assert all(reader.result() > 0 for reader in readers)
    assert store.count(collection) == 20


async def test_many_async_writers_share_one_collection(
    store: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    vectors = store.vector_store(collection)
    await asyncio.gather(*(vectors.async_add([make_node(f"n {n}", unit(n))]) for n in range(20)))
    assert store.count(collection) == 20


async def test_async_calls_leave_the_event_loop_free_while_another_thread_holds_the_store(
    memory: Store, collection: str, make_node: Callable[..., TextNode]
) -> None:
    store, vectors = memory, memory.vector_store(collection)
    vectors.add([make_node("one", unit(1))])
    holds, release = threading.Event(), threading.Event()

    def hold() -> None:
        with store._engine.guard:
            holds.set()
            release.wait()

    holder = asyncio.create_task(asyncio.to_thread(hold))
    await asyncio.to_thread(holds.wait)
    waiting = asyncio.create_task(vectors._aclient.count(collection))
    await asyncio.sleep(0)  # reached only if the call above does not block the loop
    assert not waiting.done()
    release.set()
    assert (await waiting).count == 1
    await holder
