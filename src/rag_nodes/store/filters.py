"""Which chunks a search may find, in terms of files, pages and headings."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode

DOCUMENT_ID = "doc_id"
"""Payload key under which LlamaIndex stores the id of a node's document."""

HEADING_LEVELS = 6
"""Headings a path holds at most: Markdown, HTML and our readers know no more levels."""

IndexKind = Literal["keyword", "integer", "text"]
"""How values of a key are looked up: as whole texts, whole numbers, or words of texts."""

INDEXES: dict[str, IndexKind] = {
    DOCUMENT_ID: "keyword",
    SOURCE: "keyword",
    ALSO_AT: "keyword",
    FILE_NAME: "keyword",
    PAGE_START: "integer",
    PAGE_END: "integer",
    BREADCRUMB: "text",
    **{f"{HEADING_PATH}[{depth}]": "keyword" for depth in range(HEADING_LEVELS)},
}
"""Every payload key that a filter may name, and the kind of index it needs.

A server in strict mode, which is what Qdrant Cloud runs, refuses a filter on any other key; and
without an index words are compared as parts of words.
"""


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions a chunk must meet, all of them; none of them set means every chunk.

    Attributes:
        file_name: name of its file, whole.
        pages: first and last page, counted from 1; a chunk that touches one of them is in.
        heading: words that the headings above its first character must contain; whole words in
            any order and case.
        heading_path: its outermost headings, exactly, outermost first.
        document_ids: ids of documents; None for all.
        source: where its document came from, whole: the URL of a page of a crawl, also one at which
            the same text was found, or the path of a file.

    Raises:
        ConfigurationError: a value is of the wrong type, the pages are not a range from 1 up, a
            text is blank, or the path has more than `HEADING_LEVELS` headings.

    Example:
        >>> Filter(file_name="manual.pdf", pages=(3, 9)).pages
        (3, 9)
    """

    file_name: str | None = None
    pages: tuple[int, int] | None = None
    heading: str | None = None
    heading_path: tuple[str, ...] = ()
    document_ids: Sequence[str] | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        """Check what would silently find nothing, or fail far from where it was written."""
        for name in ("file_name", "heading", "source"):
            _check_text(name, getattr(self, name))
        for name in ("heading_path", "document_ids"):
            _check_texts(name, getattr(self, name))
        _check_pages(self.pages)
        if len(self.heading_path) > HEADING_LEVELS:
            raise ConfigurationError(
                f"the filter's heading_path has {len(self.heading_path)} headings and no chunk has "
                f"more than {HEADING_LEVELS} above it; leave the innermost out"
            )

    def within(self, document_ids: Sequence[str] | None) -> Filter:
        """This filter for some documents only; None changes nothing."""
        if document_ids is None:
            return self
        if self.document_ids is not None:
            document_ids = [one for one in document_ids if one in set(self.document_ids)]
        return replace(self, document_ids=document_ids)

    def passes(self, node: BaseNode) -> bool:
        """Whether a node meets every condition, judged as Qdrant does; for stores in memory."""
        return self._names_document_of(node) and self._names_place_in(node.metadata)

    def _names_document_of(self, node: BaseNode) -> bool:
        about = node.metadata
        return (
            (self.document_ids is None or node.ref_doc_id in self.document_ids)
            and self.file_name in (None, about.get(FILE_NAME))
            and self.source in (None, about.get(SOURCE), *(about.get(ALSO_AT) or ()))
        )

    def _names_place_in(self, about: Mapping[str, Any]) -> bool:
        path = tuple(about.get(HEADING_PATH) or ())[: len(self.heading_path)]
        return (
            path == tuple(self.heading_path)
            and (self.heading is None or _has_words(self.heading, about.get(BREADCRUMB)))
            and (self.pages is None or _touches(self.pages, about))
        )


def _has_words(wanted: str, heading: object) -> bool:
    return isinstance(heading, str) and set(words(wanted)) <= set(words(heading))


def _touches(pages: tuple[int, int], about: Mapping[str, Any]) -> bool:
    first, last = about.get(PAGE_START), about.get(PAGE_END)
    return first is not None and last is not None and first <= pages[1] and last >= pages[0]


def _check_text(name: str, value: object) -> None:
    if value is None:
        return
    if not isinstance(value, str):
        raise ConfigurationError(f"the filter's {name} must be a text, not {value!r}")
    if not value.strip():
        raise ConfigurationError(f"the filter's {name} is blank; leave it out for all")


def _check_texts(name: str, value: object) -> None:
    if value is not None and not (
        isinstance(value, Collection)
        and not isinstance(value, str | bytes)
        and all(isinstance(one, str) for one in value)
    ):
        raise ConfigurationError(f"the filter's {name} must be a list of texts, not {value!r}")


def _check_pages(pages: object) -> None:
    if pages is None:
        return
    if not (
        isinstance(pages, Sequence)
        and len(pages) == 2  # noqa: PLR2004 - first and last
        and all(isinstance(page, int) and not isinstance(page, bool) for page in pages)
    ):
        raise ConfigurationError(
            f"the filter's pages must be the first and the last one, such as (3, 9), not {pages!r}"
        )
    first, last = pages
    if not 1 <= first <= last:
        raise ConfigurationError(
            f"pages {first} to {last} are no range; pages count from 1 and the first must not "
            "exceed the last"
        )
