"""What LlamaIndex counts on of a vector store: ours in process, ours on a server, and its own."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from llama_index.core import StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    FilterOperator,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryMode,
)
from llama_index.vector_stores.qdrant import QdrantVectorStore
from qdrant_client import QdrantClient

from rag_nodes.errors import CollectionMissingError, ConfigurationError, DimensionError
from rag_nodes.store import open_store
from rag_nodes.store.bm25 import document_vectors, query_vectors
from rag_nodes.store.edge import EdgeVectorStore
from rag_nodes.store.vector_store import HybridVectorStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ABOUT = {
    "red fox": {"year": 2020, "kind": "mammal", "tags": ["wild", "red"], "weight": 6.5},
    "blue whale": {"year": 2021, "kind": "mammal", "tags": ["sea"], "weight": 150000.0},
    "green parrot": {"year": 2022, "kind": "bird", "tags": ["wild"], "weight": 0.4},
    "grey stone": {"year": 2023, "weight": 2.0},
}
KINDS = {"year": "integer", "kind": "keyword", "tags": "keyword", "weight": "float"}
VECTORS = {
    "red fox": [1.0, 0.0, 0.0],
    "blue whale": [0.9, 0.4, 0.0],
    "green parrot": [0.0, 1.0, 0.2],
    "grey stone": [0.0, 0.0, 1.0],
}


def node_of(text: str) -> TextNode:
    node = TextNode(text=text, metadata=ABOUT[text], embedding=VECTORS[text])
    document = "animals" if "kind" in ABOUT[text] else "things"
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return node


@pytest.fixture(params=["memory", "folder", "server", "stock"])
def vectors(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BasePydanticVectorStore]:
    if request.param == "stock":
        with closing(QdrantClient(":memory:")) as client:
            yield QdrantVectorStore(
                "c",
                client=client,
                enable_hybrid=True,
                sparse_doc_fn=document_vectors,
                sparse_query_fn=query_vectors,
                index_doc_id=False,
            )
    elif request.param == "server":
        with open_store(request.getfixturevalue("server_url")) as store:
            yield store.vector_store("c")
    else:
        own = EdgeVectorStore(":memory:" if request.param == "memory" else tmp_path, "c")
        yield own
        own.close()


@pytest.fixture
def filled(vectors: BasePydanticVectorStore) -> BasePydanticVectorStore:
    nodes = [node_of(text) for text in ABOUT]
    assert vectors.add(nodes) == [node.node_id for node in nodes]
    _index(vectors)
    return vectors


def _index(vectors: BasePydanticVectorStore) -> None:
    """A server in strict mode filters by no key that it has no index of."""
    if isinstance(vectors, HybridVectorStore):
        for key, kind in KINDS.items():
            vectors.client.create_payload_index("c", key, field_schema=kind)


def texts(result: Any) -> list[str]:
    return [node.get_content() for node in result.nodes]


def asked(vectors: BasePydanticVectorStore, **options: Any) -> list[str]:
    known = {"query_embedding": [1.0, 0.1, 0.0], "query_str": "red", "similarity_top_k": 4}
    return texts(vectors.query(VectorStoreQuery(**{**known, **options})))


def test_a_dense_query_ranks_by_cosine_and_gives_whole_nodes(
    filled: BasePydanticVectorStore,
) -> None:
    found = filled.query(VectorStoreQuery(query_embedding=[1.0, 0.1, 0.0], similarity_top_k=2))
    assert texts(found) == ["red fox", "blue whale"]
    assert found.similarities == sorted(found.similarities or [], reverse=True)
    assert found.ids == [node.node_id for node in found.nodes or []]
    [best, _] = found.nodes or []
    assert best.metadata == ABOUT["red fox"]
    assert best.ref_doc_id == "animals"


def test_sparse_and_hybrid_queries_go_by_words_too(filled: BasePydanticVectorStore) -> None:
    mode = VectorStoreQueryMode
    found = asked(filled, mode=mode.SPARSE, query_str="grey", sparse_top_k=2)
    assert found[:1] == ["grey stone"]
    hybrid = asked(filled, mode=mode.HYBRID, query_str="parrot", hybrid_top_k=2, sparse_top_k=4)
    assert "green parrot" in hybrid
    assert len(hybrid) == 2


def one(key: str, value: Any, operator: str = "==") -> MetadataFilters:
    return MetadataFilters(
        filters=[MetadataFilter(key=key, value=value, operator=FilterOperator(operator))]
    )


FILTERS: list[tuple[MetadataFilters, set[str]]] = [
    (one("kind", "mammal"), {"red fox", "blue whale"}),
    (one("year", 2022), {"green parrot"}),
    (one("weight", 6.5), {"red fox"}),
    (one("tags", "wild"), {"red fox", "green parrot"}),
    (one("year", 2021, ">"), {"green parrot", "grey stone"}),
    (one("year", 2021, ">="), {"blue whale", "green parrot", "grey stone"}),
    (one("year", 2021, "<"), {"red fox"}),
    (one("weight", 2.0, "<="), {"green parrot", "grey stone"}),
    (one("kind", "mammal", "!="), {"green parrot"}),
    (one("kind", ["bird", "fish"], "in"), {"green parrot"}),
    (one("kind", ["bird", "fish"], "nin"), {"red fox", "blue whale"}),
    (one("kind", None, "is_empty"), {"grey stone"}),
    (
        MetadataFilters(
            filters=[*one("kind", "bird").filters, *one("year", 2020).filters],
            condition=FilterCondition.OR,
        ),
        {"green parrot", "red fox"},
    ),
    (
        MetadataFilters(filters=one("kind", "mammal").filters, condition=FilterCondition.NOT),
        {"green parrot", "grey stone"},
    ),
    (
        MetadataFilters(filters=[one("kind", "mammal"), one("year", 2020)]),
        {"red fox"},
    ),
    (MetadataFilters(filters=[]), set(ABOUT)),
]


@pytest.mark.parametrize(("filters", "expected"), FILTERS)
def test_filters_let_the_same_nodes_pass_in_every_store(
    filled: BasePydanticVectorStore, filters: MetadataFilters, expected: set[str]
) -> None:
    assert set(asked(filled, filters=filters)) == expected
    if filters.filters:
        assert {node.get_content() for node in filled.get_nodes(filters=filters)} == expected


def test_only_some_documents_are_searched_where_they_are_named(
    filled: BasePydanticVectorStore,
) -> None:
    assert asked(filled, doc_ids=["things"]) == ["grey stone"]


def test_only_some_nodes_are_searched_where_they_are_named(
    filled: BasePydanticVectorStore,
) -> None:
    known = {node.get_content(): node.node_id for node in filled.get_nodes()}
    some = [known["green parrot"], known["grey stone"]]
    for mode in (VectorStoreQueryMode.DEFAULT, VectorStoreQueryMode.HYBRID):
        options = {"mode": mode, "hybrid_top_k": 4, "sparse_top_k": 4}
        assert set(asked(filled, node_ids=some, **options)) == {"green parrot", "grey stone"}
        found = asked(filled, node_ids=some, filters=one("kind", "bird"), **options)
        assert found == ["green parrot"]


def test_nodes_are_read_and_deleted_by_id_by_filter_and_by_document(
    filled: BasePydanticVectorStore,
) -> None:
    [fox] = filled.get_nodes(filters=one("year", 2020))
    assert [node.node_id for node in filled.get_nodes([fox.node_id])] == [fox.node_id]
    filled.delete_nodes([fox.node_id])
    filled.delete_nodes(filters=one("kind", "bird"))
    assert set(asked(filled)) == {"blue whale", "grey stone"}
    filled.delete("animals")
    assert asked(filled) == ["grey stone"]
    filled.clear()


def test_a_node_of_the_same_id_is_replaced(filled: BasePydanticVectorStore) -> None:
    [fox] = filled.get_nodes(filters=one("year", 2020))
    later = TextNode(id_=fox.node_id, text="white fox", embedding=[1.0, 0.0, 0.0])
    filled.add([later])
    found = asked(filled)
    assert "white fox" in found
    assert "red fox" not in found


async def test_async_calls_do_the_same(vectors: BasePydanticVectorStore) -> None:
    if isinstance(vectors, QdrantVectorStore) and vectors._aclient is None:
        # Stock, on a client in memory, has no async face.
        assert type(vectors) is QdrantVectorStore
        return
    await vectors.async_add([node_of(text) for text in ABOUT])
    _index(vectors)
    asked_for = VectorStoreQuery(query_embedding=[1.0, 0.1, 0.0], similarity_top_k=1)
    assert texts(await vectors.aquery(asked_for)) == ["red fox"]
    [fox] = await vectors.aget_nodes(filters=one("year", 2020))
    await vectors.adelete_nodes([fox.node_id])
    await vectors.adelete("things")
    found = await vectors.aquery(VectorStoreQuery(query_embedding=[1.0, 0, 0], similarity_top_k=9))
    assert set(texts(found)) == {"blue whale", "green parrot"}
    await vectors.aclear()


def test_an_index_is_built_asked_and_changed(vectors: BasePydanticVectorStore) -> None:
    storage = StorageContext.from_defaults(vector_store=vectors)
    index = VectorStoreIndex(
        [TextNode(text="one"), TextNode(text="two")],
        storage_context=storage,
        embed_model=MockEmbedding(3),
    )
    index.insert_nodes([TextNode(text="three")])
    again = VectorStoreIndex.from_vector_store(vectors, embed_model=MockEmbedding(3))
    found = again.as_retriever(similarity_top_k=9).retrieve("which?")
    assert {one.node.get_content() for one in found} == {"one", "two", "three"}


@pytest.mark.parametrize("vectors", ["memory", "folder"], indirect=True)
def test_what_other_stores_leave_out_is_there_in_process(
    filled: EdgeVectorStore,
) -> None:
    every = one("tags", ["wild", "red"], "all")
    assert asked(filled, filters=every) == ["red fox"]
    assert set(asked(filled, filters=one("tags", ["sea", "red"], "any"))) == {
        "red fox",
        "blue whale",
    }
    assert asked(filled, filters=one("tags", "sea", "contains")) == ["blue whale"]
    assert asked(filled, filters=one("kind", "bird", "text_match")) == ["green parrot"]
    loud = one("kind", "BIRD", "text_match_insensitive")
    assert asked(filled, filters=loud) == ["green parrot"]
    near = asked(filled, similarity_top_k=2)
    diverse = asked(filled, mode=VectorStoreQueryMode.MMR, mmr_threshold=0.1, similarity_top_k=2)
    assert near == ["red fox", "blue whale"]
    assert diverse[0] == "red fox"
    assert diverse[1] != "blue whale"
    with pytest.raises(ConfigurationError, match="no query mode"):
        asked(filled, mode=VectorStoreQueryMode.SVM)
    with pytest.raises(DimensionError):
        asked(filled, query_embedding=[1.0])
    with pytest.raises(ConfigurationError, match="embedding"):
        asked(filled, query_embedding=None)
    with pytest.raises(ConfigurationError, match=r"clear\(\)"):
        filled.delete_nodes()
    filled.clear()
    assert filled.get_nodes(filters=every) == []
    with pytest.raises(CollectionMissingError):
        asked(filled)


def test_a_folder_is_there_again_after_it_was_closed(tmp_path: Path) -> None:
    first = EdgeVectorStore(tmp_path, "c")
    first.add([node_of(text) for text in ABOUT])
    first.persist("")
    first.close()
    again = EdgeVectorStore(tmp_path, "c")
    assert asked(again, similarity_top_k=1) == ["red fox"]
    again.close()
