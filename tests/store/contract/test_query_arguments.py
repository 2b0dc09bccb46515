"""Arguments of LlamaIndex's queries mean the same in every vector store of ours."""

import json
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
    VectorStoreQueryResult,
)
from qdrant_client import QdrantClient

from rag_nodes.core.errors import CollectionMissingError, ConfigurationError, DimensionError
from rag_nodes.store import open_store
from rag_nodes.store.vector_store import RagNodesVectorStore

OURS = pytest.mark.parametrize("vectors", ["memory", "folder", "server"], indirect=True)
MODE = VectorStoreQueryMode


@pytest.fixture
def many() -> list[TextNode]:
    """More of them than are ever asked for, which words and embeddings rank differently."""
    drawn = random.Random(7)  # noqa: S311 -- no secret
    nodes = []
    for number in range(40):
        words = " ".join(drawn.choices(("zebra", "lion", "grass"), (1, 3, 20), k=12 + number))
        vector = [drawn.gauss(0, 1) for _ in range(3)]
        node = TextNode(id_=f"00000000-0000-0000-0000-{number:012}", text=words, embedding=vector)
        node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=f"d{number % 2}")
        nodes.append(node)
    return nodes


def question(**given: Any) -> VectorStoreQuery:
    query = {"query_embedding": [1.0, 0.0, 0.0], "query_str": "zebra lion"}
    return VectorStoreQuery(**{"similarity_top_k": 5, "mode": MODE.HYBRID, **query, **given})


def rank_nodes(vectors: RagNodesVectorStore, **given: Any) -> VectorStoreQueryResult:
    return vectors.query(question(**given))


def where(key: str, value: Any, operator: str = "==") -> MetadataFilters:
    return MetadataFilters(
        filters=[MetadataFilter(key=key, value=value, operator=FilterOperator(operator))]
    )


@OURS
def test_alpha_leads_from_the_order_of_the_words_to_the_dense_one(
    vectors: RagNodesVectorStore, many: list[TextNode]
) -> None:
    vectors.add(many)
    dense = rank_nodes(vectors, mode=MODE.DEFAULT).ids
    words = rank_nodes(vectors, mode=MODE.SPARSE).ids
    assert dense != words
    assert rank_nodes(vectors, alpha=1, query_str=None).ids == dense
    assert rank_nodes(vectors, alpha=0.0, query_embedding=None).ids == words
    assert rank_nodes(vectors, alpha=0.999999).ids == dense
    assert rank_nodes(vectors, alpha=0.000001).ids == words
    usual, half = rank_nodes(vectors), rank_nodes(vectors, alpha=0.5)
    assert (half.ids, half.similarities) == (usual.ids, pytest.approx(usual.similarities))
    assert (
        len({tuple(rank_nodes(vectors, alpha=value).ids or ()) for value in (0, 0.3, 0.5, 0.7, 1)})
        > 3
    )


def test_every_store_gives_the_same_nodes_and_scores_in_every_mode(
    tmp_path: Path, server_url: str, many: list[TextNode]
) -> None:
    modes: list[dict[str, Any]] = [
        {"mode": mode} for mode in (MODE.DEFAULT, MODE.SPARSE, MODE.TEXT_SEARCH, MODE.MMR)
    ]
    modes += [{"alpha": value} for value in (None, 0, 0.25, 0.5, 0.9, 1)]
    with open_store(tmp_path) as here, open_store(server_url) as served:
        for store in (here, served):
            store.vector_store("c").add(many)
        for way in modes:
            for only in (None, ["d1"]):
                left, other = (
                    rank_nodes(store.vector_store("c"), doc_ids=only, **way)
                    for store in (here, served)
                )
                assert len(left.ids or ()) == 5
                assert left.ids == other.ids, way
                assert left.similarities == pytest.approx(other.similarities, rel=1e-4), way


@OURS
async def test_arguments_by_keyword_go_before_those_of_the_query(
    vectors: RagNodesVectorStore, many: list[TextNode]
) -> None:
    vectors.add(many)
    query = question(alpha=0.5)
    assert vectors.query(query, alpha=1).ids == rank_nodes(vectors, alpha=1).ids
    assert (await vectors.aquery(query, alpha=0)).ids == rank_nodes(vectors, alpha=0).ids
    assert query.alpha == 0.5
    near, diverse = (
        vectors.query(question(mode=MODE.MMR), mmr_threshold=value).ids for value in (1.0, 0.05)
    )
    assert near == rank_nodes(vectors, mode=MODE.DEFAULT).ids != diverse
    assert diverse == rank_nodes(vectors, mode=MODE.MMR, mmr_threshold=0.05).ids
    index = VectorStoreIndex.from_vector_store(vectors, embed_model=MockEmbedding(3))
    options: dict[str, Any] = {"vector_store_query_mode": "hybrid", "similarity_top_k": 5}
    engine = index.as_query_engine(llm=MockLLM(), **options, alpha=0.0)
    words = rank_nodes(vectors, alpha=0).ids
    assert [hit.node.node_id for hit in engine.query("zebra lion").source_nodes] == words


@OURS
def test_missing_and_wrong_arguments_of_queries_are_reported(
    vectors: RagNodesVectorStore, many: list[TextNode]
) -> None:
    vectors.add(many)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"mode": MODE.SVM}, "no query mode"),
        ({"query_embedding": None}, "embedding"),
        *(({"alpha": n}, "alpha is a number") for n in (-0.1, 1.1, float("nan"), True)),
        ({"mode": MODE.MMR, "mmr_threshold": 7}, "mmr_threshold is a number from 0 to 1"),
        *(
            ({"filters": where("year", value, operator)}, "nan is not a finite number")
            for operator, value in (("==", float("nan")), ("in", [float("nan")]))
        ),
        ({"filters": where("year", [2020], ">")}, "cannot compare"),
        ({"filters": where("year", 10**400, "<=")}, "cannot compare"),
    ]
    for given, message in wrong:
        with pytest.raises(ConfigurationError, match=message):
            rank_nodes(vectors, **given)
    with pytest.raises(ConfigurationError, match="'alfa'"):
        vectors.query(question(), alfa=1)
    with pytest.raises(DimensionError):
        rank_nodes(vectors, query_embedding=[1.0])
    with pytest.raises(ConfigurationError, match=r"clear\(\)"):
        vectors.delete_nodes()
    vectors.clear()
    assert vectors.get_nodes() == []
    with pytest.raises(CollectionMissingError):
        rank_nodes(vectors)


@pytest.mark.parametrize("vectors", ["memory", "folder", "server", "dictionary"], indirect=True)
@pytest.mark.parametrize("condition", ["and", "or", "not"])
def test_a_group_of_empty_groups_lets_everything_pass(
    vectors: RagNodesVectorStore, condition: FilterCondition
) -> None:
    vectors.add([TextNode(text="lion", embedding=[1.0, 0.0, 0.0])])
    empty = MetadataFilters(filters=[MetadataFilters(filters=[])], condition=condition)
    assert len(rank_nodes(vectors, filters=empty).ids or ()) == 1


SIZES = {"two": 2, "two and a bit": 2.5, "also two": 2.0, "word": "2", "list": [2, 7.5]}
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
]


@OURS
def test_numbers_are_compared_as_in_python_whether_whole_or_not(
    vectors: RagNodesVectorStore,
) -> None:
    years = [
        TextNode(text=text, metadata={"size": size}, embedding=[1.0, 0.0])
        for text, size in SIZES.items()
    ]
    vectors.add([*years, TextNode(text="without", embedding=[1.0, 0.0])])
    if isinstance(vectors.client, QdrantClient):  # strict mode wants an index
        vectors.client.create_payload_index("c", "size", field_schema="float")
    for operator, value, expected in COMPARED:
        filters = where("size", value, operator)
        matches = {node.get_content() for node in vectors.get_nodes(filters=filters)}
        assert matches == expected, filters
        query = VectorStoreQuery([1.0, 0.0], 9, filters=filters)
        assert {node.get_content() for node in vectors.query(query).nodes or ()} == expected


def test_a_folder_is_there_again_after_it_was_closed_also_by_its_dictionary(
    tmp_path: Path, many: list[TextNode]
) -> None:
    with closing(RagNodesVectorStore(tmp_path, "c")) as first:
        first.add(many)
        first.persist("")
        plain = json.loads(json.dumps(first.to_dict()))
    with closing(RagNodesVectorStore.from_dict(plain)) as again:
        assert len(again.get_nodes()) == len(many)
        with closing(RagNodesVectorStore.from_json(again.to_json())) as third:
            assert third.collection == "c"


def test_restoring_from_a_dictionary_reports_missing_chunks_and_key(serve: Any) -> None:
    with (
        serve(api_key="canary-key-1") as double,
        open_store(double.url, api_key="canary-key-1") as store,
        closing(RagNodesVectorStore()) as memory,
    ):
        served = store.vector_store("c")
        assert "canary" not in json.dumps(served.to_dict(), default=str)
        for vectors in (served, memory):
            with pytest.raises(ConfigurationError, match="neither chunks nor a key"):
                RagNodesVectorStore.from_dict(vectors.to_dict())
