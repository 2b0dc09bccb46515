"""Documents whose reader sets no ids, which would be other documents each time they are read."""

from pathlib import Path

import pymupdf
import pytest
from llama_index.core import Document, SimpleDirectoryReader
from llama_index.core.ingestion import DocstoreStrategy
from llama_index.core.readers.base import BaseReader
from llama_index.core.storage.docstore import SimpleDocumentStore
from stock_callers import EMBEDDING

from rag_nodes import AtomicIngestionPipeline, get_parser, ingest_documents
from rag_nodes.models import Models
from rag_nodes.parsers import SpanNodeParser
from rag_nodes.store import Store
from rag_nodes.store.vector_store import RagNodesVectorStore


class PageReader(BaseReader):
    """Makes two documents of each page, with random ids as `PDFReader` does."""

    def load_data(self, file: Path, extra_info: dict[str, object]) -> list[Document]:
        with pymupdf.open(file) as pdf:
            return [
                Document(text=f"{part} {page.get_text()}", metadata={**extra_info, **label(page)})
                for page in pdf
                for part in ("Front", "Back")
            ]


def label(page: pymupdf.Page) -> dict[str, object]:
    return {"page_label": page.get_label() or str(page.number + 1)}


def load_folder(folder: Path, **options: bool) -> list[Document]:
    reader = SimpleDirectoryReader(folder, file_extractor={".pdf": PageReader()}, **options)
    return reader.load_data()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with pymupdf.open() as pdf:
        for text in ("Boil the water.", "Pour it."):
            pdf.new_page().insert_text((72, 72), text)
        pdf.save(tmp_path / "tea.pdf")
    (tmp_path / "note.md").write_text("Rinse the pot.")
    return tmp_path


def test_documents_that_are_loaded_again_are_the_same_documents(
    folder: Path, store: Store, models: Models, parsers: dict[str, SpanNodeParser]
) -> None:
    first = ingest_documents(load_folder(folder), parsers, store, models=models)
    second = ingest_documents(load_folder(folder), parsers, store, models=models)
    assert {store.count(column.collection) for column in first.columns} == {5}
    assert [column.written for column in second.columns] == [0] * len(parsers)


def test_ids_of_the_user_stay_and_random_ones_without_a_path_are_named(
    store: Store,
    models: Models,
    parsers: dict[str, SpanNodeParser],
    caplog: pytest.LogCaptureFixture,
) -> None:
    own = Document(text="Rinse the pot.", id_="note", metadata={"file_path": "/a/note.md"})
    random = [Document(text=f"Tea {number}.", metadata={"title": "Tea"}) for number in range(2)]
    report = ingest_documents([own, *random], parsers, store, models=models)
    assert [row.path for row in report.files] == [
        "/a/note.md",
        *(document.id_ for document in random),
    ]
    [record] = [record for record in caplog.records if "random ids" in record.message]
    assert record.message.startswith(f"2 documents have random ids, the first is {random[0].id_}.")
    ingest_documents(random[:1], parsers, store, models=models)
    assert caplog.messages[-1].startswith("1 document has random ids, the first is ")


@pytest.mark.parametrize("strategy", DocstoreStrategy)
def test_a_pipeline_warns_of_random_ids_it_does_not_know_yet(
    folder: Path, strategy: DocstoreStrategy, caplog: pytest.LogCaptureFixture
) -> None:
    pipeline = AtomicIngestionPipeline(
        transformations=[get_parser("retrieval"), EMBEDDING],
        docstore=SimpleDocumentStore(),
        docstore_strategy=strategy,
        vector_store=RagNodesVectorStore(),
    )
    named, given = load_folder(folder, filename_as_id=True), load_folder(folder)
    caplog.clear()
    for documents in (named, given, given):
        pipeline.run(documents=documents)
    warnings = [message for message in caplog.messages if "random ids" in message]
    assert len(warnings) == (strategy != DocstoreStrategy.DUPLICATES_ONLY)
    assert all(
        message.startswith("5 documents have random ids, the first is ") for message in warnings
    )
