"""The sidebar beside all tabs: documents in, what came of them, and every choice (S0-12, S0-13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.sidebar import status
from rag_nodes.apps.sidebar.controls import Controls, build_controls
from rag_nodes.apps.view.html import tag
from rag_nodes.readers import COLLECTIONS, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gradio.events import Dependency

    from rag_nodes.apps.sidebar.events import LoadingEvents
    from rag_nodes.apps.tabs.compare.tab import CompareTab
    from rag_nodes.parsers import Preset
    from rag_nodes.settings import Settings

AT_ONCE = 8
"""Visitors whose documents are read at the same time."""
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
_AFTER_LOADING = """() => { const open = document.querySelector('.sidebar.open .toggle-button');
  const problem = document.querySelector('#rn-status .rn-error');
  if (problem) problem.scrollIntoView({behavior: 'smooth', block: 'nearest'});
  else if (open && innerWidth < 768) open.click(); }"""
"""An error comes into view; on a phone, where the sidebar covers the page, success closes it."""
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

    def outputs(self, shown: Sequence[Any]) -> list[Any]:
        """What an event that loads gives values for.

        Args:
            shown: what it changes outside the sidebar, see `CompareTab.loading`.
        """
        return [self.status, *shown, self.process, self.cancel]


def build_sidebar(
    settings: Settings, example: Path | None, offer: Mapping[str, Preset] | None = None
) -> Sidebar:
    """Build the sidebar inside the blocks that are open; `wire_loading` makes it work.

    Args:
        settings: defaults of the controls.
        example: offered to visitors who have no document at hand; None for no offer.
        offer: what can be compared; None for presets and plug-ins.
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
        controls = build_controls(settings, offer)
        process = gr.Button(
            "Apply changes", interactive=False, variant="primary", size="md", elem_id="rn-process"
        )
    return Sidebar(files, tried, panel, cancel, controls, process)


def wire_loading(
    app: gr.Blocks,
    sidebar: Sidebar,
    work: LoadingEvents,
    compare: CompareTab,
    documents: Sequence[Path] = (),
) -> list[Dependency]:
    """Let the sidebar load documents.

    Args:
        app: the blocks that are open.
        sidebar: built before.
        work: what its events do.
        compare: where loading shows, and where a note says what is not applied yet.
        documents: loaded as soon as a visitor opens the page.

    Returns:
        The events that load, for what is to be done when one has ended.
    """
    controls = sidebar.controls
    controls.wire()
    app.load(None, js=_FOLDS, api_visibility="private")
    common: dict[str, Any] = {
        "outputs": sidebar.outputs(compare.loading),
        "show_progress": "hidden",
        "concurrency_limit": AT_ONCE,
        "trigger_mode": "multiple",  # what is uploaded later takes over
    }
    loading = gr.on(
        [sidebar.files.upload, sidebar.process.click],
        work.process,
        [sidebar.files, *controls.inputs],
        api_name="process",
        **common,
    )
    trying = sidebar.example.click(
        work.process_example, controls.inputs, api_name="process_example", **common
    )
    events = [loading, trying]
    if documents:
        given = work.process_given(documents)
        events.append(app.load(given, controls.inputs, api_visibility="private", **common))
    quiet: dict[str, Any] = {
        "show_progress": "hidden",
        "queue": False,
        "api_visibility": "private",
    }
    for event in events:
        event.then(None, js=_AFTER_LOADING, api_visibility="private")
        event.then(work.noted, controls.inputs, compare.note, **quiet)
    sidebar.cancel.click(
        work.cancel,
        sidebar.files,
        sidebar.files,
        **quiet,
    )
    gr.on(
        [component.change for component in controls.inputs],  # type: ignore[attr-defined]
        work.changed,
        [sidebar.files, *controls.inputs],
        [sidebar.process, compare.note],
        trigger_mode="multiple",  # two events of one change that wait start each other without end
        **quiet,
    )
    return events
