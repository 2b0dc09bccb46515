"""The Document tab: the page as printed or rendered, with what every parser made of it."""

from __future__ import annotations

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import gradio as gr
from markupsafe import Markup

from rag_nodes.apps.inside_gradio import Drawn, now, texts_of
from rag_nodes.apps.markup import render, title_of
from rag_nodes.apps.tabs.drawing import map_html, page_html, summary_html, where_html
from rag_nodes.apps.view.cut_map import offset_at
from rag_nodes.apps.visitors.cuts import Shown, page_at, pages_of, span_of
from rag_nodes.apps.visitors.sessions import session_of
from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.numbers import number_in
from rag_nodes.readers.isolation import pool
from rag_nodes.readers.pdf.picture import KeptPages
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions

OUTPUTS = 10
"""Values every event of the view returns."""
LONGEST_SEARCH = 200
"""Characters that are searched for."""
PER_MILLE = 1000
"""Of a place on the map, as the page sends it."""


class ChunkLocation(NamedTuple):
    """What of a session's documents to show; anything that does not exist falls back to the first.

    `page` counts from 1, `chosen` is the position of a chunk, from 0, whose page is shown, and
    `gold` are characters to point out, whose page is shown where no chunk was chosen.
    """

    strategy: str | None = None
    document: str | None = None
    page: int = 1
    chosen: int | None = None
    gold: tuple[Span, ...] = ()


class DocumentEvents:
    """What the events do: find the visitor's documents, draw what was asked for.

    Those that draw return values for: shown key, controls, document, strategy, page, chunk, map,
    where on it, summary, drawing.
    """

    def __init__(self, sessions: PageSessions) -> None:
        self._sessions = sessions
        self._kept: WeakKeyDictionary[PageSession, KeptPages] = WeakKeyDictionary()

    def refresh(
        self, shown: str, strategy: str, document: str, page: float | None, request: gr.Request
    ) -> tuple[Any, ...]:
        """Draw what the session holds now, unless that is on the page already."""
        session, place = session_of(self._sessions, request), ChunkLocation(strategy, document)
        key = _key(session)
        if shown and shown == key:
            return (gr.skip(),) * OUTPUTS
        is_asked = shown.rpartition(" ")[2] != key.rpartition(" ")[2]
        if not shown and isinstance(kept := session.shown.get("place"), list):
            place = ChunkLocation(*kept)  # the page was loaded again
        elif is_asked and (found := _first_found(session, strategy)):
            place = found
        elif session.cuts is not None and document in session.cuts.documents:
            place = place._replace(page=int(page or 1))
        return self._draw(session, place)

    def choose_document(self, strategy: str, document: str, request: gr.Request) -> tuple[Any, ...]:
        """Another document, from its beginning."""
        return self._draw(session_of(self._sessions, request), ChunkLocation(strategy, document))

    def jump(
        self, strategy: str, document: str, page: float | None, request: gr.Request
    ) -> tuple[Any, ...]:
        """The page that was typed in, or the same one as another strategy cut it."""
        place = ChunkLocation(strategy, document, int(page or 1))
        return self._draw(session_of(self._sessions, request), place, is_turn=True)

    def turn(self, step: int) -> Callable[..., tuple[Any, ...]]:
        """An event that goes some pages on."""

        def turn_page(
            strategy: str, document: str, page: float | None, request: gr.Request
        ) -> tuple[Any, ...]:
            return self.jump(strategy, document, (page or 1) + step, request)

        return turn_page

    def to_chunk(
        self, strategy: str, document: str, chunk: float | None, request: gr.Request
    ) -> tuple[Any, ...]:
        """The chunk that was typed in, counted from 1."""
        place = ChunkLocation(strategy, document, chosen=int(chunk or 1) - 1)
        return self._draw(session_of(self._sessions, request), place, is_turn=True)

    def to_place(
        self,
        strategy: str,
        document: str,
        page: float | None,
        request: gr.Request,
        event: gr.EventData,
    ) -> tuple[Any, ...]:
        """A click on the map or the page."""
        session, sent = session_of(self._sessions, request), texts_of(event)
        place = ChunkLocation(strategy, document, int(page or 1))
        share, chunk = number_in(sent.get("share")), number_in(sent.get("chunk"))
        if share is not None and session.cuts and document in session.cuts.documents:
            at = offset_at(share / PER_MILLE, len(session.cuts.text_of(document)))
            starts = pages_of(session.cuts, document, session.paths).starts
            place = place._replace(page=page_at(starts, at))
        elif chunk is not None:
            place = place._replace(chosen=chunk)
        elif sent.get("act") == "turn":
            place = place._replace(page=place.page + (1 if sent.get("forth") == "1" else -1))
        return self._draw(session, place, is_turn=True)

    def search(
        self, words: str, found: int, strategy: str, document: str, request: gr.Request
    ) -> tuple[Any, ...]:
        """The next place of some words in the document, from the beginning after the last one.

        Returns:
            Where that is, the box with how many there are, and what the others return.
        """
        session, wanted = session_of(self._sessions, request), str(words or "").strip().lower()
        cuts = session.cuts
        if cuts is None or document not in cuts.documents or not wanted:
            return -1, gr.Textbox(info=""), *(gr.skip(),) * OUTPUTS
        text, wanted = cuts.text_of(document).lower(), wanted[:LONGEST_SEARCH]
        at = text.find(wanted, int(found) + 1)
        at = text.find(wanted) if at < 0 else at
        if at < 0:
            return -1, gr.Textbox(info="not found"), *(gr.skip(),) * OUTPUTS
        number = f"{text.count(wanted, 0, at) + 1:,} of {text.count(wanted):,}"
        place = ChunkLocation(strategy, document, gold=(Span(at, at + len(wanted)),))
        drawn = self._draw(session, place, is_turn=True)
        return Drawn(drawn.at, (at, gr.Textbox(info=number), *drawn))

    def open(self, place: ChunkLocation | None, request: gr.Request) -> tuple[Any, ...]:
        """A place that another tab points at; None changes nothing.

        Returns:
            The tabs, with this one in front, and what every event of it returns.
        """
        if place is None:
            return (gr.skip(),) * (OUTPUTS + 1)
        session = session_of(self._sessions, request)
        drawn = self._draw(session, place)
        return Drawn(drawn.at, (gr.Tabs(selected="document"), *drawn))

    def drawn(self, place: ChunkLocation, request: gr.Request) -> Any:
        """The page of a place and nothing else, such as after something was marked on it."""
        return self._draw(session_of(self._sessions, request), place, is_turn=True)[-1]

    def _draw(self, session: PageSession, place: ChunkLocation, *, is_turn: bool = False) -> Drawn:
        """What a place looks like; `is_turn` where the map is on the page already."""
        at, cuts, failed = now(), session.cuts, _failed(session)
        if cuts is None or not cuts.documents:
            empty = render("document_empty", failed=failed)
            unchanged = (gr.skip(),) * 4
            return Drawn(at, ("", gr.Column(visible=False), *unchanged, "", "", "", empty))
        strategy = _one_of(cuts.strategies, place.strategy) if cuts.strategies else ""
        document = _one_of(tuple(cuts.documents), place.document)
        kept = self._kept.setdefault(session, KeptPages(pool.draw))
        try:
            shown = _shown(session, cuts, strategy, document, place)
            summary, drawing = summary_html(shown), page_html(shown, kept)
            whole = gr.skip() if is_turn else map_html(shown)
            where, page, pages = where_html(shown), shown.page, len(shown.pages.starts)
            unit = shown.pages.unit.capitalize()
            chunks = len(cuts.nodes(strategy, document))
            first = next((one.number for one in shown.here(strategy)), 0)
            chunk = 1 + (first if shown.chosen is None else shown.chosen)
            session.shown["place"] = [strategy, document, page]
        except RagNodesError as error:
            drawing = render("document_empty", failed=[{"name": "", "why": str(error)}])
            summary = whole = where = Markup()
            unit, page, pages, chunk, chunks = "Page", 1, 1, 1, 1
        shown_now = (
            _key(session),
            gr.Column(visible=True),
            gr.Dropdown(choices=_documents(cuts), value=document, visible=len(cuts.documents) > 1),
            gr.Radio(
                choices=[(title_of(one), one) for one in cuts.strategies],
                value=strategy or None,
                visible=bool(strategy),
            ),
            gr.Number(value=page, label=f"{unit} of {pages:,}"),
            gr.Number(value=chunk, label=f"Chunk of {chunks:,}", visible=bool(strategy)),
            whole,
            where,
            summary,
            drawing,
        )
        return Drawn(at, shown_now)


def _key(session: PageSession) -> str:
    """What is drawn; another one once documents were cut anew or a question was answered."""
    cuts, turns = session.cuts, session.turns
    return f"{cuts.key} {turns[-1].number if turns else 0}" if cuts else ""


def _first_found(session: PageSession, strategy: str) -> ChunkLocation | None:
    """The page in the middle of the last question's best chunk, of this parser if it has one."""
    cuts, turn = session.cuts, session.turns[-1] if session.turns else None
    columns = sorted(turn.columns if turn else (), key=lambda one: one.name != strategy)
    for column in columns:
        for hit in column.answer.hits if column.answer else ():
            if cuts and column.name in cuts.strategies and hit.node.ref_doc_id in cuts.documents:
                starts = pages_of(cuts, hit.node.ref_doc_id, session.paths).starts
                start, end = span_of(hit.node)
                page = page_at(starts, (start + end) // 2)
                return ChunkLocation(column.name, hit.node.ref_doc_id, page)
    return None


def _failed(session: PageSession) -> list[dict[str, str]]:
    """The files that could not be read, and why."""
    files = session.report.files if session.report else ()
    rows = ({"name": one.path.rpartition("/")[2], "why": one.error} for one in files if one.error)
    return [{"name": row["name"], "why": str(row["why"])} for row in rows]


def _one_of(known: tuple[str, ...], wanted: str | None) -> str:
    return wanted if wanted in known else known[0]


def _documents(cuts: Cuts) -> list[tuple[str, str]]:
    """Names and ids; equal names are numbered, since Gradio finds a choice by its name."""
    seen: dict[str, int] = {}
    choices = []
    for document in cuts.documents:
        name = cuts.name_of(document)
        seen[name] = seen.get(name, 0) + 1
        choices.append((f"{name} ({seen[name]})" if seen[name] > 1 else name, document))
    return choices


def _shown(
    session: PageSession, cuts: Cuts, strategy: str, document: str, place: ChunkLocation
) -> Shown:
    pages, nodes = pages_of(cuts, document, session.paths), cuts.nodes(strategy, document)
    chosen = (
        min(max(place.chosen, 0), len(nodes) - 1) if place.chosen is not None and nodes else None
    )
    page = place.page
    if chosen is not None:
        page = page_at(pages.starts, span_of(nodes[chosen]).start)
    elif place.gold:
        page = page_at(pages.starts, place.gold[0].start)
    marked = tuple(one.span for one in session.questions.marked if one.document == document)
    turn = session.turns[-1] if session.turns else None
    return Shown(
        cuts=cuts,
        strategy=strategy,
        document=document,
        pages=pages,
        page=min(max(page, 1), len(pages.starts)),
        chosen=chosen,
        gold=marked + (place.gold if place.document == document else ()),
        ranks={
            column.name: {hit.node.node_id: hit.rank for hit in column.answer.hits}
            for column in (turn.columns if turn else ())
            if column.answer
        },
        question=turn.question if turn and turn.report else "",
    )
