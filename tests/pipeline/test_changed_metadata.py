"""What a document says about itself is stored as it is now, and costs no new vectors."""

from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.schema import TextNode

from rag_nodes.core.metadata import DESCRIPTION, PAGE_STARTS, SOURCE_HASH, TITLE, TOTAL_PAGES
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import IngestReport, ingest, ingest_documents
from rag_nodes.store import Query, Store

PAGE = "<html><head><title>{title}</title></head><body><h1>Pumps</h1><p>{text}</p></body></html>"
TEXT = "A pump moves water. It is red. It needs oil. It is kept dry in winter."


def nodes(store: Store, report: IngestReport) -> list[TextNode]:
    hits = store.search(
        report.columns[0].collection,
        Query(vector=[1.0, 1.0, 1.0], text=None, limit=99, mode="dense"),
    )
    return [hit.node for hit in sorted(hits, key=lambda hit: hit.node.start_char_idx or 0)]


def test_a_changed_title_is_stored_and_nothing_is_embedded_again(
    store: Store, models: Models, embedding: Any, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    parsers = {"fixed": get_parser("fixed", chunk_size=30, chunk_overlap=0)}
    page.write_text(PAGE.format(title="Old name", text=TEXT))
    first = ingest([page], parsers, store, models=models)
    embedded, before = len(embedding.texts), nodes(store, first)

    page.write_text(PAGE.format(title="New name", text=TEXT))
    report = ingest([page], parsers, store, models=models)
    assert [file.status for file in report.files] == ["read"]
    assert {node.metadata[TITLE] for node in nodes(store, report)} == {"New name"}
    assert [node.node_id for node in nodes(store, report)] == [node.node_id for node in before]
    assert len(embedding.texts) == embedded
    assert ingest([page], parsers, store, models=models).files[0].status == "unchanged"


def test_reused_vectors_still_find_what_they_found(
    store: Store, models: Models, embedding: Any
) -> None:
    def hits() -> list[tuple[str, float]]:
        [column] = report.columns
        question = embedding.get_query_embedding("It is red.")
        hits = store.search(
            column.collection, Query(vector=question, text=None, limit=9, mode="dense")
        )
        return [(hit.node.text, pytest.approx(hit.similarity, abs=1e-6)) for hit in hits]

    parsers = {"fixed": get_parser("fixed", chunk_size=20, chunk_overlap=0)}
    document = Document(text=TEXT, id_="one", metadata={DESCRIPTION: "Old"})
    report = ingest_documents([document], parsers, store, models=models)
    before = hits()
    document.metadata[DESCRIPTION] = "New"
    report = ingest_documents([document], parsers, store, models=models)
    assert hits() == before


def test_a_pdf_that_was_paginated_again_has_its_new_pages(store: Store, models: Models) -> None:
    parsers = {"fixed": get_parser("fixed", chunk_size=30, chunk_overlap=0)}

    def pages(starts: list[int]) -> list[int]:
        facts = {PAGE_STARTS: starts, TOTAL_PAGES: len(starts), SOURCE_HASH: "of the text alone"}
        document = Document(text=TEXT, id_="one", metadata=facts)
        report = ingest_documents([document], parsers, store, models=models)
        return [node.metadata["page_start"] for node in nodes(store, report)]

    assert set(pages([0])) == {1}
    assert set(pages([0, 30, 50])) == {1, 2, 3}


def test_a_heading_that_is_embedded_with_the_text_is_embedded_again_when_it_changes(
    store: Store, models: Models, embedding: Any
) -> None:
    parsers = {"heading": get_parser("heading", chunk_size=60, min_chunk_size=5)}
    document = Document(text="## Oil\n\nIt needs oil.", id_="one", metadata={TITLE: "Old"})
    ingest_documents([document], parsers, store, models=models)
    document.metadata[TITLE] = "New"
    ingest_documents([document], parsers, store, models=models)
    assert [text.splitlines()[0] for text in embedding.texts] == [
        "Heading: Old > Oil",
        "Heading: New > Oil",
    ]
