"""A server on a bad day: what passes is waited for, what does not is told, nothing is lost."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from llama_index.core.vector_stores.types import VectorStoreQuery
from store.qdrant_server import Fault, QdrantDouble
from stored_nodes import MakeNode

from rag_nodes.core.errors import CancelledError, StoreError, StoreUnreachableError
from rag_nodes.core.processes import Interrupt, interruptible
from rag_nodes.store import Filter, Query, ServerOptions, Store, open_store
from rag_nodes.store.server import connection

X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]
PASSING: tuple[Fault, ...] = ("500", "503", "429", "reset", "lost", "cut")


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were waited for in mind only."""
    waited: list[float] = []

    monkeypatch.setattr(connection, "pause", waited.append)
    return waited


@pytest.fixture
def store(double: QdrantDouble, waits: list[float]) -> Iterator[Store]:  # noqa: ARG001
    with open_store(double.url) as opened:
        yield opened


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_costs_a_wait_and_nothing_else(
    store: Store,
    double: QdrantDouble,
    collection: str,
    make_node: MakeNode,
    fault: Fault,
    waits: list[float],
) -> None:
    calls: list[Callable[[], object]] = [
        lambda: store.add(collection, [make_node("red zebra", X), make_node("blue lion", Y)]),
        lambda: store.search(
            collection,
            Query(vector=X, text="zebra", limit=2, filter=Filter(document_ids=["doc-1"])),
        ),
        lambda: store.stored(collection, "doc-1"),
        lambda: store.count(collection),
        lambda: store.delete(collection, [make_node("blue lion", Y).node_id]),
        store.collections,
        lambda: store.drop(collection),
    ]
    for call in calls:
        double.faults[:] = [("", fault), ("", fault)]
        waits.clear()
        call()
        assert double.faults == []
        assert len(waits) == 2
    assert store.count(collection) == 0


async def test_llama_index_is_told_of_faults_that_stay_in_our_errors(
    store: Store, double: QdrantDouble, collection: str, make_node: MakeNode
) -> None:
    node = make_node("red zebra", X)
    vectors = store.vector_store(collection)
    vectors.add([node])
    question = VectorStoreQuery(query_embedding=X, similarity_top_k=1)
    calls: list[Callable[[], Any]] = [
        lambda: vectors.query(question),
        lambda: vectors.get_nodes([node.node_id]),
        lambda: vectors.delete("doc-1"),
        lambda: vectors.delete_nodes([node.node_id]),
    ]
    for call in calls:
        double.faults[:] = [("", "503")] * 30
        with pytest.raises(StoreUnreachableError, match="HTTP 503"):
            call()
    with pytest.raises(StoreUnreachableError, match="HTTP 503"):
        await vectors.aquery(question)


def test_waits_grow_and_are_different_for_everyone(
    store: Store, double: QdrantDouble, collection: str, waits: list[float]
) -> None:
    runs = []
    for _ in range(2):
        waits.clear()
        double.faults = [("", "503")] * 5
        store.count(collection)
        runs.append(list(waits))
    for longest, wait in zip((0.25, 0.5, 1, 2, 4), runs[0], strict=True):
        assert longest / 2 <= wait <= longest
    assert runs[0] != runs[1]


def test_nobody_waits_for_a_server_on_behalf_of_work_that_was_given_up(
    double: QdrantDouble, collection: str
) -> None:
    given_up = Interrupt()
    given_up.set()
    with open_store(double.url) as store:
        double.faults = [("", "503")] * 2
        with interruptible(given_up), pytest.raises(CancelledError):
            store.count(collection)
        assert len(double.faults) == 1


def test_a_server_says_how_long_to_wait(
    store: Store, double: QdrantDouble, collection: str, waits: list[float]
) -> None:
    double.faults = [("", "429")]
    store.count(collection)
    assert waits == [0.0]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("503", "could not do it, also when asked again"),
        ("429", "HTTP 429"),
        ("reset", "does not answer"),
        ("cut", "does not answer"),
    ],
)
def test_a_fault_that_stays_is_reported_after_the_last_try(
    store: Store, double: QdrantDouble, collection: str, fault: Fault, message: str
) -> None:
    double.faults = [("", fault)] * 6
    with pytest.raises(StoreUnreachableError, match=message) as raised:
        store.count(collection)
    assert str(raised.value).startswith(double.url)
    assert double.faults == []


def test_an_answer_of_another_program_is_no_answer(
    store: Store, double: QdrantDouble, waits: list[float]
) -> None:
    double.faults = [("", "garbled")]
    with pytest.raises(StoreUnreachableError, match="does not answer as a Qdrant server does"):
        store.collections()
    assert waits == []


def test_a_slow_answer_is_not_asked_for_again(
    double: QdrantDouble, collection: str, waits: list[float]
) -> None:
    with open_store(double.url, options=ServerOptions(timeout=0.01)) as store:
        double.faults = [("", "late")]
        with pytest.raises(StoreUnreachableError, match="raise the store option timeout"):
            store.count(collection)
    assert waits == []


def test_a_server_that_was_there_is_waited_for_and_a_mistyped_one_is_not(
    serve: Callable[..., Any], collection: str, waits: list[float]
) -> None:
    with serve() as double:
        store = open_store(double.url)
        double.faults = [("", "503")]
        open_store(double.url).close()
        assert len(waits) == 1
    waits.clear()
    with store, pytest.raises(StoreUnreachableError, match="server is running"):
        store.count(collection)
    assert len(waits) == ServerOptions().retries
    waits.clear()
    with pytest.raises(StoreUnreachableError, match="server is running"):
        open_store(double.url)
    assert waits == []


def test_a_refusal_is_reported_in_the_servers_words_with_what_to_do(
    store: Store, collection: str, make_node: MakeNode, waits: list[float]
) -> None:
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters

    store.add(collection, [make_node("red zebra", X)])
    other = MetadataFilters(
        filters=[MetadataFilter(key="colour", value="red", operator="text_match")]
    )
    with pytest.raises(StoreError, match=r'"colour".*indexed keys only'):
        store.vector_store(collection).query(
            VectorStoreQuery(query_embedding=X, similarity_top_k=1, filters=other)
        )
    assert waits == []
