"""One value where several are taken: a single text, path or document stands for itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, overload

from rag_nodes.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")
_Text = TypeVar("_Text", bound=str)


class _HasContent(Protocol):
    """A document or node of LlamaIndex, which this module does not import."""

    def get_content(self, *args: Any, **kwargs: Any) -> str:
        """Return its text."""


_Node = TypeVar("_Node", bound=_HasContent)


@overload
def several(given: None) -> None: ...
@overload
def several(given: _Text) -> tuple[_Text]: ...
@overload
def several(given: Path) -> tuple[Path]: ...
@overload
def several(given: _Node) -> tuple[_Node]: ...
@overload
def several(given: _Node | Sequence[_Node]) -> Sequence[_Node]: ...
@overload
def several(given: Mapping[_Key, _Value]) -> Mapping[_Key, _Value]: ...
@overload
def several(given: Sequence[_Value]) -> Sequence[_Value]: ...
@overload
def several(given: Collection[_Value]) -> Collection[_Value]: ...
@overload
def several(given: Iterable[_Value]) -> Iterable[_Value]: ...
def several(given: Any) -> Any:
    """Return several values as they are, and a single one as a tuple of it.

    A string is a sequence of its characters and a document of LlamaIndex an iterable of its
    fields. A loop over either would silently take these parts for what was meant.

    Args:
        given: a string, a path or a document of LlamaIndex; or an iterable of these, or None,
            which are returned unchanged.

    Returns:
        A tuple for a single value, else what was given.

    Example:
        >>> from rag_nodes.core.several import several
        >>> several("docs"), several(["docs", "notes"]), several(None)
        (('docs',), ['docs', 'notes'], None)
    """
    is_single = isinstance(given, str | bytes | os.PathLike) or hasattr(given, "get_content")
    return (given,) if is_single else given


def several_nodes(given: Any) -> Iterator[Any]:
    """Yield documents or nodes of LlamaIndex, of which several or a single one are given.

    Raises:
        ConfigurationError: something else is given, or is among them.
    """
    nodes = several(given)
    for node in nodes if hasattr(nodes, "__iter__") else (nodes,):
        if not hasattr(type(node), "ref_doc_id"):
            remedy = (
                "give its node, not it"
                if hasattr(node, "node")
                else "make a text a document with Document(text=...), or read a file with "
                "rag_nodes.read"
            )
            kind = type(node).__name__
            raise ConfigurationError(f"documents or nodes are expected, not {kind}; {remedy}")
        yield node
