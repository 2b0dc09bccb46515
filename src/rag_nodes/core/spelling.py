"""Words for names that nobody knows: the closest known name, or all of them."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    """Return the question for the known name that is closest to a misspelt one.

    Args:
        name: as typed.
        known: the names that exist.
        otherwise: what stands before all known names if none is close.

    Examples:
        >>> from rag_nodes.core.spelling import did_you_mean
        >>> did_you_mean("headng", ["heading", "fixed"], "choose one of: ")
        'did you mean heading?'
        >>> did_you_mean("x", ["heading", "fixed"], "choose one of: ")
        'choose one of: heading, fixed'
    """
    names = list(known)
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else otherwise + ", ".join(names)
