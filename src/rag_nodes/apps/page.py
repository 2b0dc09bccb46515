"""The page: a sidebar to load documents, the comparison, and what it is judged by, in tabs."""

from __future__ import annotations

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.inside_gradio import GuardedBlocks, outermost, take_uploads_only
from rag_nodes.apps.sidebar.loading import LoadingEvents
from rag_nodes.apps.sidebar.panel import build_sidebar
from rag_nodes.apps.tabs.chunks.tab import build_chunks_tab
from rag_nodes.apps.tabs.compare.tab import build_compare_tab
from rag_nodes.apps.tabs.evaluate.tab import AT_ONCE, build_evaluate_tab
from rag_nodes.apps.tabs.export.tab import build_export_tab
from rag_nodes.apps.tabs.questions.tab import build_questions_tab
from rag_nodes.apps.theme import add_style
from rag_nodes.apps.votes.store import Votes
from rag_nodes.parsers import offered
from rag_nodes.parsers.isolation import cutting
from rag_nodes.workspace import Sessions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradio.events import Dependency

    from rag_nodes.apps.tabs import TabView
    from rag_nodes.settings import Settings

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


def build_app(
    settings: Settings,
    *,
    documents: Sequence[str | Path] = (),
    local_models: bool = False,
    parsers: Mapping[str, Any] | Sequence[str] = (),
) -> gr.Blocks:
    """The app as Gradio blocks.

    Nothing is shared between two apps, nor between two visitors of one, but the votes.

    Args:
        settings: defaults of the controls, and the models where the visitor names none.
        documents: loaded as soon as a visitor opens the page.
        local_models: visitors may type in addresses behind this machine's firewall.
        parsers: what visitors can choose besides presets and plug-ins: splitters of other packages
            by name, or import paths, see `rag_nodes.parsers.offered`.

    Raises:
        ConfigurationError: one of the parsers cannot be used.

    Returns:
        Blocks to launch, to mount, or, where other blocks are open, a part of those. They bring
        their style sheet; `rag_nodes.server.launch` adds theme, limits and headers, see
        `rag_nodes.server.serve.launch_options`.
    """
    sessions = Sessions(settings, local_models=local_models, offer=offered(parsers))
    app = GuardedBlocks(
        title=TITLE, fill_width=True, analytics_enabled=False, delete_cache=_CACHE_SECONDS
    )
    with app:
        root = outermost(app)
        add_style()
        _build_page(app, settings, sessions, [Path(document) for document in documents])

        def leave(request: gr.Request) -> None:
            sessions.end(request.session_hash)

        root.unload(leave)
    # Every event waits in the queue: open routes would let scripts past its limits. Those that name
    # no limit of their own are quick, and one of them must not hold up those of other visitors.
    app.queue(max_size=_WAITING, api_open=False, default_concurrency_limit=_AT_ONCE)
    take_uploads_only(root)
    cutting.warm_up()
    return app


def example_document() -> Path | None:
    """The path of the example document; None where it was not shipped."""
    return next((path for path in _EXAMPLE if path.is_file()), None)


def _build_page(
    app: gr.Blocks, settings: Settings, sessions: Sessions, documents: Sequence[Path]
) -> None:
    """Sidebar and tabs inside the blocks that are open, each wired to what it needs of the other.

    The sidebar knows no tab, and only the comparison knows the sidebar.
    """
    example = example_document()
    sidebar = build_sidebar(settings, example, sessions.offer)
    with gr.Tabs(elem_id="rn-tabs") as tabs:
        with gr.Tab("Compare", id="compare") as comparing:
            compare = build_compare_tab(sessions, Votes(settings.votes))
        with gr.Tab("Chunks", id="chunks") as drawing:
            chunks = build_chunks_tab(sessions, tabs)
        with gr.Tab("Questions", id="questions") as asking:
            questions = build_questions_tab(sessions, chunks)
        with gr.Tab("Evaluate", id="evaluate") as judging:
            evaluate = build_evaluate_tab(sessions, chunks, example)
        with gr.Tab("Export", id="export") as exporting:
            export = build_export_tab(sessions)
    loading = LoadingEvents(sessions, sidebar, compare.follow(example), example)
    loads = loading.wire(app, documents)
    compare.ask_with(loading)
    compare.open_chunks_in(chunks)
    views = [(drawing, chunks.view), (asking, questions), (judging, evaluate), (exporting, export)]
    _follow(loads, comparing, views)


def _follow(
    loads: Sequence[Dependency], comparing: gr.Tab, views: Sequence[tuple[gr.Tab, TabView]]
) -> None:
    """Bring a view up to date when it opens, and while it is open when documents are loaded.

    Not when the status changes: Gradio answers one change that several events wait for without end.
    """
    opened = gr.State(comparing.id)
    common: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    comparing.select(_always(comparing.id), outputs=opened, queue=False, **common)
    for tab, view in views:
        tab.select(_always(tab.id), outputs=opened, queue=False, **common)
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


def _always(name: Any) -> Callable[[], Any]:
    return lambda: name
