"""What happens in the chunk view: a visitor's choice in, one drawn page of their document out."""

from __future__ import annotations

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from rag_nodes.apps.inside_gradio import offer
from rag_nodes.apps.tabs.chunks.document import Drawing, document_page, page_at, page_starts
from rag_nodes.apps.tabs.chunks.files import as_csv, as_json
from rag_nodes.apps.tabs.chunks.statistics import statistics, unplaced
from rag_nodes.apps.view.html import Html, join, tag
from rag_nodes.apps.view.parts import empty, notice, title_of
from rag_nodes.apps.visitors.cuts import span_of
from rag_nodes.apps.visitors.requests import cuts_of, session_of
from rag_nodes.errors import RagNodesError
from rag_nodes.metadata import TOKEN_COUNT, remarks

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions
    from rag_nodes.text.spans import Span

EMPTY = empty(
    "See where each parser cuts",
    tag("p", "The text and its chunks appear here as soon as a document is loaded and cut."),
)
OUTPUTS = 7
"""Values every event of the view returns."""


class ChunkLocation(NamedTuple):
    """What of a session's chunks to show; anything that does not exist falls back to the first.

    Attributes:
        strategy: a parser of the comparison.
        document: id of a document.
        page: page of the view, counted from 1.
        chosen: position of a chunk to point out, counted from 0; its page is shown.
        gold: characters to point out; the page they start on is shown, unless a chunk was chosen.
    """

    strategy: str | None = None
    document: str | None = None
    page: int = 1
    chosen: int | None = None
    gold: tuple[Span, ...] = ()


class ChunksEvents:
    """What the events do: find the visitor's chunks, draw what was asked for.

    All but the exports return values for: shown key, controls, document, strategy, page, summary,
    drawing.

    Args:
        sessions: where each visitor's work is.
    """

    def __init__(self, sessions: PageSessions) -> None:
        self._sessions = sessions

    def refresh(
        self, shown: str, strategy: str, document: str, request: gr.Request
    ) -> tuple[Any, ...]:
        """Draw what the session holds now, unless that is on the page already."""
        cuts = cuts_of(self._sessions, request)
        if shown == (cuts.key if cuts else ""):
            return (gr.skip(),) * OUTPUTS
        return self._draw(request, ChunkLocation(strategy, document))

    def choose(self, strategy: str, document: str, request: gr.Request) -> tuple[Any, ...]:
        """Another strategy or document, from its beginning."""
        return self._draw(request, ChunkLocation(strategy, document))

    def jump(
        self, strategy: str, document: str, page: float | None, request: gr.Request
    ) -> tuple[Any, ...]:
        """The page that was typed in."""
        place = ChunkLocation(strategy, document, int(page or 1))
        return self._draw(request, place)

    def turn(self, step: int) -> Callable[..., tuple[Any, ...]]:
        """An event that goes some pages on."""

        def turn_page(
            strategy: str, document: str, page: float | None, request: gr.Request
        ) -> tuple[Any, ...]:
            return self.jump(strategy, document, (page or 1) + step, request)

        return turn_page

    def open(self, place: ChunkLocation | None, request: gr.Request) -> tuple[Any, ...]:
        """A chunk that another tab points at; None changes nothing.

        Returns:
            The tabs, with this one in front, and what every event of it returns.
        """
        if place is None:
            return (gr.skip(),) * (OUTPUTS + 1)
        return gr.Tabs(selected="chunks"), *self._draw(request, place)

    def export(
        self, kind: str, write: Callable[[Cuts, str], bytes]
    ) -> Callable[[str, gr.Request], Any]:
        """An event that makes the file of all chunks of a strategy.

        Args:
            kind: ending of the file's name.
            write: makes its content.
        """

        def export_chunks(strategy: str, request: gr.Request) -> str:
            cuts = cuts_of(self._sessions, request)
            if cuts is None or strategy not in cuts.strategies:
                raise gr.Error("Nothing to export: load a document first.", print_exception=False)
            try:
                content = write(cuts, strategy)
            except RagNodesError as error:
                raise gr.Error(str(error), print_exception=False) from error
            plain = "".join(one if one.isalnum() or one == "-" else "_" for one in strategy)
            return offer(content, f"chunks-{plain}.{kind}")

        return export_chunks

    @property
    def export_json(self) -> Callable[[str, gr.Request], Any]:
        """An event that makes a JSON file."""
        return self.export("json", as_json)

    @property
    def export_csv(self) -> Callable[[str, gr.Request], Any]:
        """An event that makes a CSV file."""
        return self.export("csv", as_csv)

    def drawn(self, place: ChunkLocation, request: gr.Request) -> Any:
        """The page of a place and nothing else, such as after something was marked on it."""
        return self._draw(request, place)[-1]

    def _draw(self, request: gr.Request, place: ChunkLocation) -> tuple[Any, ...]:
        session = session_of(self._sessions, request)
        cuts = session.cuts
        if cuts is None or not cuts.documents:
            keep = (gr.skip(),) * 3
            return "", gr.Column(visible=False), *keep, "", EMPTY
        strategy = _one_of(cuts.strategies, place.strategy)
        document = _one_of(tuple(cuts.documents), place.document)
        pages = page_starts(cuts.text_of(document))
        try:
            drawing = _drawing(cuts, strategy, document, place, pages)
            drawing = drawing._replace(gold=_gold(session, document, place))
            summary, page = _summary(cuts, strategy, document), drawing.page
            drawn = document_page(drawing)
        except RagNodesError as error:
            summary, page, drawn = Html(""), 1, notice("error", str(error))
        return (
            cuts.key,
            gr.Column(visible=True),
            gr.Dropdown(choices=_documents(cuts), value=document),
            gr.Radio(choices=[(title_of(one), one) for one in cuts.strategies], value=strategy),
            gr.Number(value=page, maximum=len(pages), label=f"Page of {len(pages):,}"),
            summary,
            drawn,
        )


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


def _drawing(
    cuts: Cuts, strategy: str, document: str, place: ChunkLocation, pages: list[int]
) -> Drawing:
    nodes = cuts.nodes(strategy, document)
    chosen = place.chosen if place.chosen is not None and 0 <= place.chosen < len(nodes) else None
    page = place.page
    if chosen is not None:
        page = page_at(pages, span_of(nodes[chosen]).start)
    elif place.gold:
        page = page_at(pages, place.gold[0].start)
    return Drawing(
        strategy=strategy,
        text=cuts.text_of(document),
        nodes=nodes,
        starts=pages,
        page=min(max(page, 1), len(pages)),
        chosen=chosen,
        document=document,
    )


def _gold(session: PageSession, document: str, place: ChunkLocation) -> tuple[Span, ...]:
    """What was marked in a document, and what the place points at in it."""
    marked = tuple(one.span for one in session.questions.marked if one.document == document)
    return marked + (place.gold if place.document == document else ())


def _summary(cuts: Cuts, strategy: str, document: str) -> Html:
    parser = cuts.comparison.parsers[strategy]
    known = cuts.comparison.statistics.get(strategy)
    nodes, lost = cuts.nodes(strategy, document), cuts.unplaced(strategy, document)
    found = join([_found(cuts.recovery(strategy, [document])), unplaced(lost)])
    sizes = [int(one.metadata.get(TOKEN_COUNT) or 0) for one in nodes]
    if lost and not sizes:
        return found
    if not sizes:
        why = known.error if known and known.error else "this parser made no chunk of it"
        return notice("error", why)
    configuration = {"class": parser.class_name(), **parser.to_dict()}
    said = remarks(one.metadata for one in nodes)
    told = statistics(strategy, configuration, sizes, cuts.facts(strategy, document), said)
    return join([found, told])


def _found(said: str) -> Html | None:
    return tag("p", said, cls="rn-config rn-recovery") if said else None
