"""A splitter of another package that behaves like a parser of ours."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from llama_index.core.bridge.pydantic import Field
from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    TextNode,
)

from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.import_paths import load
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.parsers.base import SpanNodeParser
from rag_nodes.parsers.foreign.chunks import ForeignChunk, check_splitter, overlap_of, pieces_of
from rag_nodes.parsers.foreign.configuration import (
    check_no_key,
    class_path,
    digest_of,
    shown_options,
)
from rag_nodes.parsers.foreign.placing import Visible, place, place_window
from rag_nodes.parsers.media import span_without_text
from rag_nodes.parsers.nodes import link_neighbours
from rag_nodes.parsers.parent_child import info_of, is_leaf
from rag_nodes.parsers.presets import get_parser
from rag_nodes.parsers.source import ChunkSpan, Origin, SourceText

_NAMESPACE = uuid.UUID("1d0f7c5a-91a2-5f0c-8a34-3b1d0e6f7a58")
_NOT_PICKLED = frozenset({"callback_manager", "id_func"})
"""Attributes that do not affect the output and belong to this process."""


@checks_keywords
class ForeignNodeParser(SpanNodeParser):
    r"""Splits with a splitter of LlamaIndex, LangChain, chonkie or your own.

    The splitter sees the text of a document and decides what a chunk is. Where that chunk is, is
    found out here: a node that has a place is an exact slice of its document, with offsets, pages
    and headings. A chunk that stands nowhere in the document, because the splitter changed its
    words, or in several places that cannot be distinguished, stays a node with the text it was
    given, without offsets, pages and headings, and `start_char_idx` is None.

    Parents and children, and windows of sentences, are taken over; other metadata that the splitter
    sets are not.

    Args:
        splitter: a `NodeParser` or `TextSplitter` of LlamaIndex, an object with `split_text` (as
            of LangChain) or `chunk` (as of chonkie), or a function from a text to its chunks.
        path: import path to use instead of `splitter`, as `module:Class(option=value)`.

    Attributes:
        splitter_class: where the splitter's class is.
        options: its options that are plain values, for people.
        digest: 12 hex digits of its whole configuration, as far as it can be found out.

    Raises:
        ConfigurationError: there is no splitter, or what is given is none.

    Examples:
        >>> from rag_nodes import ForeignNodeParser
        >>> from llama_index.core import Document
        >>> parser = ForeignNodeParser(splitter=str.splitlines)
        >>> nodes = parser([Document(text="Green tea takes eighty degrees.\nBlack tea more.")])
        >>> [(node.start_char_idx, node.end_char_idx, node.text) for node in nodes]
        [(0, 31, 'Green tea takes eighty degrees.'), (32, 47, 'Black tea more.')]
    """

    splitter: Any = Field(default=None, exclude=True, repr=False)
    path: str = Field(default="")
    splitter_class: str = Field(default="")
    options: dict[str, Any] = Field(default_factory=dict)
    digest: str = Field(default="")

    _cosmetic = SpanNodeParser._cosmetic | {"path", "options"}  # noqa: SLF001 -- of our own base

    def __init__(self, **options: Any) -> None:
        splitter = options.pop("splitter", None)
        if splitter is None:
            splitter = _made(options)
        check_splitter(splitter)
        super().__init__(
            **{
                **options,
                "splitter": splitter,
                "splitter_class": class_path(splitter),
                "options": shown_options(splitter),
                "digest": digest_of(splitter),
            }
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """With its splitter, which LlamaIndex leaves out if it cannot be pickled; or its path."""
        options = {name: value for name, value in self.__dict__.items() if name not in _NOT_PICKLED}
        if self.path:
            del options["splitter"]
        return partial(type(self), **options), ()

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """The chunks that have a place and no chunks below them, in order."""
        pieces = pieces_of(self.splitter, source.text)
        places = place(Visible(source.text), pieces, overlap_of(self.splitter))
        parents = {piece.parent for piece in pieces}
        for number, span in enumerate(places):
            if span is not None and number not in parents:
                yield ChunkSpan(*span)

    def split_text(self, text: str) -> list[str]:
        """The chunks as the splitter gives them."""
        return [piece.text for piece in pieces_of(self.splitter, text)]

    def _parse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,  # noqa: FBT001, FBT002 -- LlamaIndex's signature
        **_kwargs: Any,
    ) -> list[BaseNode]:
        levels: dict[int, list[TextNode]] = {}
        for origin, source in self._sources(nodes, show_progress=show_progress):
            for level, members in self._levels(origin, source).items():
                levels.setdefault(level, []).extend(members)
        return self._numbered([levels[level] for level in sorted(levels)])

    def _levels(self, origin: Origin, source: SourceText) -> dict[int, list[TextNode]]:
        """The nodes of one document by how many parents they have above them."""
        if cuts := span_without_text(origin.node, source.text):
            return {0: self._build(origin, source, cuts)}
        pieces, nodes = self._nodes(origin, source)
        depths: list[int] = []
        levels: dict[int, list[TextNode]] = {}
        for piece, node in zip(pieces, nodes, strict=True):
            depths.append(0 if piece.parent is None else depths[piece.parent] + 1)
            levels.setdefault(depths[-1], []).append(node)
            if piece.parent is not None:
                _relate(nodes[piece.parent], node)
        return levels

    def _nodes(
        self, origin: Origin, source: SourceText
    ) -> tuple[list[ForeignChunk], list[TextNode]]:
        """A node for each piece: of those without a place, all that depends on it is left out."""
        pieces = pieces_of(self.splitter, source.text)
        visible = Visible(source.text)
        places = place(visible, pieces, overlap_of(self.splitter))
        cuts = [
            ChunkSpan(
                *span, window=place_window(visible, span, piece.window) if piece.window else None
            )
            for piece, span in zip(pieces, places, strict=True)
            if span is not None
        ]
        placed = iter(self._build(origin, source, cuts))
        lost = [piece for piece, span in zip(pieces, places, strict=True) if span is None]
        not_located = iter(self._not_located(origin, source, lost))
        return pieces, [next(placed if span else not_located) for span in places]

    def _not_located(
        self, origin: Origin, source: SourceText, pieces: Sequence[ForeignChunk]
    ) -> list[TextNode]:
        """Nodes of a text that is made of them alone, as they are not in the document."""
        cuts, start = [], 0
        for piece in pieces:
            cuts.append(ChunkSpan(start, start + len(piece.text)))
            start += len(piece.text) + 1
        text = "\n".join(piece.text for piece in pieces)
        own = self._source(text, title=source.title, text_format=source.text_format)
        nodes = self._build(replace(origin, base=None, pages=None), own, cuts)
        for node in nodes:
            node.id_ = _id("not located", node)
        return nodes

    def _numbered(self, levels: Sequence[list[TextNode]]) -> list[BaseNode]:
        """All levels, linked within themselves; parents and leaves are counted apart."""
        for level in levels:
            link_neighbours(level, relate=self.include_prev_next_rel)
        nodes = [node for level in levels for node in level]
        for wanted in (True, False):
            link_neighbours([node for node in nodes if is_leaf(node) is wanted], relate=False)
        return list(nodes)


@checks_keywords
def as_parser(parser: Any) -> SpanNodeParser:
    """A parser as it is, a preset by its name, and other splitters as a `ForeignNodeParser`.

    Raises:
        ConfigurationError: it does not split texts, or there is no such preset.
    """
    if isinstance(parser, str):
        return get_parser(parser)
    if isinstance(parser, SpanNodeParser):
        return parser
    check_splitter(parser)
    return ForeignNodeParser(splitter=parser)


def parser_at(path: str) -> SpanNodeParser:
    """Return the parser that an import path names; other splitters as a `ForeignNodeParser`.

    Args:
        path: `module:Class` or `module:Class(option=value)`.

    Raises:
        ConfigurationError: the path cannot be imported, or names something that splits no texts.
    """
    check_no_key(path)
    splitter = load(path)
    return splitter if isinstance(splitter, SpanNodeParser) else ForeignNodeParser(path=path)


def _made(options: dict[str, Any]) -> Any:
    """The splitter that options without one stand for."""
    if options.get("path"):
        check_no_key(options["path"])
        return load(options["path"])
    name = options.get("splitter_class")
    what = f"the data do not hold the splitter {name} itself" if name else "there is no splitter"
    raise ConfigurationError(
        f"ForeignNodeParser: {what}; give it as splitter=…, or as path='module:Class(option=value)'"
    )


def _relate(parent: TextNode, child: TextNode) -> None:
    """Parent and child under ids that name the family: both may have the same span."""
    child.id_ = _id(parent.node_id, child)
    child.relationships[NodeRelationship.PARENT] = info_of(parent)
    siblings = parent.relationships.setdefault(NodeRelationship.CHILD, [])
    if isinstance(siblings, list):
        siblings.append(info_of(child))


def _id(within: str, node: TextNode) -> str:
    return str(uuid.uuid5(_NAMESPACE, f"{within}/{node.node_id}"))
