"""Two levels of nodes from any two parsers: small ones to find, large ones to read."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from llama_index.core.bridge.pydantic import Field, PrivateAttr, model_validator
from llama_index.core.schema import (
    BaseNode,
    Document,
    NodeRelationship,
    ObjectType,
    RelatedNodeInfo,
    TextNode,
)

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.several import several_nodes
from rag_nodes.parsers.base import SpanNodeParser, counted
from rag_nodes.parsers.nodes import link_neighbours
from rag_nodes.parsers.presets import preset_named
from rag_nodes.parsers.source import ChunkSpan, SourceText

_NAMESPACE = uuid.UUID("0b5a3c52-3f0e-5b57-9a0c-6d6f7c1d4e21")
_Family = tuple[TextNode, list[TextNode]]
_PARENT_OPTIONS = {"chunk_size": 1500, "min_chunk_size": 500}
_CHILD_OPTIONS = {"chunk_size": 250, "chunk_overlap": 0, "whole_document_below": 0}


class ParentChildNodeParser(SpanNodeParser):
    r"""Splits a document into parents and each parent into children.

    All nodes are returned, the parents first; `leaf_nodes` picks the children, which are what one
    embeds. PARENT and CHILD relations are those LlamaIndex's `AutoMergingRetriever` follows: keep
    all nodes in the docstore, the leaves in the vector index.

    Each level keeps the laws on its own. The parents are those their parser would make, in order,
    and cover the document. The children of one parent are in order and cover that parent; where
    parents overlap, so do the children of neighbours. `chunk_index` counts within a level, and
    PREVIOUS and NEXT lead through a whole level of the document.

    Args:
        parent: preset that makes the parents.
        parent_options: options of the parents' parser, as plain data. Options that you leave out
            keep their defaults; with another `parent`, those of that preset.
        child: preset that makes the children.
        child_options: options of the children's parser, likewise. Children must be smaller than
            parents if both are measured in the same unit.

    `tokenizer`, `language`, `include_metadata` and `include_prev_next_rel` hold for both levels;
    the first two may be set for one of them in its options.

    Raises:
        ConfigurationError: a preset or option is unknown, an option is not plain data, or a
            level is itself a family, or the children are not smaller than the parents.

    Examples:
        >>> from rag_nodes import ParentChildNodeParser
        >>> parser = ParentChildNodeParser(
        ...     parent="heading", parent_options={"min_chunk_size": 0},
        ...     child="token-overlap",
        ...     child_options={"chunk_size": 12, "chunk_overlap": 0, "whole_document_below": 0},
        ... )
        >>> parser.split_text("# Tea\nGreen tea takes eighty degrees. Black tea boiling water.")
        ['# Tea\nGreen tea takes eighty degrees.', 'Black tea boiling water.']
    """

    output_version: ClassVar[int] = 4
    """4: neighbours share a word that just fits into a number of characters."""

    parent: str = Field(default="heading")
    parent_options: dict[str, Any] = Field(default=_PARENT_OPTIONS)
    child: str = Field(default="token-overlap")
    child_options: dict[str, Any] = Field(default=_CHILD_OPTIONS)
    _parents: SpanNodeParser = PrivateAttr()
    _children: SpanNodeParser = PrivateAttr()

    @model_validator(mode="before")
    @classmethod
    def _add_default_options(cls, data: Any) -> Any:
        """Complete the options of a level that its default preset makes."""
        options = dict(data)
        for level, defaults in (("parent", _PARENT_OPTIONS), ("child", _CHILD_OPTIONS)):
            default_preset = cls.model_fields[level].default
            own = options.get(f"{level}_options", {})
            if isinstance(own, dict):
                kept = defaults if options.get(level, default_preset) == default_preset else {}
                options[f"{level}_options"] = {**kept, **own}
        return options

    def _check(self) -> None:
        self._parents = self._level("parent", self.parent, self.parent_options)
        self._children = self._level("child", self.child, self.child_options)
        (large, unit), (small, other) = map(_size_of, (self._parents, self._children))
        if unit == other and small >= large:
            raise ConfigurationError(
                f"children of up to {small} {unit} must be smaller than their parents of up to "
                f"{large}; lower chunk_size in child_options, or raise it in parent_options"
            )

    def _level(self, level: str, preset: str, options: dict[str, Any]) -> SpanNodeParser:
        try:
            json.dumps(options)
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"{level}_options must be plain data (text, numbers, lists): {error}"
            ) from error
        settled = {"include_metadata", "include_prev_next_rel"} & options.keys()
        if settled:
            raise ConfigurationError(
                f"{level}_options must not hold {', '.join(sorted(settled))}: "
                "set it on ParentChildNodeParser, for both levels"
            )
        both: dict[str, Any] = {
            "tokenizer": self.tokenizer,
            "language": self.language,
            "include_metadata": self.include_metadata,
        }
        parser = preset_named(preset).make(**{**both, **options})
        if isinstance(parser, ParentChildNodeParser):
            raise ConfigurationError(
                f"{level} must not be '{preset}': it has two levels of its own; choose another "
                f"preset"
            )
        return parser

    def spans(self, source: SourceText) -> Iterator[ChunkSpan]:
        """The children of all parents, in the order of their parents."""
        nodes = self.get_nodes_from_documents([Document(text=source.text)])
        for leaf in leaf_nodes(nodes):
            yield ChunkSpan(leaf.start_char_idx or 0, leaf.end_char_idx or 0)

    def _parse_nodes(
        self,
        nodes: Sequence[BaseNode],
        show_progress: bool = False,  # noqa: FBT001, FBT002 -- LlamaIndex's signature
        **_kwargs: Any,
    ) -> list[BaseNode]:
        parents = self._own(self._parents(nodes, show_progress=show_progress))
        to_cut = counted(parents, len(parents), show_progress=show_progress)
        return self._relate(
            [
                (parent, self._own(self._children([parent] if parent.text else [])))
                for parent in to_cut
            ]
        )

    def _own(self, nodes: Iterable[BaseNode]) -> list[TextNode]:
        """The nodes of a level under ids of ours: the same preset alone makes others (L8)."""
        own = [node for node in nodes if isinstance(node, TextNode)]
        for node in own:
            node.id_ = str(uuid.uuid5(_NAMESPACE, f"{self.fingerprint}/{node.node_id}"))
            node.metadata[keys.PARSER] = f"{self.class_name()}:{self.fingerprint}"
        return own

    def _relate(self, families: Sequence[_Family]) -> list[BaseNode]:
        """Both levels, one after the other, each linked within itself and to the other."""
        for parent, children in families:
            if children:  # what has no text stands for itself
                parent.relationships[NodeRelationship.CHILD] = list(map(info_of, children))
            for child in children:
                child.relationships[NodeRelationship.PARENT] = info_of(parent)
        levels = (
            [parent for parent, _ in families],
            [child for _, children in families for child in children],
        )
        for level in levels:
            for node in level:
                node.relationships.pop(NodeRelationship.NEXT, None)
                node.relationships.pop(NodeRelationship.PREVIOUS, None)
            link_neighbours(level, relate=self.include_prev_next_rel)
        return [node for level in levels for node in level]


@checks_keywords
def leaf_nodes(nodes: Sequence[BaseNode]) -> list[TextNode]:
    """Return the nodes without children, in order, which are those to embed.

    Of a parser that makes no parents these are all nodes.
    """
    given = several_nodes(nodes)
    return [node for node in given if isinstance(node, TextNode) and is_leaf(node)]


def _size_of(parser: SpanNodeParser) -> tuple[int, str]:
    """Return the maximum size of a parser's nodes and its unit."""
    return getattr(parser, "chunk_size", 0), getattr(parser, "unit", "tokens")


def is_leaf(node: BaseNode) -> bool:
    """Return True if no other node was split from it."""
    return not node.relationships.get(NodeRelationship.CHILD)


def parents_first(nodes: Sequence[BaseNode]) -> list[BaseNode]:
    """The nodes with each parent right before the first of its children.

    Whoever writes them in this order, in batches, has the parents of all children that are written.
    """
    parents = {node.node_id: node for node in nodes if not is_leaf(node)}
    ordered: dict[str, BaseNode] = {}
    for leaf in filter(is_leaf, nodes):
        above: list[BaseNode] = []
        info = leaf.parent_node
        while info and info.node_id in parents and info.node_id not in ordered:
            above.append(parents[info.node_id])
            info = above[-1].parent_node
        ordered |= {node.node_id: node for node in (*reversed(above), leaf)}
    return [
        *ordered.values(),
        *(node for node_id, node in parents.items() if node_id not in ordered),
    ]


def info_of(node: TextNode) -> RelatedNodeInfo:
    """Return the reference by which a node of another level names it."""
    return RelatedNodeInfo(node_id=node.node_id, node_type=ObjectType.TEXT)
