"""Marking the answer to a question: from what is selected on the page to characters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.sent import number_in, texts_of
from rag_nodes.apps.tabs.chunks.events import ChunkLocation
from rag_nodes.apps.view.html import Html, tag, visible
from rag_nodes.apps.view.parts import button, count
from rag_nodes.apps.visitors.choice import MOST_QUESTION
from rag_nodes.apps.visitors.questions import labelled
from rag_nodes.apps.visitors.requests import session_of
from rag_nodes.errors import DatasetError
from rag_nodes.evaluation.dataset import trimmed_passage
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rag_nodes.apps.tabs.chunks.events import ChunksEvents
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions

SELECT = """const drawn = (range) => {
  const copy = range.cloneContents();
  copy.querySelectorAll('.rn-start, .rn-both').forEach((one) => one.remove());
  return copy.textContent;
};
const within = () => {
  const text = element.querySelector('.rn-doc'), chosen = getSelection();
  if (!text || !chosen.rangeCount) return null;
  const whole = document.createRange(), range = chosen.getRangeAt(0).cloneRange();
  whole.selectNodeContents(text);
  if (range.compareBoundaryPoints(Range.START_TO_START, whole) < 0) range.setStart(text, 0);
  if (range.compareBoundaryPoints(Range.END_TO_END, whole) > 0)
    range.setEnd(text, text.childNodes.length);
  const shared = range.commonAncestorContainer;
  const inMark = (shared.closest ? shared : shared.parentElement).closest('.rn-start, .rn-both');
  return !text.contains(shared) || inMark || !drawn(range) ? null : range;
};
const follow = () => {
  if (!element.isConnected) return document.removeEventListener('selectionchange', follow);
  const here = element.querySelector('.rn-mark-here'), range = within();
  if (!here) return;
  here.hidden = !range;
  if (!range) return;
  const home = here.parentElement.getBoundingClientRect();
  const last = [...range.getClientRects()].pop() || home;
  here.style.top = `${last.bottom - home.top + 6}px`;
  const most = home.width - here.offsetWidth;
  here.style.left = `${Math.max(0, Math.min(most, last.right - home.left - here.offsetWidth))}px`;
};
document.addEventListener('selectionchange', follow);
element.addEventListener('mousedown', (event) => {
  if (event.target.closest('.rn-mark-here')) event.preventDefault();
});
element.addEventListener('click', (event) => {
  const range = event.target.closest('.rn-mark-here') && within();
  if (!range) return;
  const text = element.querySelector('.rn-doc'), before = document.createRange();
  before.setStart(text, 0);
  before.setEnd(range.startContainer, range.startOffset);
  const start = Number(text.dataset.from) + [...drawn(before)].length, said = drawn(range);
  const sent = {document: text.dataset.document, start, end: start + [...said].length};
  getSelection().removeAllRanges();
  trigger('select', {...sent, start: `${sent.start}`, end: `${sent.end}`, text: said});
});
"""
"""A button follows what is selected and sends which characters of the document these are.

They are counted as Python does, without the marks of chunks that stand between them.
"""
_AGAIN = "This is not what stands in the document as it is loaded now: select it again."
_SHOWN = 160
"""Characters of a passage in the list, the middle left out."""
OUTPUTS = 3
"""Values that every event returns: whether there is anything to ask about, what, the page."""


class LabelEvents:
    """What the events do.

    Args:
        sessions: where each visitor's work is.
        chunks: draws what was marked.
    """

    def __init__(self, sessions: PageSessions, chunks: ChunksEvents) -> None:
        self._sessions = sessions
        self._chunks = chunks

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
        return self._shown(session, _place(strategy, passage.document, page), request)

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
        return self._shown(session, _place(strategy, document, page), request)

    def add(
        self, question: str, strategy: str, document: str, page: float | None, request: gr.Request
    ) -> tuple[Any, ...]:
        """Make a labelled question of what was typed and what was marked.

        Returns:
            An empty box, and what the others return.
        """
        session = session_of(self._sessions, request)
        asked = " ".join(str(question or "").split())[:MOST_QUESTION]
        marked = session.questions.marked
        if not asked or not marked:
            raise gr.Error("Mark the answer and type its question.", print_exception=False)
        try:
            known = session.questions.add([labelled(asked, (marked,))], session.documents)
        except DatasetError as error:
            raise gr.Error(str(error), print_exception=False) from error
        session.questions.unmark()
        gr.Info(f"Added: you have {count(len(known.questions), 'question')}.")
        return "", *self._shown(session, _place(strategy, document, page), request)

    def _shown(
        self, session: PageSession, place: ChunkLocation, request: gr.Request
    ) -> tuple[Any, ...]:
        marked, cuts = session.questions.marked, session.cuts
        texts = {one: cuts.text_of(one) for one in cuts.documents} if cuts else {}
        listed = passages_marked(marked, texts)
        return gr.Column(visible=bool(marked)), listed, self._chunks.drawn(place, request)


def _place(strategy: str, document: str, page: float | None) -> ChunkLocation:
    return ChunkLocation(strategy, document, int(page or 1))


def selected(cuts: Cuts | None, sent: Mapping[str, str]) -> Passage | None:
    """The passage that was selected on the page, without blank space at its ends.

    Args:
        cuts: what is loaded.
        sent: document, start and end, and the text as it was drawn.

    Returns:
        None where that text does not stand there.
    """
    document, start, end = sent.get("document"), number_in(sent.get("start")), sent.get("end")
    last = number_in(end)
    if cuts is None or document not in cuts.documents or start is None or last is None:
        return None
    text = cuts.text_of(document)
    if not _as_drawn(text[start:last]) == _as_drawn(sent.get("text", "")) != "":
        return None
    passage = trimmed_passage(Passage(document, Span(start, last)), text)
    return passage if passage.span.length else None


def passages_marked(marked: tuple[Passage, ...], texts: Mapping[str, str]) -> Html:
    """What was marked so far, each with a button to take it back."""
    rows = []
    for number, one in enumerate(marked):
        quote = _shortened(" ".join(one.span.of(texts.get(one.document, "")).split()))
        back = button("unmark", "\N{MULTIPLICATION SIGN}", f"Take passage {number + 1} back",
                      data_passage=number)  # fmt: skip
        rows.append(tag("li", tag("span", quote, dir="auto", cls="rn-gold"), back))
    said = f"Answer: {count(len(marked), 'passage')}. Select more if it takes them all."
    return tag("div", tag("p", said, cls="rn-quiet"), tag("ol", *rows), cls="rn-marked")


def _shortened(text: str) -> str:
    if len(text) <= _SHOWN:
        return text
    half = _SHOWN // 2
    return f"{text[:half]} \N{HORIZONTAL ELLIPSIS} {text[-half:]}"


def _as_drawn(text: str) -> str:
    """What the browser makes of a text; of a lone carriage return it makes a line."""
    return visible(text).replace("\r", "\n")
