"""The sidebar beside all tabs: documents in, what came of them, and every choice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import gradio as gr

from rag_nodes.apps.sidebar import status
from rag_nodes.apps.sidebar.controls import Controls, build_controls
from rag_nodes.apps.sidebar.reopening import build_reopening
from rag_nodes.apps.view.html import tag
from rag_nodes.readers import COLLECTIONS, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rag_nodes.apps.visitors.sessions import PageSessions
    from rag_nodes.parsers import Preset
    from rag_nodes.settings import Settings

_TITLE = tag(
    "div",
    tag("h1", "rag_nodes"),
    tag(
        "p",
        "Cut a document in several ways, ask one question, compare the answers.",
        cls="rn-quiet",
    ),
    cls="rn-title",
)


@dataclass(frozen=True, slots=True)
class Sidebar:
    """The components of the sidebar.

    Attributes:
        files: uploaded documents.
        example: loads the example document.
        status: how far loading is, and what it made.
        cancel: ends loading; on the page only while something is loaded.
        controls: what is chosen.
        process: loads again with what is chosen now.
    """

    files: gr.File
    example: gr.Button
    status: gr.HTML
    cancel: gr.Button
    controls: Controls
    process: gr.Button


def build_sidebar(
    settings: Settings,
    example: Path | None,
    offer: Mapping[str, Preset] | None = None,
    own: Sequence[str] = (),
    sessions: PageSessions | None = None,
) -> Sidebar:
    """Build the sidebar inside the blocks that are open; `LoadingEvents.wire` makes it work.

    Args:
        settings: defaults of the controls.
        example: offered to visitors who have no document at hand; None for no offer.
        offer: what can be compared; None for presets and plug-ins.
        own: names of those that are ticked at first; () for the usual ones.
        sessions: of which a list is shown where they are kept; None for no list.
    """
    with gr.Sidebar(width=330):
        gr.HTML(_TITLE, apply_default_css=False)
        files = gr.File(
            label="Documents",
            file_count="multiple",
            file_types=sorted({*SUFFIXES, *COLLECTIONS}),
            height=130,
            elem_id="rn-files",
        )
        tried = gr.Button("Try the example document", size="md", visible=example is not None)
        panel = gr.HTML(status.idle(), apply_default_css=False, elem_id="rn-status")
        cancel = gr.Button("Cancel", visible=False, size="sm", variant="stop", elem_id="rn-cancel")
        if sessions is not None:
            build_reopening(sessions)
        controls = build_controls(settings, offer, own)
        controls.wire()
        process = gr.Button(
            "Apply changes", interactive=False, variant="primary", size="md", elem_id="rn-process"
        )
    return Sidebar(files, tried, panel, cancel, controls, process)
