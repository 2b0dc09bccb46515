"""What happens in Compare: a question in, answers, places and marks out."""

from __future__ import annotations

import logging
import time

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from rag_nodes.apps.inside_gradio import Drawn, now, texts_of
from rag_nodes.apps.markup import count, render
from rag_nodes.apps.tabs.compare.reply import asking_view, cited_places, spans_of, turn_view
from rag_nodes.apps.tabs.document import ChunkLocation
from rag_nodes.apps.visitors.choice import MOST_QUESTION
from rag_nodes.apps.visitors.cuts import span_of
from rag_nodes.apps.visitors.questions import suggested_questions
from rag_nodes.apps.visitors.sessions import session_of
from rag_nodes.apps.visitors.turns import AT_FIRST, MOST_TURNS, rate, tally
from rag_nodes.core.errors import ConfigurationError, RagNodesError
from rag_nodes.core.keys import trace_of
from rag_nodes.core.numbers import number_in

if TYPE_CHECKING:
    from markupsafe import Markup

    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions
    from rag_nodes.apps.visitors.turns import Asking, Growing, Turn
    from rag_nodes.evaluation.compare import Column
    from rag_nodes.query import Hit
    from rag_nodes.text.spans import Span

logger = logging.getLogger(__name__)
PLACEHOLDER = "Type your question here..."
NOT_YET = "Upload a document first"
FRAME = 0.15
"""Seconds between two pictures of answers that grow."""
SUGGESTED = 4
"""Questions that are suggested."""
GONE = "These chunks are gone: the documents were cut anew since."
NOT_HERE = "This column searches an index of its own: its chunks are not among those cut here."
_FAULT = (
    "The question could not be answered, by a fault of the app ({}); you can ask on. Whoever runs "
    "the app finds the reason in its log."
)


class Sent(NamedTuple):
    """A click below an answer, checked for its form only; numbers count from 1, 0 is none.

    `act` is what was clicked, `verdict` what was said of an answer, `turn` the question, `column`
    the place of the answer, `rank` that of a chunk, `cited` the place of a citation.
    """

    act: str
    verdict: str
    turn: int
    column: int
    rank: int
    cited: int

    @classmethod
    def of(cls, event: gr.EventData) -> Sent:
        """Read it; what does not fit counts as not sent."""
        texts = texts_of(event)
        numbers = (number_in(texts.get(name)) or 0 for name in cls._fields[2:])
        return cls(texts.get("act", ""), texts.get("verdict", ""), *numbers)


class CompareEvents:
    """What the events do: find the visitor's session, call it, render what it returns."""

    def __init__(self, sessions: PageSessions) -> None:
        self._sessions = sessions

    def ask(
        self,
        question: str,
        follow_up: bool,  # noqa: FBT001 - Gradio passes the values of components by place
        request: gr.Request,
    ) -> Iterator[tuple[Any, ...]]:
        """Answer a question: first the empty columns, then the answers as they grow."""
        question = str(question or "").strip()  # a script may send anything
        session = session_of(self._sessions, request)
        try:
            _check(question)
            yield from _pictures(session, session.stream(question, follow_up=bool(follow_up)))
        except ConfigurationError as error:
            yield Drawn(now(), (gr.skip(), _question_box(session), gr.skip()))
            raise gr.Error(str(error), print_exception=False) from error
        except Exception as error:
            # Whatever it was, the visitor can go on: the box is open again, and says what happened.
            logger.error("a question could not be answered\n%s", trace_of(error))  # noqa: TRY400 - its text may hold a key
            yield _answered(session)
            raise gr.Error(_FAULT.format(type(error).__name__), print_exception=False) from error

    def watch(self, request: gr.Request) -> Iterator[tuple[Any, ...]]:
        """Show the answers that are being written, on a page that was loaded meanwhile."""
        session = session_of(self._sessions, request)
        if session.asking is None:
            yield gr.skip(), gr.skip(), gr.skip()
            return
        yield from _pictures(session, session.looks())

    def stop(self, request: gr.Request) -> None:
        """End the answers that are being written."""
        session_of(self._sessions, request).stop()

    def stop_one(self, request: gr.Request, event: gr.EventData) -> None:
        """End one of them."""
        sent = Sent.of(event)
        session_of(self._sessions, request).stop_one(sent.turn, sent.column)

    def clear(self, request: gr.Request) -> Drawn:
        """Forget the questions."""
        session = session_of(self._sessions, request)
        session.clear()
        return _redrawn(session)

    def pick(self, request: gr.Request, event: gr.EventData) -> Any:
        """A verdict on an answer, or a look at earlier questions."""
        session, sent = session_of(self._sessions, request), Sent.of(event)
        if sent.act == "earlier":
            session.history.shown += AT_FIRST
        elif sent.act != "helpful" or not rate(
            session.history, sent.turn, sent.column, sent.verdict
        ):
            return gr.skip()
        return _redrawn(session)

    def suggest(self, shown: str, request: gr.Request) -> tuple[Any, ...]:
        """Questions about the documents, unless they are on the page already.

        Returns:
            Shown key, the row of buttons, and the buttons.
        """
        at, session = now(), session_of(self._sessions, request)
        key = " ".join(document.id_ for document in session.documents)
        if shown == key:
            return (gr.skip(),) * (SUGGESTED + 2)
        asked = suggested_questions(session.documents, SUGGESTED)
        buttons = [gr.Button(one, visible=True) for one in asked]
        buttons += [gr.Button("", visible=False)] * (SUGGESTED - len(asked))
        return Drawn(at, (key, gr.Row(visible=bool(asked)), *buttons))

    def location(self, request: gr.Request, event: gr.EventData) -> ChunkLocation | None:
        """Where the cited place or the chunk is that was chosen; None where it is nowhere."""
        session, sent = session_of(self._sessions, request), Sent.of(event)
        turn = next((one for one in session.turns if one.number == sent.turn), None)
        one = turn.column_at(sent.column) if turn else None
        if one is None:
            return None
        place = _location(session.cuts, one, sent)
        if place is None:
            gr.Warning(NOT_HERE if "found_by" in one.parser else GONE)
        return place


def history(
    turns: Sequence[Turn],
    *,
    ready: bool,
    asking: Asking | None = None,
    shown: int = AT_FIRST,
    several: bool = False,
) -> Markup:
    """Render everything above the question box.

    Args:
        turns: questions and answers, oldest first.
        ready: a document is loaded.
        asking: a question that is being answered.
        shown: how many of the latest turns are drawn.
        several: more than one document is loaded.
    """
    rows: list[dict[str, Any]] = [
        {
            "kind": "rn-turn",
            "number": turn.number,
            "question": turn.question,
            "content": _drawn(partial(turn_view, turn, several=several)),
        }
        for turn in turns[-shown:]
    ]
    if asking is not None:
        content = _drawn(partial(asking_view, asking))
        rows.append(
            {
                "kind": "rn-pending",
                "number": asking.number,
                "question": asking.question,
                "content": content,
            }
        )
    full = f"Only the last {MOST_TURNS} questions are kept." if len(turns) >= MOST_TURNS else ""
    return render(
        "compare",
        said=_said(turns, asking),
        earlier=str(len(turns) - shown) if len(turns) > shown else "",
        full=full,
        tally=tally(turns),
        rows=rows,
        ready=ready,
    )


def _drawn(draw: Callable[[], Markup]) -> Markup:
    """One question, or why it cannot be shown: a fault of ours takes no other question along."""
    try:
        return draw()
    except Exception as error:  # noqa: BLE001 - it is logged
        logger.error("a reply could not be drawn\n%s", trace_of(error))  # noqa: TRY400 - its text may hold a key
        return render("fault", kind=type(error).__name__)


def _said(turns: Sequence[Turn], asking: Asking | None) -> str:
    """What screen readers announce."""
    if asking is not None:
        return "Answering"
    if not turns:
        return ""
    done = [one for one in turns[-1].columns if one.answer]
    return f"{count(len(done), 'answer')} to: {turns[-1].question}"


def _check(question: str) -> None:
    """Refuse what cannot be asked.

    Raises:
        ConfigurationError: the question is empty or too long.
    """
    if not question:
        raise ConfigurationError("Type a question first.")
    if len(question) > MOST_QUESTION:
        raise ConfigurationError(f"Ask in at most {MOST_QUESTION:,} characters.")


def _pictures(
    session: PageSession, answers: Iterator[tuple[Growing, ...]]
) -> Iterator[tuple[Any, ...]]:
    """What the page shows while answers grow, and once they have ended.

    A look is worth a picture after a while, and when a column has ended: the others may be silent
    for long.
    """
    shown: tuple[float, int] | None = None
    for growing in answers:
        at, ended = now(), sum(one.ended for one in growing)
        if shown and ended == shown[1] and time.monotonic() - shown[0] < FRAME:
            continue
        first = gr.Textbox(interactive=False), gr.Button(visible=True)
        yield Drawn(at, (_page(session), *((gr.skip(), gr.skip()) if shown else first)))
        shown = time.monotonic(), ended
    yield _answered(session)


def _redrawn(session: PageSession) -> Drawn:
    """What is above the question box, and the rest as it is."""
    return Drawn(now(), (_page(session), gr.skip(), gr.skip()))


def _answered(session: PageSession) -> Drawn:
    """The page once answers have ended."""
    return Drawn(now(), (_page(session), _question_box(session), gr.Button(visible=False)))


def _page(session: PageSession) -> str:
    """Everything above the question box."""
    turns = session.history
    return history(
        turns.all,
        ready=session.ready,
        asking=session.asking,
        shown=turns.shown,
        several=len(session.documents) > 1,
    )


def while_loading() -> tuple[Any, ...]:
    """What becomes of the comparison while documents are loaded; see `CompareTab.follow`."""
    waiting = gr.Textbox(placeholder=PLACEHOLDER, interactive=True)
    return gr.skip(), waiting, gr.skip(), render("processing")


def after_loading(session: PageSession) -> tuple[Any, ...]:
    """The comparison once loading has ended, well or not."""
    return _page(session), _question_box(session), gr.skip(), ""


def _question_box(session: PageSession) -> gr.Textbox:
    """Open once there is something to ask; what is typed there stays."""
    return gr.Textbox(
        interactive=session.ready and session.asking is None,
        placeholder=PLACEHOLDER if session.ready else NOT_YET,
    )


def _location(cuts: Cuts | None, column: Column, sent: Sent) -> ChunkLocation | None:
    """A cited place, or a chunk of a rank, among the chunks as they are cut now."""
    answer = column.answer
    if cuts is None or answer is None:
        return None
    gold: tuple[Span, ...] = ()
    hit = next((one for one in answer.hits if one.rank == sent.rank), None)
    if sent.cited:
        places = cited_places(answer)
        place = places[sent.cited - 1] if sent.cited <= len(places) else ()
        gold = spans_of(answer, place)
        hit = answer.hit_of(place[0]) if gold else None
    document = hit.node.ref_doc_id if hit else None
    if hit is None or document is None or document not in cuts.documents:
        return None
    chosen = _chunk(cuts, column, hit, document)
    if chosen is None and not gold:
        span, text = span_of(hit.node), cuts.text_of(document)
        if "found_by" not in column.parser or span.of(text) != hit.node.text:
            return None
        gold = (span,)  # of an index of its own, whose chunks nobody cut here
    strategy = column.name if chosen is not None else None
    # A chunk may begin on an earlier page than what is cited of it.
    return ChunkLocation(strategy, document, chosen=None if gold else chosen, gold=gold)


def _chunk(cuts: Cuts, column: Column, hit: Hit, document: str) -> int | None:
    """Position of a retrieved chunk in its document; None where it is none of those cut now."""
    parser = cuts.comparison.parsers.get(column.name)
    if parser is None or parser.fingerprint != column.parser.get("fingerprint"):
        return None
    try:
        nodes = cuts.nodes(column.name, document)
    except RagNodesError:
        return None
    ids = [node.node_id for node in nodes]
    if hit.node.node_id in ids:
        return ids.index(hit.node.node_id)
    # What was joined for the answer has an id of its own; it begins in one of these.
    start = hit.node.start_char_idx
    ends = (at for at, node in enumerate(nodes) if (node.end_char_idx or 0) > (start or 0))
    return None if start is None else next(ends, None)
