"""The page: a header to load documents, and tabs to compare, to decide and to look closely."""

from __future__ import annotations

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.given import given_documents
from rag_nodes.apps.header.loading import LoadingEvents
from rag_nodes.apps.header.panel import build_header
from rag_nodes.apps.inside_gradio import (
    GuardedBlocks,
    hear_every_answer,
    newest_wins,
    outermost,
    take_uploads_only,
)
from rag_nodes.apps.tabs.compare.tab import build_compare_tab
from rag_nodes.apps.tabs.decide import AT_ONCE, build_decide_tab
from rag_nodes.apps.tabs.document_tab import build_document_tab
from rag_nodes.apps.theme import add_style
from rag_nodes.apps.visitors.sessions import PageSessions, session_of
from rag_nodes.core.settings import Settings
from rag_nodes.core.several import several
from rag_nodes.evaluation.engines import offered_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradio.events import Dependency
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.llms import LLM
    from llama_index.core.schema import Document

    from rag_nodes.apps.header.panel import Header
    from rag_nodes.apps.tabs import TabView
    from rag_nodes.query import QueryOptions

TITLE = "rag_nodes: compare parsers"
_CACHE_SECONDS = (600, 3600)
"""How often uploaded files are looked for, and the age at which they are deleted: a session keeps
the text it read, so it never needs the file again."""
_WAITING = 100
"""Events of all visitors that may wait; later ones are told that the server is busy."""
_AT_ONCE = 8
"""Visitors whose quick events run at the same time."""
_EXAMPLE = (
    Path(__file__).parent / "example" / "ferry.pdf",
    Path(__file__).parents[3] / "examples" / "corpus" / "ferry.pdf",
)
"""The document for visitors who have none at hand: in the installed package, and in a checkout."""
_FOLDS = """() => {
  const say = (button, open) => {
    if (button) button.setAttribute('aria-expanded', open);
  };
  const all = () => {
    for (const one of document.querySelectorAll('button.label-wrap')) {
      say(one, one.classList.contains('open'));
      one.querySelector('.icon')?.setAttribute('aria-hidden', 'true');
    }
    say(document.querySelector('.sidebar .toggle-button'),
      !!document.querySelector('.sidebar.open'));
    const more = document.querySelector('[aria-label="common.upload"]');
    if (more) more.title = more.ariaLabel = 'Add documents';
  };
  all();
  new MutationObserver(all).observe(document.body,
    {subtree: true, attributes: true, attributeFilter: ['class']});
}"""
"""Gradio's accordions do not say whether they are open, and have their arrow read out; one of its
buttons has the name of a translation for a name."""


def build_app(
    settings: Settings | None = None,
    *,
    columns: Mapping[str, Any] | str | Sequence[str] = (),
    documents: str | Path | Document | Sequence[str | Path | Document] = (),
    embed_model: BaseEmbedding | None = None,
    llm: LLM | None = None,
    answering: QueryOptions | None = None,
) -> GuardedBlocks:
    """The app as Gradio blocks.

    Nothing is shared between two apps, nor between two visitors of one.

    Args:
        settings: defaults of the controls, and the models where the visitor names none; None for
            those of the environment.
        columns: of your own, by name, as `rag_nodes.Comparison` takes them: parsers, splitters of
            other packages, and query engines, retrievers, indexes and vector stores of LlamaIndex;
            or import paths of splitters. They stand first, ticked, as they are: nothing is given
            another size until a visitor asks for it. Several visitors ask them at once.
        documents: loaded as soon as a visitor opens the page: paths, or documents of LlamaIndex;
            the pages that `SimpleDirectoryReader` makes of a file are one document.
        embed_model: model of LlamaIndex that embeds where the visitor names none; None for that of
            the settings, or, where these leave it open, of LlamaIndex's `Settings`.
        llm: model of LlamaIndex that answers, likewise. It writes as it was made to: temperature
            and longest answer of the page are for models that the settings name.
        answering: how questions are answered but for what a visitor chooses; budget, number of
            chunks and cutoff come of the settings. None for all as they say.

    Raises:
        ConfigurationError: one of the columns cannot be used.

    Returns:
        Blocks to launch, to mount, or, where other blocks are open, a part of those. They bring
        their style sheet; `rag_nodes.server.launch` adds theme, limits and headers, see
        `rag_nodes.server.serve.launch_options`.
    """
    settings = settings or Settings()
    columns = several(columns)
    paths, given = given_documents(several(documents))
    sessions = PageSessions(
        settings,
        offer=offered_columns(columns),
        embed_model=embed_model,
        llm=llm,
        documents=given,
        answering=answering,
    )
    app = GuardedBlocks(
        title=TITLE, fill_width=True, analytics_enabled=False, delete_cache=_CACHE_SECONDS
    )
    with app:
        root = outermost(app)
        add_style()
        hear_every_answer(app)
        header = build_header(
            settings, example_document(), sessions.offer, list(columns), answering
        )
        _build_page(app, sessions, paths, header)
        app.load(None, js=_FOLDS, api_visibility="private")

        def leave(request: gr.Request) -> None:
            sessions.detach(request.session_hash)

        root.unload(leave)
    app.at_end = sessions.close
    # Every event waits in the queue: open routes would let scripts past its limits. Those that name
    # no limit of their own are quick, and one of them must not hold up those of other visitors.
    app.queue(max_size=_WAITING, api_open=False, default_concurrency_limit=_AT_ONCE)
    take_uploads_only(root)
    newest_wins(root)
    return app


def example_document() -> Path | None:
    """The path of the example document; None where it was not shipped."""
    return next((path for path in _EXAMPLE if path.is_file()), None)


def _build_page(
    app: gr.Blocks, sessions: PageSessions, documents: Sequence[Path], header: Header
) -> None:
    """The tabs below a header, each wired to what it needs of the other.

    The header knows no tab, and only the comparison knows the header.
    """
    example = example_document()
    with gr.Tabs(elem_id="rn-tabs") as tabs:
        with gr.Tab("Compare", id="compare") as comparing:
            compare = build_compare_tab(sessions)
        deciding = gr.Tab("Decide", id="decide")
        with gr.Tab("Document", id="document") as showing:
            document = build_document_tab(sessions, tabs)
        with deciding:
            decide = build_decide_tab(sessions, document)
    loading = LoadingEvents(sessions, header, compare.follow(), example)
    loads = loading.wire(app, documents)
    compare.ask_with(loading)
    compare.open_chunks_in(document)
    views = [(comparing, compare.view), (deciding, decide), (showing, document.view)]
    turned_to = _follow(sessions, loads, comparing, views)

    def back(turned_to: Any, request: gr.Request) -> Any:
        """The tab that was left, unless the visitor has turned to another one meanwhile."""
        left = session_of(sessions, request).shown.get("left") or comparing.id
        stays = turned_to != comparing.id or left == comparing.id
        return gr.skip() if stays else gr.Tabs(selected=left)

    loads[-1].then(back, turned_to, tabs, show_progress="hidden", api_visibility="private")


def _follow(
    sessions: PageSessions,
    loads: Sequence[Dependency],
    comparing: gr.Tab,
    views: Sequence[tuple[gr.Tab, TabView]],
) -> gr.State:
    """Bring a view up to date when it opens, and while it is open when documents are loaded.

    Not when the status changes: Gradio answers one change that several events wait for without end.

    Returns:
        Id of the tab that is open.
    """
    opened = gr.State(comparing.id)
    common: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}

    def opens(tab: Any) -> Callable[[gr.Request], Any]:
        def note(request: gr.Request) -> Any:
            session_of(sessions, request).shown["tab"] = tab
            return tab

        return note

    for tab, view in views:
        tab.select(opens(tab.id), outputs=opened, queue=False, **common)
        work = {"outputs": view.outputs, "concurrency_limit": AT_ONCE, **common}
        tab.select(view.refresh, view.inputs, concurrency_id="views", **work)
        for load in loads:
            load.then(
                view.while_open(tab.id),
                [opened, *view.inputs],
                trigger_mode="always_last",
                concurrency_id="views",
                **work,
            )
    return opened
