"""The right half: the document as printed or rendered, with what every parser made of it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from markupsafe import Markup

from rag_nodes.apps.markup import render
from rag_nodes.apps.panes.drawing import map_html, page_html, summary_html, where_html
from rag_nodes.apps.panes.hits import cited_places, spans_of
from rag_nodes.apps.view.cut_map import offset_at
from rag_nodes.apps.visitors.cuts import ChunkLocation, Shown, page_at, pages_of, span_of
from rag_nodes.core.errors import ConfigurationError, RagNodesError
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.evaluation.compare import Column
    from rag_nodes.query import Hit

MAX_SEARCH = 200
"""Characters that are searched for."""
_PER_MILLE = 1000
"""Steps of the place on a strip that a page sends."""
GONE = "These chunks no longer exist: the documents have been split again."
NOT_LOCATED = "This chunk was not found in the text of the documents, so no page can show it."


def show_page(session: PageSession, place: ChunkLocation | None = None) -> None:
    """Show a place of the documents; None for the place that is shown, as it is now."""
    if place is not None:
        session.place = place
        where = _shown(session)
        if where is not None:  # a chosen chunk or passage becomes a page to turn on from
            session.place = place._replace(page=where.page, document=where.document)
    for name, draw in (("map", _map), ("where", _where), ("pager", _pager), ("sheet", _sheet)):
        session.screen.show(name, partial(draw, session))


def turn_page(session: PageSession, *, page: int | None = None, step: int = 0) -> None:
    """Show a page by its number, counted from 1, or some pages further on."""
    number = session.place.page + step if page is None else page
    show_page(session, session.place._replace(page=number, chosen=None, gold=()))


def show_chunk(session: PageSession, number: int) -> None:
    """Show a chunk of the tinted column by its position, counted from 0."""
    show_page(session, session.place._replace(chosen=number, gold=()))


def show_share(session: PageSession, per_mille: int) -> None:
    """Show the page at a place of the map."""
    shown = _shown(session)
    if shown is not None:
        offset = offset_at(per_mille / _PER_MILLE, len(shown.text))
        turn_page(session, page=page_at(shown.pages.starts, offset))


def show_document(session: PageSession, document: str) -> None:
    """Show another document from its beginning."""
    if session.cuts and document in session.cuts.documents:
        show_page(session, ChunkLocation(session.place.strategy, document))


def tint(session: PageSession, strategy: str) -> None:
    """Tint the chunks of another column, on the page that is shown."""
    show_page(session, session.place._replace(strategy=strategy, chosen=None))


def search(session: PageSession, words: str) -> str:
    """Show the next place of some words after the last one, and say which of how many it is."""
    shown, wanted = _shown(session), words.strip().lower()[:MAX_SEARCH]
    if shown is None or not wanted:
        return ""
    text, gold = shown.text.lower(), session.place.gold
    at = text.find(wanted, gold[0].start + 1 if gold else 0)
    at = text.find(wanted) if at < 0 else at
    if at < 0:
        return "not found"
    show_page(session, session.place._replace(chosen=None, gold=(Span(at, at + len(wanted)),)))
    return f"{text.count(wanted, 0, at) + 1:,} of {text.count(wanted):,}"


def show_found(
    session: PageSession,
    number: int,
    column: int,
    *,
    cited: int = 0,
    rank: int = 0,
    sentence: Span | None = None,
) -> None:
    """Show a cited place, or a retrieved chunk.

    Args:
        session: the visitor's.
        number: of the turn.
        column: place of the answer in it, counted from 1.
        cited: place of the citation, counted from 1; 0 for none.
        rank: of the chunk; 0 for none.
        sentence: the only characters of the cited place to point out; None for all of it.

    Raises:
        ConfigurationError: it is nowhere in the documents as they are split now.
    """
    turn = session.talk.turns.numbered(number)
    answered = turn.column_at(column) if turn else None
    if answered is None:
        return
    place = _location(session.cuts, answered, cited, rank, sentence)
    if place is None:
        raise ConfigurationError(NOT_LOCATED if "found_by" in answered.parser else GONE)
    show_page(session, place)


def _shown(session: PageSession) -> Shown | None:
    """Return the part of the documents that is shown; None while nothing is loaded."""
    cuts, place = session.cuts, session.place
    if cuts is None or not cuts.documents:
        return None
    chosen_column = place.strategy or session.columns.chosen
    strategies = cuts.strategies
    document = place.document if place.document in cuts.documents else next(iter(cuts.documents))
    # Without a choice, a column whose chunks are known: an engine may not have been asked yet.
    known = (name for name in (chosen_column, *strategies) if name in strategies
             and (name == place.strategy or cuts.nodes(name, document)))  # fmt: skip
    strategy = next(known, strategies[0])
    pages = pages_of(cuts, document, session.paths)
    nodes = cuts.nodes(strategy, document)
    chosen = None
    if place.chosen is not None and nodes:
        chosen = min(max(place.chosen, 0), len(nodes) - 1)
    page = place.page
    if place.gold:
        page = page_at(pages.starts, place.gold[0].start)
    elif chosen is not None:
        page = page_at(pages.starts, span_of(nodes[chosen]).start)
    marked = tuple(
        passage.span for passage in session.questions.marked if passage.document == document
    )
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
        unasked=cuts.split_since(turn),
    )


def _map(session: PageSession) -> Markup:
    shown = _shown(session)
    return map_html(shown) if shown else Markup()


def _where(session: PageSession) -> Markup:
    shown = _shown(session)
    return where_html(shown) if shown else Markup()


def _pager(session: PageSession) -> Markup:
    shown = _shown(session)
    if shown is None:
        return Markup()
    cuts = shown.cuts
    names = {document: cuts.name_of(document) for document in cuts.documents}
    first = next((piece.number for piece in shown.here(shown.strategy)), 0)
    return render(
        "pager",
        names=names if len(names) > 1 else {},
        document=shown.document,
        unit=shown.pages.unit,
        page=str(shown.page),
        pages=f"{len(shown.pages.starts):,}",
        chunk=str(1 + (first if shown.chosen is None else shown.chosen)),
        chunks=len(cuts.nodes(shown.strategy, shown.document)),
        strategy=shown.strategy,
        strategies=cuts.strategies,
        summary=summary_html(shown),
    )


def _sheet(session: PageSession) -> Markup:
    try:
        shown = _shown(session)
        return page_html(shown, session.kept) if shown else render("sheet_empty", error="")
    except RagNodesError as error:
        return render("sheet_empty", error=str(error))


def _location(
    cuts: Cuts | None, column: Column, cited: int, rank: int, sentence: Span | None
) -> ChunkLocation | None:
    """Find a cited place, or a chunk of a rank, among the chunks as they are split now."""
    answer = column.answer
    if cuts is None or answer is None:
        return None
    gold: tuple[Span, ...] = ()
    hit = next((hit for hit in answer.hits if hit.rank == rank), None)
    if cited:
        places = cited_places(answer)
        place = places[cited - 1] if cited <= len(places) else ()
        gold = spans_of(answer, place)
        hit = answer.hit_of(place[0]) if gold else None
        if sentence and any(span.overlap(sentence) == sentence.length for span in gold):
            gold = (sentence,)
    document = hit.node.ref_doc_id if hit else None
    if hit is None or document is None or document not in cuts.documents:
        return None
    chosen = _chunk(cuts, column, hit, document)
    if chosen is None and not gold:
        return None
    strategy = column.name if chosen is not None else None
    # A chunk may begin on an earlier page than what is cited of it.
    return ChunkLocation(strategy, document, chosen=None if gold else chosen, gold=gold)


def _chunk(cuts: Cuts, column: Column, hit: Hit, document: str) -> int | None:
    """Return the position of a retrieved chunk in its document; None if it was split otherwise."""
    parser = cuts.parser_of(column.name)
    if parser and parser.fingerprint != column.parser.get("fingerprint"):
        return None
    if column.name not in cuts.strategies:
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
