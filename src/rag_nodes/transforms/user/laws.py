"""What a transformation gave back, compared with what it was given: places, ids, numbers, links."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from llama_index.core.schema import BaseNode, NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes import metadata as keys
from rag_nodes.errors import TransformationError
from rag_nodes.parsers.nodes import link_neighbours
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.text.pages import PageMap
from rag_nodes.text.tokens import count_tokens

_NAMESPACE = uuid.UUID("6f6a3d0b-9c55-5b0e-8f43-2f7f0a7f4c11")
_NAMED_BY_CONTENT = 5
"""Version of UUIDs that follow from what they name, as those of all parsers here do."""
_OWN = (
    *(keys.SOURCE_HASH, keys.PARSER, keys.TOKEN_COUNT, keys.CHUNK_INDEX, keys.TOTAL_CHUNKS),
    *(keys.START_CHAR, keys.END_CHAR, keys.PAGE_START, keys.PAGE_END, keys.PAGE_BREAKS),
)
"""Metadata that the laws rest on: put back where a transformation wrote over them."""
_OFFSETS = (keys.START_CHAR, keys.END_CHAR, keys.PAGE_BREAKS, keys.HEADINGS_INSIDE)
"""Metadata that count characters of the document."""


class NodeBefore(NamedTuple):
    """What was known of a node before the transformations."""

    text: str
    start: int | None
    end: int | None
    source: RelatedNodeInfo | None
    own: dict[str, Any]


def snapshot(nodes: Sequence[BaseNode]) -> dict[str, NodeBefore]:
    """What is known of nodes that a transformation is going to change in place, by their ids."""
    return {
        node.node_id: NodeBefore(
            node.text,
            node.start_char_idx,
            node.end_char_idx,
            node.source_node,
            {key: node.metadata[key] for key in _OWN if key in node.metadata},
        )
        for node in nodes
        if isinstance(node, TextNode)
    }


def settled(
    given: Mapping[str, NodeBefore], nodes: Sequence[BaseNode], tokenizer: str
) -> list[BaseNode]:
    """The nodes with places, ids, numbers and neighbours that are true.

    Args:
        given: `snapshot` of what the transformations were given.
        nodes: what the last of them gave back.
        tokenizer: encoding that counts the tokens of new texts.

    Raises:
        TransformationError: a node names no document, or several have one id.
    """
    texts = [node for node in nodes if isinstance(node, TextNode)]
    touched = []
    for node in texts:
        known = given.get(node.node_id)
        if known is None or node.text != known.text:
            touched.append(node)
            continue
        node.start_char_idx, node.end_char_idx = known.start, known.end
        node.metadata.update(known.own)
        if known.source is not None:
            node.relationships[NodeRelationship.SOURCE] = known.source
    if touched:
        documents = _documents(given)
        for node in touched:
            _find_source(node, given)
            _find_place(node, documents.get(node.ref_doc_id or "", ""))
            node.metadata[keys.TOKEN_COUNT] = count_tokens(node.text, tokenizer)
    renamed = _rename(texts, given)
    if list(given) != [node.node_id for node in texts]:
        _relink(texts, renamed)
    return list(texts)


def _documents(given: Mapping[str, NodeBefore]) -> dict[str, str]:
    """The text of each document as far as its nodes hold it; what lies between them is left open.

    Offsets are those of the document.
    """
    spans: dict[str, list[tuple[int, str]]] = {}
    for known in given.values():
        if known.start is not None and known.source is not None:
            spans.setdefault(known.source.node_id, []).append((known.start, known.text))
    return {document: _joined(sorted(parts)) for document, parts in spans.items()}


def _joined(parts: Sequence[tuple[int, str]]) -> str:
    texts, position = [], 0
    for start, text in parts:
        if start + len(text) > position:
            texts += ["\0" * (start - position), text[max(0, position - start) :]]
            position = start + len(text)
    return "".join(texts)


def _find_source(node: TextNode, given: Mapping[str, NodeBefore]) -> None:
    """Tell a node its document: that of the chunk it was made of, or the only one there is.

    Raises:
        TransformationError: neither can be told.
    """
    known = given.get(node.node_id) or given.get(node.ref_doc_id or "")
    sources = {one.source.node_id: one.source for one in given.values() if one.source}
    if known is not None and known.source is not None:
        source: RelatedNodeInfo | None = known.source
    else:
        source = sources.get(node.ref_doc_id or "")
    if source is None and node.ref_doc_id is None and len(sources) == 1:
        [source] = sources.values()
    if source is None:
        raise TransformationError(
            f"node {node.node_id} is new and names no document it comes from; copy the SOURCE "
            "relationship of the node it was made of"
        )
    node.relationships[NodeRelationship.SOURCE] = source


def _find_place(node: TextNode, document: str) -> None:
    """Keep the offsets of a node that is that slice of its document, and drop all others."""
    start, end = node.start_char_idx, node.end_char_idx
    claimed = None not in (start, end) and document[start:end] == node.text
    if claimed and start is not None and end is not None and 0 <= start < end:
        pages = PageMap.of(node.metadata)
        node.metadata.pop(keys.PAGE_BREAKS, None)
        facts = pages.facts(start, end) if pages else {}
        node.metadata.update({**facts, keys.START_CHAR: start, keys.END_CHAR: end})
        return
    node.start_char_idx = node.end_char_idx = None
    for key in _OFFSETS:
        node.metadata.pop(key, None)


def _rename(nodes: Sequence[TextNode], given: Mapping[str, NodeBefore]) -> dict[str, str]:
    """Give new nodes ids that follow from what they are; former ids to present ones.

    Raises:
        TransformationError: two nodes have the same id, of which a store would keep one.
    """
    renamed: dict[str, str] = {}
    for position, node in enumerate(nodes):
        if node.node_id in given or _is_stable(node.node_id):
            continue
        parser = node.metadata.get(keys.PARSER)
        name = f"{node.ref_doc_id}/{parser}/{position}/{node.text}"
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        renamed[node.node_id] = node.id_ = str(uuid.uuid5(_NAMESPACE, digest))
    if len({node.node_id for node in nodes}) < len(nodes):
        raise TransformationError(
            "the transformations gave back several nodes under one id; give each its own"
        )
    return renamed


def _is_stable(node_id: str) -> bool:
    try:
        return uuid.UUID(node_id).version == _NAMED_BY_CONTENT
    except ValueError:
        return False


def _relink(nodes: Sequence[TextNode], renamed: Mapping[str, str]) -> None:
    """Number and link nodes of which some came, went or moved."""
    present = {node.node_id for node in nodes}

    def kept(info: RelatedNodeInfo) -> bool:
        info.node_id = renamed.get(info.node_id, info.node_id)
        return info.node_id in present

    for node in nodes:
        related = node.relationships
        related.pop(NodeRelationship.NEXT, None)
        related.pop(NodeRelationship.PREVIOUS, None)
        if node.parent_node and not kept(node.parent_node):
            del related[NodeRelationship.PARENT]
        if children := [*filter(kept, node.child_nodes or ())]:
            related[NodeRelationship.CHILD] = children
        else:  # stored as a parent and found as a chunk, it would be neither
            related.pop(NodeRelationship.CHILD, None)
    for leaves in (True, False):
        link_neighbours([node for node in nodes if is_leaf(node) is leaves], relate=True)
