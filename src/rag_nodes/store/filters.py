"""Which chunks a search may find, in terms of files, pages and headings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import (
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.store.catalogue import DOCUMENT_ID

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qdrant_client.http import models as rest

HEADING_LEVELS = 6
"""Headings a path holds at most: Markdown, HTML and our readers know no more levels."""

INDEXES: dict[str, Literal["keyword", "integer", "text"]] = {
    DOCUMENT_ID: "keyword",
    SOURCE: "keyword",
    FILE_NAME: "keyword",
    PAGE_START: "integer",
    PAGE_END: "integer",
    BREADCRUMB: "text",
    **{f"{HEADING_PATH}[{depth}]": "keyword" for depth in range(HEADING_LEVELS)},
}
"""Every payload key that `conditions` may name, and the kind of index it needs.

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

    Raises:
        ConfigurationError: the pages are not a range from 1 up, a text is blank, or the path has
            more than `HEADING_LEVELS` headings.

    Example:
        >>> Filter(file_name="manual.pdf", pages=(3, 9)).pages
        (3, 9)
    """

    file_name: str | None = None
    pages: tuple[int, int] | None = None
    heading: str | None = None
    heading_path: tuple[str, ...] = ()
    document_ids: Sequence[str] | None = None

    def __post_init__(self) -> None:
        """Check what would silently find nothing."""
        if self.pages is not None and not 1 <= self.pages[0] <= self.pages[1]:
            raise ConfigurationError(
                f"pages {self.pages[0]} to {self.pages[1]} are no range; pages count from 1 and "
                "the first must not exceed the last"
            )
        if len(self.heading_path) > HEADING_LEVELS:
            raise ConfigurationError(
                f"the filter's heading_path has {len(self.heading_path)} headings and no chunk has "
                f"more than {HEADING_LEVELS} above it; leave the innermost out"
            )
        for name, value in (("file_name", self.file_name), ("heading", self.heading)):
            if value is not None and not value.strip():
                raise ConfigurationError(f"the filter's {name} is blank; leave it out for all")

    def within(self, document_ids: Sequence[str] | None) -> Filter:
        """This filter for some documents only; None changes nothing."""
        if document_ids is None:
            return self
        if self.document_ids is not None:
            document_ids = [one for one in document_ids if one in set(self.document_ids)]
        return Filter(self.file_name, self.pages, self.heading, self.heading_path, document_ids)


def conditions(chosen: Filter) -> rest.Filter | None:
    """The filter in Qdrant's terms; None where it lets everything pass."""
    from qdrant_client.http import models as rest

    must: list[rest.FieldCondition] = []

    def require(key: str, **condition: object) -> None:
        must.append(rest.FieldCondition.model_validate({"key": key, **condition}))

    if chosen.document_ids is not None:
        require(DOCUMENT_ID, match=rest.MatchAny(any=list(chosen.document_ids)))
    if chosen.file_name is not None:
        require(FILE_NAME, match=rest.MatchValue(value=chosen.file_name))
    if chosen.pages is not None:
        first, last = chosen.pages
        require(PAGE_START, range=rest.Range(lte=last))
        require(PAGE_END, range=rest.Range(gte=first))
    if chosen.heading is not None:
        require(BREADCRUMB, match=rest.MatchText(text=chosen.heading))
    for depth, heading in enumerate(chosen.heading_path):
        require(f"{HEADING_PATH}[{depth}]", match=rest.MatchValue(value=heading))
    return rest.Filter(must=list(must)) if must else None
