"""What to say about an option that does not exist, or a value that does not fit its option.

This module loads neither pydantic nor a parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.core.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ELSEWHERE = {
    "breakpoint_percentile_threshold": ("breakpoint_percentile",),
    "chunk_sizes": ("parent_options", "child_options"),
    "max_chunk_size": ("chunk_size",),
    "separator": ("separators",),
    "window_size": ("window",),
}
"""Options of LlamaIndex's splitters by the names of ours."""
_INPUT = "Input should be "
"""What the messages of pydantic begin with."""


def option_hint(name: str, known: Sequence[str], parser: str) -> str:
    """Return what to write instead of an option that a parser does not have.

    Args:
        name: the option, as typed.
        known: the options of the parser.
        parser: name of its class.
    """
    here = ELSEWHERE.get(name, ())
    if here and set(here) <= set(known):
        return f"use {' and '.join(here)} instead"
    return did_you_mean(name, known, f"{parser} takes: ")


def misfit(error: Mapping[str, Any]) -> str:
    """Return why a value does not fit its option: "must be at least 1".

    Args:
        error: one of those that pydantic found.
    """
    words = str(error["msg"]).removeprefix("Value error, ")
    if not words.startswith(_INPUT):
        return words
    words = words.replace("greater than or equal to", "at least")
    words = words.replace("less than or equal to", "at most")
    return f"must be {words.removeprefix(_INPUT)}"
