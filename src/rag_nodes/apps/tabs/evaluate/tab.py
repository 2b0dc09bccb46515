"""The evaluation: how good the chunks are before anyone asks a question."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.tabs import TabView
from rag_nodes.apps.tabs.evaluate.events import EMPTY, EvaluateEvents
from rag_nodes.apps.view.html import tag

if TYPE_CHECKING:
    from rag_nodes.apps.tabs.chunks.tab import ChunksTab
    from rag_nodes.workspace import Sessions

AT_ONCE = 2
"""Visitors measured at the same time: it keeps a processor busy."""
_PICK = """element.addEventListener('click', (event) => {
  const picked = event.target.closest('button.rn-drill, button.rn-open');
  if (picked) trigger('click', {...picked.dataset});
});"""
_TO_LIST = """() => setTimeout(() => document.querySelector('#rn-findings')
  ?.scrollIntoView({behavior: 'smooth', block: 'nearest'}), 100)"""
_LABELLED = tag(
    "div",
    tag("h2", "Labelled questions"),
    tag(
        "p",
        "Recall and precision need questions whose answers are marked in the documents. "
        "None are loaded.",
    ),
    cls="rn-place",
)


def build_evaluate_tab(sessions: Sessions, chunks: ChunksTab) -> TabView:
    """Build and wire the evaluation inside the blocks that are open.

    Args:
        sessions: where each visitor's work is.
        chunks: where a chosen chunk opens.
    """
    events = EvaluateEvents(sessions, chunks.events)
    shown = gr.State("")
    with gr.Column(elem_id="rn-evaluate-tab", elem_classes="rn-tab"):
        table = gr.HTML(EMPTY, js_on_load=_PICK, apply_default_css=False, elem_id="rn-measures")
        behind = gr.HTML(js_on_load=_PICK, apply_default_css=False, elem_id="rn-findings")
        gr.HTML(_LABELLED, apply_default_css=False, elem_id="rn-labelled")
    common: dict[str, Any] = {
        "show_progress": "hidden",
        "concurrency_limit": AT_ONCE,
        "concurrency_id": "evaluate",
        "api_visibility": "private",
    }
    listed = table.click(events.drill, outputs=behind, **common)
    listed.then(None, js=_TO_LIST, api_visibility="private")
    chunks.open_on(behind.click, events.open, AT_ONCE, "evaluate")
    return TabView(events.refresh, [shown], [shown, table, behind])
