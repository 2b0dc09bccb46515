"""The white space between two chunks, which no chunk holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.query.locations import headings_of, pages_of, related, span_of
from rag_nodes.text.spans import WHITE_SPACE, Span

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.store import Hit
    from rag_nodes.text.filling import Ranked


class Gap(NamedTuple):
    """White space from the end of a chunk to the start of the next one.

    `is_sure` says if these very characters are stored, and not their number alone.
    """

    span: Span
    text: str
    before: TextNode
    is_sure: bool

    def node(self) -> TextNode:
        """The white space as a node, so that a slice can go through it."""
        end = len(self.before.text)
        page, _ = pages_of(self.before, max(0, end - 1), end)
        pages = {keys.PAGE_START: page, keys.PAGE_END: page} if page else {}
        path = {keys.HEADING_PATH: list(headings_of(self.before, end))}
        return TextNode(
            text=self.text,
            start_char_idx=self.span.start,
            end_char_idx=self.span.end,
            metadata={**pages, **path},
        )


def gaps_of(pieces: Sequence[tuple[Hit, Ranked]]) -> dict[tuple[str, int], Gap]:
    """Gaps between chunks of which one follows the other, by document and offset."""
    following = {hit.node.node_id: (hit, passage) for hit, passage in pieces if span_of(hit.read)}
    gaps = {}
    for hit, passage in pieces:
        after = following.get(related(hit.read, NodeRelationship.NEXT) or "")
        if after is None or after[1].document != passage.document:
            continue
        span = Span(passage.span.end, after[1].span.start)
        if span.length > 0:
            gaps[passage.document, span.start] = _gap(span, hit.read, after[0].read)
    return gaps


def gaps_between(nodes: Mapping[str, TextNode]) -> list[Gap]:
    """Return the gaps between nodes of a document, by id; of our parsers, as others lose text."""
    gaps = []
    for before in nodes.values():
        after = nodes.get(related(before, NodeRelationship.NEXT) or "")
        first, second = span_of(before), after and span_of(after)
        if after and first and second and keys.START_CHAR in before.metadata:
            span = Span(first.end, second.start)
            gaps += [_gap(span, before, after)] if span.length > 0 else []
    return gaps


def _gap(span: Span, before: TextNode, after: TextNode) -> Gap:
    """White space between two nodes.

    Our parsers note it unless it is a space or holds a blank line. Of other nodes it is not known:
    blanks if a sentence goes on behind it, else line breaks.
    """
    info = before.relationships.get(NodeRelationship.NEXT)
    noted = info.metadata.get(WHITE_SPACE) if isinstance(info, RelatedNodeInfo) else None
    if isinstance(noted, str) and len(noted) == span.length and noted.isspace():
        return Gap(span, noted, before, is_sure=True)
    is_ours = keys.START_CHAR in before.metadata
    if is_ours and span.length == 1:
        return Gap(span, " ", before, is_sure=True)
    goes_on = not is_ours and after.text[:1].islower()
    return Gap(span, (" " if goes_on else "\n") * span.length, before, is_sure=False)
