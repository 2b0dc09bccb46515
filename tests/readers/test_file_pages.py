"""Documents of LlamaIndex's `SimpleDirectoryReader` are pages of their files."""

from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest
from llama_index.core import Document, SimpleDirectoryReader
from llama_index.core.readers.base import BaseReader

from rag_nodes import get_parser, join_pages
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.metadata import page_name
from rag_nodes.readers import FilePages, group_pages


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
    groups = group_pages([*first, *second, note, other])
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
    (group,) = group_pages(reader.load_data())
    assert group.path == str(tmp_path / "tea.pdf")
    assert len(group.documents) == 3
    assert group.blank == ("tea.pdf, page 2",)


def test_a_page_is_named_after_its_file_and_its_printed_label() -> None:
    assert page_name({"file_path": "C:\\docs\\tea.pdf", "page_label": "iv"}) == "tea.pdf, page iv"
    assert page_name({"file_name": "tea.pdf", "file_path": "x", "page_label": "2"}) == (
        "tea.pdf, page 2"
    )
    assert page_name({"page_label": "2"}) == ""


def test_chunks_cross_the_pages_of_a_joined_document_and_know_them() -> None:
    texts = ["Green tea takes", "eighty degrees.", "Black tea takes a hundred."]
    joined = join_pages(pages("/a/tea.pdf", texts))
    assert joined.text == "Green tea takes eighty degrees.\n\nBlack tea takes a hundred."
    assert joined.metadata["page_starts"] == [0, 16, 33]
    assert "page_label" not in joined.metadata
    nodes = get_parser("fixed", chunk_size=33, chunk_overlap=0)([joined])
    page_spans = [(node.metadata["page_start"], node.metadata["page_end"]) for node in nodes]
    assert page_spans == [(1, 2), (3, 3)]


@pytest.mark.parametrize(
    ("end", "start", "between"),
    [
        ("Quiet hours last\n", "until six.", " "),
        ("in spring,", "in autumn", " "),
        ("at 6", "o'clock", " "),
        ("Rinse it.", "then dry it", "\n\n"),
        ("| a | b |", "c", "\n\n"),
        ("Quiet hours", "Loading", "\n\n"),
        ("Quiet hours", "- lower the ramp", "\n\n"),
        ("Quiet hours", " ", "\n\n"),
        ("", "until six.", "\n\n"),
        ("# Results\n\n## Overview", "iPhones are used.", "\n\n"),
        ("Intro.\n\n## 3.2 Setup\n", "pip install rag-nodes", "\n\n"),
        ("```\nx = foo", "return x\n```", "\n\n"),
        ("~~~~ python\nx = foo\n~~~\ny", "return x\n~~~~", "\n\n"),
        ("```\nx = foo\n```\n\nIt is", "assigned.", " "),
        ("Type ```x```\nand", "return.", " "),
        ("The pump must\n12\n", "be rinsed daily.\n13", "\n\n"),
        ("The pump must run\n12 hours", "a day.", " "),
        ("- apples", "and pears", " "),
    ],
)
def test_a_space_joins_pages_only_inside_a_sentence(end: str, start: str, between: str) -> None:
    given = pages("/a/tea.pdf", [end, start])
    assert join_pages(given).text == end + between + start
    plain = join_pages(given, separator="")
    assert (plain.text, plain.metadata["page_starts"]) == (end + start, [0, len(end)])


def test_code_that_fills_pages_is_not_joined_by_spaces_and_the_text_behind_it_is() -> None:
    texts = ["```\nx = foo", "y = x", "return y\n```\nIt is", "returned."]
    joined = join_pages(pages("/a/tea.pdf", texts))
    assert joined.text == "```\nx = foo\n\ny = x\n\nreturn y\n```\nIt is returned."


def test_a_page_that_was_left_out_keeps_the_numbers_of_those_behind_it() -> None:
    first, third = pages("/a/tea.pdf", ["One", "", "Three"])[::2]
    joined = join_pages([first, third])
    assert (joined.metadata["page_starts"], joined.metadata["total_pages"]) == ([0, 5, 5], 3)
    [last] = [node for node in get_parser("page")([joined]) if node.text == "Three"]
    assert last.metadata["page_start"] == 3


@pytest.mark.parametrize("labels", [("i", "ii"), ("2", "1"), ("", ""), ("1", "999999999")])
def test_pages_without_numbers_that_ascend_are_counted(
    labels: tuple[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    metadata = [{"file_path": "/a/tea.pdf", "page_label": label} for label in labels]
    given = [Document(text="A", metadata=facts) for facts in metadata]
    assert join_pages(given).metadata["page_starts"] == [0, 3]
    named = f"/a/tea.pdf: its pages are counted from 1, because their labels ({', '.join(labels)})"
    assert [named in message for message in caplog.messages] == ([True] if any(labels) else [])


def test_a_joined_document_has_the_same_id_every_time_and_what_its_pages_share() -> None:
    first, second = (join_pages(pages("/a/tea.pdf", ["A", "B"])) for _ in range(2))
    assert first.id_ == second.id_ != join_pages(pages("/a/b.pdf", ["A", "B"])).id_
    assert first.metadata["file_path"] == "/a/tea.pdf"


def test_pages_of_several_files_and_none_are_refused() -> None:
    several = [*pages("/a/tea.pdf", ["A"]), *pages("/b/tea.pdf", ["B"])]
    for given, message in ((several, "of 2 files"), ([], "no pages")):
        with pytest.raises(ConfigurationError, match=f"{message}; give the pages of one file"):
            join_pages(given)
