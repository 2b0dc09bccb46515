from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from llama_index.core import Document
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import MetadataMode, NodeRelationship, TextNode

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.embedding import EmbeddingGuard
from rag_nodes.parsers import get_parser
from rag_nodes.text.packing import Packer
from rag_nodes.text.tokens import count_tokens

GUARD = EmbeddingGuard(max_tokens=100)
LIMIT = 95


def sentences(count: int) -> str:
    return " ".join(f"Sentence number {n} says something about machines." for n in range(count))


def fits(node: TextNode) -> bool:
    return count_tokens(node.get_content(metadata_mode=MetadataMode.EMBED)) <= GUARD.limit


def test_the_limit_leaves_five_percent_of_7500() -> None:
    assert EmbeddingGuard().limit == 7125


def test_nodes_that_fit_pass_untouched() -> None:
    nodes = get_parser("fixed", chunk_size=100, chunk_overlap=0)([Document(text=sentences(9))])
    before = [node.model_dump() for node in nodes]
    guarded = GUARD(nodes)
    assert [node.model_dump() for node in guarded] == before
    assert all(span is other for span, other in zip(guarded, nodes, strict=True))


def test_a_long_node_becomes_exact_slices_with_right_facts() -> None:
    pages = [sentences(20), sentences(30), sentences(10)]
    text = "\n\n".join(pages)
    starts = [0, len(pages[0]) + 2, len(pages[0]) + len(pages[1]) + 4]
    document = Document(text=text, metadata={"page_starts": starts, "total_pages": 3})
    document.excluded_embed_metadata_keys = ["page_starts", "total_pages"]
    nodes = get_parser("fixed", chunk_size=50_000, chunk_overlap=0)([document])
    [whole] = nodes
    pieces = GUARD(nodes)
    assert len(pieces) > 5
    assert all(fits(piece) for piece in pieces)
    for piece in pieces:
        assert text[piece.start_char_idx : piece.end_char_idx] == piece.text
        assert piece.metadata["token_count"] == count_tokens(piece.text)
        assert piece.metadata["start_char"] == piece.start_char_idx
        assert piece.metadata["cut_for_embedding"] == whole.node_id
        first = sum(start <= piece.start_char_idx for start in starts)
        last = sum(start < piece.end_char_idx for start in starts)
        assert (piece.metadata["page_start"], piece.metadata["page_end"]) == (first, last)
        assert "cut_for_embedding" not in piece.get_content(metadata_mode=MetadataMode.EMBED)
    assert "".join(text.split()) == "".join("".join(p.text.split()) for p in pieces)


def test_pieces_are_named_after_the_headings_above_their_own_start() -> None:
    text = "Before all headings.\n\n" + "\n\n".join(
        f"# Part {n}\n\n## The long and winding heading of section {n}\n\n{sentences(12)}"
        for n in range(5)
    )
    nodes = get_parser("fixed", chunk_size=50_000, chunk_overlap=0)([Document(text=text)])
    [whole] = nodes
    tree = Packer(text).headings
    before = whole.model_dump()
    pieces = GUARD(nodes)
    assert len(pieces) > 5
    for piece in pieces:
        path = list(tree.path_at(piece.start_char_idx))
        assert piece.metadata.get("heading_path", []) == path
        assert piece.metadata.get("Heading", "") == " > ".join(path)
        assert piece.get_content(metadata_mode=MetadataMode.EMBED).startswith("Heading: ") == bool(
            path
        )
        inside = [[heading.block.start, list(heading.path)] for heading in tree.headings]
        assert piece.metadata.get("headings_inside", []) == [
            span for span in inside if piece.start_char_idx < span[0] < piece.end_char_idx
        ]
        assert fits(piece)
    assert whole.model_dump() == before


def test_pieces_have_ids_numbers_and_neighbours_of_their_own() -> None:
    text = "Short start.\n\n" + sentences(40) + "\n\nShort end."
    document = Document(text=text, id_="doc")
    parser = get_parser("fixed", chunk_size=2000, chunk_overlap=0)
    pieces = GUARD(parser([document]))
    assert len({piece.node_id for piece in pieces}) == len(pieces)
    assert [piece.metadata["chunk_index"] for piece in pieces] == list(range(len(pieces)))
    assert {piece.metadata["total_chunks"] for piece in pieces} == {len(pieces)}
    assert {piece.ref_doc_id for piece in pieces} == {"doc"}
    for left, right in pairwise(pieces):
        assert left.relationships[NodeRelationship.NEXT].node_id == right.node_id
        assert right.relationships[NodeRelationship.PREVIOUS].node_id == left.node_id
    assert NodeRelationship.PREVIOUS not in pieces[0].relationships
    assert NodeRelationship.NEXT not in pieces[-1].relationships
    again = GUARD(parser([document]))
    assert [piece.node_id for piece in again] == [piece.node_id for piece in pieces]


def test_splits_prefer_paragraphs_then_sentences_then_words() -> None:
    half = sentences(7)
    paragraphs = GUARD([TextNode(text=f"{half}\n\n{half}\n\n{half}")])
    assert [piece.text for piece in paragraphs] == [half] * 3
    for piece in GUARD([TextNode(text=sentences(30))]):
        assert piece.text.startswith("Sentence")
        assert piece.text.endswith(".")
    words = GUARD([TextNode(text="word " * 300)])
    assert all(set(piece.text.split()) == {"word"} for piece in words)


def test_a_parent_of_any_length_stays_whole_as_it_is_not_embedded() -> None:
    parser = get_parser(
        "parent-child",
        parent_options={"chunk_size": 2000, "min_chunk_size": 0},
        child_options={"chunk_size": 400, "chunk_overlap": 0, "whole_document_below": 0},
    )
    nodes = parser([Document(text=sentences(80))])
    parents = [node for node in nodes if node.child_nodes]
    guarded = GUARD(nodes)
    assert not all(fits(parent) for parent in parents)
    assert guarded[: len(parents)] == parents
    assert len(guarded) > len(nodes)
    assert all(fits(piece) for piece in guarded[len(parents) :])


def test_code_is_split_at_line_ends() -> None:
    line = "value = compute(first, second)  # a line of code. Not a sentence"
    node = TextNode(text="\n".join([line] * 40), metadata={"blocks": ["code"]})
    node.excluded_embed_metadata_keys = ["blocks"]
    for piece in GUARD([node]):
        assert set(piece.text.splitlines()) == {line}


def test_the_breadcrumb_counts_towards_the_limit() -> None:
    node = TextNode(text=sentences(30), metadata={"Heading": "A long heading " * 10})
    pieces = GUARD([node])
    assert len(pieces) > 1
    assert all(fits(piece) for piece in pieces)


def test_metadata_longer_than_the_limit_is_refused_with_the_remedy() -> None:
    node = TextNode(text="text " * 9, metadata={"note": "word " * 300})
    with pytest.raises(ConfigurationError, match="excluded_embed_metadata_keys"):
        GUARD([node])


def test_the_example_of_9500_tokens_becomes_two_pieces() -> None:
    text = sentences(1200)
    tokens = count_tokens(text)
    assert 9000 < tokens < 14000
    pieces = EmbeddingGuard()([TextNode(text=text)])
    assert len(pieces) == 2
    assert all(count_tokens(piece.text) <= 7125 for piece in pieces)


async def test_it_works_inside_a_stock_pipeline_sync_and_async() -> None:
    pipeline = IngestionPipeline(
        transformations=[get_parser("fixed", chunk_size=5000, chunk_overlap=0), GUARD],
        disable_cache=True,
    )
    document = Document(text=sentences(60))
    nodes = pipeline.run(documents=[document])
    assert len(nodes) > 3
    assert [n.node_id for n in await pipeline.arun(documents=[document])] == [
        n.node_id for n in nodes
    ]


@given(st.text(alphabet=st.sampled_from("ab .\n👩‍👩‍👧é日本語ก\u0301\r"), max_size=3000))
def test_whatever_the_text_every_piece_fits_and_nothing_visible_is_lost(text: str) -> None:
    node = TextNode(text=text, start_char_idx=0, end_char_idx=len(text))
    pieces = GUARD([node])
    assert all(fits(piece) for piece in pieces)
    assert all(text[p.start_char_idx : p.end_char_idx] == p.text for p in pieces)
    if len(pieces) > 1:
        assert "".join("".join(p.text.split()) for p in pieces) == "".join(text.split())


def test_the_middle_of_code_is_split_at_line_ends_where_the_fence_is_in_another_node() -> None:
    lines = [f"value_{n} = compute(value_{n}, of={n})  # First. Then second." for n in range(60)]
    text = "# A\n\n```py\n" + "\n".join(lines) + "\n```"
    parser = get_parser("heading", chunk_size=200, min_chunk_size=0, oversize="split")
    middle = [node for node in parser([Document(text=text)]) if "```" not in node.text]
    assert middle
    pieces = GUARD(middle)
    assert len(pieces) > len(middle)
    assert {line for piece in pieces for line in piece.text.splitlines()} <= set(lines)


def test_plain_text_is_split_as_plain_text() -> None:
    text = "```\n" + sentences(12) + "\n\n" + sentences(12)
    node = TextNode(text=text, metadata={"text_format": "plain"})
    node.excluded_embed_metadata_keys = ["text_format"]
    assert all(piece.text.endswith(".") for piece in GUARD([node]))


def test_numbers_of_pieces_are_never_embedded() -> None:
    for piece in GUARD([TextNode(text=sentences(30))]):
        assert piece.get_content(metadata_mode=MetadataMode.EMBED) == piece.text
        assert piece.get_content(metadata_mode=MetadataMode.LLM) == piece.text
