"""From a chunk below an answer to the same chunk in its document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.sent import Sent
from rag_nodes.apps.tabs.chunks.events import ChunkLocation
from rag_nodes.apps.visitors.requests import session_of
from rag_nodes.errors import RagNodesError

if TYPE_CHECKING:
    from rag_nodes.apps.tabs.chunks.events import ChunksEvents
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession, PageSessions
    from rag_nodes.query import Hit

GONE = "These chunks are gone: the documents were cut anew since."


class PlaceEvents:
    """What the event does.

    Args:
        sessions: where each visitor's work is.
        chunks: draws the chunk.
    """

    def __init__(self, sessions: PageSessions, chunks: ChunksEvents) -> None:
        self._sessions = sessions
        self._chunks = chunks

    def open(self, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """The chunk that was chosen, in the tab that draws chunks; see `ChunksEvents.open`."""
        session = session_of(self._sessions, request)
        found = _hit(session, Sent.of(event))
        place = _place(session.cuts, *found) if found else None
        if found and place is None:
            gr.Warning(GONE)
        return self._chunks.open(place, request)


def _hit(session: PageSession, sent: Sent) -> tuple[str, str, Hit] | None:
    """The chunk with the parser's name and fingerprint; None where there is none to show."""
    turn = next((one for one in session.turns if one.number == sent.turn), None)
    one = turn.column_at(sent.column) if turn else None
    if one is None or one.answer is None:
        return None
    hit = next((hit for hit in one.answer.hits if hit.rank == sent.rank), None)
    return (one.name, str(one.parser["fingerprint"]), hit) if hit else None


def _place(cuts: Cuts | None, strategy: str, fingerprint: str, hit: Hit) -> ChunkLocation | None:
    """Where it is among the chunks as they are cut now."""
    document = hit.node.ref_doc_id
    if cuts is None or document is None or document not in cuts.documents:
        return None
    parser = cuts.comparison.parsers.get(strategy)
    if parser is None or parser.fingerprint != fingerprint:
        return None
    try:
        nodes = cuts.nodes(strategy, document)
    except RagNodesError:
        return None
    ids = [node.node_id for node in nodes]
    if hit.node.node_id in ids:
        return ChunkLocation(strategy, document, chosen=ids.index(hit.node.node_id))
    # What was joined for the answer has an id of its own; it begins in one of these.
    start = hit.node.start_char_idx
    if start is None:
        return None
    ends = (position for position, node in enumerate(nodes) if (node.end_char_idx or 0) > start)
    return ChunkLocation(strategy, document, chosen=next(ends, None))
