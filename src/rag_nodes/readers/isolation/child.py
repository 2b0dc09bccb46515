"""The child of `isolation`: reads one file after another until its parent is gone."""

from __future__ import annotations

import importlib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ReadMemoryError
from rag_nodes.processes import serve
from rag_nodes.readers.base import Limits
from rag_nodes.readers.isolation.parent import LIBRARIES
from rag_nodes.readers.isolation.wire import pack
from rag_nodes.readers.registry import readings

if TYPE_CHECKING:
    from collections.abc import Iterator


def main() -> None:
    """Serve until the parent closes the pipe."""
    serve(_read, prepare=_prepared, fatal=ReadMemoryError)


def _prepared(request: dict[str, Any]) -> int:
    for library in LIBRARIES.get(request["kind"], ()):
        with suppress(ImportError):  # before the clock starts; the reader says what is missing
            importlib.import_module(library)
    return int(request["limits"]["memory_bytes"])


def _read(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    path, limits = Path(request["path"]), Limits(**request["limits"])
    wanted = {name: request[name] for name in ("layout", "keep_duplicates")}
    for outcome in readings(path, limits=limits, isolate=False, **wanted):
        yield pack(outcome)
