"""Splits to nodes: ids, offsets, metadata, pages and neighbours."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from typing import Any, TypeVar

from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    ObjectType,
    RelatedNodeInfo,
    TextNode,
)
from pydantic import BaseModel

from rag_nodes.core import metadata as keys
from rag_nodes.parsers.media import blank_node
from rag_nodes.parsers.source import NO_FACTS, ChunkSpan, Origin, SourceText
from rag_nodes.text.formats import below
from rag_nodes.text.spans import WHITE_SPACE, Span
from rag_nodes.text.tables import column_names
from rag_nodes.text.tokens import is_estimate

_Model = TypeVar("_Model", bound=BaseModel)

_NAMESPACE = uuid.UUID("5f1d1b0e-6b1c-5e0e-9a55-7d2f4a3c9b10")
_FORM = ("metadata_template", "metadata_separator", "text_template")
"""Templates of a document by which LlamaIndex writes a node's metadata and text for a model."""
_NOTED = re.compile(r"[^\S\r\n]{0,32}(?:\r\n|[^\S ]|  )[^\S\r\n]{0,32}")
"""White space between two nodes that may stand inside a sentence and is more than a space."""
_NEIGHBOUR = RelatedNodeInfo(node_id="", node_type=ObjectType.TEXT)


def build_nodes(
    origin: Origin, source: SourceText, cuts: Iterable[ChunkSpan], *, parser: str, inherit: bool
) -> list[TextNode]:
    """One node per split, with everything but its neighbours."""
    facts = origin.inherited() if inherit else {}
    shared = {key: value for key, value in facts.items() if key not in keys.NOT_INHERITED}
    shared[keys.PARSER] = parser
    shared[keys.TEXT_FORMAT] = source.text_format.value
    if is_estimate(source.encoding):
        shared[keys.TOKEN_COUNT_ESTIMATED] = True
    maker = _NodeMaker(origin, source, parser, shared)
    every = list(cuts)
    nodes = [maker.make(cut) for cut in every]
    for node, cut, following in zip(nodes, every, every[1:], strict=False):
        if _NOTED.fullmatch(source.text, cut.end, max(cut.end, following.start)):
            between = {WHITE_SPACE: source.text[cut.end : following.start]}
            node.relationships[NodeRelationship.NEXT] = copied(_NEIGHBOUR, metadata=between)
    return nodes


class _NodeMaker:
    """Makes the nodes of one document or node; what they share is worked out once."""

    def __init__(
        self, origin: Origin, source: SourceText, parser: str, shared: dict[str, Any]
    ) -> None:
        node = origin.node
        self.origin = origin
        self.blank = blank_node(node)
        self.source = source
        self.shared = shared
        self.nested = {k: v for k, v in shared.items() if isinstance(v, (list, dict, set))}
        self.tables = origin.tables_of(source)
        source_of = str(node.metadata.get(keys.SOURCE, ""))
        self.address = source_of.partition("#")[0] if "://" in source_of else ""
        self.root = node.source_node or RelatedNodeInfo(
            node_id=node.node_id, node_type=ObjectType.DOCUMENT, hash=_hash_of(node)
        )
        self.form = {name: getattr(node, name) for name in _FORM if hasattr(node, name)}
        chained = node.source_node is not None
        name = f"{origin.document_id}/{node.node_id if chained else ''}/{parser}/"
        self.name = hashlib.sha1(_NAMESPACE.bytes + name.encode(), usedforsecurity=False)

    def make(self, cut: ChunkSpan) -> TextNode:
        text = self.source.text[cut.start : cut.end]
        facts = self.origin.believed(cut.facts)
        metadata = {**self.shared, **self._place(cut), **facts, **self._headings(cut)}
        metadata |= self._table(cut)
        if cut.window is not None:
            metadata |= self._window(cut.window, text)
        if self.nested:  # so that a change to one node is none to its neighbours
            metadata.update(deepcopy(self.nested))
        metadata[keys.TOKEN_COUNT] = self.source.count(cut.start, cut.end)
        if self.address and metadata.get(keys.LINK, "").startswith("#"):
            metadata[keys.LINK] = self.address + metadata[keys.LINK]
        base = self.origin.base
        node = self.origin.node
        # Metadata is all that there is to embed of an image without text, as in LlamaIndex.
        present = tuple(metadata) if text else tuple(metadata.keys() - node.metadata.keys())
        return copied(
            self.blank,
            id_=self._id(cut, text),
            text=text,
            start_char_idx=None if base is None else base + cut.start,
            end_char_idx=None if base is None else base + cut.end,
            metadata=metadata,
            excluded_embed_metadata_keys=_hidden(present, node.excluded_embed_metadata_keys),
            excluded_llm_metadata_keys=_hidden(present, node.excluded_llm_metadata_keys),
            **self.form,
            relationships={NodeRelationship.SOURCE: self.root},
        )

    def _window(self, window: Span, own: str) -> dict[str, Any]:
        """Return the window that is read in place of the node, an exact slice of the document."""
        whole = ChunkSpan(*window)
        return {
            keys.WINDOW: window.of(self.source.text),
            keys.ORIGINAL_TEXT: own,
            keys.WINDOW_PLACE: {
                **self._place(whole),
                **self._headings(whole),
                **self._table(whole),
            },
        }

    def _table(self, cut: ChunkSpan) -> Mapping[str, Any]:
        """The header of the table that the node begins inside of, and its column names."""
        return table_facts(self.tables.header_at(cut.start))

    def _headings(self, cut: ChunkSpan) -> Mapping[str, Any]:
        """Headings above the node and inside it, and what follows from them.

        Of a document: what the strategy says, else what its metadata says, else its own text. Of a
        fragment: what the parser before us found, as only that one saw what stands around it.
        """
        if not self.origin.is_document:
            path, link = self.origin.headings_above(cut.start)
            inside = self.origin.headings_inside(cut.start, cut.end)
            return {**_named(path, inside), **({keys.LINK: link} if link else {})}
        inherited = self.shared.get(keys.HEADING_PATH)
        if self.origin.base is None:  # what stands above it is as unknown as its place
            return _named(list(inherited or ()), [])
        stated = cut.facts.get(keys.HEADING_PATH)  # empty where the strategy knows of none
        if stated is None and not inherited:
            return self._found(cut)
        path = list(stated or inherited or ())
        return _named(path, [] if inherited else self._inside(cut, path))

    def _found(self, cut: ChunkSpan) -> Mapping[str, Any]:
        """Return the headings in the text of a document, for which nothing else states any."""
        tree, title = self.source.packer.headings, self.source.title
        if not (tree.headings or title):
            return NO_FACTS
        root, above = tree.root(title), tree.above(cut.start)
        inside = [(h.block.start, h.path) for h in tree.inside(cut.start, cut.end)]
        named = _named(below(root, above.path if above else ()), self._under(root, inside))
        link = above.anchor if above else ""
        return {**named, keys.LINK: self.address + link} if link else named

    def _inside(self, cut: ChunkSpan, stated: list[str] | None) -> list[list[Any]]:
        """`[offset, path]` of the headings in a node.

        Where the node is named after another section than it starts in, its start is one of them.
        """
        tree, title = self.source.packer.headings, self.source.title
        root = tree.root(title) if stated and stated[:1] == [title] else ()
        headings = [(h.block.start, h.path) for h in tree.inside(cut.start, cut.end)]
        opening = tree.path_at(cut.start)
        if stated and [*root, *opening] != stated:
            elsewhere = any([*root, *path] == stated for _, path in headings)
            if opening or elsewhere:
                headings.insert(0, (cut.start, opening))
        return self._under(root, headings)

    def _under(
        self, root: Sequence[str], headings: Iterable[tuple[int, Sequence[str]]]
    ) -> list[list[Any]]:
        base = self.origin.base or 0
        return [[base + offset, below(root, path)] for offset, path in headings]

    def _id(self, cut: ChunkSpan, text: str) -> str:
        """UUIDv5 of the document, the parser, the span and the text (L8).

        What all nodes of a document share is hashed once; `uuid.uuid5` would hash it every time.
        """
        base = self.origin.base or 0
        name = self.name.copy()
        name.update(f"{base + cut.start}-{base + cut.end}/".encode())
        name.update(text.encode("utf-8", "surrogatepass"))
        return _uuid5(name.hexdigest())

    def _place(self, cut: ChunkSpan) -> dict[str, Any]:
        """Offsets and pages; nothing where the document offset is unknown."""
        base = self.origin.base
        if base is None:
            return {}
        start, end = base + cut.start, base + cut.end
        place: dict[str, Any] = {keys.START_CHAR: start, keys.END_CHAR: end}
        if self.origin.pages is not None:
            place |= self.origin.pages.facts(start, end)
        return place


def _named(path: list[str], inside: list[list[Any]]) -> dict[str, Any]:
    """The metadata that tells of headings; none where there are none."""
    facts: dict[str, Any] = {}
    if path:
        facts[keys.HEADING_PATH] = path
        facts[keys.HEADING] = path[-1]
        facts[keys.BREADCRUMB] = " > ".join(path)
    if inside:
        facts[keys.HEADINGS_INSIDE] = inside
    return facts


def table_facts(header: str) -> Mapping[str, Any]:
    """The metadata of a node that begins inside a table with these header rows; none for ""."""
    if not header:
        return NO_FACTS
    names = column_names(header)
    return {keys.TABLE_HEADER: header} | ({keys.TABLE: names} if names else {})


def _hidden(present: tuple[str, ...], excluded: Sequence[str]) -> list[str]:
    """Return the metadata keys that a document hides from models, and those for bookkeeping."""
    return list(_all_hidden(present, tuple(excluded)))


@lru_cache(maxsize=256)  # few documents differ in it
def _all_hidden(present: tuple[str, ...], excluded: tuple[str, ...]) -> tuple[str, ...]:
    own = {*present, keys.CHUNK_INDEX, keys.TOTAL_CHUNKS}.intersection(keys.BOOKKEEPING)
    return tuple(sorted(own.union(excluded)))


def _uuid5(digits: str) -> str:
    """A SHA-1 in hex as a UUID of version 5 (RFC 9562); `uuid.UUID` takes five times as long."""
    variant = "89ab"[int(digits[16], 16) & 3]
    return f"{digits[:8]}-{digits[8:12]}-5{digits[13:16]}-{variant}{digits[17:20]}-{digits[20:32]}"


def _hash_of(node: BaseNode) -> str:
    """LlamaIndex's hash of a document, also where lone surrogates make it fail."""
    try:
        return str(node.hash)
    except UnicodeEncodeError:
        text = node.get_content() + str(node.metadata)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def link_neighbours(nodes: Sequence[TextNode], *, relate: bool) -> None:
    """Number the nodes of each document and, if asked to, link them to their neighbours (L9).

    Also across the nodes another parser split the document into.
    """
    by_document: dict[str, list[TextNode]] = {}
    for node in nodes:
        by_document.setdefault(node.ref_doc_id or "", []).append(node)
    for family in by_document.values():
        for index, node in enumerate(family):
            node.metadata[keys.CHUNK_INDEX] = index
            node.metadata[keys.TOTAL_CHUNKS] = len(family)
        if relate:
            _relate(family)
        else:
            for node in family:
                node.relationships.pop(NodeRelationship.NEXT, None)


def _relate(family: Sequence[TextNode]) -> None:
    infos = [copied(_NEIGHBOUR, node_id=node.id_, metadata={}) for node in family]
    for node, following in zip(family, infos[1:], strict=False):
        noted = node.relationships.get(NodeRelationship.NEXT)
        if isinstance(noted, RelatedNodeInfo):
            following = copied(noted, node_id=following.node_id)  # noqa: PLW2901 -- knows more
        node.relationships[NodeRelationship.NEXT] = following
    for node, previous in zip(family[1:], infos, strict=False):
        node.relationships[NodeRelationship.PREVIOUS] = previous


def copied(checked: _Model, **changes: Any) -> _Model:
    """A model with some values changed, which are right by construction and not checked again.

    What `model_copy` does in twice the time, and making a node again in four times: checking
    thousands of equal nodes costs more than splitting them. For models without private attributes;
    values that are not changed are shared with the other model.
    """
    twin: _Model = object.__new__(type(checked))
    adopt = object.__setattr__
    adopt(twin, "__dict__", {**checked.__dict__, **changes})
    adopt(twin, "__pydantic_fields_set__", set(changes))
    adopt(twin, "__pydantic_extra__", None)
    adopt(twin, "__pydantic_private__", None)
    return twin
