"""Arguments of LlamaIndex's queries mean the same in both of our vector stores."""

from __future__ import annotations

import json
import random
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from qdrant_client.http import models as rest

from rag_nodes.errors import ConfigurationError
from rag_nodes.store import open_store
from rag_nodes.store.edge import EdgeVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llama_index.core.vector_stores.types import BasePydanticVectorStore

QUESTION: dict[str, Any] = {"query_embedding": [1.0, 0.0, 0.0], "query_str": "zebra lion"}
MODE = VectorStoreQueryMode


@pytest.fixture
def nodes() -> list[TextNode]:
    """More of them than are ever asked for, which words and embeddings rank differently."""
    drawn = random.Random(7)  # noqa: S311 -- no secret
    made = []
    for number in range(40):
        words = drawn.choices(("zebra", "lion", "grass"), (1, 3, 20), k=12 + number)
        node = TextNode(
            id_=f"00000000-0000-0000-0000-{number:012}",
            text=" ".join(words),
            embedding=[drawn.gauss(0, 1) for _ in range(3)],
        )
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"d{number % 2}")
        made.append(node)
    return made


@pytest.fixture(params=["memory", "folder", "server"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BasePydanticVectorStore]:
    if request.param == "server":
        with open_store(request.getfixturevalue("server_url")) as store:
            yield store.vector_store("c")
        return
    with closing(
        EdgeVectorStore(":memory:" if request.param == "memory" else tmp_path, "c")
    ) as own:
        yield own


def asked(vectors: BasePydanticVectorStore, **given: Any) -> VectorStoreQueryResult:
    options = {"similarity_top_k": 5, "mode": MODE.HYBRID, **QUESTION, **given}
    return vectors.query(VectorStoreQuery(**options))


def test_alpha_1_is_the_dense_order_and_0_that_of_the_words(
    vectors: BasePydanticVectorStore, nodes: list[TextNode]
) -> None:
    vectors.add(nodes)
    dense = asked(vectors, mode=MODE.DEFAULT).ids
    words = asked(vectors, mode=MODE.SPARSE).ids
    assert asked(vectors, alpha=1).ids == dense
    assert asked(vectors, alpha=0.0).ids == words
    assert dense != words
    assert asked(vectors, alpha=1, query_str=None).ids == dense
    assert asked(vectors, alpha=0, query_embedding=None).ids == words


def test_alpha_leads_from_one_order_to_the_other_and_none_weighs_both_alike(
    vectors: BasePydanticVectorStore, nodes: list[TextNode]
) -> None:
    vectors.add(nodes)
    usual = asked(vectors)
    half = asked(vectors, alpha=0.5)
    assert (half.ids, half.similarities) == (usual.ids, pytest.approx(usual.similarities))
    assert asked(vectors, alpha=0.999999).ids == asked(vectors, alpha=1).ids
    assert asked(vectors, alpha=0.000001).ids == asked(vectors, alpha=0).ids
    assert len({tuple(asked(vectors, alpha=one).ids or ()) for one in (0, 0.3, 0.5, 0.7, 1)}) > 3


def test_both_stores_give_the_same_for_every_alpha(
    tmp_path: Path, server_url: str, nodes: list[TextNode]
) -> None:
    with open_store(tmp_path) as here, open_store(server_url) as there:
        for store in (here, there):
            store.vector_store("c").add(nodes)
        for alpha in (None, 0, 0.25, 0.5, 0.9, 1):
            for only in (None, ["d1"]):
                one, other = (
                    asked(store.vector_store("c"), alpha=alpha, doc_ids=only)
                    for store in (here, there)
                )
                assert one.ids == other.ids
                assert one.similarities == pytest.approx(other.similarities, rel=1e-4)


def test_both_stores_give_the_same_nodes_and_scores_in_every_mode(
    tmp_path: Path, server_url: str, nodes: list[TextNode]
) -> None:
    with open_store(tmp_path) as here, open_store(server_url) as there:
        for store in (here, there):
            store.vector_store("c").add(nodes)
        for mode in (MODE.DEFAULT, MODE.SPARSE, MODE.TEXT_SEARCH, MODE.MMR, MODE.HYBRID):
            one, other = (asked(store.vector_store("c"), mode=mode) for store in (here, there))
            assert one.ids == other.ids
            assert one.similarities == pytest.approx(other.similarities, rel=1e-4)


def test_nodes_are_read_and_deleted_by_an_alias_too(
    tmp_path: Path, server_url: str, nodes: list[TextNode]
) -> None:
    for place in (":memory:", tmp_path, server_url):
        with open_store(place) as store:
            store.vector_store("c").add(nodes[:3])
            store.point_alias("live", "c")
            alias = store.vector_store("live")
            assert len(alias.get_nodes()) == 3
            assert len(alias.get_nodes(limit=2)) == 2
            alias.delete_nodes([nodes[0].node_id])
            assert store.count("c") == 2


@pytest.mark.parametrize("alpha", [-0.1, 1.1, float("nan"), "0.5", True])
async def test_an_alpha_that_is_no_number_from_0_to_1_is_refused(
    vectors: BasePydanticVectorStore, nodes: list[TextNode], alpha: Any
) -> None:
    vectors.add(nodes[:2])
    with pytest.raises(ConfigurationError, match="alpha is a number from 0 to 1"):
        asked(vectors, alpha=alpha)
    query = VectorStoreQuery(**QUESTION, mode=MODE.HYBRID, alpha=alpha)
    with pytest.raises(ConfigurationError, match="alpha is a number from 0 to 1"):
        await vectors.aquery(query)


async def test_alpha_goes_through_retrievers_and_query_engines(
    vectors: BasePydanticVectorStore, nodes: list[TextNode]
) -> None:
    vectors.add(nodes)
    index = VectorStoreIndex.from_vector_store(vectors, embed_model=MockEmbedding(3))
    options: dict[str, Any] = {"vector_store_query_mode": "hybrid", "similarity_top_k": 5}
    words = asked(vectors, alpha=0).ids
    retriever = index.as_retriever(**options, alpha=0.0)
    assert [one.node.node_id for one in retriever.retrieve("zebra lion")] == words
    assert [one.node.node_id for one in await retriever.aretrieve("zebra lion")] == words
    engine = index.as_query_engine(llm=MockLLM(), **options, alpha=0.0)
    assert [one.node.node_id for one in engine.query("zebra lion").source_nodes] == words


async def test_arguments_by_keyword_go_before_those_of_the_query(
    vectors: BasePydanticVectorStore, nodes: list[TextNode]
) -> None:
    vectors.add(nodes)
    query = VectorStoreQuery(**QUESTION, mode=MODE.HYBRID, similarity_top_k=5, alpha=0.5)
    assert vectors.query(query, alpha=1).ids == asked(vectors, alpha=1).ids
    assert (await vectors.aquery(query, alpha=0)).ids == asked(vectors, alpha=0).ids
    assert query.alpha == 0.5
    with pytest.raises(ConfigurationError, match="no query argument 'alfa'"):
        vectors.query(query, alfa=1)


def test_the_threshold_of_diversity_may_be_given_by_keyword(
    vectors: BasePydanticVectorStore, nodes: list[TextNode]
) -> None:
    vectors.add(nodes)
    query = VectorStoreQuery(**QUESTION, mode=MODE.MMR, similarity_top_k=5)
    found = {one: vectors.query(query, mmr_threshold=one).ids for one in (0.05, 1.0)}
    assert found[1.0] == asked(vectors, mode=MODE.DEFAULT).ids != found[0.05]
    assert found[0.05] == asked(vectors, mode=MODE.MMR, mmr_threshold=0.05).ids
    with pytest.raises(ConfigurationError, match="mmr_threshold is a number from 0 to 1"):
        vectors.query(query, mmr_threshold=7)


def test_no_documents_are_none_and_not_all(
    vectors: BasePydanticVectorStore, nodes: list[TextNode]
) -> None:
    vectors.add(nodes)
    for mode in (MODE.DEFAULT, MODE.SPARSE, MODE.HYBRID):
        assert asked(vectors, mode=mode, doc_ids=[]).ids == []
        assert asked(vectors, mode=mode, node_ids=[]).ids, "an index asks so for all"


def test_nodes_come_with_their_embeddings(
    vectors: BasePydanticVectorStore, nodes: list[TextNode]
) -> None:
    node = TextNode(text="unit", embedding=[0.0, 3.0, 4.0])
    vectors.add([node, *nodes])
    [found] = vectors.get_nodes([node.node_id])
    assert found.embedding == pytest.approx([0.0, 0.6, 0.8])
    assert all(one.embedding for one in vectors.get_nodes())


VALUES = {"two": 2, "two and a bit": 2.5, "also two": 2.0, "word": "2", "list": [2, 7.5]}
COMPARED: list[tuple[str, Any, set[str]]] = [
    ("==", 2, {"two", "also two", "list"}),
    ("==", 2.0, {"two", "also two", "list"}),
    ("!=", 2.5, {"two", "also two", "word", "list"}),
    ("!=", 2, {"two and a bit", "word"}),
    ("!=", 2.0, {"two and a bit", "word"}),
    ("in", [2.5, 9.5], {"two and a bit"}),
    ("in", [2.0, 2.5], {"two", "two and a bit", "also two", "list"}),
    ("in", [2, 9], {"two", "also two", "list"}),
    ("nin", [2.0, 2.5], {"word"}),
    ("nin", [2, 3], {"two and a bit", "word"}),
    ("nin", [7.5, 2.0], {"two and a bit", "word"}),
    ("!=", "2", {"two", "two and a bit", "also two", "list"}),
]


@pytest.mark.parametrize(("operator", "value", "expected"), COMPARED)
def test_numbers_are_compared_as_in_python_whether_whole_or_not(
    vectors: BasePydanticVectorStore,
    operator: str,
    value: Any,
    expected: set[str],
) -> None:
    made = [
        TextNode(text=text, metadata={"size": size}, embedding=[1.0, 0.0])
        for text, size in VALUES.items()
    ]
    vectors.add([*made, TextNode(text="without", embedding=[1.0, 0.0])])
    if not isinstance(vectors, EdgeVectorStore):  # strict mode wants an index
        kind = "keyword" if isinstance(value, str) else "float"
        vectors.client.create_payload_index("c", "size", field_schema=kind)
    filters = MetadataFilters(
        filters=[MetadataFilter(key="size", value=value, operator=FilterOperator(operator))]
    )
    found = {node.get_content() for node in vectors.get_nodes(filters=filters)}
    assert found == expected
    question = VectorStoreQuery([1.0, 0.0], 9, filters=filters)
    assert {node.get_content() for node in vectors.query(question).nodes or ()} == expected


@pytest.mark.parametrize("operator", ["==", "!=", "in", "nin", ">"])
def test_a_number_that_is_none_is_refused_in_our_words(
    vectors: BasePydanticVectorStore, nodes: list[TextNode], operator: str
) -> None:
    vectors.add(nodes[:2])
    value: Any = [float("nan")] if operator in {"in", "nin"} else float("nan")
    wrong = MetadataFilter(key="size", value=value, operator=FilterOperator(operator))
    with pytest.raises(ConfigurationError, match="nan is no finite number"):
        asked(vectors, filters=MetadataFilters(filters=[wrong]))


def test_a_vector_store_in_a_folder_is_made_anew_from_its_dictionary(
    tmp_path: Path, nodes: list[TextNode]
) -> None:
    with closing(EdgeVectorStore(tmp_path, "c")) as first:
        first.add(nodes[:3])
        plain = json.loads(json.dumps(first.to_dict()))
    with closing(EdgeVectorStore.from_dict(plain)) as again:
        assert len(again.get_nodes()) == 3
        with closing(EdgeVectorStore.from_json(again.to_json())) as third:
            assert third.collection == "c"


def test_what_cannot_be_made_anew_from_a_dictionary_says_so() -> None:
    with (
        closing(EdgeVectorStore()) as memory,
        pytest.raises(ConfigurationError, match="was in memory"),
    ):
        EdgeVectorStore.from_dict(memory.to_dict())


def test_the_dictionary_of_a_store_on_a_server_holds_no_key_and_says_what_to_do(
    serve: Any,
) -> None:
    with (
        serve(api_key="canary-key-1") as double,
        open_store(double.url, api_key="canary-key-1") as store,
    ):
        vectors = store.vector_store("c")
        assert "canary" not in json.dumps(vectors.to_dict(), default=str)
        with pytest.raises(ConfigurationError, match=r"open_store\(URL, api_key=KEY\).*'c'"):
            type(vectors).from_dict(vectors.to_dict())


def test_an_mmr_query_takes_no_search_parameters_of_qdrant(
    server_url: str, nodes: list[TextNode]
) -> None:
    with open_store(server_url) as store:
        vectors = store.vector_store("c")
        vectors.add(nodes)
        query = VectorStoreQuery(**QUESTION, mode=MODE.MMR, similarity_top_k=5)
        with pytest.raises(ConfigurationError, match="takes no search_params"):
            vectors.query(query, search_params={"exact": True})


def test_a_filter_of_qdrant_is_taken_in_place_of_the_others(
    server_url: str, nodes: list[TextNode]
) -> None:
    with open_store(server_url) as store:
        vectors = store.vector_store("c")
        vectors.add(nodes)
        first = rest.Filter(must=[rest.HasIdCondition(has_id=[nodes[0].node_id])])
        for mode in (MODE.DEFAULT, MODE.SPARSE, MODE.HYBRID):
            query = VectorStoreQuery(**QUESTION, mode=mode, doc_ids=["d1"])
            assert vectors.query(query, qdrant_filters=first).ids == [nodes[0].node_id]


def test_search_parameters_of_qdrant_are_passed_on_in_a_hybrid_query(
    server_url: str, nodes: list[TextNode]
) -> None:
    with open_store(server_url) as store:
        vectors = store.vector_store("c")
        vectors.add(nodes)
        query = VectorStoreQuery(**QUESTION, mode=MODE.HYBRID, similarity_top_k=5)
        exact = vectors.query(query, search_params={"exact": True})
        assert exact.ids == vectors.query(query).ids
