"""Documents that are pages of one file, as LlamaIndex's `SimpleDirectoryReader` makes them."""

from __future__ import annotations

import logging
import re
from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from uuid import NAMESPACE_URL, UUID, uuid5

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.metadata import (
    BLANK_PAGES,
    FILE_PATH,
    PAGE_LABEL,
    PAGE_STARTS,
    SOURCE,
    TOTAL_PAGES,
    page_name,
    page_number,
)
from rag_nodes.core.several import several_nodes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from llama_index.core.schema import BaseNode, Document

logger = logging.getLogger(__name__)

_NUMBERS = (PAGE_LABEL, "page_number", "page")
"""Keys under which readers keep the number of a page."""
_MAX_PAGES = 100_000
"""Largest number that is believed to be one of a page."""
_FENCE = re.compile(r"^[ \t>]*(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
"""Line that opens or closes code: its marks, and what is behind them."""

_SHOWN = 3
"""Labels of pages that a message names."""


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


def group_pages(documents: Document | Iterable[Document]) -> list[FilePages]:
    """Group consecutive documents that are pages of the same file.

    A document is a page if its metadata has `file_path` and `page_label`, which the PDF reader of
    `SimpleDirectoryReader` sets. Every other document is a group of its own.

    Args:
        documents: documents of any reader, in their order; a single one is one of them.

    Returns:
        The groups in the order of their first documents; together they hold every document once.

    Examples:
        >>> from llama_index.core import Document
        >>> from rag_nodes.readers import group_pages
        >>> pages = [
        ...     Document(text=text, metadata={"file_path": "/a/tea.pdf", "page_label": label})
        ...     for label, text in [("1", "Green tea"), ("2", " "), ("3", "Black tea")]
        ... ]
        >>> [(file.path, len(file.documents), file.blank) for file in group_pages(pages)]
        [('/a/tea.pdf', 3, ('tea.pdf, page 2',))]
    """
    groups: list[tuple[str | None, list[Document]]] = []
    for document in several_nodes(documents):
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


def with_stable_ids(documents: Document | Iterable[Document]) -> Iterator[Document]:
    """Yield documents, of which those with a random id get one that follows from their file.

    A reader that sets no ids makes other ones each time it reads a file. The new id follows from
    `file_path` or `source`, from `page_label`, and for further documents of the same page or file
    from their order. A document without a path keeps its id, and a warning says so.
    """
    counts = Counter[str]()
    left: list[Document] = []
    for document in several_nodes(documents):
        path = _file_of(document)
        if path and _has_random_id(document):
            name = "#page=".join(filter(None, (path, str(document.metadata.get(PAGE_LABEL) or ""))))
            counts[name] += 1
            name += f"#{counts[name]}" if counts[name] > 1 else ""
            yield document.model_copy(update={"id_": str(uuid5(NAMESPACE_URL, name))})
        else:
            left += [] if path else [document]
            yield document
    warn_of_random_ids(left)


def _has_random_id(document: BaseNode) -> bool:
    """Return True if an id is as random as those that LlamaIndex gives (UUID version 4)."""
    try:
        return UUID(document.id_).version == 4  # noqa: PLR2004 - the version of random ones
    except ValueError:
        return False


def warn_of_random_ids(documents: Iterable[BaseNode]) -> None:
    """Log a warning that names documents whose ids are random, if there are any."""
    if random := [document for document in documents if _has_random_id(document)]:
        first = random[0]
        name = page_name(first.metadata) or first.metadata.get(FILE_PATH) or first.id_
        logger.warning(
            "%s random ids, the first is %s. If you load the same files again, they get other ids "
            "and are stored a second time: load them with SimpleDirectoryReader(..., "
            "filename_as_id=True), or give each document an id_",
            "1 document has" if len(random) == 1 else f"{len(random)} documents have",
            name,
        )


def _path_of_page(document: Document) -> str | None:
    """Return the path of the file that a document is a page of, if it is one."""
    path, label = (document.metadata.get(key) for key in (FILE_PATH, PAGE_LABEL))
    return str(path) if path and label else None


@checks_keywords
def join_pages(pages: Document | Iterable[Document], *, separator: str | None = None) -> Document:
    """Make one document of the documents that a reader made of the pages of a file.

    LlamaIndex's PDF readers, LlamaParse and others make a document of each page, so that no chunk
    can cross the end of a page. The joined document has `page_starts`: its nodes know their pages.
    Pages have the numbers of their metadata (`page_label`, `page_number`, `page`) if these ascend,
    else they are counted from 1, and a warning says so if they have any labels.

    Args:
        pages: the documents in order, or a single one.
        separator: text between two pages. By default, a page that ends inside a sentence is joined
            to the next by a space, and all others by a blank line. It ends inside a sentence if its
            last character is a letter, a digit or a comma, and the next page begins with a
            lowercase letter; but not if its last line is a heading (it begins with `#`) or nothing
            but a number, or if the page ends in fenced code.

    Returns:
        A document with the metadata that all pages share. Its id follows from their `file_path` or
        `source`; without either it is that of the first page.

    Raises:
        ConfigurationError: there are no pages, or they are of several files.

    Examples:
        >>> from llama_index.core import Document
        >>> from rag_nodes import get_parser, join_pages
        >>> pages = [
        ...     Document(text=text, metadata={"file_path": "/a/tea.pdf", "page_label": label})
        ...     for label, text in [("1", "Green tea takes"), ("2", "eighty degrees.")]
        ... ]
        >>> [node] = get_parser("fixed")([join_pages(pages)])
        >>> node.text, node.metadata["page_start"], node.metadata["page_end"]
        ('Green tea takes eighty degrees.', 1, 2)
    """
    from llama_index.core.schema import Document

    given: list[Document] = list(several_nodes(pages))
    files = {_file_of(page) for page in given}
    if len(files) != 1:
        what = "there are no pages" if not given else f"the pages are of {len(files)} files"
        remedy = "give the pages of one file, in order, as group_pages groups them"
        raise ConfigurationError(f"{what}; {remedy}")
    first = given[0]
    shared = {
        key: value
        for key, value in first.metadata.items()
        if key not in _NUMBERS and all(page.metadata.get(key) == value for page in given)
    }
    texts = [page.text for page in given]
    joints = ["", *(_joints(texts) if separator is None else [separator] * (len(texts) - 1))]
    starts, offset = list[int](), 0
    for joint, text, number in zip(joints, texts, _numbers_of(given), strict=True):
        starts += [offset + len(joint)] * (number - len(starts))
        offset += len(joint) + len(text)
    path = files.pop()
    own = {PAGE_STARTS: starts, TOTAL_PAGES: len(starts)}
    return Document(
        id_=str(uuid5(NAMESPACE_URL, path)) if path else first.id_,
        text="".join(joint + text for joint, text in zip(joints, texts, strict=True)),
        metadata={**shared, **own},
        excluded_embed_metadata_keys=[*first.excluded_embed_metadata_keys, *own],
        excluded_llm_metadata_keys=[*first.excluded_llm_metadata_keys, *own],
    )


def _joints(texts: Sequence[str]) -> Iterator[str]:
    """Yield the text between any two pages: a space inside a sentence, else a blank line."""
    fence = ""
    for page, following in pairwise(texts):
        fence = _open_fence(page, fence)
        yield " " if not fence and _is_inside_sentence(page.rstrip(), following) else "\n\n"


def _open_fence(page: str, fence: str) -> str:
    """Return the fence of the code in which a page ends, if the one before ended in `fence`."""
    for mark, behind in _FENCE.findall(page):
        if not fence:
            fence = mark
        elif mark.startswith(fence) and not behind.strip():
            fence = ""
    return fence


def _is_inside_sentence(page: str, following: str) -> bool:
    """Return True if the last sentence of a page seems to go on in the following one."""
    last_line = page[page.rfind("\n") + 1 :].strip()
    if last_line.startswith("#") or last_line.isdecimal():
        return False
    return (page[-1:].isalnum() or page[-1:] == ",") and following.lstrip()[:1].islower()


def _file_of(page: Document) -> str:
    """Return the path or address of the file of a page; "" if its reader does not say it."""
    return str(page.metadata.get(FILE_PATH) or page.metadata.get(SOURCE) or "")


def _numbers_of(pages: Sequence[Document]) -> Sequence[int]:
    """Return the numbers of pages: those of their metadata if these ascend, else from 1."""
    candidates = ([page.metadata.get(key) for key in _NUMBERS] for page in pages)
    labels = [next(filter(None, values), None) for values in candidates]
    numbers = [page_number(label) or 0 for label in labels]
    ascend = all(before < after for before, after in pairwise([0, *numbers]))
    if ascend and numbers[-1] <= _MAX_PAGES:
        return numbers
    if any(labels):
        logger.warning(
            "%s: its pages are counted from 1, because their labels (%s) are no ascending numbers; "
            "if they are numbers, give the pages in their order",
            _file_of(pages[0]) or pages[0].id_,
            ", ".join(map(str, labels[:_SHOWN])),
        )
    return range(1, len(pages) + 1)
