"""The text of JSON objects, as they come."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_LINE_ENDS = str.maketrans({mark: f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"})
"""JSON allows these inside texts; programs that read line by line would end a line there."""


def as_json(rows: Iterable[dict[str, Any]], *, lines: bool) -> Iterator[str]:
    """The text of objects, piece by piece: one per line, or one array indented by two."""
    before = "" if lines else "[\n  "
    for row in rows:
        text = json.dumps(row, ensure_ascii=False, indent=None if lines else 2)
        text = text.translate(_LINE_ENDS)
        yield f"{text}\n" if lines else before + text.replace("\n", "\n  ")
        before = ",\n  "
    if not lines:
        yield "[]\n" if before.startswith("[") else "\n]\n"
