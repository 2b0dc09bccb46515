"""Chunks of splitters of other packages, in one shape."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from llama_index.core.node_parser import (
    MarkdownNodeParser,
    NodeParser,
    SemanticSplitterNodeParser,
    SentenceWindowNodeParser,
)
from llama_index.core.schema import BaseNode, Document, MetadataMode, TransformComponent

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError, ParseError, RagNodesError
from rag_nodes.core.keys import kind_of
from rag_nodes.parsers.foreign.configuration import class_path
from rag_nodes.text.spans import Span

_DISJOINT = (MarkdownNodeParser, SemanticSplitterNodeParser, SentenceWindowNodeParser)
"""Parsers of LlamaIndex that repeat nothing."""


@dataclass(frozen=True, slots=True)
class ForeignChunk:
    """One chunk as a foreign splitter gave it; its text need not be in the document.

    A `claim` is where the splitter itself says it is, a `window` what is to be read in its place,
    and `parent` the position of the piece it was split from, None where that is the document.
    """

    text: str
    claim: Span | None = None
    window: str = ""
    parent: int | None = None


def check_splitter(splitter: Any) -> None:
    """Refuse what cannot split a text: a class, or what has no method that we know."""
    if isinstance(splitter, type):
        raise ConfigurationError(
            f"{splitter.__name__} is a class: give an object of it, {splitter.__name__}()"
        )
    if isinstance(splitter, NodeParser):
        return
    if isinstance(splitter, TransformComponent) or _method(splitter) is None:
        raise ConfigurationError(
            f"{'None' if splitter is None else type(splitter).__name__} is not a splitter: give "
            "the name of a preset, a NodeParser or TextSplitter of LlamaIndex, or an object with "
            "split_text(text) or chunk(text)"
        )


def pieces_of(splitter: Any, text: str) -> list[ForeignChunk]:
    """The chunks that a splitter makes of a text, in its order, without blank ones.

    It sees the text alone, no metadata of ours.

    Raises:
        ParseError: it fails, ends the program, or answers with something that has no text.
        RagNodesError: as a model of ours inside it raised it.
    """
    try:
        return _pieces(splitter, text)
    except RagNodesError:
        raise
    except (Exception, SystemExit) as error:
        raise ParseError(
            f"{class_path(splitter)} failed: {kind_of(error)}; fix the splitter, or leave it out"
        ) from error


def overlap_of(splitter: Any) -> int | None:
    """Characters that two neighbours share at most; None where that is not known for certain."""
    if isinstance(splitter, _DISJOINT):
        return 0
    overlap = getattr(splitter, "chunk_overlap", getattr(splitter, "_chunk_overlap", None))
    if not isinstance(overlap, int):
        return None
    in_characters = getattr(splitter, "_length_function", None) is len
    return overlap if in_characters or overlap == 0 else None


def _pieces(splitter: Any, text: str) -> list[ForeignChunk]:
    if isinstance(splitter, NodeParser):
        return _nodes(splitter.get_nodes_from_documents([Document(text=text)]))
    method = _method(splitter)
    given = method(text) if method else None
    if not isinstance(given, Iterable):
        raise ParseError(
            f"{class_path(splitter)} returned {type(given).__name__}, not a list of chunks"
        )
    chunks = [_piece(splitter, piece) for piece in given]
    return [piece for piece in chunks if piece.text.strip()]


def _method(splitter: Any) -> Any:
    """Return the function that splits a text: of LangChain, of chonkie, or the object itself."""
    for name in ("split_text", "chunk"):
        if callable(method := getattr(splitter, name, None)):
            return method
    return splitter if callable(splitter) else None


def _nodes(nodes: list[BaseNode]) -> list[ForeignChunk]:
    """The nodes of LlamaIndex. Their offsets are the result of a search, so ours is no worse."""
    kept = [node for node in nodes if node.get_content(metadata_mode=MetadataMode.NONE).strip()]
    position = {node.node_id: number for number, node in enumerate(kept)}
    return [
        ForeignChunk(
            text=node.get_content(metadata_mode=MetadataMode.NONE),
            window=str(node.metadata.get(keys.WINDOW) or ""),
            parent=position.get(node.parent_node.node_id) if node.parent_node else None,
        )
        for node in kept
    ]


def _piece(splitter: Any, given: Any) -> ForeignChunk:
    if isinstance(given, str):
        return ForeignChunk(given)
    text = getattr(given, "text", getattr(given, "page_content", None))
    if not isinstance(text, str):
        raise ParseError(
            f"{class_path(splitter)} returned a {type(given).__name__}, which has no text"
        )
    return ForeignChunk(
        text, _claim(getattr(given, "start_index", None), getattr(given, "end_index", None))
    )


def _claim(start: object, end: object) -> Span | None:
    return Span(start, end) if isinstance(start, int) and isinstance(end, int) else None
