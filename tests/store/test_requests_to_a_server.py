"""How often a server is asked, and that nobody is told what is no longer true."""

from collections.abc import Iterator

import pytest
from stored_nodes import MakeNode

from rag_nodes.core.errors import CollectionMissingError, DimensionError
from rag_nodes.store import Filter, Query, SearchMode, Store, open_store
from rag_nodes.store.engine import DENSE, Layout
from rag_nodes.store.server import engine
from rag_nodes.store.server.models import searches

X, Y = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]


@pytest.fixture
def served(server_url: str, collection: str, make_node: MakeNode) -> Iterator[Store]:
    with open_store(server_url) as store:
        store.add(collection, [make_node("red zebra", X), make_node("blue lion", Y)])
        yield store


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every request that any connection makes from here on."""
    from httpx import Client

    sent: list[str] = []
    send = Client.send

    def note_request(self: Client, request: object, **options: object) -> object:
        sent.append(f"{request.method} {request.url.path.rpartition('/points')[2]}")  # type: ignore[attr-defined]
        return send(self, request, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Client, "send", note_request)
    return sent


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
def test_a_question_takes_one_request_for_scores_and_one_for_nodes_and_the_first_one_more(
    served: Store,  # noqa: ARG001 -- what is asked
    server_url: str,
    collection: str,
    requests: list[str],
    mode: SearchMode,
) -> None:
    query = Query(X, "red zebra", 2, mode, Filter(document_ids=["doc-1"]))
    with open_store(server_url) as other:
        for more in (1, 0):
            requests.clear()
            assert other.search(collection, query)[0].node.text == "red zebra"
            assert len(requests) == 2 + more
            assert requests[more:] == ["POST /query/batch", "POST "]


def test_a_question_that_finds_nothing_reads_nothing(
    served: Store, collection: str, requests: list[str]
) -> None:
    for text in ("elephant", "?!"):
        assert not served.search(collection, Query(vector=None, text=text, limit=2, mode="sparse"))
    assert [request for request in requests if request == "POST "] == []


def test_scores_beyond_the_depth_are_completed_within_the_filter(
    served: Store, collection: str, make_node: MakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [make_node(f"zebra {n}", [1.0, n / 9, 0.0], document="other") for n in range(5)]
    served.add(collection, others)
    monkeypatch.setattr(engine, "DEPTH", 1)
    only = Filter(document_ids=["doc-1"])
    hits = served.search(collection, Query(vector=Y, text="zebra", limit=1, filter=only))
    hits += served.search(collection, Query(vector=X, text="lion", limit=1, filter=only))
    assert {hit.node.ref_doc_id for hit in hits} == {"doc-1"}
    scores = {(hit.node.text, hit.similarity, bool(hit.keyword_score)) for hit in hits}
    assert scores <= {
        ("red zebra", 0.0, True),
        ("blue lion", 0.0, True),
        ("red zebra", 1.0, False),
        ("blue lion", 1.0, False),
    }


def test_a_collection_that_others_made_again_is_looked_at_again(
    served: Store, server_url: str, collection: str, make_node: MakeNode
) -> None:
    assert served.search(collection, Query(vector=X, text="zebra", limit=1))
    with open_store(server_url) as other:
        other.drop(collection)
        with pytest.raises(CollectionMissingError):
            served.search(collection, Query(vector=X, text="zebra", limit=1))
        assert served.count(collection) == 0
        other.add(collection, [make_node("short", [1.0, 0.0])])
    with pytest.raises(DimensionError, match="of length 2, the question's has 3"):
        served.search(collection, Query(vector=X, text="zebra", limit=1))
    [hit] = served.search(collection, Query(vector=[1.0, 0.0], text="zebra", limit=1))
    assert hit.node.text == "short"
    served.add(collection, [make_node("another", [0.0, 1.0])])
    assert served.count(collection) == 2


def test_hits_of_quantized_embeddings_are_scored_by_the_full_ones() -> None:
    layout = Layout(3)
    asked = searches(layout, Query(X, "zebra", 5), None, 9)
    requests = asked.values()
    dense = [request.params for request in requests if request.using == DENSE]
    assert dense
    for params in dense:
        assert params is not None
        assert params.quantization is not None
        assert params.quantization.rescore is True


def test_points_are_sent_in_requests_that_a_server_takes(
    served: Store,
    collection: str,
    requests: list[str],
    make_node: MakeNode,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine, "_WRITTEN", 4)
    requests.clear()
    served.add(collection, [make_node(f"page {number}", X) for number in range(9)])
    assert requests.count("PUT ") == 3
    assert served.count(collection) == 11
