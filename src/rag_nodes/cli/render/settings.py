"""Settings as TOML that can be pasted into `rag_nodes.toml`."""

from __future__ import annotations

import json
import re
from typing import Any

_KEYS = ("api_key", "store_api_key", "api_token", "app_password")
"""Never accepted in the file, so shown as comments."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def settings_as_toml(values: dict[str, Any]) -> str:
    """One line per setting, tables last; what is unset, and every key, as a comment.

    Args:
        values: what `Settings.masked()` gives, with the table `answers`.
    """
    return _table("", values)


def _table(name: str, values: dict[str, Any]) -> str:
    lines = [f"\n[{name}]"] if name else []
    lines += [_line(key, value) for key, value in values.items() if not isinstance(value, dict)]
    text = "".join(f"{line}\n" for line in lines)
    inner = [(key, value) for key, value in values.items() if isinstance(value, dict)]
    return text + "".join(_table(f"{name}.{key}" if name else key, value) for key, value in inner)


def _line(name: str, value: object) -> str:
    if value is None:
        return f"# {name} is not set"
    # TOML's basic strings, numbers and booleans are written as in JSON.
    key = name if _BARE.fullmatch(name) else json.dumps(name)
    line = f"{key} = {json.dumps(value)}"
    return f"# {line} (set; keys stay in the environment or .env)" if name in _KEYS else line
