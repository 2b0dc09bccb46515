"""Metadata keys of the user: their names, the values they may have, and how both are typed.

Own keys come from `Document.metadata`, front matter, a CSV file or `--set`. Text of documents and
of strangers is among them, so that names, values and their number are bounded.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Scalar = str | int | float | bool
"""Single value of an own key."""
Value = Scalar | list[Scalar]
"""Value of an own key."""

MAX_KEYS = 50
"""Own keys that front matter, a CSV file and `--set` each give a document."""
MAX_KEY_LENGTH = 100
"""Characters of an own key."""
MAX_VALUE_LENGTH = 2_000
"""Characters of a text under an own key."""
MAX_VALUES = 100
"""Values of a list under an own key."""
OPERATORS = ("==", "!=", "<", "<=", ">", ">=")
"""Comparisons that a filter by an own key may name."""
LIST_SEPARATOR = "|"
"""Separator of values where a list is typed, or written in a cell."""

_EXACT = 2**53
"""Whole numbers below this number are the same as floats, which stores compare."""
_STORED = frozenset({"doc_id", "document_id", "ref_doc_id"})
"""Keys that LlamaIndex writes beside the metadata of a node."""
_READ = frozenset({keys.FILE_PATH, keys.PAGE_LABEL, "url", "URL"})
"""Keys of other readers by which sources are cited."""
_TYPED = frozenset({"file", "page"})
"""Names of other conditions of `--filter`."""
_OURS = frozenset({*keys.BOOKKEEPING, keys.BREADCRUMB, keys.TABLE})
_DESCRIBING = (keys.TITLE, keys.DESCRIPTION, keys.FILE_NAME, keys.SOURCE, keys.LANGUAGE)
"""Keys of ours that may be embedded."""
_RESERVED = _OURS | _STORED | _READ | _TYPED
_NAME = re.compile(r"[^\W\d_][^\x00-\x1f\x7f\ud800-\udfff=<>!,|\"\[\]\\]*")
"""A letter first: keys that begin with an underscore belong to stores."""
_SHOWN = 60
"""Characters of a key or value that a message repeats."""
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")


def own_metadata(metadata: Mapping[str, Any]) -> dict[str, Value]:
    """Return the values of the user's own keys.

    File paths of other readers are not among them, and no mappings.

    >>> from rag_nodes.core.own_metadata import own_metadata
    >>> own_metadata({"file_name": "a.md", "dept": "hr", "Heading": "A > B"})
    {'dept': 'hr'}
    """
    return {key: value for key, value in metadata.items() if is_own_key(key) and is_value(value)}


def is_own_key(key: str) -> bool:
    """Return True for a key that a user may assign."""
    is_named = len(key) <= MAX_KEY_LENGTH and _NAME.fullmatch(key) is not None
    return is_named and key == key.strip() and key not in _RESERVED


def keys_to_hide(metadata: Mapping[str, Any]) -> list[str]:
    """Return the keys of a document that are not ours, which are not embedded unless named."""
    return [key for key in metadata if key not in _OURS]


def check_embeddable(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of keys that are to be embedded, each once.

    Raises:
        ConfigurationError: one is bookkeeping of rag-nodes.
    """
    for name in names:
        if not name.strip() or (name in _OURS and name not in _DESCRIBING):
            raise ConfigurationError(
                f"embed_metadata: '{_shown(name)}' cannot be embedded; name keys of your own, "
                f"{', '.join(_DESCRIBING[:-1])} or {_DESCRIBING[-1]}"
            )
    return tuple(dict.fromkeys(names))


def check_key(key: str, where: str) -> str:
    """Return the name of an own key, without blanks around it.

    Args:
        key: as it was typed.
        where: place it was typed in, for messages.

    Raises:
        ConfigurationError: rag-nodes uses the name itself, or it has characters no key may have.
    """
    key = key.strip()
    if is_own_key(key):
        return key
    shown = _shown(key)
    if key in _RESERVED:
        raise ConfigurationError(
            f"{where}: rag-nodes uses the key '{shown}' itself; choose another name, "
            f"for example own_{shown}"
        )
    raise ConfigurationError(
        f"{where}: '{shown}' cannot be a key; begin with a letter, leave out "
        f'= < > ! , | " [ ] \\ and line ends, and use at most {MAX_KEY_LENGTH} characters'
    )


def is_value(value: object) -> bool:
    """Return True for a scalar, or a list of scalars, within the limits.

    >>> from rag_nodes.core.own_metadata import is_value
    >>> is_value(["hr", "legal"]), is_value({"a": 1}), is_value(float("nan"))
    (True, False, False)
    """
    if isinstance(value, list | tuple):
        return 0 < len(value) <= MAX_VALUES and all(map(is_scalar, value))
    return is_scalar(value)


def is_scalar(value: object) -> bool:
    """Return True for a text, a number or a truth value that every store compares alike."""
    if isinstance(value, str):
        return len(value) <= MAX_VALUE_LENGTH
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) < _EXACT


def typed_scalar(text: str) -> Scalar:
    """Return the value that a text means: a number, true or false, else the text.

    A text in double quotes stays a text.

    >>> from rag_nodes.core.own_metadata import typed_scalar
    >>> typed_scalar("2024"), typed_scalar("007"), typed_scalar("True"), typed_scalar('"5"')
    (2024, '007', True, '5')
    """
    text = text.strip()
    if is_quoted(text):
        return text[1:-1]
    if text.casefold() in {"true", "false"}:
        return text.casefold() == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text


def is_quoted(text: str) -> bool:
    """Return True for a text in double quotes."""
    return len(text) > 1 and text[0] == text[-1] == '"'


def typed_value(text: str, where: str) -> Value:
    """Return the value of an own key as it is typed, or written in a cell; `a|b` is a list.

    Args:
        text: as it was typed.
        where: place it was typed in, for messages.

    Raises:
        ConfigurationError: it is blank, or longer than a value may be.
    """
    text = text.strip()
    if LIST_SEPARATOR in text and not is_quoted(text):
        parts = [part for part in text.split(LIST_SEPARATOR) if part.strip()]
        value: Value = list(map(typed_scalar, parts))
    else:
        value = typed_scalar(text)
    if value in ("", []):
        raise ConfigurationError(f"{where}: the value is blank; leave the key out")
    if not is_value(value):
        raise ConfigurationError(
            f"{where}: a value has at most {MAX_VALUE_LENGTH:,} characters and a list at most "
            f"{MAX_VALUES} values; shorten '{_shown(text)}'"
        )
    return value


def typed_metadata(texts: Iterable[str]) -> dict[str, Value]:
    """Return own keys and values as they are typed behind --set, each KEY=VALUE.

    Raises:
        ConfigurationError: a text is written otherwise, a key is one of ours or given twice.
    """
    values: dict[str, Value] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigurationError(f"--set {_shown(text)}: write KEY=VALUE, as dept=hr")
        key = check_key(name, "--set")
        if key in values:
            raise ConfigurationError(f"--set: {key} is given twice; write a list as {key}=a|b")
        values[key] = typed_value(value, f"--set {key}")
    return values


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
