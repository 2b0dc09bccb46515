"""The export: the chosen strategy as a Python script to read, copy and run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.inside_gradio import offer
from rag_nodes.apps.tabs import TabView
from rag_nodes.apps.view.html import tag
from rag_nodes.apps.view.parts import empty, title_of
from rag_nodes.apps.visitors.requests import cuts_of
from rag_nodes.errors import ConfigurationError
from rag_nodes.operations.scripts import script_name, script_of

if TYPE_CHECKING:
    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.apps.visitors.session import PageSessions

EMPTY = empty(
    "Take a parser with you",
    tag("p", "Load a document, choose a parser, and get a Python script that does the same."),
)
_ABOUT = tag(
    "p",
    "Reads, cuts, embeds, stores and answers as the comparison does, with LlamaIndex and Qdrant. "
    "No key is in it.",
    cls="rn-quiet",
)


class ExportEvents:
    """What the events do.

    Args:
        sessions: where each visitor's work is.
    """

    def __init__(self, sessions: PageSessions) -> None:
        self._sessions = sessions

    def refresh(self, shown: str, strategy: str, request: gr.Request) -> tuple[Any, ...]:
        """The script for what the session holds now, unless that is on the page already.

        Returns:
            Shown key, note, content, strategy, code, file.
        """
        cuts = cuts_of(self._sessions, request)
        if shown == (cuts.key if cuts else ""):
            return (gr.skip(),) * 6
        if cuts is None:
            return "", EMPTY, gr.Column(visible=False), gr.skip(), "", None
        chosen = strategy if strategy in cuts.strategies else cuts.strategies[0]
        choices = [(title_of(one), one) for one in cuts.strategies]
        radio = gr.Radio(choices=choices, value=chosen)
        return cuts.key, _ABOUT, gr.Column(visible=True), radio, *_written(cuts, chosen)

    def choose(self, strategy: str, request: gr.Request) -> tuple[Any, ...]:
        """The script of another strategy.

        Returns:
            Code and file.
        """
        cuts = cuts_of(self._sessions, request)
        if cuts is None or strategy not in cuts.strategies:
            raise gr.Error("Nothing to export: load a document first.", print_exception=False)
        return _written(cuts, strategy)


def build_export_tab(sessions: PageSessions) -> TabView:
    """Build and wire the export inside the blocks that are open.

    Args:
        sessions: where each visitor's work is.
    """
    events = ExportEvents(sessions)
    shown = gr.State("")
    with gr.Column(elem_id="rn-export-tab", elem_classes="rn-tab"):
        note = gr.HTML(EMPTY, apply_default_css=False)
        with gr.Column(visible=False) as content:
            with gr.Row(elem_classes="rn-choose"):
                strategy = gr.Radio(label="Parser", elem_id="rn-export-strategy", scale=2)
                file = gr.DownloadButton(
                    "Download script", size="sm", scale=0, min_width=150, elem_id="rn-export-file"
                )
            code = gr.Code(
                language="python",
                label="Python script",
                interactive=False,
                wrap_lines=True,
                buttons=["copy"],
                elem_id="rn-export-code",
            )
    strategy.input(
        events.choose, strategy, [code, file], show_progress="hidden", api_visibility="private"
    )
    outputs = [shown, note, content, strategy, code, file]
    return TabView(events.refresh, [shown, strategy], outputs)


def _written(cuts: Cuts, strategy: str) -> tuple[str, str | None]:
    """The script and its file, or why there is none."""
    try:
        script = script_of(cuts.comparison, strategy)
    except ConfigurationError as error:
        return f"# {error}\n", None
    return script, offer(script.encode(), script_name(strategy))
