"""What LlamaIndex counts on of a vector store: ours in every kind of store, and its own."""

import asyncio
from typing import Any

import pytest
from llama_index.core import Document, StorageContext, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.llms import MockLLM
from llama_index.core.retrievers import QueryFusionRetriever
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
from qdrant_client import QdrantClient

from rag_nodes.models import get_embedding
from rag_nodes.parsers import get_parser
from rag_nodes.store.vector_store import RagNodesVectorStore

MODE = VectorStoreQueryMode
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
OURS = pytest.mark.parametrize("vectors", ["memory", "folder", "server"], indirect=True)
IN_PROCESS = pytest.mark.parametrize("vectors", ["memory", "folder"], indirect=True)


def node_of(text: str, about: dict[str, Any], vector: list[float], document: str) -> TextNode:
    node = TextNode(text=text, metadata=about, embedding=vector)
    node.relationships[NodeRelationship.SOURCE] = RelatedNodeInfo(node_id=document)
    return node


def animals() -> list[TextNode]:
    return [
        node_of(text, about, VECTORS[text], "animals" if "kind" in about else "things")
        for text, about in ABOUT.items()
    ]


@pytest.fixture
def filled(vectors: BasePydanticVectorStore) -> BasePydanticVectorStore:
    nodes = animals()
    assert vectors.add(nodes) == [node.node_id for node in nodes]
    index(vectors, KINDS)
    return vectors


def index(vectors: BasePydanticVectorStore, kinds: dict[str, str]) -> None:
    """A server in strict mode filters by no key that it has no index of."""
    if isinstance(vectors, RagNodesVectorStore) and isinstance(vectors.client, QdrantClient):
        for key, kind in kinds.items():
            vectors.client.create_payload_index("c", key, field_schema=kind)


def texts(result: Any) -> list[str]:
    return [node.get_content() for node in result.nodes]


def ask_texts(vectors: BasePydanticVectorStore, **options: Any) -> list[str]:
    query = {"query_embedding": [1.0, 0.1, 0.0], "query_str": "red", "similarity_top_k": 4}
    return texts(vectors.query(VectorStoreQuery(**{**query, **options})))


def where(key: str, value: Any, operator: str = "==") -> MetadataFilters:
    return MetadataFilters(
        filters=[MetadataFilter(key=key, value=value, operator=FilterOperator(operator))]
    )


def test_a_dense_query_ranks_by_cosine_and_gives_whole_nodes(
    filled: BasePydanticVectorStore,
) -> None:
    result = filled.query(VectorStoreQuery(query_embedding=[1.0, 0.1, 0.0], similarity_top_k=2))
    assert texts(result) == ["red fox", "blue whale"]
    assert result.similarities == sorted(result.similarities or [], reverse=True)
    assert result.ids == [node.node_id for node in result.nodes or []]
    [best, _] = result.nodes or []
    assert best.metadata == ABOUT["red fox"]
    assert best.ref_doc_id == "animals"


def test_sparse_and_hybrid_queries_go_by_words_too(filled: BasePydanticVectorStore) -> None:
    texts_by_rank = ask_texts(filled, mode=MODE.SPARSE, query_str="grey", sparse_top_k=2)
    assert texts_by_rank[:1] == ["grey stone"]
    hybrid = ask_texts(filled, mode=MODE.HYBRID, query_str="parrot", hybrid_top_k=2, sparse_top_k=4)
    assert "green parrot" in hybrid
    assert len(hybrid) == 2


FILTERS: list[tuple[MetadataFilters, set[str]]] = [
    (where("kind", "mammal"), {"red fox", "blue whale"}),
    (where("year", 2022), {"green parrot"}),
    (where("weight", 6.5), {"red fox"}),
    (where("tags", "wild"), {"red fox", "green parrot"}),
    (where("year", 2021, ">"), {"green parrot", "grey stone"}),
    (where("year", 2021, ">="), {"blue whale", "green parrot", "grey stone"}),
    (where("year", 2021, "<"), {"red fox"}),
    (where("weight", 2.0, "<="), {"green parrot", "grey stone"}),
    (where("kind", "mammal", "!="), {"green parrot"}),
    (where("kind", ["bird", "fish"], "in"), {"green parrot"}),
    (where("kind", ["bird", "fish"], "nin"), {"red fox", "blue whale"}),
    (where("kind", None, "is_empty"), {"grey stone"}),
    (
        MetadataFilters(
            filters=[*where("kind", "bird").filters, *where("year", 2020).filters],
            condition=FilterCondition.OR,
        ),
        {"green parrot", "red fox"},
    ),
    (
        MetadataFilters(filters=where("kind", "mammal").filters, condition=FilterCondition.NOT),
        {"green parrot", "grey stone"},
    ),
    (MetadataFilters(filters=[where("kind", "mammal"), where("year", 2020)]), {"red fox"}),
    (MetadataFilters(filters=[]), set(ABOUT)),
]
MORE_FILTERS: list[tuple[MetadataFilters, set[str]]] = [
    (where("tags", ["wild", "red"], "all"), {"red fox"}),
    (where("tags", ["sea", "red"], "any"), {"red fox", "blue whale"}),
    (where("tags", "sea", "contains"), {"blue whale"}),
    (where("kind", "bird", "text_match"), {"green parrot"}),
    (where("kind", "BIRD", "text_match_insensitive"), {"green parrot"}),
]


def test_filters_let_the_same_nodes_pass_in_every_store(filled: BasePydanticVectorStore) -> None:
    for filters, expected in FILTERS:
        assert set(ask_texts(filled, filters=filters)) == expected, filters
        if filters.filters:
            matches = {node.get_content() for node in filled.get_nodes(filters=filters)}
            assert matches == expected, filters


@IN_PROCESS
def test_operators_that_other_stores_leave_out_are_known_in_process(
    filled: RagNodesVectorStore,
) -> None:
    for filters, expected in MORE_FILTERS:
        assert set(ask_texts(filled, filters=filters)) == expected, filters


def test_only_some_documents_and_nodes_are_searched_where_they_are_named(
    filled: BasePydanticVectorStore,
) -> None:
    assert ask_texts(filled, doc_ids=["things"]) == ["grey stone"]
    ids = {node.get_content(): node.node_id for node in filled.get_nodes()}
    chosen = [ids["green parrot"], ids["grey stone"]]
    for mode in (MODE.DEFAULT, MODE.HYBRID):
        options = {"mode": mode, "hybrid_top_k": 4, "sparse_top_k": 4}
        assert set(ask_texts(filled, node_ids=chosen, **options)) == {"green parrot", "grey stone"}
        matches = ask_texts(filled, node_ids=chosen, filters=where("kind", "bird"), **options)
        assert matches == ["green parrot"]


@OURS
def test_no_documents_are_none_and_no_nodes_are_all_as_an_index_asks_for_all(
    filled: RagNodesVectorStore,
) -> None:
    for mode in (MODE.DEFAULT, MODE.SPARSE, MODE.HYBRID):
        assert ask_texts(filled, mode=mode, doc_ids=[]) == []
        assert ask_texts(filled, mode=mode, node_ids=[])


def test_nodes_are_read_and_deleted_by_id_by_filter_and_by_document(
    filled: BasePydanticVectorStore,
) -> None:
    [fox] = filled.get_nodes(filters=where("year", 2020))
    assert [node.node_id for node in filled.get_nodes([fox.node_id])] == [fox.node_id]
    filled.delete_nodes([fox.node_id])
    filled.delete_nodes(filters=where("kind", "bird"))
    assert set(ask_texts(filled)) == {"blue whale", "grey stone"}
    filled.delete("animals")
    assert ask_texts(filled) == ["grey stone"]
    filled.clear()


def test_a_node_of_the_same_id_is_replaced(filled: BasePydanticVectorStore) -> None:
    [fox] = filled.get_nodes(filters=where("year", 2020))
    later = TextNode(id_=fox.node_id, text="white fox", embedding=[1.0, 0.0, 0.0])
    filled.add([later])
    matches = ask_texts(filled)
    assert "white fox" in matches
    assert "red fox" not in matches


@OURS
def test_nodes_come_with_their_embeddings(filled: RagNodesVectorStore) -> None:
    node = TextNode(text="unit", embedding=[0.0, 3.0, 4.0])
    filled.add([node])
    [node_stored] = filled.get_nodes([node.node_id])
    assert node_stored.embedding == pytest.approx([0.0, 0.6, 0.8])
    assert all(node.embedding for node in filled.get_nodes())
    assert len(filled.get_nodes(limit=2)) == 2


@OURS
async def test_async_calls_do_the_same(vectors: RagNodesVectorStore) -> None:
    await vectors.async_add(animals())
    index(vectors, KINDS)
    assert texts(await vectors.aquery(VectorStoreQuery([1.0, 0.1, 0.0], 1))) == ["red fox"]
    [fox] = await vectors.aget_nodes(filters=where("year", 2020))
    await vectors.adelete_nodes([fox.node_id])
    await vectors.adelete("things")
    result = await vectors.aquery(VectorStoreQuery([1.0, 0, 0], 9))
    assert set(texts(result)) == {"blue whale", "green parrot"}
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
    hits = again.as_retriever(similarity_top_k=9).retrieve("which?")
    assert {hit.node.get_content() for hit in hits} == {"one", "two", "three"}


@OURS
async def test_stock_pipelines_write_it_and_stock_retrievers_read_it(
    vectors: RagNodesVectorStore,
) -> None:
    text = "# Zebra\n\nThe zebra eats grass.\n\n# Lion\n\nThe lion eats zebras, no grass.\n"
    model = get_embedding("lexical")
    pipeline = IngestionPipeline(
        transformations=[get_parser("heading", chunk_size=50, min_chunk_size=1), model],
        vector_store=vectors,
        disable_cache=True,
    )
    nodes = pipeline.run(documents=[Document(text=text, id_="animals")])
    runs = (pipeline.arun(documents=[Document(text=text, id_="animals")]) for _ in range(4))
    await asyncio.gather(*runs)
    assert len(vectors.get_nodes()) == len(nodes) > 1
    index = VectorStoreIndex.from_vector_store(vectors, embed_model=model)
    retrievers: list[Any] = [
        index.as_retriever(similarity_top_k=1, sparse_top_k=1, vector_store_query_mode=mode)
        for mode in ("default", "hybrid", "sparse")
    ]
    fused = QueryFusionRetriever(
        retrievers, num_queries=1, llm=MockLLM(), similarity_top_k=1, use_async=True
    )
    for retriever in (*retrievers, fused):
        [later] = await retriever.aretrieve("What does the lion eat?")
        assert "lion eats" in later.node.get_content()
    [hit] = retrievers[1].retrieve("What does the lion eat?")
    assert hit.node.node_id == later.node.node_id
