"""What nobody is to see: the keys of a model, and words of others without them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rag_nodes.settings import is_secret, without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_DETAIL = 300
"""Characters of a server's own words that a message quotes."""
_KEY_LIKE = re.compile(r"(?:sk-|[Bb]earer\s+)[\w*.\-]{4,}")
"""Servers repeat a refused key, whole or in part."""


def keys_of(model: object) -> tuple[str, ...]:
    """The words of all attributes of a model that may hold a key, by their names."""
    private = getattr(model, "__pydantic_private__", None) or {}
    held = {**getattr(model, "__dict__", {}), **private}
    return tuple(word for name, value in held.items() if is_secret(name) for word in _words(value))


def without_keys(text: str, keys: Iterable[str] = (), *, most: int = LONGEST_DETAIL) -> str:
    """Words of others on one line and shortened, without anything that nobody is to see.

    Args:
        text: of a library, a server, a document, or whoever.
        keys: that may be in it, see `keys_of`; those of the environment are left out, too, and
            whatever looks like a key.
        most: characters that are kept.
    """
    given = {f"key {number}": word for number, word in enumerate(keys)}
    hidden = without_secrets(without_secrets(text, given), os.environ)
    line = "".join(one for one in " ".join(hidden.split()) if one.isprintable())
    line = _KEY_LIKE.sub("****", line)
    return line if len(line) <= most else f"{line[:most]}…"


def _words(value: Any) -> Iterator[str]:
    """What of a key may stand in a message: headers are a mapping, of `Bearer` and the key."""
    if hasattr(value, "get_secret_value"):
        value = value.get_secret_value()
    if isinstance(value, Mapping):
        for one in value.values():
            yield from _words(one)
    elif isinstance(value, str):
        yield from value.split()
