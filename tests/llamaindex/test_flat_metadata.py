"""Stores with flat metadata take our nodes behind `FlatMetadata`, and nothing is lost."""

import json
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import BaseNode, MetadataMode, NodeWithScore, TextNode
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
from plant import offline_models
from stock_callers import lexical_index

from rag_nodes import (
    PRESETS,
    Comparison,
    Filter,
    FlatMetadata,
    QueryOptions,
    RagNodesQueryEngine,
    RagNodesRetriever,
    SentencePostprocessor,
    get_parser,
    open_store,
)
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.foreign_metadata import usable
from rag_nodes.core.metadata import EMBEDDED_METADATA
from rag_nodes.store.payload import points_of

TEXT = "# Pump\n\nIt starts at six.\n\n## Filter\n\nRinse it monthly. Replace it after two years."
QUESTION = "When is the filter replaced?"
OWN = {"tags": ["wet", "Größe"], "by": {"name": "Ada"}, "year": 2024, "note": "[1]", "none": None}


def document() -> Document:
    starts = [0, TEXT.index("## Filter")]
    return Document(text=TEXT, id_="pump.md", metadata={**OWN, "page_starts": starts})


def stored(nodes: list[BaseNode]) -> list[BaseNode]:
    """The nodes as a store such as Chroma returns them."""
    payloads = [
        node_to_metadata_dict(node, remove_text=True, flat_metadata=True)
        for node in FlatMetadata()(nodes)
    ]
    pairs = zip(payloads, nodes, strict=True)
    return [
        metadata_dict_to_node(json.loads(json.dumps(p)), text=n.get_content()) for p, n in pairs
    ]


@pytest.mark.parametrize("splitter", [*PRESETS, SentenceSplitter(chunk_size=128, chunk_overlap=0)])
def test_a_store_with_flat_metadata_gives_back_what_it_was_given(splitter: Any) -> None:
    parser = get_parser(splitter) if isinstance(splitter, str) else splitter
    nodes = parser.get_nodes_from_documents([document()])
    with pytest.raises(ValueError, match="must be one of"):
        node_to_metadata_dict(nodes[0], flat_metadata=True)
    for node, back in zip(nodes, stored(nodes), strict=True):
        assert usable(back).metadata == usable(node).metadata
        assert back.node_id == node.node_id
        for mode in (MetadataMode.EMBED, MetadataMode.LLM):
            assert "flattened_metadata" not in back.get_content(mode)


def test_sentences_and_citations_of_flat_nodes_have_pages_headings_and_own_lists() -> None:
    nodes = stored(get_parser("heading", min_chunk_size=0)([document()]))
    scored = [NodeWithScore(node=node, score=0.5) for node in nodes]
    [passage, *_] = SentencePostprocessor(budget=20).postprocess_nodes(scored, query_str=QUESTION)
    assert passage.metadata["heading_path"] == ["Pump", "Filter"]
    index = lexical_index(nodes)
    [citation, *_] = RagNodesQueryEngine.from_index(index).answer(QUESTION).citations
    assert (citation.page, citation.heading_path) == (2, ("Pump", "Filter"))
    assert citation.metadata["tags"] == ["wet", "Größe"]


def test_neighbours_that_a_store_returns_flat_are_read() -> None:
    nodes = {
        node.node_id: node
        for node in stored(get_parser("sentence", chunk_size=1, chunk_overlap=0)([document()]))
    }

    class Flat:
        def get_nodes(self, node_ids: list[str]) -> list[BaseNode]:
            return [nodes[node_id] for node_id in node_ids]

    hits = [NodeWithScore(node=[*nodes.values()][-1], score=0.5)]
    select = SentencePostprocessor(budget=40, store=Flat())
    passages = select.postprocess_nodes(hits, query_str=QUESTION)
    [before] = [passage for passage in passages if "Rinse" in passage.text]
    assert before.metadata["heading_path"] == ["Pump", "Filter"]


def test_flat_nodes_stay_as_they_are_and_later_lists_are_added() -> None:
    [node] = FlatMetadata()([TextNode(text="x", metadata={"a": [1]})])
    assert FlatMetadata()([node]) == [node]
    node.metadata["b"] = [2]
    [twice] = FlatMetadata()([node])
    assert usable(twice).metadata == {"a": [1], "b": [2]}
    plain = TextNode(text="x", metadata={"a": 1})
    assert FlatMetadata()([plain])[0] is plain


def test_a_column_of_flat_nodes_is_compared_with_its_headings() -> None:
    nodes = stored(get_parser("heading", min_chunk_size=0)([document()]))
    index = lexical_index(nodes)
    with Comparison({"mine": index}, documents=[document()]) as comparison:
        [column] = comparison.ask(QUESTION).columns
    assert column.answer is not None
    assert [hit.node.metadata["heading_path"] for hit in column.answer.hits] == [
        ["Pump", "Filter"],
        ["Pump"],
    ]


@pytest.mark.parametrize(
    "filter_",
    [
        Filter(heading="filter"),
        Filter(heading_path=("Pump", "Filter")),
        Filter(where={"tags": "wet"}),
        Filter(source="https://example.org/old"),
        Filter(pages=(2, 2)),
    ],
)
def test_filters_compare_lists_of_flat_nodes(filter_: Filter) -> None:
    given = document()
    given.metadata["also_at"] = ["https://example.org/old"]
    index = lexical_index(stored(get_parser("fixed")([given])))
    retriever = RagNodesRetriever.from_index(index, options=QueryOptions(filter=filter_))
    assert any("Replace it" in node.get_content() for node in retriever.retrieve(QUESTION))


def test_a_misspelt_heading_or_key_of_flat_nodes_is_corrected() -> None:
    index = lexical_index(stored(get_parser("retrieval")([document()])))
    for filter_, words in (
        (Filter(heading="Filtre"), "did you mean 'Filter'"),
        (Filter(heading="x"), "the headings of the documents are 'Filter', 'Pump'$"),
        (Filter(where={"tag": "wet"}), "did you mean 'tags'"),
    ):
        retriever = RagNodesRetriever.from_index(index, options=QueryOptions(filter=filter_))
        with pytest.raises(ConfigurationError, match=words):
            retriever.retrieve(QUESTION)


def test_a_misspelt_heading_of_flat_nodes_in_our_store_is_corrected() -> None:
    models = offline_models()
    nodes = FlatMetadata()(get_parser("retrieval")([document()]))
    for node in nodes:
        node.embedding = models.embedding.get_text_embedding(node.get_content())
    with open_store(":memory:") as store:
        store.add("flat", nodes)
        retriever = RagNodesRetriever(
            store=store,
            collection="flat",
            models=models,
            options=QueryOptions(filter=Filter(heading="Filtre")),
        )
        with pytest.raises(ConfigurationError, match="did you mean 'Filter'"):
            retriever.retrieve(QUESTION)


def test_values_that_are_embedded_are_indexed_as_words_of_flat_nodes_too() -> None:
    [node] = get_parser("fixed")([document()])
    node.embedding, node.metadata[EMBEDDED_METADATA] = [1.0], ["note", "tags"]
    [point], [flat] = points_of([node]), points_of(FlatMetadata()([node]))
    assert flat.words == point.words
    assert flat.words != points_of([TextNode(text=node.get_content(), embedding=[1.0])])[0].words


@pytest.mark.parametrize("preset", ["retrieval", "token-overlap", "heading"])
def test_a_retriever_reads_flat_neighbours_in_the_document_store_of_an_index(preset: str) -> None:
    parts = [f"## Part {n}\n\nPump {n} starts at six. {'It is red. ' * 30}" for n in range(9)]
    text = "\n\n".join(parts)
    metadata = {"page_starts": [0, *(text.index(f"Pump {n}") for n in range(1, 9))]}
    nodes = FlatMetadata()(
        get_parser(preset, chunk_size=150)([Document(text=text, metadata=metadata)])
    )
    index = lexical_index(nodes)
    options = QueryOptions(top_k=1, granularity="sentences")
    retriever = RagNodesRetriever.from_index(index, options=options)
    assert all(
        isinstance(n.node.metadata["page_start"], int) for n in retriever.retrieve("Pump 4?")
    )
