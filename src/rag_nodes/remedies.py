"""Commands that messages name as a remedy: whoever copies one acts on the store it is about."""

from __future__ import annotations

import re
import shlex

_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")
_typed: list[str] = []
"""Options of the command line that this process was started with."""


def typed(store: object, ledger: object) -> None:
    """Note what the command line names; None where settings or defaults do, as they do for all."""
    named = {"--store": store, "--ledger": ledger}
    _typed[:] = [
        f"{option} {shlex.quote(_CREDENTIALS.sub('', str(value)))}"
        for option, value in named.items()
        if value is not None
    ]


def command(words: str, *, corpus: str = "default") -> str:
    """A command line of ours, on the store and the ledger of this one.

    Args:
        words: behind the name of the program, such as "status".
        corpus: that it is about.

    Example:
        >>> command("list --state failed"), command("list", corpus="my contracts")
        ('rag-nodes list --state failed', "rag-nodes list --corpus 'my contracts'")
    """
    about = [] if corpus == "default" else [f"--corpus {shlex.quote(corpus)}"]
    return " ".join(["rag-nodes", words, *about, *_typed])
