"""Options that do not exist, and what to write instead; no parser is loaded for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_nodes.core.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

ELSEWHERE = {
    "breakpoint_percentile_threshold": ("breakpoint_percentile",),
    "chunk_sizes": ("parent_options", "child_options"),
    "max_chunk_size": ("chunk_size",),
    "separator": ("separators",),
    "window_size": ("window",),
}
"""Options of LlamaIndex's splitters by the names of ours."""


def option_hint(name: str, options: Sequence[str], parser: str) -> str:
    """Return what to write instead of an option that a parser does not have.

    Args:
        name: the option, as typed.
        options: the options of the parser.
        parser: name of its class.
    """
    here = ELSEWHERE.get(name, ())
    if here and set(here) <= set(options):
        return f"use {' and '.join(here)} instead"
    return did_you_mean(name, options, f"{parser} takes: ")
