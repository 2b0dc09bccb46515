"""Filters by the user's own metadata keys find what looking at every chunk finds."""

import logging
import uuid
from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import Any

import pytest
from httpx import Headers
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.schema import TextNode
from qdrant_client import QdrantClient
from qdrant_client.http.exceptions import UnexpectedResponse

from rag_nodes.core.errors import ConfigurationError, StoreError
from rag_nodes.store import Filter, Query, Store, open_store
from rag_nodes.store.edge import collection as collections_

KEYS = ("dept", "effective date", "größe", "a.b", "x-1", "k'%/")
TEXTS = ("hr", "legal", "HR", "", " ", "2020", "true", "2024-05-01", "2024-05-01T10:00:00+02:00")
NUMBERS = (0, 1, -3, 2020, 2020.0, 2020.5, 1e-9, 2.0**52)
scalars = st.sampled_from([*TEXTS, *NUMBERS, True, False])
texts = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3)
payloads = st.lists(
    st.dictionaries(st.sampled_from(KEYS), scalars | texts, max_size=4), min_size=1, max_size=12
)
operands = scalars | st.lists(scalars, min_size=1, max_size=3)
bounds = st.sampled_from([*NUMBERS, "2024-05-01", "2024-05-01T08:30:00Z", "2024-05-01 09:00"])
operators = st.dictionaries(st.sampled_from(["==", "!="]), operands, min_size=1) | st.dictionaries(
    st.sampled_from(["<", "<=", ">", ">="]), bounds, min_size=1, max_size=2
)
wheres = st.dictionaries(
    st.sampled_from(KEYS), operands | st.none() | operators, min_size=1, max_size=3
)


@pytest.fixture(params=["looked at", "indexed"], scope="module")
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch, open_store(":memory:") as opened:
        if request.param == "indexed":
            patch.setattr(collections_, "INDEXED", 1)
        yield opened


def nodes_of(payloads: list[dict[str, Any]]) -> list[TextNode]:
    return [
        TextNode(id_=str(uuid.UUID(int=number + 1)), text="t", metadata=own, embedding=[1.0, 0.0])
        for number, own in enumerate(payloads)
    ]


def names_of(store: Store, collection: str, where: dict[str, Any]) -> set[str]:
    query = Query([1.0, 0.0], None, 100, "dense", Filter(where=where))
    return {hit.node.node_id for hit in store.search(collection, query)}


@given(payloads, st.lists(wheres, min_size=1, max_size=8))
def test_the_engine_finds_what_looking_at_every_chunk_finds(
    store: Store, payloads: list[dict[str, Any]], wheres: list[dict[str, Any]]
) -> None:
    nodes, name = nodes_of(payloads), f"c-{uuid.uuid4().hex}"
    store.add(name, nodes)
    for where in wheres:
        expected = {node.node_id for node in nodes if Filter(where=where).passes(node)}
        assert names_of(store, name, where) == expected, where
    store.engine.drop(name)


CASES: list[tuple[Any, set[int]]] = [
    ("hr", {0, 1}),
    (["hr", 2020], {0, 1, 2, 3}),
    (2020, {2, 3}),
    (True, {4}),
    (1, {5}),
    (None, {7}),
    ({"!=": "hr"}, {2, 3, 4, 5, 6}),
    ({">=": 2, "<": 2021}, {2, 3}),
    ({">": "2024-01-01"}, {6}),
    ({">": date(2024, 1, 1), "<=": datetime(2024, 5, 1, tzinfo=UTC)}, {6}),
    ([date(2024, 5, 1), True], {4, 6}),
    ("", set()),
]
VALUES = ["hr", ["legal", "hr"], 2020, 2020.0, True, 1, "2024-05-01", None]


@pytest.mark.parametrize(("compared", "expected"), CASES)
def test_values_compare_with_values_of_their_kind_only(compared: Any, expected: set[int]) -> None:
    nodes = nodes_of([{} if value is None else {"k": value} for value in VALUES])
    where = Filter(where={"k": compared})
    assert {place for place, node in enumerate(nodes) if where.passes(node)} == expected


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("dept=hr", "conditions by key"),
        ({"a": []}, "compare with a text"),
        ({"a": {}}, "name an operator"),
        ({"a": {"~": 1}}, "operators are =="),
        ({"a": {">": "soon"}}, "a date such as"),
        ({"a": {">": True}}, "a range needs a number"),
        ({"a": float("nan")}, "compare with a text"),
        ({"a": [{"b": 1}]}, "compare with a text"),
        ({"a": "x" * 2001}, "compare with a text"),
        ({"a": ["x"] * 101}, "compare with a text"),
        ({'a"b': 1}, "rename the key"),
        ({" ": 1}, "1 to 100 characters"),
        ({"k" * 101: 1}, "1 to 100 characters"),
        ({f"k{number}": 1 for number in range(51)}, "at most 50"),
    ],
)
def test_conditions_that_no_store_can_answer_are_refused(where: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Filter(where=where)


OWN = [
    {"dept": "hr", "year": 2019, "draft": True, "since": "2024-05-01"},
    {"dept": "legal", "year": 2021.5, "since": "2022-05-01"},
]
ON_SERVER: list[tuple[dict[str, Any], str, int]] = [
    ({"dept": "hr"}, "keyword", 1),
    ({"dept": ["hr", "legal"]}, "keyword", 2),
    ({"year": {">=": 2020}}, "float", 1),
    ({"year": 2019}, "float", 1),
    ({"draft": True}, "bool", 1),
    ({"draft": None}, "keyword", 1),
    ({"since": {"<": "2023-01-01"}}, "datetime", 1),
]


@pytest.mark.parametrize(("where", "kind", "count"), ON_SERVER)
def test_a_strict_server_gets_the_index_of_a_key_with_the_first_filter_by_it(
    serve: Any, where: dict[str, Any], kind: str, count: int
) -> None:
    [key] = where
    with serve() as double, open_store(double.url) as store:
        store.add("c", nodes_of(OWN))
        assert key not in double.indexed["c"]
        for _ in range(2):
            assert len(names_of(store, "c", where)) == count
        assert double.indexed["c"][key] == kind
        assert sum("/index" in request for request in double.requests) == len(double.indexed["c"])


def test_an_index_of_another_kind_is_replaced_when_it_cannot_answer(serve: Any) -> None:
    with serve() as double, open_store(double.url) as store:
        store.add("c", nodes_of(OWN))
        assert not names_of(store, "c", {"year": None})
        assert len(names_of(store, "c", {"year": {">": 2020}})) == 1
        assert double.indexed["c"]["year"] == "float"


def test_a_key_that_may_only_read_gets_a_typed_error_from_a_strict_server(
    serve: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise UnexpectedResponse(403, "Forbidden", b"read only", Headers())

    with serve() as double, open_store(double.url) as store:
        store.add("c", nodes_of(OWN))
        monkeypatch.setattr(QdrantClient, "create_payload_index", refuse)
        with (
            caplog.at_level(logging.WARNING, "rag_nodes"),
            pytest.raises(StoreError, match="with a key that may write"),
        ):
            names_of(store, "c", {"dept": "hr"})
        assert "lacks indexes for filters" in caplog.text
