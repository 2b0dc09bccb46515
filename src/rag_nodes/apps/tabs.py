"""The tabs of the page: the comparison, and three views of the chunks it is made from."""

from __future__ import annotations

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from rag_nodes.apps.chunks_tab import build_chunks_tab
from rag_nodes.apps.compare_tab import build_compare_tab
from rag_nodes.apps.cuts import AllCuts
from rag_nodes.apps.evaluate_tab import AT_ONCE, build_evaluate_tab
from rag_nodes.apps.export_tab import build_export_tab

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rag_nodes.apps.sessions import Sessions
    from rag_nodes.settings import Settings

_STATUS = "rn-status"
"""Element that changes whenever documents are loaded."""


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
    *,
    documents: Sequence[Path] = (),
    example: Path | None = None,
) -> None:
    """Build and wire all tabs inside the blocks that are open; see `build_compare_tab`."""
    cuts = AllCuts(sessions)
    with gr.Tabs(elem_id="rn-tabs") as tabs:
        with gr.Tab("Compare", id="compare") as comparing:
            build_compare_tab(app, settings, sessions, documents=documents, example=example)
        with gr.Tab("Chunks", id="chunks") as drawing:
            chunks = build_chunks_tab(cuts)
        with gr.Tab("Evaluate", id="evaluate") as judging:
            judged = build_evaluate_tab(cuts, chunks, tabs)
        with gr.Tab("Export", id="export") as exporting:
            export = build_export_tab(cuts)
    _lift_sidebar(app, comparing)
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
    _follow(app, comparing, views)


def _lift_sidebar(app: gr.Blocks, tab: gr.Tab) -> None:
    """Documents are loaded beside all tabs, not inside the first one."""
    for sidebar in [block for block in tab.children if isinstance(block, gr.Sidebar)]:
        tab.children.remove(sidebar)
        app.children.insert(0, sidebar)
        sidebar.parent = app


def _follow(app: gr.Blocks, comparing: gr.Tab, views: list[_View]) -> None:
    """Bring a view up to date when it opens, and while it is open when documents are loaded."""
    opened = gr.State("compare")
    status = next(block for block in app.blocks.values() if block.elem_id == _STATUS)
    common: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    comparing.select(lambda: "compare", outputs=opened, queue=False, **common)
    for view in views:
        view.tab.select(_always(view.name), outputs=opened, queue=False, **common)
        work = {"outputs": view.outputs, "concurrency_limit": AT_ONCE, **common}
        view.tab.select(view.refresh, view.inputs, concurrency_id="views", **work)
        status.change(  # type: ignore[attr-defined] # an HTML component, found by its id
            _if_open(view),
            [opened, *view.inputs],
            trigger_mode="always_last",
            concurrency_id="views",
            **work,
        )


def _always(name: str) -> Callable[[], str]:
    return lambda: name


def _if_open(view: _View) -> Callable[..., Iterator[Any]]:
    def refresh_if_open(
        request: gr.Request, opened: str, *values: Any
    ) -> Iterator[tuple[Any, ...]]:
        if opened != view.name:
            yield (gr.skip(),) * len(view.outputs)
            return
        result = view.refresh(*values, request)
        yield from result if isinstance(result, Iterator) else [result]

    return refresh_if_open
