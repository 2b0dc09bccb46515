"""Marking the answer to a question: from what is selected on the page to characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.inside_gradio import Drawn, now, texts_of
from rag_nodes.apps.markup import count, render
from rag_nodes.apps.tabs.document import ChunkLocation
from rag_nodes.apps.visitors.choice import MOST_QUESTION
from rag_nodes.apps.visitors.questions import labelled
from rag_nodes.apps.visitors.sessions import session_of
from rag_nodes.core.errors import DatasetError
from rag_nodes.core.numbers import number_in
from rag_nodes.evaluation.dataset import trimmed_passage
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span
from rag_nodes.text.tokens.encodings import encodable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.apps.tabs.document import DocumentEvents
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions

_AGAIN = "This is not what stands in the document as it is loaded now: select it again."
_SHOWN = 160
"""Characters of a passage in the list, the middle left out."""
_COMPARED = 12
"""Letters at each end that have to be those of the document."""
OUTPUTS = 3
"""Values that every event returns: whether there is anything to ask about, what, the page."""


class LabelEvents:
    """What the events do."""

    def __init__(self, sessions: PageSessions, document: DocumentEvents) -> None:
        self._sessions = sessions
        self._document = document

    def mark(
        self, strategy: str, page: float | None, request: gr.Request, event: gr.EventData
    ) -> tuple[Any, ...]:
        """Mark what was selected."""
        session, sent = session_of(self._sessions, request), texts_of(event)
        passage = selected(session.cuts, sent)
        if passage is None:
            gr.Warning(_AGAIN)
            return (gr.skip(),) * OUTPUTS
        try:
            session.questions.mark(passage)
        except DatasetError as error:
            gr.Warning(str(error))
        return self._shown(session, ChunkLocation(strategy, passage.document, _page(page)), request)

    def unmark(
        self,
        strategy: str,
        document: str,
        page: float | None,
        request: gr.Request,
        event: gr.EventData,
    ) -> tuple[Any, ...]:
        """Take one mark back, or all."""
        session, sent = session_of(self._sessions, request), texts_of(event)
        if sent.get("act") == "unmark":
            session.questions.unmark(number_in(sent.get("passage")))
        return self._shown(session, ChunkLocation(strategy, document, _page(page)), request)

    def add(
        self, question: str, strategy: str, document: str, page: float | None, request: gr.Request
    ) -> tuple[Any, ...]:
        """Make a labelled question of what was typed and what was marked.

        Returns:
            An empty box, and what the others return.
        """
        session = session_of(self._sessions, request)
        asked = encodable(" ".join(str(question or "").split()))[:MOST_QUESTION]
        marked = session.questions.marked
        if not asked or not marked:
            raise gr.Error("Mark the answer and type its question.", print_exception=False)
        try:
            known = session.questions.add([labelled(asked, (marked,))], session.documents)
        except DatasetError as error:
            raise gr.Error(str(error), print_exception=False) from error
        session.questions.unmark()
        gr.Info(f"Added: you have {count(len(known.questions), 'question')}.")
        place = ChunkLocation(strategy, document, _page(page))
        shown = self._shown(session, place, request)
        return Drawn(shown.at, ("", *shown))

    def _shown(self, session: PageSession, place: ChunkLocation, request: gr.Request) -> Drawn:
        at, marked, cuts = now(), session.questions.marked, session.cuts
        texts = {one: cuts.text_of(one) for one in cuts.documents} if cuts else {}
        quotes = [_shortened(one.span.of(texts.get(one.document, ""))) for one in marked]
        listed = render("document_marked", passages=quotes)
        drawing = self._document.drawn(place, request)
        return Drawn(at, (gr.Column(visible=bool(marked)), listed, drawing))


def _page(page: float | None) -> int:
    return int(page or 1)


def selected(cuts: Cuts | None, sent: Mapping[str, str]) -> Passage | None:
    """The passage that was selected on the page, without blank space at its ends.

    Args:
        cuts: what is loaded.
        sent: document, start and end, and the text as it was drawn.

    Returns:
        None where that text does not stand there.
    """
    document, start = sent.get("document"), number_in(sent.get("start"))
    last = number_in(sent.get("end"))
    if cuts is None or document not in cuts.documents or start is None or last is None:
        return None
    text = cuts.text_of(document)
    said, drawn = _letters(text[start:last]), _letters(sent.get("text", ""))
    # Marks of Markdown are not drawn, and furniture of the page is not in the text.
    if not said or said[:_COMPARED] != drawn[:_COMPARED] or said[-_COMPARED:] != drawn[-_COMPARED:]:
        return None
    passage = trimmed_passage(Passage(document, Span(start, last)), text)
    return passage if passage.span.length else None


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _shortened(text: str) -> str:
    text = " ".join(text.split())
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]} \N{HORIZONTAL ELLIPSIS} {text[-half:]}"
