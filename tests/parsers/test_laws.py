"""The laws every parser keeps (L1 to L11), for generated documents and every preset."""

import asyncio
import uuid
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.schema import Document, NodeRelationship, TextNode
from parser_laws import (
    FEW,
    SMALL,
    assert_clusters_are_whole,
    assert_neighbours_share,
    assert_slices_in_order_that_cover,
    small_parser,
)
from strategies import MARKDOWN, TEXTS

from rag_nodes.core import metadata as keys
from rag_nodes.parsers import PRESETS, SpanNodeParser, get_parser
from rag_nodes.text.tokens import count_tokens

ALL = pytest.mark.parametrize("name", SMALL)


def parse(parser: SpanNodeParser, text: str, doc_id: str = "doc") -> list[TextNode]:
    nodes = parser.get_nodes_from_documents([Document(text=text, id_=doc_id)])
    assert all(isinstance(node, TextNode) for node in nodes)
    return nodes  # type: ignore[return-value]


def size_of(parser: SpanNodeParser, text: str) -> int:
    return len(text) if getattr(parser, "unit", "tokens") == "characters" else count_tokens(text)


def test_every_preset_is_put_to_the_laws() -> None:
    by_level = {"parent-child"}  # its own tests run the laws per level
    assert {name.removesuffix("-tokens") for name in SMALL} == set(PRESETS) - by_level


@ALL
@given(text=TEXTS)
def test_every_node_is_a_whole_slice_of_its_size_that_knows_its_neighbours(
    name: str, text: str
) -> None:
    parser = small_parser(name)
    nodes = parse(parser, text)
    assert_slices_in_order_that_cover(text, nodes)  # L1, L2, L3, L11
    assert nodes or not text.strip()
    most = getattr(parser, "chunk_overlap", 0)
    assert_neighbours_share(text, nodes, lambda part: size_of(parser, part), most)  # L6
    limit = nodes[0].metadata.get(keys.SCALED_SIZE, parser.chunk_size) if nodes else 0
    assert_clusters_are_whole(text, nodes, lambda part: size_of(parser, part), limit)  # L5
    for index, node in enumerate(nodes):
        assert node.metadata[keys.START_CHAR] == node.start_char_idx
        assert node.metadata[keys.END_CHAR] == node.end_char_idx
        if not node.metadata.get(keys.OVERSIZED):
            limit = node.metadata.get(keys.SCALED_SIZE, parser.chunk_size)
            assert size_of(parser, node.text) <= limit <= parser.chunk_size  # L4
        else:
            assert "code" in node.metadata[keys.BLOCKS]
            assert parser.chunk_size < size_of(parser, node.text) <= 4 * parser.chunk_size
        assert node.ref_doc_id == "doc"  # L9
        before = nodes[index - 1].node_id if index else None
        after = nodes[index + 1].node_id if index + 1 < len(nodes) else None
        assert (node.prev_node and node.prev_node.node_id) == before
        assert (node.next_node and node.next_node.node_id) == after
        assert node.metadata[keys.CHUNK_INDEX] == index
        assert node.metadata[keys.TOTAL_CHUNKS] == len(nodes)


@given(count=st.integers(12, 30), words=st.integers(2, 5))
def test_token_overlap_shares_whole_sentences_wherever_one_fits(count: int, words: int) -> None:
    sentences = [" ".join(["Word"] + ["word"] * (words - 1)) + "." for _ in range(count)]
    nodes = parse(small_parser("token-overlap"), " ".join(sentences))
    assert len(nodes) > 1
    for left, right in pairwise(nodes):
        assert right.start_char_idx < left.end_char_idx
        assert right.text.startswith("Word")


@ALL
@FEW
@given(text=TEXTS)
def test_the_same_text_gives_the_same_nodes_alone_in_a_batch_and_awaited(
    name: str, text: str
) -> None:
    alone = [(n.node_id, n.text, n.metadata) for n in parse(small_parser(name), text)]
    parser = small_parser(name)
    documents = [Document(text="Before. " * 9, id_="other"), Document(text=text, id_="doc")]
    batch = [n for n in parser(documents) if n.ref_doc_id == "doc"]
    awaited = [n for n in asyncio.run(parser.acall(documents)) if n.ref_doc_id == "doc"]
    assert [(n.node_id, n.text, n.metadata) for n in batch] == alone  # L7
    assert [(n.node_id, n.text, n.metadata) for n in awaited] == alone


@FEW
@given(text=TEXTS)
def test_ids_are_uuids_and_unique_over_documents_and_configurations(text: str) -> None:
    ids = [
        node.node_id
        for name in SMALL
        for doc_id in ("one", "two")
        for node in parse(small_parser(name), text, doc_id)
    ]
    assert len(set(ids)) == len(ids)  # L8
    assert all(uuid.UUID(node_id).version == 5 for node_id in ids)


@ALL
@FEW
@given(text=TEXTS)
def test_a_stock_ingestion_pipeline_changes_nothing(name: str, text: str) -> None:
    parser = small_parser(name)
    expected = [(n.node_id, n.start_char_idx, n.text) for n in parse(parser, text)]
    document = Document(text=text, id_="doc")
    pipeline = IngestionPipeline(
        transformations=[parser, MockEmbedding(embed_dim=2)], disable_cache=True
    )
    run = pipeline.run(documents=[document])
    arun = asyncio.run(pipeline.arun(documents=[document]))
    assert [(n.node_id, n.start_char_idx, n.text) for n in run] == expected
    assert [(n.node_id, n.start_char_idx, n.text) for n in arun] == expected


@ALL
@FEW
@given(text=MARKDOWN)
def test_offsets_behind_another_parser_slice_the_document_or_are_absent(
    name: str, text: str
) -> None:
    text = text.replace("\ud800", "?")  # LlamaIndex's own parser cannot hash it
    document = Document(text=text, id_="doc")
    for first in (get_parser("heading", chunk_size=60, min_chunk_size=0), MarkdownNodeParser()):
        nodes = IngestionPipeline(
            transformations=[first, small_parser(name)], disable_cache=True
        ).run(documents=[document])
        for node in nodes:
            assert node.ref_doc_id == "doc"
            if node.start_char_idx is not None:
                assert text[node.start_char_idx : node.end_char_idx] == node.text
        if isinstance(first, SpanNodeParser):
            assert all(node.start_char_idx is not None for node in nodes)
            assert all(node.next_node for node in nodes[:-1])
            assert all(node.prev_node for node in nodes[1:])
        assert len({node.node_id for node in nodes}) == len(nodes)


@ALL
def test_a_node_whose_offsets_are_missing_or_wrong_passes_none_on(name: str) -> None:
    source = Document(text="x" * 400, id_="doc").as_related_node_info()
    text = "One sentence here. Another one there. And a third."
    missing = TextNode(text=text, relationships={NodeRelationship.SOURCE: source})
    wrong_length = missing.model_copy(update={"start_char_idx": 5, "end_char_idx": 9})
    for given_node in (missing, wrong_length):
        for node in small_parser(name)([given_node]):
            assert node.start_char_idx is None
            assert node.end_char_idx is None
            assert keys.START_CHAR not in node.metadata
