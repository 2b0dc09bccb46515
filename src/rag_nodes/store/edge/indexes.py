"""Which keys of the payload have an index: those that a point has, and those that are asked for.

When a part is sealed, the engine reads every payload of it anew for each index. So a key that no
point has, such as the page of plain text, has none until somebody asks for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.metadata import (
    ALSO_AT,
    BREADCRUMB,
    FILE_NAME,
    HEADING_PATH,
    PAGE_END,
    PAGE_START,
    SOURCE,
)
from rag_nodes.store.filters import DOCUMENT_ID, HEADING_LEVELS, INDEXES, Filter

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

PATH = {f"{HEADING_PATH}[{depth}]": depth for depth in range(HEADING_LEVELS)}
"""Levels of headings by their keys."""
NAMES = sorted({*INDEXES, HEADING_PATH} - PATH.keys())
"""What has to be read of a payload to know which keys it has."""


def carried(keys: Collection[str], payloads: Iterable[Mapping[str, Any]]) -> set[str]:
    """Those of some keys of `INDEXES` that a payload has."""
    left = set(keys)
    for payload in payloads:
        depth = len(payload.get(HEADING_PATH) or ())
        left = {key for key in left if not _has(payload, key, depth)}
        if not left:
            break
    return set(keys) - left


def _has(payload: Mapping[str, Any], key: str, depth: int) -> bool:
    """Whether a payload has a key; `depth` is the number of its headings."""
    return PATH[key] < depth if key in PATH else payload.get(key) is not None


def asked_for(chosen: Filter) -> Iterator[str]:
    """The keys that a filter names."""
    if chosen.document_ids is not None:
        yield DOCUMENT_ID
    if chosen.file_name is not None:
        yield FILE_NAME
    if chosen.source is not None:
        yield from (SOURCE, ALSO_AT)
    if chosen.pages is not None:
        yield from (PAGE_START, PAGE_END)
    if chosen.heading is not None:
        yield BREADCRUMB
    yield from list(PATH)[: len(chosen.heading_path or ())]
