"""Metadata of other programs that have names of ours, made usable or left out.

Readers and splitters of other packages have keys such as `page_start` and `heading_path` too, with
texts or numbers of their own under them. Lists that had to be written as text for a vector store
become lists again.
"""

from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from rag_nodes.core import metadata as keys
from rag_nodes.core.metadata import FLATTENED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llama_index.core.schema import BaseNode

    Node = TypeVar("Node", bound=BaseNode)

_MOST = 2**53
"""Bound of numbers, which stores keep exactly below it."""


def usable(node: Node) -> Node:
    """Return a node with usable metadata; a copy if something had to change."""
    metadata = usable_metadata(node.metadata)
    return node if metadata is node.metadata else node.model_copy(update={"metadata": metadata})


def usable_metadata(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return metadata whose keys of ours hold what they mean; the same if nothing had to change.

    What cannot be understood is left out. All other keys stay as they are. What `FlatMetadata`
    wrote as text is read back.
    """
    changed: dict[str, Any] = {}
    given = metadata
    if FLATTENED in metadata:
        read_back = {name: _parsed(metadata[name]) for name in _names(metadata)}
        changed = {**read_back, FLATTENED: None}
        metadata = {**metadata, **changed}
    for key, read in _READ.items():
        value = metadata.get(key)
        if value is not None and (understood := read(value)) != value:
            changed[key] = understood
    if not changed:
        return given
    merged = {**metadata, **changed}
    return {key: value for key, value in merged.items() if key not in changed or value is not None}


def flat(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return metadata whose lists and mappings are text that `usable` reads back.

    Other objects, such as dates, become text and stay text.

    Args:
        metadata: metadata of a node; numbers, texts, truth values and None stay as they are.
    """
    nested = [
        key
        for key, value in metadata.items()
        if value is not None and not isinstance(value, str | int | float)
    ]
    if not nested:
        return dict(metadata)
    written = {key: json.dumps(metadata[key], ensure_ascii=False, default=str) for key in nested}
    names = [*_names(metadata), *nested]
    return {**metadata, **written, FLATTENED: json.dumps(names, ensure_ascii=False)}


def _names(metadata: Mapping[str, Any]) -> list[str]:
    """Return the keys whose values `flat` wrote as text."""
    names = _parsed(metadata.get(FLATTENED))
    names = names if isinstance(names, list) else []
    return [name for name in names if isinstance(name, str) and name in metadata]


def _parsed(value: Any) -> Any:
    """Return what a text holds as JSON; any other value as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _whole(value: Any) -> int | None:
    if isinstance(value, str) and value.isdecimal() and len(value) < len(str(_MOST)):
        value = int(value)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and 0 <= value < _MOST else None


def _text(value: Any) -> str | None:
    return str(value) if isinstance(value, str | int | float) else None


def _texts(value: Any) -> list[str] | None:
    is_list = isinstance(value, list | tuple)
    return list(value) if is_list and all(isinstance(text, str) for text in value) else None


def _offsets(value: Any) -> list[int] | None:
    if not isinstance(value, list | tuple) or any(_whole(number) != number for number in value):
        return None
    return None if any(left > right for left, right in pairwise(value)) else list(value)


def _headings(value: Any) -> list[Any] | None:
    def is_one(pair: Any) -> bool:
        is_pair = isinstance(pair, list | tuple) and len(pair) == 2  # noqa: PLR2004 - a pair
        return is_pair and _whole(pair[0]) == pair[0] and isinstance(pair[1], list | tuple)

    is_list = isinstance(value, list | tuple)
    return list(value) if is_list and all(map(is_one, value)) else None


def _mapping(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


_READ: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys((keys.SOURCE, keys.FILE_PATH, keys.TEXT_FORMAT, keys.TABLE_HEADER), _text),
    **dict.fromkeys((keys.PAGE_START, keys.PAGE_END, keys.START_CHAR, keys.END_CHAR), _whole),
    **dict.fromkeys((keys.CHUNK_INDEX, keys.TOTAL_CHUNKS, keys.TOKEN_COUNT), _whole),
    **dict.fromkeys((keys.PART, keys.PARTS, keys.SCALED_SIZE, keys.TOTAL_PAGES), _whole),
    **dict.fromkeys((keys.PAGE_STARTS, keys.PAGE_BREAKS), _offsets),
    **dict.fromkeys((keys.HEADING_PATH, keys.BLOCKS, keys.EMBEDDED_METADATA), _texts),
    keys.HEADINGS_INSIDE: _headings,
    keys.WINDOW_PLACE: _mapping,
}
"""Reader of each key that code computes with: the value, or None if it cannot be understood."""
