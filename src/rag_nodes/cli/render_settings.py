"""Settings as TOML that can be pasted into `rag_nodes.toml`."""

from __future__ import annotations

import json
from typing import Any

_KEYS = ("api_key", "store_api_key")
"""Never accepted in the file, so shown as comments."""


def settings_as_toml(values: dict[str, Any]) -> str:
    """One line per setting; what is unset, and every key, as a comment.

    Args:
        values: what `Settings.masked()` gives.
    """
    return "".join(f"{_line(name, value)}\n" for name, value in values.items())


def _line(name: str, value: object) -> str:
    if value is None:
        return f"# {name} is not set"
    # TOML's basic strings, numbers and booleans are written as in JSON.
    line = f"{name} = {json.dumps(value)}"
    return f"# {line} (set; keys stay in the environment or .env)" if name in _KEYS else line
