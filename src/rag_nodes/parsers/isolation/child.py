"""The child of `isolated`: cuts one document after another until its parent is gone."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from llama_index.core.schema import Document

from rag_nodes.errors import ParseError, RagNodesError
from rag_nodes.processes import serve

if TYPE_CHECKING:
    from collections.abc import Iterator

_BATCH = 500
"""Nodes of one message."""


def main() -> None:
    """Serve until the parent closes the pipe."""
    serve(_cut)


def _cut(request: dict[str, Any]) -> Iterator[list[dict[str, Any]]]:
    module, name, options = request["parser"]
    try:
        parser = getattr(import_module(module), name).from_dict(options)
        nodes = parser([Document.from_dict(request["document"])])
    except RagNodesError:
        raise
    except Exception as error:
        # A parser of another package may raise anything, and the parent should hear of it.
        raise ParseError(f"{type(error).__name__}: {error}") from error
    for start in range(0, len(nodes), _BATCH):
        yield [node.to_dict() for node in nodes[start : start + _BATCH]]
