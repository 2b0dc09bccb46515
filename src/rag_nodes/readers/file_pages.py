"""Documents that are pages of one file, as LlamaIndex's `SimpleDirectoryReader` makes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.metadata import BLANK_PAGES, FILE_PATH, PAGE_LABEL, page_name
from rag_nodes.core.several import several

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llama_index.core.schema import Document


class FilePages(NamedTuple):
    """Documents that belong together: the pages of one file, or a single document.

    Attributes:
        path: path of the file as its reader states it; None for a document that is not a page.
        documents: the pages in the order they were given, blank ones too, so that the page at
            index 0 is the first of the file if all pages were given; or the single document.
    """

    path: str | None
    documents: tuple[Document, ...]

    @property
    def blank(self) -> tuple[str, ...]:
        """Names of the pages without text, such as "report.pdf, page 7"."""
        return tuple(filter(None, map(blank_page, self.documents)))


def pages_of_one_file(documents: Document | Iterable[Document]) -> list[FilePages]:
    """Group consecutive documents that are pages of the same file.

    A document is a page if its metadata have `file_path` and `page_label`, which the PDF reader of
    `SimpleDirectoryReader` sets. Every other document is a group of its own.

    Args:
        documents: documents of any reader, in their order; a single one is one of them.

    Returns:
        The groups in the order of their first documents; together they hold every document once.

    Examples:
        >>> from llama_index.core import Document
        >>> from rag_nodes.readers import pages_of_one_file
        >>> pages = [
        ...     Document(text=text, metadata={"file_path": "/a/tea.pdf", "page_label": label})
        ...     for label, text in [("1", "Green tea"), ("2", " "), ("3", "Black tea")]
        ... ]
        >>> [(file.path, len(file.documents), file.blank) for file in pages_of_one_file(pages)]
        [('/a/tea.pdf', 3, ('tea.pdf, page 2',))]
    """
    given: Iterable[Document] = several(documents)
    groups: list[tuple[str | None, list[Document]]] = []
    for document in given:
        path = _path_of_page(document)
        if path is not None and groups and groups[-1][0] == path:
            groups[-1][1].append(document)
        else:
            groups.append((path, [document]))
    return [FilePages(path, tuple(pages)) for path, pages in groups]


def blank_page(document: Document) -> str | None:
    """Return the name of a page without text, and None for every other document."""
    if _path_of_page(document) is None or document.text.strip():
        return None
    return page_name(document.metadata)


def blank_pages(document: Document) -> Iterator[str]:
    """Yield the names of pages without text, such as "report.pdf, page 7"."""
    name = page_name(document.metadata)
    for number in document.metadata.get(BLANK_PAGES) or ():
        yield f"{name}, page {number}"
    if page := blank_page(document):
        yield page


def _path_of_page(document: Document) -> str | None:
    """Return the path of the file that a document is a page of, if it is one."""
    path, label = (document.metadata.get(key) for key in (FILE_PATH, PAGE_LABEL))
    return str(path) if path and label else None
