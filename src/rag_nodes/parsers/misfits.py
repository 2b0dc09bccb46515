"""Messages for values that pydantic refuses, in our words; nothing is loaded for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_INPUT = "Input should be "


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
