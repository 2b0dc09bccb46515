"""Which chunks a search may find, in terms of files, pages and headings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

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
from rag_nodes.store.catalogue import DOCUMENT_ID

if TYPE_CHECKING:
    from qdrant_client.http import models as rest

HEADING_LEVELS = 6
"""Headings a path holds at most: Markdown, HTML and our readers know no more levels."""

INDEXES: dict[str, Literal["keyword", "integer", "text"]] = {
    DOCUMENT_ID: "keyword",
    SOURCE: "keyword",
    ALSO_AT: "keyword",
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


def conditions(chosen: Filter) -> rest.Filter | None:
    """The filter in Qdrant's terms; None where it lets everything pass."""
    from qdrant_client.http import models as rest

    must = [*_documents(chosen), *_places(chosen)]
    return rest.Filter(must=list(must)) if must else None


def _documents(chosen: Filter) -> Iterator[rest.FieldCondition | rest.Filter]:
    """Which documents."""
    from qdrant_client.http import models as rest

    if chosen.document_ids is not None:
        ids = rest.MatchAny(any=list(chosen.document_ids))
        yield rest.FieldCondition(key=DOCUMENT_ID, match=ids)
    if chosen.file_name is not None:
        yield _equal(FILE_NAME, chosen.file_name)
    if chosen.source is not None:
        yield rest.Filter(should=[_equal(key, chosen.source) for key in (SOURCE, ALSO_AT)])


def _places(chosen: Filter) -> Iterator[rest.FieldCondition]:
    """Which places inside them."""
    from qdrant_client.http import models as rest

    if chosen.pages is not None:
        first, last = chosen.pages
        yield rest.FieldCondition(key=PAGE_START, range=rest.Range(lte=last))
        yield rest.FieldCondition(key=PAGE_END, range=rest.Range(gte=first))
    if chosen.heading is not None:
        yield rest.FieldCondition(key=BREADCRUMB, match=rest.MatchText(text=chosen.heading))
    for depth, heading in enumerate(chosen.heading_path):
        yield _equal(f"{HEADING_PATH}[{depth}]", heading)


def _equal(key: str, value: str) -> rest.FieldCondition:
    from qdrant_client.http import models as rest

    return rest.FieldCondition(key=key, match=rest.MatchValue(value=value))
