"""The comparison: a sidebar to load documents, a page of questions with a column per parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.compare_events import NOT_YET, CompareEvents
from rag_nodes.apps.controls import Controls, build_controls
from rag_nodes.apps.render import status
from rag_nodes.apps.render.history import history
from rag_nodes.apps.render.html import tag
from rag_nodes.readers import COLLECTIONS, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rag_nodes.apps.sessions import Sessions
    from rag_nodes.settings import Settings

AT_ONCE = 8
"""Visitors whose documents or questions are worked on at the same time."""
EXAMPLE_QUESTIONS = (
    "When must the sand filter be rinsed backwards?",
    "How long do new plants stay in quarantine?",
    "How long does the battery keep the controller alive?",
)
"""About the example document."""
_TITLE = tag(
    "div",
    tag("h1", "rag_nodes"),
    tag("p", "One question, several ways to cut the document.", cls="rn-quiet"),
    cls="rn-title",
)
_TO_THE_END = """() => { const rows = document.querySelectorAll('.rn-turn, .rn-pending');
  if (rows.length) rows[rows.length - 1].scrollIntoView({behavior: 'smooth', block: 'start'}); }"""
_AFTER_LOADING = """() => { const open = document.querySelector('.sidebar.open .toggle-button');
  const problem = document.querySelector('#rn-status .rn-error');
  if (problem) problem.scrollIntoView({behavior: 'smooth', block: 'nearest'});
  else if (open && innerWidth < 768) open.click(); }"""
"""An error comes into view; on a phone, where the sidebar covers the page, success closes it."""
_SHOW_CHUNK = """element.addEventListener('click', (event) => {
  const chip = event.target.closest('button.rn-chip');
  const chunk = chip && document.getElementById(chip.dataset.to);
  if (!chunk) return;
  element.querySelectorAll('.rn-shown').forEach((one) => one.classList.remove('rn-shown'));
  chunk.closest('.rn-chunks').open = true;
  chunk.querySelector('.rn-chunk').open = true;
  chunk.classList.add('rn-shown');
  (chunk.querySelector('mark') || chunk).scrollIntoView({behavior: 'smooth', block: 'center'});
})"""
"""A citation opens the chunk it came from."""


@dataclass(frozen=True, slots=True)
class _Page:
    """The components that events change."""

    files: gr.File
    example: gr.Button
    process: gr.Button
    status: gr.HTML
    history: gr.HTML
    suggestions: gr.Row
    suggested: list[gr.Button]
    question: gr.Textbox
    stop: gr.Button
    clear: gr.Button

    @property
    def loading(self) -> list[gr.blocks.Block]:
        """What an event that loads gives values for."""
        return [self.status, self.history, self.question, self.process, self.suggestions]


def build_compare_tab(
    app: gr.Blocks,
    settings: Settings,
    sessions: Sessions,
    *,
    documents: Sequence[Path] = (),
    example: Path | None = None,
) -> None:
    """Build and wire the comparison inside the blocks that are open.

    Args:
        app: the blocks that are open.
        settings: defaults of the controls.
        sessions: where each visitor's work is.
        documents: loaded as soon as a visitor opens the page.
        example: offered to visitors who have no document at hand; None for no offer.
    """
    page, controls = _layout(settings, example)
    work = CompareEvents(sessions, controls, example)
    controls.wire()
    _wire_loading(page, controls, work)
    if documents:
        app.load(
            work.process_given(documents),
            controls.inputs,
            page.loading,
            show_progress="hidden",
            concurrency_limit=AT_ONCE,
            api_visibility="private",
        )
    _wire_asking(page, work)


def _layout(settings: Settings, example: Path | None) -> tuple[_Page, Controls]:
    with gr.Sidebar(width=330):
        gr.HTML(_TITLE, apply_default_css=False)
        files = gr.File(
            label="Documents",
            file_count="multiple",
            file_types=sorted({*SUFFIXES, *COLLECTIONS}),
            height=130,
            elem_id="rn-files",
        )
        tried = gr.Button("Try the example document", size="sm", visible=example is not None)
        panel = gr.HTML(status.idle(), apply_default_css=False, elem_id="rn-status")
        controls = build_controls(settings)
        process = gr.Button("Apply changes", interactive=False, elem_id="rn-process")
    with gr.Column(elem_id="rn-main"):
        main = gr.HTML(
            history((), ready=False),
            js_on_load=_SHOW_CHUNK,
            apply_default_css=False,
            elem_id="rn-history-box",
        )
        with gr.Column(elem_id="rn-ask"):
            with gr.Row(visible=False, elem_id="rn-suggestions") as suggestions:
                suggested = [gr.Button(text, size="sm") for text in EXAMPLE_QUESTIONS]
            with gr.Row(equal_height=True):
                question = gr.Textbox(
                    label="Question",
                    show_label=False,
                    placeholder=NOT_YET,
                    interactive=False,
                    submit_btn="Send",
                    max_length=4000,
                    elem_id="rn-question",
                    html_attributes=gr.InputHTMLAttributes(enterkeyhint="send"),
                    scale=1,
                )
                stop = gr.Button(
                    "Stop",
                    visible=False,
                    variant="stop",
                    size="sm",
                    scale=0,
                    min_width=72,
                    elem_id="rn-stop",
                )
                clear = gr.Button("Clear", size="sm", scale=0, min_width=72, elem_id="rn-clear")
    page = _Page(files, tried, process, panel, main, suggestions, suggested, question, stop, clear)
    return page, controls


def _wire_loading(page: _Page, controls: Controls, work: CompareEvents) -> None:
    common: dict[str, Any] = {
        "outputs": page.loading,
        "show_progress": "hidden",
        "concurrency_limit": AT_ONCE,
    }
    loading = gr.on(
        [page.files.upload, page.process.click],
        work.process,
        [page.files, *controls.inputs],
        api_name="process",
        **common,
    )
    trying = page.example.click(
        work.process_example, controls.inputs, api_name="process_example", **common
    )
    for event in (loading, trying):
        event.then(None, js=_AFTER_LOADING, api_visibility="private")
    gr.on(
        [component.change for component in controls.inputs],  # type: ignore[attr-defined]
        work.changed,
        page.files,
        outputs=page.process,
        show_progress="hidden",
        queue=False,
        api_visibility="private",
    )


def _wire_asking(page: _Page, work: CompareEvents) -> None:
    outputs = [page.history, page.question, page.stop]
    for number, (event, source) in enumerate(
        [(page.question.submit, page.question)] + [(one.click, one) for one in page.suggested]
    ):
        asking = event(
            work.ask,
            source,
            outputs,
            show_progress="hidden",
            concurrency_limit=AT_ONCE,
            api_name="ask" if number == 0 else None,
            api_visibility="public" if number == 0 else "private",
        )
        asking.then(None, js=_TO_THE_END, api_visibility="private")
        event(None, js=f"() => setTimeout({_TO_THE_END}, 400)", api_visibility="private")
    page.stop.click(work.stop, show_progress="hidden", queue=False, api_visibility="private")
    page.clear.click(work.clear, outputs=page.history, show_progress="hidden", api_name="clear")
