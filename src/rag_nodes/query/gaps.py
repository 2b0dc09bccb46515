"""The white space between two chunks, which no chunk holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode

from rag_nodes.core import metadata as keys
from rag_nodes.query.locations import headings_of, pages_of, related, span_of
from rag_nodes.text.spans import WHITE_SPACE, Span

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.store import Hit
    from rag_nodes.text.filling import Ranked


class Gap(NamedTuple):
    """White space from the end of a chunk to the start of the next one."""

    span: Span
    text: str
    before: TextNode

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
            text = _white_space(hit.read, after[0].read, span.length)
            gaps[passage.document, span.start] = Gap(span, text, hit.read)
    return gaps


def _white_space(before: TextNode, after: TextNode, length: int) -> str:
    """The white space between two nodes.

    Our parsers note it unless it is a space or a blank line. Of other nodes it is not known: a
    space if a sentence goes on behind it, or a line end as in the nodes; else line breaks.
    """
    info = before.relationships.get(NodeRelationship.NEXT)
    noted = info.metadata.get(WHITE_SPACE) if isinstance(info, RelatedNodeInfo) else None
    if isinstance(noted, str) and len(noted) == length and noted.isspace():
        return noted
    is_ours = keys.START_CHAR in before.metadata
    if length == 1 and (is_ours or after.text[:1].islower()):
        return " "
    if length == len("\r\n") and not is_ours:
        for line_end in ("\r\n", " \n"):
            if line_end in before.text or line_end in after.text:
                return line_end
    return "\n" * length
