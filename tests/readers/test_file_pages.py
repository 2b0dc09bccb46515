"""Documents of LlamaIndex's `SimpleDirectoryReader` are pages of their files."""

from collections.abc import Sequence
from pathlib import Path

import pymupdf
from llama_index.core import Document, SimpleDirectoryReader
from llama_index.core.readers.base import BaseReader

from rag_nodes.core.metadata import page_name
from rag_nodes.readers import FilePages, pages_of_one_file


def pages(path: str, texts: Sequence[str]) -> list[Document]:
    return [
        Document(text=text, metadata={"file_path": path, "page_label": str(number)})
        for number, text in enumerate(texts, 1)
    ]


class PageReader(BaseReader):
    """Makes what `PDFReader` of llama-index-readers-file makes: a document of each page."""

    def load_data(self, file: Path, extra_info: dict[str, object]) -> list[Document]:
        with pymupdf.open(file) as pdf:
            return [
                Document(
                    text=page.get_text(),
                    metadata={"page_label": str(page.number + 1), **extra_info},
                )
                for page in pdf
            ]


def test_consecutive_pages_of_a_file_are_one_group_and_other_documents_their_own() -> None:
    first, second = pages("/a/one.pdf", ["A", " "]), pages("/b/one.pdf", ["B"])
    note, other = Document(text="C", metadata={"file_path": "/a/c.md"}), Document(text="")
    groups = pages_of_one_file([*first, *second, note, other])
    assert groups == [
        FilePages("/a/one.pdf", tuple(first)),
        FilePages("/b/one.pdf", tuple(second)),
        FilePages(None, (note,)),
        FilePages(None, (other,)),
    ]
    assert [group.blank for group in groups] == [("one.pdf, page 2",), (), (), ()]


def test_pages_read_by_simple_directory_reader_are_grouped(tmp_path: Path) -> None:
    with pymupdf.open() as pdf:
        for text in ("Boil the water.", "", "Pour it."):
            pdf.new_page().insert_text((72, 72), text)
        pdf.save(tmp_path / "tea.pdf")
    reader = SimpleDirectoryReader(tmp_path, file_extractor={".pdf": PageReader()})
    (group,) = pages_of_one_file(reader.load_data())
    assert group.path == str(tmp_path / "tea.pdf")
    assert len(group.documents) == 3
    assert group.blank == ("tea.pdf, page 2",)


def test_a_page_is_named_after_its_file_and_its_printed_label() -> None:
    assert page_name({"file_path": "C:\\docs\\tea.pdf", "page_label": "iv"}) == "tea.pdf, page iv"
    assert page_name({"file_name": "tea.pdf", "file_path": "x", "page_label": "2"}) == (
        "tea.pdf, page 2"
    )
    assert page_name({"page_label": "2"}) == ""
