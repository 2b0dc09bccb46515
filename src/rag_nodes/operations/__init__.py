"""What the product does, each thing once; command line, REST and MCP are derived from this list.

Nothing but names and words is imported here, so that a help text can list them at once.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from rag_nodes.operations.base import Request, Result, Surface
    from rag_nodes.operations.run import Run

__all__ = ["GROUPS", "OPERATIONS", "Operation", "named"]

MODELS = (
    "embedding",
    "embedding_model",
    "embedding_options",
    "llm",
    "llm_model",
    "llm_options",
    "api_base",
    "retry_seconds",
)
"""Settings that choose the models."""
STORE = ("store", "store_options")
"""Settings that choose the store."""
SERVED: tuple[Surface, ...] = ("cli", "rest", "mcp")
"""Surfaces of what strangers may ask for, too."""
GROUPS = {
    "questions": "Labelled questions: drafts, what is wrong with them, other formats.",
    "store": "Whole stores: copied to a server and back, imported, and other names of what is "
    "there.",
}
"""First words that several operations share, and what these are about."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing the product does.

    Attributes:
        name: what is typed, in one word or two.
        path: module below this package and function, as `chunking:chunk`.
        summary: first sentence of the request's docstring.
        examples: command lines, without the program's name.
        usual: fields and settings that a help text shows first.
        settings: names of settings that can be given with the request by their owner.
        defaults: settings whose default differs, name and value.
        surfaces: where it can be asked for.
    """

    name: str
    path: str
    summary: str
    examples: tuple[str, ...] = ()
    usual: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str], ...] = ()
    surfaces: tuple[Surface, ...] = ("cli",)

    @property
    def function(self) -> Callable[[Any, Run], Result]:
        """What does it, given the request and a run."""
        module, _, name = self.path.partition(":")
        found: Callable[[Any, Run], Result]
        found = getattr(import_module(f"rag_nodes.operations.{module}"), name)
        return found

    @property
    def request(self) -> type[Request]:
        """What it is told."""
        request: type[Request] = self._annotated("request")
        return request

    @property
    def result(self) -> type[Result]:
        """What it finds; its `reply` is what strangers get of that."""
        result: type[Result] = self._annotated("return")
        return result

    def _annotated(self, name: str) -> Any:
        function = self.function
        named = function.__annotations__[name]
        return getattr(sys.modules[function.__module__], named) if type(named) is str else named


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "status",
        "stored:status",
        "Show what is stored: by which parser and model, how much, and from when.",
        examples=("status", "status --store http://localhost:6333 --json"),
        usual=("parser", "corpus", "store"),
        settings=(*STORE, "ledger"),
    ),
    Operation(
        "chunk",
        "chunking:chunk",
        "Show how a parser cuts a document: offsets, pages, tokens, headings.",
        examples=(
            "chunk manual.md --parser heading",
            "chunk report.pdf -p fixed:chunk_size=500 --full",
            "chunk report.pdf -p semantic --json | jq .chunks[].tokens",
        ),
        usual=("parser", "set", "full"),
        settings=MODELS,
        surfaces=SERVED,
    ),
)
"""All operations, in the order in which a help text lists them."""


def named(name: str) -> Operation:
    """The operation of that name.

    Raises:
        KeyError: there is none.
    """
    return {one.name: one for one in OPERATIONS}[name]
