"""Names, numbers, values and commands in messages, and the closest known name for a wrong one."""

from __future__ import annotations

import re
import shlex
from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_SHOWN = 30
"""Names in one message."""


def did_you_mean(name: str, choices: Iterable[str], otherwise: str) -> str:
    """Return the question for the known name that is closest to a misspelt one.

    Args:
        name: as typed.
        choices: the names that exist.
        otherwise: what stands before all known names if none is close.

    Examples:
        >>> from rag_nodes.core.spelling import did_you_mean
        >>> did_you_mean("headng", ["heading", "fixed"], "choose one of: ")
        'did you mean heading?'
        >>> did_you_mean("x", ["heading", "fixed"], "choose one of: ")
        'choose one of: heading, fixed'
        >>> did_you_mean("x", map(str, range(100, 200)), "choose one of: ")[-15:]
        '129 and 70 more'
    """
    names = list(choices)
    if close := get_close_matches(name, names, n=1):
        return f"did you mean {close[0]}?"
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return f"{otherwise}{', '.join(names[:_SHOWN])}{more}"


def counted(number: int, thing: str) -> str:
    """Return a number with its noun.

    Examples:
        >>> from rag_nodes.core.spelling import counted
        >>> counted(1, "page"), counted(1_200, "address"), counted(2, "entry")
        ('1 page', '1,200 addresses', '2 entries')
    """
    if number != 1:
        thing = re.sub(r"(?<=[^aeiou])y\Z", "ie", thing)
        thing += "es" if thing.endswith("s") else "s"
    return f"{number:,} {thing}"


def quoted(value: object) -> str:
    """Return a value as messages show it.

    Text is put in quotation marks, numbers, True, False and None are written as in Python, and
    any other value is named by its class.

    Examples:
        >>> from rag_nodes.core.spelling import quoted
        >>> quoted("fast"), quoted(3), quoted([1, 2])
        ("'fast'", '3', 'a list')
    """
    if isinstance(value, str):
        return f"'{value}'"
    if value is None or isinstance(value, int | float):
        return str(value)
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def argument(text: str) -> str:
    """Return a text as an argument of a command: in double quotes, if a shell keeps it in them.

    >>> from rag_nodes.core.spelling import argument
    >>> print(argument("web:chunk_size=200"), argument("of:Splitter(sign='$')"))
    "web:chunk_size=200" 'of:Splitter(sign='"'"'$'"'"')'
    """
    return shlex.quote(text) if re.search(r'["$`\\!]', text) else f'"{text}"'


def command(words: str, corpus: str) -> str:
    """Return a command of ours for a message, in backticks, as all stand there.

    The command line names its store and ledger in those that it prints.

    >>> from rag_nodes.core.spelling import command
    >>> command("list --state failed", "default"), command("list", "my contracts")
    ('`rag-nodes list --state failed`', "`rag-nodes list --corpus 'my contracts'`")
    """
    about = "" if corpus == "default" else f" --corpus {shlex.quote(corpus)}"
    return f"`rag-nodes {words}{about}`"
