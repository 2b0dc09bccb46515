"""The header above all tabs: documents in, what came of them, and what is compared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import gradio as gr

from rag_nodes.apps.header import status
from rag_nodes.apps.header.controls import (
    Controls,
    build_answering,
    build_columns,
    build_parameters,
)
from rag_nodes.parsers import offered
from rag_nodes.readers import COLLECTIONS, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rag_nodes.core.settings import Settings
    from rag_nodes.parsers import Preset
    from rag_nodes.query import QueryOptions

_TITLE = """<div class="rn-title"><h1>rag_nodes</h1>
<p class="rn-quiet">Split a document with several parsers, ask a question, compare the answers.</p>
</div>"""
_OPEN_DRAWER = """() => {
  const toggle = document.querySelector('#rn-drawer .toggle-button');
  toggle.click();
  toggle.focus();
}"""
_CLOSE_DRAWER = """element.closest('#rn-drawer').addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || !document.querySelector('#rn-drawer.open')) return;
  document.querySelector('#rn-drawer .toggle-button').click();
  document.querySelector('#rn-open-drawer').focus();
});"""
_MORE = """() => {
  const open = document.querySelector('#rn-header').classList.toggle('rn-open');
  document.querySelector('#rn-more').setAttribute('aria-expanded', open);
}"""


@dataclass(frozen=True, slots=True)
class Header:
    """The components of the header.

    `status` says how far loading is and what it made, `cancel` ends it, and `process` loads again
    with what is chosen now.
    """

    files: gr.File
    example: gr.Button
    status: gr.HTML
    cancel: gr.Button
    controls: Controls
    process: gr.Button


def build_header(
    settings: Settings,
    example: Path | None,
    offer: Mapping[str, Preset] | None = None,
    own: Sequence[str] = (),
    answering: QueryOptions | None = None,
) -> Header:
    """Build the header inside the blocks that are open; `LoadingEvents.wire` makes it work.

    Args:
        settings: defaults of the controls.
        example: offered to visitors who have no document at hand; None for no offer.
        offer: what can be compared; None for the presets.
        own: names of those that are ticked at first; () for the usual ones.
        answering: see `build_answering`.
    """
    offer = offered() if offer is None else offer
    with gr.Column(elem_id="rn-header"), gr.Row(equal_height=False):
        with gr.Column(scale=2, min_width=260):
            gr.HTML(_TITLE, apply_default_css=False)
            files = gr.File(
                label="Documents",
                file_count="multiple",
                file_types=sorted({*SUFFIXES, *COLLECTIONS}),
                height=110,
                elem_id="rn-files",
            )
            tried = gr.Button(
                "Try the example document",
                size="md",
                visible=example is not None,
                elem_id="rn-example",
            )
        with gr.Column(scale=3, min_width=320, elem_id="rn-choice"):
            columns = build_columns(offer, own)
            process = gr.Button(
                "Apply changes",
                interactive=False,
                variant="primary",
                size="md",
                elem_id="rn-process",
            )
        with gr.Column(scale=2, min_width=260):
            panel = gr.HTML(status.idle(), apply_default_css=False, elem_id="rn-status")
            with gr.Row():
                more = gr.Button("Parsers", size="sm", min_width=80, elem_id="rn-more")
                drawer = gr.Button(
                    "Models and options", size="sm", min_width=140, elem_id="rn-open-drawer"
                )
            cancel = gr.Button(
                "Cancel", visible=False, size="sm", variant="stop", elem_id="rn-cancel"
            )
    with gr.Sidebar(width=330, open=False, position="right", elem_id="rn-drawer"):
        gr.HTML("<h2>Models and options</h2>", js_on_load=_CLOSE_DRAWER, apply_default_css=False)
        parameters = build_parameters(offer, own)
        answered = build_answering(settings, answering)
    controls = Controls(offer, *columns, *parameters, answered)
    controls.wire()
    drawer.click(None, js=_OPEN_DRAWER, api_visibility="private")
    more.click(None, js=_MORE, api_visibility="private")
    return Header(files, tried, panel, cancel, controls, process)
