"""Secrets: options that hold keys, the keys of a model, and messages without them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import RagNodesError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_DETAIL = 300
"""Characters of a server's own words that a message quotes."""
MASK = "****"
_SECRET = re.compile(r"key|token$|secret|password|header|credential")
_USER_INFO = re.compile(r"://\S*@")
"""User, and often password, before the host of a URL."""
_LEAST_HIDDEN = 6
"""Characters below which a value is a placeholder, and hiding it would only garble messages."""
_KEY_LIKE = re.compile(r"(?:sk-|[Bb]earer\s+)[\w*.\-]{4,}")
"""Servers repeat a refused key, whole or in part."""


def is_secret(option: str) -> bool:
    """Return True if an option of this name may hold a key or another secret."""
    return _SECRET.search(option.lower()) is not None


def has_user_info(value: object) -> bool:
    """Return True if a value is a text with a URL that names a user, often with a password.

    >>> from rag_nodes.core.keys import has_user_info
    >>> has_user_info("https://anna:1234@example.com"), has_user_info("https://example.com")
    (True, False)
    """
    return isinstance(value, str) and _USER_INFO.search(value) is not None


def without_secrets(message: str, options: Mapping[str, Any]) -> str:
    """The message without the keys among the options, which an error may quote."""
    for name, value in options.items():
        if isinstance(value, dict):
            message = without_secrets(message, value)
        elif is_secret(name) and len(str(value)) >= _LEAST_HIDDEN:
            message = message.replace(str(value), MASK)
    return message


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
    line = "".join(character for character in " ".join(hidden.split()) if character.isprintable())
    line = _KEY_LIKE.sub(MASK, line)
    return line if len(line) <= most else f"{line[:most]}…"


def kind_of(error: BaseException) -> str:
    """Return the class of an exception of somebody else's code, without its text.

    The text of such an exception may hold a token that nothing here knows, so no message and no
    log repeats it. What Python and the operating system themselves say is added.

    >>> from rag_nodes.core.keys import kind_of
    >>> kind_of(RuntimeError("refused: token 123")), kind_of(FileNotFoundError(2, "token 123"))
    ('RuntimeError', 'FileNotFoundError: No such file or directory')
    """
    name = type(error).__name__
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"{name}: No module named '{error.name}'"
    if isinstance(error, OSError) and isinstance(error.errno, int):
        return f"{name}: {os.strerror(error.errno)}"
    return name


def words_of(error: BaseException) -> str:
    """Return the message of an error of this package, and of any other exception its class."""
    return str(error) if isinstance(error, RagNodesError) else kind_of(error)


def trace_of(error: BaseException) -> str:
    """Return where an exception and its causes were raised, for a log.

    Only errors of this package keep their text, see `kind_of`. Lines of source are left out,
    because they may hold keys as well.
    """
    lines: list[str] = []
    seen: set[int] = set()
    following: BaseException | None = error
    while following is not None and id(following) not in seen:
        seen.add(id(following))
        own = f"{type(following).__name__}: " if isinstance(following, RagNodesError) else ""
        lines.append(f"{own}{words_of(following)}")
        lines += [
            f"  {frame.filename}:{frame.lineno} in {frame.name}"
            for frame in extract_tb(following.__traceback__)
        ]
        following = following.__cause__ or following.__context__
    return "\n".join(lines)


def _words(value: Any) -> Iterator[str]:
    """Yield the secrets within a value: headers are a mapping, with `Bearer` and the key."""
    if hasattr(value, "get_secret_value"):
        value = value.get_secret_value()
    if isinstance(value, Mapping):
        for nested in value.values():
            yield from _words(nested)
    elif isinstance(value, str):
        yield from value.split()
