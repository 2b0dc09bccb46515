"""What is reported of LlamaIndex's own parsers and pipelines, and holds with ours.

One test per row of the table in docs/reference/known-issues.md, named after the threads.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from llama_index.core.bridge.pydantic import PrivateAttr
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.node_parser import MarkdownNodeParser
from llama_index.core.schema import Document, MetadataMode, TextNode
from stock_callers import EVERY_KIND, documents, small, text_nodes

from rag_nodes import (
    HeadingHierarchyNodeParser,
    QueryOptions,
    RagNodesRetriever,
    SemanticNodeParser,
    SentenceNodeParser,
    get_parser,
    ingest_documents,
    open_store,
)
from rag_nodes.text.tokens import count_tokens

REPETITIVE = "# A\n\n" + "One two three four. " * 60 + "\n\n# B\n\n" + "One two three four. " * 60
GUIDE = Path(__file__).parents[2] / "docs" / "reference" / "known-issues.md"
LISTING = "\n\n".join(f"File: /path/{n}\nSize: 230\nType: doc" for n in range(150))


def slices(document: Document, nodes: Sequence[TextNode]) -> bool:
    return bool(nodes) and all(
        node.start_char_idx is not None
        and document.text[node.start_char_idx : node.end_char_idx] == node.text
        for node in nodes
    )


@EVERY_KIND
def test_9101_7925_offsets_are_never_missing_and_never_wrong_in_repetitive_text(name: str) -> None:
    document = Document(text=REPETITIVE, id_="doc")
    nodes = text_nodes(small(name)([document]))
    assert slices(document, nodes)
    covered = {place for n in nodes for place in range(n.start_char_idx or 0, n.end_char_idx or 0)}
    assert not [
        place for place in set(range(len(REPETITIVE))) - covered if REPETITIVE[place].strip()
    ]


@EVERY_KIND
def test_12270_a_parser_behind_another_keeps_offsets_and_neighbours(name: str) -> None:
    document = Document(text=REPETITIVE, id_="doc")
    chain = IngestionPipeline(
        transformations=[get_parser("semantic", chunk_size=200), small(name)], disable_cache=True
    )
    nodes = text_nodes(chain.run(documents=[document]))
    assert slices(document, nodes)
    assert {node.ref_doc_id for node in nodes} == {"doc"}
    leaves = [node for node in nodes if not node.child_nodes]
    assert [leaf.next_node is None for leaf in leaves] == [False] * (len(leaves) - 1) + [True]


@pytest.mark.parametrize("text", [LISTING, REPETITIVE])
def test_12270_15936_17098_semantic_chunks_keep_to_their_size(text: str) -> None:
    parser = SemanticNodeParser(chunk_size=128, min_chunk_size=16)
    nodes = text_nodes(parser([Document(text=text)]))
    assert len(nodes) > 1
    assert max(count_tokens(node.text) for node in nodes) <= 128


def test_21281_sections_of_markdown_keep_to_a_size_and_know_their_headings() -> None:
    parser = HeadingHierarchyNodeParser(chunk_size=100, min_chunk_size=0)
    nodes = text_nodes(parser([Document(text=REPETITIVE)]))
    assert max(count_tokens(node.text) for node in nodes) <= 100
    assert [node.metadata["heading_path"] for node in nodes] == [["A"]] * 4 + [["B"]] * 4
    assert all(node.get_content(MetadataMode.EMBED).startswith("Heading: ") for node in nodes)


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\n~~~\n# no heading\n~~~\n\nbody",
        "# T\n\n````\n```\n# no heading\n```\n````\n\nbody",
        "# T\n\n1. Do\n\n    ```\n    # no heading\n    ```\n\nbody",
        "---\ntitle: Tea\n# no heading\n---\n\n# T\n\nbody",
        "# T\n\n<!--\n# no heading\n-->\n\nbody",
    ],
)
def test_22123_12369_a_hash_in_code_front_matter_or_a_comment_is_no_heading(text: str) -> None:
    nodes = text_nodes(HeadingHierarchyNodeParser(min_chunk_size=0)([Document(text=text)]))
    paths = [node.metadata.get("heading_path", []) for node in nodes]
    assert ["T"] in paths
    assert all("no heading" not in path for path in paths)


@EVERY_KIND
def test_12200_7980_17373_metadata_of_any_length_takes_no_room_from_the_text(name: str) -> None:
    long = Document(text=documents()[1].text, id_="doc", metadata={"about": "word " * 3000})
    short = Document(text=documents()[1].text, id_="doc")
    texts = [node.text for node in text_nodes(small(name)([long]))]
    assert texts == [node.text for node in text_nodes(small(name)([short]))]


@EVERY_KIND
def test_13595_9338_the_same_document_gives_the_same_ids_and_a_change_changes_its_own(
    name: str,
) -> None:
    manual, notes = documents()
    first = small(name)([manual, notes])
    again = small(name)([notes, manual])
    assert {node.node_id for node in first} == {node.node_id for node in again}
    notes.set_content("Ring once. " + notes.text)
    changed = {node.node_id for node in small(name)([manual, notes])}
    assert changed & {n.node_id for n in first} == {n.node_id for n in small(name)([manual])}


@pytest.mark.parametrize("name", ["heading", "page", "fixed"])
def test_17546_12869_every_node_knows_its_pages(name: str) -> None:
    text = documents()[0].text
    second = text.index("## Wiring")
    pages = {"page_starts": [0, second], "total_pages": 2}
    for node in text_nodes(small(name)([Document(text=text, metadata=pages)])):
        start, end = node.start_char_idx or 0, node.end_char_idx or 0
        assert node.metadata["page_start"] == (1 if start < second else 2)
        assert node.metadata["page_end"] == (1 if end <= second else 2)


def test_15151_15737_chinese_is_split_between_its_sentences() -> None:
    sentences = ["泵在夜间运行。", "过滤器每月清洗。", "红线带电。"]
    assert SentenceNodeParser(chunk_size=1, chunk_overlap=0).split_text("".join(sentences)) == (
        sentences
    )
    parser = SemanticNodeParser(chunk_size=64, min_chunk_size=0)
    assert len(parser.split_text("".join(sentences) * 30)) > 1


def test_12270_behind_a_stock_parser_a_node_has_the_right_offset_or_none() -> None:
    document = Document(text=REPETITIVE, id_="doc")
    sections = MarkdownNodeParser()([document])
    for node in text_nodes(small("token-overlap")(sections)):
        place = (node.start_char_idx, node.end_char_idx)
        assert place == (None, None) or document.text[slice(*place)] == node.text


class Failing(MockEmbedding):
    """Refuses texts that speak of gold, as long as it is told to."""

    _down: bool = PrivateAttr(default=False)  # a field would be part of its name

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        if self._down and any("gold" in text for text in texts):
            raise ConnectionError("the model is not there")
        return super()._get_text_embeddings(texts)


def test_22638_22639_a_run_that_fails_loses_no_document_and_the_next_one_takes_it_up() -> None:
    model = Failing(embed_dim=4)
    parsers: dict[str, Any] = {"sentence": get_parser("sentence")}

    def texts() -> list[str]:
        report = ingest_documents([], parsers, store, embed_model=model)
        (column,) = report.columns
        return sorted(node.text for node in store.vector_store(column.collection).get_nodes())  # type: ignore[union-attr]

    with open_store() as store:
        old = Document(text="The lamp is silver.", id_="lamp.md")
        ingest_documents([old], parsers, store, embed_model=model)
        model._down = True
        new = Document(text="The lamp is gold.", id_="lamp.md")
        failed = ingest_documents([new], parsers, store, embed_model=model)
        assert failed.columns[0].error
        assert texts() == [old.text]
        model._down = False
        ingest_documents([new], parsers, store, embed_model=model)
        assert texts() == [new.text]


def test_14829_11934_neighbours_are_read_from_the_vector_store_alone() -> None:
    parsers: dict[str, Any] = {"sentence": get_parser("sentence", chunk_size=1, chunk_overlap=0)}
    text = "The roof is red. The key is under the mat. Ring twice. The dog is old."
    model = MockEmbedding(embed_dim=4)
    with open_store() as store:
        report = ingest_documents([Document(text=text)], parsers, store, embed_model=model)
        retriever = RagNodesRetriever(
            store=store,
            collection=report.columns[0].collection,
            embed_model=model,
            options=QueryOptions(top_k=1, mode="sparse", expand="neighbours"),
        )
        retrieved = " ".join(hit.text for hit in retriever.retrieve("Where is the key?"))
    assert all(words in retrieved for words in ("roof is red", "under the mat", "Ring twice"))
    assert "dog" not in retrieved


def test_every_thread_the_guide_names_has_a_test_here() -> None:
    rows = [line for line in GUIDE.read_text(encoding="utf-8").splitlines() if line[:3] == "| #"]
    named = {number for row in rows for number in re.findall(r"#(\d{4,})", row)}
    names = [name for name in globals() if name.startswith("test_")]
    tested = {number for name in names for number in re.findall(r"_(\d{4,})(?=_)", name)}
    assert len(rows) > 10
    assert named - {"22839"} == tested  # that one: tests/parsers/test_presets.py
