"""Records with an id, a text and metadata in, one reading each out."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from rag_nodes.core.own_metadata import MAX_KEYS, is_own_key, is_value
from rag_nodes.readers.base import Reading
from rag_nodes.readers.crawl.stream import plain_name

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXTS = ("text", "pagecontent", "content")
_IDS = ("id", "docid", "documentid")
_ADDRESSES = frozenset({"url", "URL"})
"""Keys of other readers by which sources are cited."""
_STATED = frozenset({"title", "description"})
_LONGEST_ID = 500
"""Characters of an id."""
_NAMED = 5
"""Keys that a warning names."""


def is_record(fields: Mapping[str, Any]) -> bool:
    """Return True if these fields of `plain_name` are a document of their own, and no page.

    A page has an address or Markdown. `content` is also the text of a page, of which a record
    differs by its id. A `sourceURL` in the metadata is the address of a page too: frameworks that
    read crawls write it so. Any other `url` there is metadata of a record.
    """
    metadata = fields.get("metadata")
    named = metadata.items() if isinstance(metadata, dict) else ()
    if any(value and plain_name(key) == "sourceurl" for key, value in named):
        return False
    if any(fields.get(name) for name in ("markdown", "sourceurl", "url")):
        return False
    has_id = any(name in fields for name in _IDS)
    return any(
        isinstance(fields.get(name), str) and (has_id or name != "content") for name in _TEXTS
    )


def text_name(fields: Mapping[str, Any]) -> str:
    """Return the field, by `plain_name`, that holds the text of a record: the first with any."""
    names = [name for name in _TEXTS if isinstance(fields.get(name), str)]
    return next((name for name in names if fields[name].strip()), names[0])


def record(where: str, value: Mapping[str, Any], fields: Mapping[str, Any]) -> Reading:
    """Return the reading of a record; without an id its place in the file is its id.

    Args:
        where: place in the file.
        value: the record as it is written.
        fields: its fields that are set, by `plain_name`.
    """
    name = text_name(fields)
    given = next((fields[key] for key in _IDS if key in fields), None)
    identity = str(given) if isinstance(given, str | int) else ""
    taken = {name, *_IDS, "metadata"}
    metadata = fields.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {key: field for key, field in value.items() if plain_name(key) not in taken}
    stated = {key: metadata.get(key) or fields.get(key) for key in _STATED}
    own = {key: field for key, field in metadata.items() if _is_kept(key, field)}
    lost = [
        str(key)
        for key, field in metadata.items()
        if key not in {*own, *_STATED} and field not in (None, "", [], {})
    ]
    more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
    left_out = f"metadata left out: {', '.join(lost[:_NAMED])}{more}"
    return Reading(
        text=fields[name],
        title=stated["title"] if isinstance(stated["title"], str) else None,
        description=stated["description"] if isinstance(stated["description"], str) else None,
        record=identity if 0 < len(identity) <= _LONGEST_ID else where,
        facts=dict(islice(own.items(), MAX_KEYS)),
        warnings=(left_out,) if lost else (),
    )


def _is_kept(key: str, value: object) -> bool:
    return is_value(value) and key not in _STATED and (is_own_key(key) or key in _ADDRESSES)
