"""Documents of `SimpleDirectoryReader` are pages of a file, some of them blank."""

from pathlib import Path

import pymupdf
from llama_index.core import Document, QueryBundle
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore

from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import Models
from rag_nodes.parsers import SpanNodeParser
from rag_nodes.pipeline import ingest, ingest_documents
from rag_nodes.readers import read_all
from rag_nodes.store import Store

Parsers = dict[str, SpanNodeParser]


class Nothing(BaseRetriever):
    def _retrieve(self, _: QueryBundle) -> list[NodeWithScore]:
        return []


def pages(path: str, *texts: str) -> list[Document]:
    return [
        Document(
            text=text,
            metadata={
                "file_path": path,
                "file_name": path.rpartition("/")[2],
                "page_label": str(number),
            },
        )
        for number, text in enumerate(texts, 1)
    ]


def test_blank_pages_are_counted_and_are_no_errors(
    store: Store, models: Models, parsers: Parsers
) -> None:
    given = pages("/a/tea.pdf", "Boil the water.", "", "Pour it.", " \n")
    report = ingest_documents(given, parsers, store, models=models)
    assert report.blank_pages == ("tea.pdf, page 2", "tea.pdf, page 4")
    assert report.failed == ()
    assert [(file.status, file.name, file.path) for file in report.files] == [
        ("read", "tea.pdf, page 1", "/a/tea.pdf"),
        ("read", "tea.pdf, page 3", "/a/tea.pdf"),
    ]
    assert report.as_dict()["blank_pages"] == ["tea.pdf, page 2", "tea.pdf, page 4"]


def test_nothing_is_found_any_more_of_a_page_that_turned_blank(
    store: Store, models: Models, parsers: Parsers
) -> None:
    given = pages("/a/tea.pdf", "Boil the water.", "Pour it.")
    first = ingest_documents(given, parsers, store, models=models)
    turned = Document(text="", id_=given[1].id_, metadata=given[1].metadata)
    report = ingest_documents([given[0], turned], parsers, store, models=models)
    assert report.blank_pages == ("tea.pdf, page 2",)
    assert {store.count(column.collection) for column in first.columns} == {1}


def test_a_file_of_blank_pages_alone_is_one_failed_row_with_its_name(
    store: Store, models: Models, parsers: Parsers
) -> None:
    given = [*pages("/a/scan.pdf", "", " "), *pages("/a/tea.pdf", "Boil the water.")]
    report = ingest_documents(given, parsers, store, models=models)
    (failed,) = report.failed
    assert (failed.name, failed.pages) == ("scan.pdf", 2)
    assert failed.error == (
        "/a/scan.pdf: none of its 2 pages has text, so nothing of it is stored; "
        "scans need OCR first"
    )


def test_no_message_about_a_page_names_its_id(
    store: Store, models: Models, parsers: Parsers
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("no luck")

    given = pages("/a/tea.pdf", "Boil the water.")
    report = ingest_documents(given, parsers, store, models=models, parse=fail)
    assert given[0].id_ not in str(report.as_dict()["columns"])
    assert all("tea.pdf, page 1" in str(column.error) for column in report.columns)


def test_a_comparison_of_engines_alone_counts_blank_pages() -> None:
    given = pages("/a/tea.pdf", "Boil the water.", "")
    with Comparison({"nothing": Nothing()}, documents=given) as comparison:
        assert comparison.loaded.blank_pages == ("tea.pdf, page 2",)


def test_blank_pages_of_a_pdf_are_named_and_no_node_inherits_them(
    store: Store, models: Models, parsers: Parsers, tmp_path: Path
) -> None:
    text = "The quiet hours of the ferry last from ten in the evening until six."
    with pymupdf.open() as pdf:
        for words in (text, "", text, ""):
            pdf.new_page().insert_text((72, 72), words)
        pdf.save(tmp_path / "tea.pdf")
    report = ingest([tmp_path], parsers, store, models=models)
    assert [file.status for file in report.files] == ["read"]
    assert report.blank_pages == ("tea.pdf, page 2", "tea.pdf, page 4")
    (document,) = [row.document for row in read_all([tmp_path])]
    assert document
    assert document.metadata["blank_pages"] == [2, 4]
    for parser in parsers.values():
        assert all("blank_pages" not in node.metadata for node in parser([document]))
