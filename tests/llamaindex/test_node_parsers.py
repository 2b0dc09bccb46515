"""What LlamaIndex's components rely on in the nodes of any parser."""

import asyncio
import json
import pickle
import uuid
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from llama_index.core.node_parser import NodeParser
from llama_index.core.schema import (
    Document,
    ImageDocument,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    TextNode,
)
from llama_index.core.vector_stores.utils import metadata_dict_to_node, node_to_metadata_dict
from stock_callers import EVERY, documents, plain, small, text_nodes

from rag_nodes.parsers import leaf_nodes
from rag_nodes.readers import read

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"


@EVERY
def test_every_way_of_calling_a_parser_gives_the_same_nodes(name: str) -> None:
    parser = small(name)
    expected = plain(parser.get_nodes_from_documents(documents()))
    ways: list[Callable[[], object]] = [
        lambda: parser(documents()),
        lambda: asyncio.run(parser.acall(documents())),
        lambda: asyncio.run(parser.aget_nodes_from_documents(documents())),
        lambda: pickle.loads(pickle.dumps(parser))(documents()),
        lambda: small(name)(documents()),
    ]
    for way in ways:
        assert plain(way()) == expected  # type: ignore[arg-type]
    assert len(expected) > len(documents())


@EVERY
def test_neighbours_name_each_other_within_one_document_only(name: str) -> None:
    leaves = leaf_nodes(small(name)(documents()))
    for left, right in pairwise(leaves):
        following = left.next_node.node_id if left.next_node else None
        previous = right.prev_node.node_id if right.prev_node else None
        same = left.ref_doc_id == right.ref_doc_id
        assert following == (right.node_id if same else None)
        assert previous == (left.node_id if same else None)


@EVERY
def test_nodes_inherit_metadata_and_hide_what_their_document_hides(name: str) -> None:
    for node in text_nodes(small(name)(documents()[:1])):
        assert node.metadata["author"] == "Mo"
        assert node.metadata["secret"] == 7
        for_embedding = node.get_metadata_str(MetadataMode.EMBED)
        for_llm = node.get_metadata_str(MetadataMode.LLM)
        assert "author: Mo" in for_embedding
        assert "author" not in for_llm
        assert "secret" not in for_embedding + for_llm
        assert "token_count" not in for_embedding + for_llm


@EVERY
def test_nodes_show_their_metadata_in_the_form_their_document_gave_it(name: str) -> None:
    document = Document(
        text="# Tea\n\nIt is hot. It is green.",
        metadata={"author": "Mo"},
        metadata_template="<{key}={value}>",
        metadata_separator=" ",
        text_template="{metadata_str} | {content}",
    )
    for parser in (small(name), small("fixed", chunk_size=400)):
        for node in text_nodes(parser(parser([document]))):
            assert node.get_content(MetadataMode.LLM).startswith("<author=Mo>")
            assert f" | {node.text}" in node.get_content(MetadataMode.EMBED)


@EVERY
def test_nodes_come_back_whole_from_json_and_from_a_payload(name: str) -> None:
    for node in text_nodes(small(name)(documents())):
        assert TextNode.from_json(node.to_json()) == node
        payload = json.loads(json.dumps(node_to_metadata_dict(node)))
        assert metadata_dict_to_node(payload) == node


@cache
def corpus() -> list[Document]:
    return [*documents(), read(CORPUS / "handbook.pdf"), read(CORPUS / "manual.md")]


@EVERY
def test_documents_that_travel_as_json_give_the_same_nodes(name: str) -> None:
    """As they do to the actors of `llama-index-ingestion-ray`, with classes and their options."""
    travelled = [Document.from_json(document.to_json()) for document in corpus()]
    assert plain(small(name)(travelled)) == plain(small(name)(corpus()))


@EVERY
def test_documents_are_left_as_they_were(name: str) -> None:
    given = documents()
    nodes = text_nodes(small(name)(given))
    for node in nodes:
        node.metadata["heading_path"] = node.metadata["author"] = "changed"
    assert plain(given) == plain(documents())


@EVERY
def test_nothing_and_blank_text_give_no_nodes(name: str) -> None:
    assert small(name)([]) == []
    assert small(name)([Document(text=""), Document(text=" \n\t\n")]) == []


@EVERY
def test_metadata_and_neighbours_can_be_left_out(name: str) -> None:
    parser = small(name, include_metadata=False, include_prev_next_rel=False)
    for node in text_nodes(parser(documents())):
        assert "author" not in node.metadata
        assert NodeRelationship.NEXT not in node.relationships
        assert NodeRelationship.PREVIOUS not in node.relationships


@EVERY
def test_a_node_without_a_document_is_split_like_one(name: str) -> None:
    whole = TextNode(text=documents()[0].text, id_="alone", metadata={"author": "Mo"})
    nodes = text_nodes(small(name)([whole]))
    assert len(nodes) > 1
    for node in nodes:
        assert node.ref_doc_id == "alone"
        assert whole.text[node.start_char_idx : node.end_char_idx] == node.text


@EVERY
def test_any_kind_of_node_with_a_text_is_split_as_its_text(name: str) -> None:
    text = documents()[0].text
    expected = [node.text for node in text_nodes(small(name)([Document(text=text)]))]
    for given in (
        ImageDocument(text=text, image="aGk="),
        Document(text_resource=MediaResource(text=text)),
        Node(text_resource=MediaResource(text=text)),
        IndexNode(text=text, index_id="other"),
    ):
        nodes = small(name)([given])
        has_image = isinstance(given, ImageDocument)
        assert {type(node) for node in nodes} == {ImageNode if has_image else TextNode}
        assert [node.get_content() for node in nodes] == expected
        assert {node.ref_doc_id for node in nodes} == {given.node_id}


@EVERY
def test_a_parser_splits_bare_text_for_components_that_ask_for_a_splitter(name: str) -> None:
    parser = small(name)
    assert isinstance(parser, NodeParser)
    nodes = leaf_nodes(parser([Document(text=documents()[1].text)]))
    assert parser.split_text(documents()[1].text) == [node.text for node in nodes]  # type: ignore[attr-defined]


@pytest.mark.parametrize("ids", ["", "doc-0", "目录/手册.md", "a" * 500])
def test_any_document_id_gives_ids_that_a_vector_store_takes(ids: str) -> None:
    for node in small("heading")([Document(text=documents()[0].text, id_=ids)]):
        assert uuid.UUID(node.node_id).version == 5
