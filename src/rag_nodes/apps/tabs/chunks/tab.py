"""The chunk view: a document with the boundaries and overlaps of one strategy drawn into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.tabs import TabView
from rag_nodes.apps.tabs.chunks.events import EMPTY, ChunksEvents
from rag_nodes.apps.tabs.chunks.labelling import SELECT, LabelEvents
from rag_nodes.apps.visitors.choice import MOST_QUESTION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradio.events import Dependency

    from rag_nodes.apps.visitors.sessions import PageSessions

_AT_ONCE = 8
"""Visitors whose pages are drawn at the same time."""
_FOLLOW = """const mark = (event) => event.target.closest?.('.rn-start, .rn-piece');
const number = (one) => (one.dataset.to || one.id).replace('rn-piece-', '');
const parts = (one) => element.querySelectorAll(`[data-k~="${number(one)}"]`);
const light = (on) => (event) => {
  const one = mark(event);
  if (one) parts(one).forEach((part) => part.classList.toggle('rn-lit', on));
};
for (const name of ['mouseover', 'focusin']) element.addEventListener(name, light(true));
for (const name of ['mouseout', 'focusout']) element.addEventListener(name, light(false));
element.addEventListener('click', (event) => {
  const start = event.target.closest('button.rn-start');
  const piece = start && document.getElementById(start.dataset.to);
  if (!piece) return;
  element.querySelectorAll('.rn-shown').forEach((one) => one.classList.remove('rn-shown'));
  [piece, ...parts(start)].forEach((one) => one.classList.add('rn-shown'));
  piece.querySelector('details').open = true;
  piece.scrollIntoView({behavior: 'smooth', block: 'nearest'});
});"""
"""A mark lights up its chunk while it is pointed at or has the focus, and opens its facts."""
_TO_CHOSEN = """() => {
  document.querySelector('.rn-piece.rn-shown')?.scrollIntoView({block: 'nearest'});
  const mark = document.querySelector('.rn-start.rn-chosen') ||
    document.querySelector('.rn-doc .rn-gold');
  if (mark) { mark.scrollIntoView({block: 'center'}); mark.focus({preventScroll: true}); }
}"""
"""What was opened comes into view as it is drawn, last its mark. Later it would move the page under
a hand that is pressing a mark already, and that click would be lost."""
_UNMARK = """element.addEventListener('click', (event) => {
  const picked = event.target.closest('button[data-act]');
  if (picked) trigger('click', {...picked.dataset});
});"""
_SAVE = """() => document.querySelector('#rn-save-{kind}')?.click()"""


@dataclass(frozen=True, slots=True)
class ChunksTab:
    """The view, in which other tabs open a chunk.

    Attributes:
        events: what draws it.
        view: brings it up to date.
        tabs: the tabs of the page, to bring it to the front.
    """

    events: ChunksEvents
    view: TabView
    tabs: gr.Tabs

    def open_on(
        self,
        event: Callable[..., Dependency],
        work: Callable[..., Any],
        at_once: int,
        group: str,
        inputs: Sequence[Any] = (),
    ) -> None:
        """Let an event of another tab open a chunk here.

        Args:
            event: such as the click of a component.
            work: returns what `ChunksEvents.open` does.
            at_once: visitors for whom it runs at the same time.
            group: events that share this limit.
            inputs: components whose values it gets.
        """
        opened = event(
            work,
            list(inputs),
            outputs=[self.tabs, *self.view.outputs],
            show_progress="hidden",
            concurrency_limit=at_once,
            concurrency_id=group,
            api_visibility="private",
        )
        opened.then(None, js=_TO_CHOSEN, api_visibility="private")


def build_chunks_tab(sessions: PageSessions, tabs: gr.Tabs) -> ChunksTab:
    """Build and wire the view inside the blocks that are open.

    Args:
        sessions: where each visitor's work is.
        tabs: the tabs of the page.
    """
    events = ChunksEvents(sessions)
    shown = gr.State("")
    with gr.Column(elem_id="rn-chunks-tab", elem_classes="rn-tab"):
        with gr.Column(visible=False, elem_id="rn-chunks-controls") as controls:
            with gr.Row(elem_classes="rn-choose"):
                document = gr.Dropdown(label="Document", elem_id="rn-chunks-document", scale=1)
                strategy = gr.Radio(label="Parser", elem_id="rn-chunks-strategy", scale=2)
            summary = gr.HTML(apply_default_css=False, elem_id="rn-chunks-summary")
            with gr.Row(elem_classes="rn-pager", elem_id="rn-chunks-pager"):
                back = gr.Button("Previous", size="sm", scale=0, min_width=90)
                page = gr.Number(1, label="Page", precision=0, minimum=1, scale=0, min_width=110)
                forth = gr.Button("Next", size="sm", scale=0, min_width=90)
                buttons = {kind: _export_button(kind) for kind in ("json", "csv")}
            # What saves a file once it is made; files can be large, so none is made in advance.
            files = {
                kind: gr.DownloadButton(f"Save {kind}", elem_id=f"rn-save-{kind}")
                for kind in buttons
            }
        drawing = gr.HTML(
            EMPTY,
            js_on_load=f"{_FOLLOW}\n{SELECT}",
            apply_default_css=False,
            elem_id="rn-chunks-drawing",
        )
        with gr.Column(visible=False, elem_id="rn-label") as label:
            marked = gr.HTML(js_on_load=_UNMARK, apply_default_css=False, elem_id="rn-marked")
            asked = gr.Textbox(
                label="Question that this answers",
                placeholder="Question that this answers",
                show_label=False,
                submit_btn="Add question",
                max_length=MOST_QUESTION,
                elem_id="rn-label-question",
            )
    outputs = [shown, controls, document, strategy, page, summary, drawing]
    common: dict[str, Any] = {
        "outputs": outputs,
        "show_progress": "hidden",
        "concurrency_limit": _AT_ONCE,
        "concurrency_id": "chunks",
        "trigger_mode": "always_last",
        "api_visibility": "private",
    }
    gr.on([document.input, strategy.input], events.choose, [strategy, document], **common)
    page.input(events.jump, [strategy, document, page], **common)
    back.click(events.turn(-1), [strategy, document, page], **common)
    forth.click(events.turn(1), [strategy, document, page], **common)
    labels = LabelEvents(sessions, events)
    changed = {**common, "outputs": [label, marked, drawing], "trigger_mode": "multiple"}
    drawing.select(labels.mark, [strategy, page], **changed)
    marked.click(labels.unmark, [strategy, document, page], **changed)
    changed["outputs"] = [asked, *changed["outputs"]]
    asked.submit(labels.add, [asked, strategy, document, page], **changed)
    for kind, make in (("json", events.export_json), ("csv", events.export_csv)):
        made = buttons[kind].click(
            make, strategy, files[kind], concurrency_limit=_AT_ONCE, api_visibility="private"
        )
        made.success(None, js=_SAVE.replace("{kind}", kind), api_visibility="private")
    return ChunksTab(events, TabView(events.refresh, [shown, strategy, document], outputs), tabs)


def _export_button(kind: str) -> gr.Button:
    return gr.Button(f"Export {kind.upper()}", size="sm", scale=0, min_width=110)
