"""The page: a sidebar to load documents, the comparison, and three views of its chunks."""

from __future__ import annotations

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable, Iterator
from inspect import isgeneratorfunction
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from rag_nodes.apps.sidebar.events import LoadingEvents
from rag_nodes.apps.sidebar.panel import build_sidebar, wire_loading
from rag_nodes.apps.tabs.chunks.tab import build_chunks_tab
from rag_nodes.apps.tabs.compare.tab import build_compare_tab
from rag_nodes.apps.tabs.evaluate.tab import AT_ONCE, build_evaluate_tab
from rag_nodes.apps.tabs.export.tab import build_export_tab
from rag_nodes.apps.visitors import AllCuts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gradio.events import Dependency

    from rag_nodes.apps.votes.store import Votes
    from rag_nodes.settings import Settings
    from rag_nodes.workspace.sessions import Sessions


class _View(NamedTuple):
    """A tab that shows what the session holds, and skips what it shows already."""

    name: str
    tab: gr.Tab
    refresh: Callable[..., Any]
    inputs: list[Any]
    outputs: list[Any]


def build_tabs(
    app: gr.Blocks,
    settings: Settings,
    sessions: Sessions,
    votes: Votes,
    *,
    documents: Sequence[Path] = (),
    example: Path | None = None,
) -> None:
    """Build and wire sidebar and tabs inside the blocks that are open.

    Args:
        app: the blocks that are open.
        settings: defaults of the controls.
        sessions: where each visitor's work is.
        votes: what all of them thought of the answers.
        documents: loaded as soon as a visitor opens the page.
        example: offered to visitors who have no document at hand; None for no offer.
    """
    cuts = AllCuts(sessions)
    sidebar = build_sidebar(settings, example, sessions.offer)
    loading = LoadingEvents(sessions, sidebar.controls, example)
    with gr.Tabs(elem_id="rn-tabs") as tabs:
        with gr.Tab("Compare", id="compare") as comparing:
            compare = build_compare_tab(sessions, votes, sidebar, loading)
        with gr.Tab("Chunks", id="chunks") as drawing:
            chunks = build_chunks_tab(cuts)
        with gr.Tab("Evaluate", id="evaluate") as judging:
            judged = build_evaluate_tab(cuts, chunks, tabs)
        with gr.Tab("Export", id="export") as exporting:
            export = build_export_tab(cuts)
    loads = wire_loading(app, sidebar, loading, compare, documents)
    compare.open_chunks_in(cuts, chunks, tabs)
    views = [
        _View(
            "chunks",
            drawing,
            chunks.events.refresh,
            [chunks.shown, *chunks.chosen],
            chunks.outputs,
        ),
        _View("evaluate", judging, judged.events.refresh, judged.outputs[:1], judged.outputs),
        _View("export", exporting, export.events.refresh, export.inputs, export.outputs),
    ]
    _follow(loads, comparing, views)


def _follow(loads: Sequence[Dependency], comparing: gr.Tab, views: list[_View]) -> None:
    """Bring a view up to date when it opens, and while it is open when documents are loaded.

    Not when the status changes: Gradio answers one change that several events wait for without end.
    """
    opened = gr.State("compare")
    common: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    comparing.select(lambda: "compare", outputs=opened, queue=False, **common)
    for view in views:
        view.tab.select(_always(view.name), outputs=opened, queue=False, **common)
        work = {"outputs": view.outputs, "concurrency_limit": AT_ONCE, **common}
        view.tab.select(view.refresh, view.inputs, concurrency_id="views", **work)
        for load in loads:
            load.then(
                _if_open(view),
                [opened, *view.inputs],
                trigger_mode="always_last",
                concurrency_id="views",
                **work,
            )


def _always(name: str) -> Callable[[], str]:
    return lambda: name


def _if_open(view: _View) -> Callable[..., Any]:
    unchanged = (gr.skip(),) * len(view.outputs)

    def refresh_if_open(request: gr.Request, opened: str, *values: Any) -> Any:
        return view.refresh(*values, request) if opened == view.name else unchanged

    def refresh_in_steps(request: gr.Request, opened: str, *values: Any) -> Iterator[Any]:
        yield from view.refresh(*values, request) if opened == view.name else [unchanged]

    # Gradio sends the last values of an event in steps a second time, over what was chosen since.
    return refresh_in_steps if isgeneratorfunction(view.refresh) else refresh_if_open
