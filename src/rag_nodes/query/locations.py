"""Locations of nodes in their documents: characters, pages, headings; and exact slices of these."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_OID, uuid5

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.core.foreign_metadata import usable
from rag_nodes.parsers.nodes import table_facts
from rag_nodes.text.formats import format_in
from rag_nodes.text.spans import PageMap, Span
from rag_nodes.text.tables import Tables, may_hold_tables
from rag_nodes.text.tokens import count_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


_LETTERS_PER_TOKEN = 4


def document_of(node: TextNode) -> str:
    """Return the key that all nodes of a document share: its id, else its source."""
    return node.ref_doc_id or str(node.metadata.get(keys.SOURCE) or node.node_id)


def span_of(node: TextNode) -> Span | None:
    """The node's characters in its document; None where offsets are missing or contradict it."""
    start, end = node.start_char_idx, node.end_char_idx
    if start is None or end is None or end - start != len(node.text):
        return None
    return Span(start, end)


def located(node: TextNode, document: str | None = None) -> TextNode:
    """Return a usable node, without offsets that its text, metadata or document contradict.

    It has its own pages if those of its document are known, which stock splitters only copy.
    A splitter behind another one counts from the start of what it splits, and leaves the offsets
    that the other one noted in the metadata.

    Args:
        node: of any splitter.
        document: text of its document; None if it is not at hand.
    """
    node = usable(node)
    if node.start_char_idx is None and node.end_char_idx is None:
        return node
    span = span_of(node)
    noted = (node.metadata.get(keys.START_CHAR), node.metadata.get(keys.END_CHAR))
    if span and noted in ((None, None), span) and (not document or span.of(document) == node.text):
        pages = None if keys.PAGE_START in node.metadata else PageMap.of(node.metadata)
        return _with_facts(node, pages.facts(*span)) if pages else node
    return node.model_copy(update={"start_char_idx": None, "end_char_idx": None})


def _with_facts(node: TextNode, facts: dict[str, Any]) -> TextNode:
    """Return a node with further metadata, which neither embedding model nor LLM reads."""
    changes: dict[str, Any] = {"metadata": {**node.metadata, **facts}}
    for field in ("excluded_embed_metadata_keys", "excluded_llm_metadata_keys"):
        changes[field] = [*getattr(node, field), *facts]
    return node.model_copy(update=changes)


def tokens_of(node: TextNode) -> float:
    """Return the tokens of a node: as its parser counted them, else estimated from its length."""
    return float(node.metadata.get(keys.TOKEN_COUNT) or len(node.text) / _LETTERS_PER_TOKEN)


def related(node: TextNode, relationship: NodeRelationship) -> str | None:
    """The id of the one node that a node has this relationship to; None where there is none."""
    info = node.relationships.get(relationship)
    return info.node_id if isinstance(info, RelatedNodeInfo) else None


def headings_of(node: TextNode, start: int) -> tuple[str, ...]:
    """Headings above an offset inside a node, outermost first."""
    path = node.metadata.get(keys.HEADING_PATH) or ()
    if start and node.start_char_idx is not None:
        for offset, inner in node.metadata.get(keys.HEADINGS_INSIDE) or ():
            if offset <= node.start_char_idx + start:
                path = inner
    return tuple(path)


def sections_of(node: TextNode) -> Iterator[tuple[Span, tuple[str, ...]]]:
    """Yield the parts of a node from heading to heading, and the headings above each part.

    Nothing if its place is not known.
    """
    if (own := span_of(node)) is None:
        return
    inside = node.metadata.get(keys.HEADINGS_INSIDE) or ()
    turns = [(at, tuple(path)) for at, path in inside if own.start <= at < own.end]
    starts = [(own.start, headings_of(node, 0)), *turns]
    ends = [*(at for at, _ in turns), own.end]
    for (start, path), end in zip(starts, ends, strict=True):
        if start < end:
            yield Span(start, end), path


def tables_of(node: TextNode) -> Tables:
    """Return the tables in a node's text, the one that it begins inside of with its header."""
    above = str(node.metadata.get(keys.TABLE_HEADER) or "")
    if not above and not may_hold_tables(node.text):
        return Tables(())
    return Tables.of(node.text, format_in(node.metadata, node.text), above)


def pages_of(node: TextNode, start: int, end: int) -> tuple[int | None, int | None]:
    """First and last page of some characters of a node."""
    pages = PageMap.of(node.metadata)
    if pages is None:
        return None, None
    if node.start_char_idx is None:
        label = keys.page_number(node.metadata.get(keys.PAGE_LABEL))
        first = node.metadata.get(keys.PAGE_START, label)  # a document that is read whole has none
        return first, node.metadata.get(keys.PAGE_END) or first
    facts = pages.facts(node.start_char_idx + start, node.start_char_idx + end)
    return facts[keys.PAGE_START], facts[keys.PAGE_END]


_PAGES = (keys.PAGE_START, keys.PAGE_END)
_ABOVE = (keys.HEADING_PATH, keys.HEADING, keys.BREADCRUMB)


def slice_of(nodes: Sequence[TextNode], span: Span, header: str = "") -> TextNode:
    """Characters of a document, held by `nodes`, as a node with their own pages and headings.

    `header` has the header rows of the table that they begin inside of, if the first node does not.
    """
    parts = covering(nodes, span)
    first = parts[0]
    base = first.start_char_idx or 0
    text = joined_text(parts)[span.start - base : span.end - base]
    facts = {**_lasting(first, _ABOVE), **table_facts(header), **place_of(parts, span)}
    return _node(first, text, span, metadata=facts)


def part_of(node: TextNode, start: int, end: int) -> TextNode:
    """The same of a node whose place is not known; offsets are those inside its text."""
    text = node.text[start:end]
    pages = {key: node.metadata[key] for key in _PAGES if key in node.metadata}
    table = table_facts(tables_of(node).header_at(start))
    facts = {**_lasting(node), **pages, **table, keys.TOKEN_COUNT: count_tokens(text)}
    return _node(
        node, text, Span(start, end), start_char_idx=None, end_char_idx=None, metadata=facts
    )


def covering(nodes: Iterable[TextNode], span: Span) -> list[TextNode]:
    """As few of the nodes as hold a span, in order; each reaches beyond those before it."""
    chosen: list[TextNode] = []
    reached = span.start
    placed = [(own, node) for node in nodes if (own := span_of(node)) and own.overlap(span)]
    while placed and reached < span.end:
        able = [pair for pair in placed if pair[0].start <= reached < pair[0].end]
        if not able:
            break
        own, node = max(able, key=lambda pair: pair[0].end)
        chosen.append(node)
        reached = own.end
    return chosen


def joined_text(parts: Sequence[TextNode]) -> str:
    """The text from the start of the first of overlapping or touching nodes to the last's end."""
    start, text = parts[0].start_char_idx or 0, ""
    for part in parts:
        text += part.text[max(0, start + len(text) - (part.start_char_idx or 0)) :]
    return text


def place_of(parts: Sequence[TextNode], span: Span) -> dict[str, Any]:
    """Offsets, tokens, pages, headings and table of a span of what `covering` returned."""
    base = parts[0].start_char_idx or 0
    text = joined_text(parts)[span.start - base : span.end - base]
    return {
        keys.START_CHAR: span.start,
        keys.END_CHAR: span.end,
        keys.TOKEN_COUNT: count_tokens(text),
        **_pages(parts, span),
        **_headings(parts, span),
        **table_facts(tables_of(parts[0]).header_at(span.start - base)),
    }


def _node(
    model: TextNode, text: str, span: Span, *, metadata: dict[str, Any], **fields: Any
) -> TextNode:
    """A node of the same document with some fields; its id says what it is a slice of."""
    hidden = {*metadata}.intersection(keys.BOOKKEEPING)
    name = document_of(model) if span_of(model) else model.node_id
    return model.model_copy(
        update={
            "id_": str(uuid5(NAMESPACE_OID, f"{name}/{span.start}-{span.end}")),
            "text": text,
            "start_char_idx": span.start,
            "end_char_idx": span.end,
            "relationships": {
                kind: relationship
                for kind, relationship in model.relationships.items()
                if kind == NodeRelationship.SOURCE
            },
            "metadata": metadata,
            "excluded_embed_metadata_keys": sorted(
                hidden.union(model.excluded_embed_metadata_keys)
            ),
            "excluded_llm_metadata_keys": sorted(hidden.union(model.excluded_llm_metadata_keys)),
            **fields,
        }
    )


def _lasting(node: TextNode, known_below: Sequence[str] = ()) -> dict[str, Any]:
    """The metadata of a node that is true of all of its document or section."""
    without = keys.NOT_INHERITED.union(known_below if node.metadata.get(keys.HEADING_PATH) else ())
    return {key: value for key, value in node.metadata.items() if key not in without}


def _regions(parts: Sequence[TextNode], span: Span) -> Iterator[tuple[TextNode, Span]]:
    """Yield the text that each part adds to those before it, as far as the span goes."""
    reached = span.start
    for part in parts:
        end = min(span.end, part.end_char_idx or 0)
        if end > reached:
            yield part, Span(reached, end)
            reached = end


def _pages(parts: Sequence[TextNode], span: Span) -> dict[str, Any]:
    """First and last page, and where they are turned; nothing where the nodes know no pages."""
    first = last = 0
    breaks: list[int] = []
    for part, (start, end) in _regions(parts, span):
        pages = PageMap.of(part.metadata)
        if pages is None:
            return {}
        opening = pages.page_of(start)
        first = first or opening
        breaks += [start] * (opening - (last or opening))
        breaks += pages.breaks_within(start, end)
        last = pages.page_of(end - 1)
    facts: dict[str, Any] = {keys.PAGE_START: first, keys.PAGE_END: last}
    return {**facts, keys.PAGE_BREAKS: breaks} if breaks else facts


def _headings(parts: Sequence[TextNode], span: Span) -> dict[str, Any]:
    """Headings above the span and inside it."""
    first = parts[0]
    above = _path(first, span.start)
    inside: list[list[Any]] = []
    current = above
    for part, (start, end) in _regions(parts, span):
        turns = part.metadata.get(keys.HEADINGS_INSIDE) or ()
        starts = [(start, _path(part, start)), *((at, path) for at, path in turns)]
        for at, path in starts:
            if start <= at < end and list(path) != current:
                inside.append([at, list(path)])
                current = list(path)
    facts: dict[str, Any] = {}
    if above:
        facts = {
            keys.HEADING_PATH: above,
            keys.HEADING: above[-1],
            keys.BREADCRUMB: " > ".join(above),
        }
    return {**facts, keys.HEADINGS_INSIDE: inside} if inside else facts


def _path(node: TextNode, offset: int) -> list[str]:
    return list(headings_of(node, offset - (node.start_char_idx or 0)))
