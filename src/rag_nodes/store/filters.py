"""Filters of a search: by file, pages, headings, and the user's own keys."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.foreign_metadata import usable
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    HEADINGS_INSIDE,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.core.several import several
from rag_nodes.core.spelling import quoted
from rag_nodes.store.conditions import (
    DOCUMENT_ID,
    HEADING_LEVELS,
    PATHS_INSIDE,
    Condition,
    Together,
    Where,
    all_of,
    are_texts,
    has_words,
    holds,
)
from rag_nodes.store.own_keys import checked, conditions_on
from rag_nodes.store.terms import where_of
from rag_nodes.text.spans import PageMap

if TYPE_CHECKING:
    from llama_index.core.schema import BaseNode
    from llama_index.core.vector_stores.types import MetadataFilters


@partial(checks_keywords, instead={"file": "file_name"})
@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions a chunk must meet, all of them; none of them set means every chunk.

    Attributes:
        file_name: name of its file, whole.
        pages: first and last page, counted from 1; a chunk that touches one of them is in, and its
            sentences that begin on them may be selected.
        heading: words that a heading together with its parents must contain; whole words in any
            order and case. A chunk with such a heading above or inside it is in, and its sentences
            below that heading may be selected.
        heading_path: the outermost headings, exactly, outermost first; above a chunk or inside it,
            as for `heading`.
        document_ids: ids of documents; None for all.
        source: where its document came from, whole: the URL of a page of a crawl, also one at which
            the same text was found, or the path of a file.
        where: conditions on metadata keys of your own, all of them: a value, a list of which any is
            enough, None for a key that is absent, or values by operator (`==`, `!=`, `<`, `<=`,
            `>`, `>=`). Ranges compare numbers, and texts as dates; a `date` or `datetime` of Python
            is its ISO text. Text, numbers and truth values never equal each other; a chunk without
            the key passes only its absence.
        filters: LlamaIndex's metadata filters, which must hold as well.

    Raises:
        ConfigurationError: a value is of the wrong type, the pages are not a range from 1 up, a
            text is blank, the path has more than `HEADING_LEVELS` headings, or a condition of
            `where` cannot be searched for.

    Examples:
        >>> from rag_nodes import Filter
        >>> Filter(file_name="manual.pdf", pages=(3, 9)).pages
        (3, 9)
        >>> recent = Filter(where={"dept": ["hr", "legal"], "year": {">=": 2020}, "draft": None})
    """

    file_name: str | None = None
    pages: tuple[int, int] | None = None
    heading: str | None = None
    heading_path: str | tuple[str, ...] = ()
    document_ids: str | Sequence[str] | None = None
    source: str | None = None
    where: Mapping[str, Any] | None = None
    filters: MetadataFilters | None = None

    def __post_init__(self) -> None:
        """Check what would silently find nothing, or fail far from where it was written."""
        for name in ("file_name", "heading", "source"):
            text = getattr(self, name)
            _check(text is None or isinstance(text, str), name, "a text", text)
            if text is not None and not text.strip():
                raise ConfigurationError(f"the filter's {name} is blank; leave it out for all")
        for name in ("heading_path", "document_ids"):
            texts = several(getattr(self, name))
            object.__setattr__(self, name, texts)
            _check(texts is None or are_texts(texts), name, "a list of texts", texts)
        if len(self.heading_path) > HEADING_LEVELS:
            raise ConfigurationError(
                f"the filter's heading_path has {len(self.heading_path)} headings and no chunk has "
                f"more than {HEADING_LEVELS} above it; leave the innermost out"
            )
        if self.where is not None:
            object.__setattr__(self, "where", checked(self.where))
        if self.pages is None:
            return
        wanted = "the first and the last one, such as (3, 9)"
        _check(_are_two_numbers(self.pages), "pages", wanted, self.pages)
        first, last = self.pages
        if not 1 <= first <= last:
            raise ConfigurationError(
                f"pages {first} to {last} are not a range; pages count from 1 and the first must "
                "not exceed the last"
            )

    def within(self, document_ids: str | Sequence[str] | None) -> Filter:
        """This filter for some documents only; None changes nothing."""
        if document_ids is None:
            return self
        document_ids = several(document_ids)
        if self.document_ids is not None:
            document_ids = [
                document_id for document_id in document_ids if document_id in set(self.document_ids)
            ]
        return replace(self, document_ids=document_ids)

    def conditions(self) -> Where | None:
        """Return what it asks of a payload; None if every chunk passes.

        Of headings inside a chunk it asks less than `is_under`, see `PATHS_INSIDE`.
        """
        asked: list[Where] = []
        if self.document_ids is not None:
            asked.append(Condition(DOCUMENT_ID, "in", list(self.document_ids)))
        if self.file_name is not None:
            asked.append(Condition(FILE_NAME, "==", self.file_name))
        if self.source is not None:
            places = (Condition(key, "==", self.source) for key in (SOURCE, ALSO_AT))
            asked.append(Together("should", tuple(places)))
        if self.pages is not None:
            asked.append(Condition(PAGE_START, "<=", self.pages[1]))
            asked.append(Condition(PAGE_END, ">=", self.pages[0]))
        if self.heading is not None:
            above: Where = Condition(BREADCRUMB, "text_match", self.heading)
            asked.append(_or_inside(above, self.heading))
        if self.heading_path:
            path = enumerate(self.heading_path)
            each = [Condition(f"{HEADING_PATH}[{depth}]", "==", heading) for depth, heading in path]
            asked.append(_or_inside(Together("must", tuple(each)), self.heading_path[-1]))
        return all_of(*asked, conditions_on(self.where or {}), where_of(self.filters))

    def passes(self, node: BaseNode) -> bool:
        """Return True if a node meets every condition, judged as Qdrant does."""
        payload = payload_of(node)
        return self.is_under(paths_in(payload)) and holds(self.conditions(), node.node_id, payload)

    @property
    def has_headings(self) -> bool:
        """True if it asks for headings."""
        return self.heading is not None or bool(self.heading_path)

    def is_under(self, paths: Iterable[Sequence[str]]) -> bool:
        """Return True if it asks for no headings, or a path of headings has those it asks for."""
        depth = len(self.heading_path)
        return not self.has_headings or any(
            tuple(path[:depth]) == tuple(self.heading_path)
            and (self.heading is None or has_words(" > ".join(path), self.heading))
            for path in paths
        )


def paths_in(metadata: Mapping[str, Any]) -> list[Sequence[str]]:
    """Return the paths of the headings above a node and inside it, from usable metadata.

    Of nodes that another program made, the breadcrumb may be all that is known.
    """
    above = metadata.get(HEADING_PATH) or [str(metadata.get(BREADCRUMB) or "")]
    paths = [above, *(path for _, path in metadata.get(HEADINGS_INSIDE) or ())]
    return [path for path in paths if any(path)]


def _or_inside(above: Where, words: str) -> Where:
    """Return the condition that a heading is above or inside, also as `FlatMetadata` writes it."""
    inside = (Condition(key, "text_match", words) for key in (PATHS_INSIDE, HEADINGS_INSIDE))
    return Together("should", (above, *inside))


def payload_of(node: BaseNode) -> dict[str, Any]:
    """Return what a filter compares of a node in memory, with the pages that citations name."""
    payload = {**usable(node).metadata, DOCUMENT_ID: node.ref_doc_id}
    pages = None if PAGE_START in payload else PageMap.of(payload)
    start, end = (getattr(node, name, None) for name in ("start_char_idx", "end_char_idx"))
    if pages is None or (pages.starts and (start is None or end is None)):
        return payload
    return {**pages.facts(start or 0, end or 0), **payload}


def _check(holds: bool, name: str, wanted: str, value: object) -> None:  # noqa: FBT001 -- what is checked
    if not holds:
        raise ConfigurationError(f"the filter's {name} must be {wanted}, not {quoted(value)}")


def _are_two_numbers(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and len(value) == 2  # noqa: PLR2004 - first and last
        and all(type(number) is int for number in value)
    )
