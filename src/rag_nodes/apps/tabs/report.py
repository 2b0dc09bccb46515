"""Share it: the decision, the questions and the cited pages in one file that opens anywhere."""

from __future__ import annotations

import logging
from importlib.metadata import version
from importlib.resources import files
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr
from markupsafe import Markup

from rag_nodes.apps.inside_gradio import offer
from rag_nodes.apps.markup import count, in_a_line, whole_page
from rag_nodes.apps.tabs.compare.reply import compared_turn
from rag_nodes.apps.visitors.choice import headline_of
from rag_nodes.apps.visitors.sessions import session_of
from rag_nodes.errors import RagNodesError
from rag_nodes.evaluation.run import standing
from rag_nodes.metadata import FILE_NAME, SOURCE, display_name
from rag_nodes.readers.isolation import pool
from rag_nodes.readers.kinds import SUFFIXES
from rag_nodes.readers.pdf.picture import LIMITS
from rag_nodes.readers.plain import read_plain
from rag_nodes.text.spans import PageMap, Span
from rag_nodes.view.page import PdfSurface

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions
    from rag_nodes.apps.visitors.turns import Turn
    from rag_nodes.query import Citation

logger = logging.getLogger(__name__)

MOST_PAGES = 12
"""Cited pages that are in the file; what is cited of others is there as text."""
MOST_NAMES = 3
"""Documents named in the heading; a crawl has hundreds."""
_DPI = 96
_SAVE = "() => document.querySelector('#rn-save-shared')?.click()"


class PageView(NamedTuple):
    """A cited page: an SVG of points with its picture and marks, and quotes that are not marked.

    `box` is "" without a picture; a mark is left, top, width and height.
    """

    title: str
    box: str
    image: Markup
    marks: tuple[tuple[str, ...], ...]
    quotes: tuple[str, ...]


def report_of(session: PageSession) -> str:
    """One page of HTML that loads nothing and runs nothing; no key is in it."""
    verdict = session.decider.verdict
    decision = verdict.decision if verdict else standing(session.decider.plan)
    names = {one.name: one for turn in session.turns for one in turn.columns}
    documents = [display_name(one.metadata) or "document" for one in session.documents]
    more = count(len(documents) - MOST_NAMES, "more document")
    shown = documents if len(documents) <= MOST_NAMES else [*documents[:MOST_NAMES], more]
    return whole_page(
        "report",
        style=Markup((files("rag_nodes.apps") / "styles" / "report.css").read_text("utf-8")),  # noqa: S704 - ours
        decision=f"{decision.certainty} {decision.words}".strip(),
        cost=decision.cost,
        documents=shown,
        turns=[(turn, compared_turn(turn)) for turn in session.turns],
        columns=[(name, headline_of(name, one.parser)) for name, one in names.items()],
        models=session.report.models if session.report else "",
        pages=list(_pages(session)),
        versions=f"rag_nodes {version('rag-nodes')}, LlamaIndex {version('llama-index-core')}",
    )


def report_button(sessions: PageSessions) -> gr.Button:
    """The button that downloads it, inside the blocks that are open."""

    def save(request: gr.Request) -> str:
        session = session_of(sessions, request)
        if not session.documents:
            raise gr.Error("Load a document first.", print_exception=False)
        return offer(report_of(session).encode("utf-8", "replace"), "rag_nodes report.html")

    button = gr.Button("Report", size="sm", scale=0, min_width=72, elem_id="rn-report")
    file = gr.DownloadButton("Save", elem_id="rn-save-shared")
    common: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    made = button.click(save, None, file, concurrency_limit=2, **common)
    made.success(None, js=_SAVE, api_visibility="private")
    return button


def _pages(session: PageSession) -> Iterator[PageView]:
    """The cited pages, in the order of the documents."""
    documents = {one.id_: one for one in session.documents}
    # Only what was loaded is opened: a document may name any file as its source.
    paths = {str(path.absolute()): path for path in session.paths}
    cited: dict[tuple[int, int], list[Citation]] = {}
    order = list(documents)
    for turn in session.turns:
        for document, citation in _citations(turn):
            if document in documents:
                page = (order.index(document), citation.page or 0)
                cited.setdefault(page, []).append(citation)
    for drawn, (at, number) in enumerate(sorted(cited)):
        one = documents[order[at]]
        path = paths.get(str(one.metadata.get(SOURCE)))
        wanted = path if drawn < MOST_PAGES and number > 0 else None
        yield _page(one, number, cited[at, number], wanted)


def _citations(turn: Turn) -> Iterator[tuple[str | None, Citation]]:
    for column in turn.columns:
        if column.answer:
            for citation in column.answer.citations:
                hit = column.answer.hit_of(citation)
                yield hit.node.ref_doc_id if hit else None, citation


def _page(
    document: Document, page: int, citations: Sequence[Citation], path: Path | None
) -> PageView:
    name = display_name(document.metadata) or "document"
    title = f"{name}, page {page}" if page else name
    surface = _surface(document, path, page)
    quotes = dict.fromkeys(" ".join(one.quote.split()) for one in citations)
    # Readers write Markdown; but what looks like it in plain text, such as `f[0](x)`, is cited.
    suffix = PurePath(str(document.metadata.get(FILE_NAME, ""))).suffix.lower()
    shown = str if SUFFIXES.get(suffix) is read_plain else in_a_line
    if surface is None:
        return PageView(title, "", Markup(), (), tuple(map(shown, quotes)))
    marks: dict[tuple[str, ...], None] = {}
    for one in citations:
        span = Span(one.start or 0, one.end or 0)
        for left, top, right, bottom in surface.boxes(span):
            quotes.pop(" ".join(one.quote.split()), None)
            edges = (left, top, right - left, bottom - top)
            marks[tuple(f"{edge:.1f}" for edge in edges)] = None
    picture = surface.picture
    box = f"0 0 {picture.width:.0f} {picture.height:.0f}"
    return PageView(title, box, surface.image(), tuple(marks), tuple(map(shown, quotes)))


def _surface(document: Document, path: Path | None, page: int) -> PdfSurface | None:
    """The printed page; None where the file is no PDF, is gone, or cannot be drawn."""
    pages = PageMap.of(document.metadata)
    if path is None or path.suffix.lower() != ".pdf" or not path.is_file() or pages is None:
        return None
    start, end = (*pages.starts, len(document.text))[page - 1 : page + 1]
    try:
        picture = pool.draw(path, page, document.text[start:end], LIMITS, _DPI)
    except RagNodesError:
        logger.info("a page of the report could not be drawn", exc_info=True)
        return None
    return PdfSurface(picture, document.text[start:end], start)
