"""`to_chunks`: what the source documents call `Chunk` and `EnrichedChunk` (S1-46, S3-05)."""

import json
from dataclasses import FrozenInstanceError, asdict, fields

import pytest
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import Document, TextNode

from rag_nodes import EnrichedChunk, leaf_nodes, to_chunks
from rag_nodes.models import get_embedding
from rag_nodes.parsers import PRESETS, get_parser

TEXT = "\n\n".join(f"# Part {n}\n\nThe pump {n} is hot. It is green." for n in range(60))
DOCUMENTS = [
    Document(text=TEXT, id_=name, metadata={"source": f"{name}.md"}) for name in ("tea", "coffee")
]


def test_a_chunk_has_the_fields_of_the_source_documents() -> None:
    names = ["chunk_id", "file_id", "text", "chunk_index", "metadata", "embedding"]
    assert [field.name for field in fields(EnrichedChunk)] == names


@pytest.mark.parametrize("name", PRESETS)
def test_every_node_becomes_the_chunk_it_is(name: str) -> None:
    nodes = leaf_nodes(get_parser(name)(DOCUMENTS))
    chunks = to_chunks(nodes)
    assert [(c.chunk_id, c.text, c.metadata) for c in chunks] == [
        (node.node_id, node.text, node.metadata) for node in nodes
    ]
    for document in DOCUMENTS:
        own = [chunk for chunk in chunks if chunk.file_id == document.id_]
        assert [chunk.chunk_index for chunk in own] == list(range(len(own)))
        for chunk in own:
            start, end = chunk.metadata["start_char"], chunk.metadata["end_char"]
            assert document.text[start:end] == chunk.text
    assert {chunk.file_id for chunk in chunks} == {"tea", "coffee"}


@pytest.mark.parametrize("name", PRESETS)
def test_a_chunk_is_json_and_comes_back_from_it(name: str) -> None:
    for chunk in to_chunks(get_parser(name)(DOCUMENTS[:1])):
        again = EnrichedChunk(**json.loads(json.dumps(asdict(chunk))))
        assert again == chunk
        assert hash(again) == hash(chunk)


def test_a_part_of_the_nodes_keeps_its_places_in_the_document() -> None:
    nodes = get_parser("fixed", chunk_size=200, chunk_overlap=0)(DOCUMENTS[:1])
    assert [chunk.chunk_index for chunk in to_chunks(nodes[3:5])] == [3, 4]


def test_nodes_of_llama_index_are_counted_within_their_documents() -> None:
    nodes = SentenceSplitter(chunk_size=200, chunk_overlap=0)(DOCUMENTS)
    half = len(nodes) // 2
    assert half > 1
    assert [(c.file_id, c.chunk_index) for c in to_chunks(nodes)] == [
        (document.id_, number) for document in DOCUMENTS for number in range(half)
    ]


def test_a_chunk_takes_its_vector_along() -> None:
    embedded = get_embedding("lexical")(get_parser("page")(DOCUMENTS[:1]))
    for chunk, node in zip(to_chunks(embedded), embedded, strict=True):
        assert chunk.embedding == tuple(node.embedding or ())
        assert chunk.embedding
    assert to_chunks(get_parser("page")(DOCUMENTS))[0].embedding is None


def test_a_chunk_cannot_be_changed_nor_changes_with_its_node() -> None:
    node = TextNode(text="It is hot.", id_="n", metadata={"tags": ["tea"]})
    [chunk] = to_chunks([node])
    node.metadata["tags"].append("late")
    assert chunk.metadata == {"tags": ["tea"]}
    assert chunk.file_id == "n"
    with pytest.raises(FrozenInstanceError):
        chunk.text = "It is cold."  # type: ignore[misc]
