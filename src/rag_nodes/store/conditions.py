"""Filters as Qdrant takes them: in process and over the network it has the same terms, twice."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.store.filters import DOCUMENT_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rag_nodes.store.filters import Filter


class FilterTerms(NamedTuple):
    """The classes that a client of Qdrant builds filters of; each has the same arguments in all.

    Attributes:
        filter: conditions that `must` all hold, or of which one `should`.
        field: what holds of a `key` of the payload: a `match`, or a `range`.
        value: match of one value.
        any: match of one of several values.
        text: match of all words of a text.
        range: of numbers.
    """

    filter: Callable[..., Any]
    field: Callable[..., Any]
    value: Callable[..., Any]
    any: Callable[..., Any]
    text: Callable[..., Any]
    range: Callable[..., Any]

    def equal(self, key: str, value: str) -> Any:
        """The condition that a key has a value."""
        return self.field(key=key, match=self.value(value=value))

    def conditions(self, chosen: Filter) -> Any:
        """A filter in these terms; None where it lets everything pass."""
        must = [*self._documents(chosen), *self._places(chosen)]
        return self.filter(must=must) if must else None

    def _documents(self, chosen: Filter) -> Iterator[Any]:
        """Which documents."""
        if chosen.document_ids is not None:
            yield self.field(key=DOCUMENT_ID, match=self.any(any=list(chosen.document_ids)))
        if chosen.file_name is not None:
            yield self.equal(FILE_NAME, chosen.file_name)
        if chosen.source is not None:
            either = [self.equal(key, chosen.source) for key in (SOURCE, ALSO_AT)]
            yield self.filter(should=either)

    def _places(self, chosen: Filter) -> Iterator[Any]:
        """Which places inside them."""
        if chosen.pages is not None:
            first, last = chosen.pages
            yield self.field(key=PAGE_START, range=self.range(lte=last))
            yield self.field(key=PAGE_END, range=self.range(gte=first))
        if chosen.heading is not None:
            yield self.field(key=BREADCRUMB, match=self.text(text=chosen.heading))
        for depth, heading in enumerate(chosen.heading_path):
            yield self.equal(f"{HEADING_PATH}[{depth}]", heading)
