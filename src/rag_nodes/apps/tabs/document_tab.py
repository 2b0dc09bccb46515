"""The Document tab as it is laid out and wired: controls, the map of all cuts, the page."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.tabs import TabView
from rag_nodes.apps.tabs.document import LONGEST_SEARCH, DocumentEvents
from rag_nodes.apps.tabs.labelling import LabelEvents
from rag_nodes.apps.visitors.choice import MOST_QUESTION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gradio.events import Dependency

    from rag_nodes.apps.visitors.sessions import PageSessions

_AT_ONCE = 8
"""Visitors whose pages are drawn at the same time."""
_MAP, _PAGE = (
    (files(__package__ or "") / f"document_{one}.js").read_text(encoding="utf-8")
    for one in ("map", "page")
)
_TO_CHOSEN = """() => {
  document.querySelector('.rn-piece.rn-shown')?.scrollIntoView({block: 'nearest'});
  document.querySelector('.rn-sheet .rn-shown, .rn-sheet .rn-gold, .rn-gold-box[d]:not([d=""])')
    ?.scrollIntoView({block: 'center'});
}"""
"""What was opened comes into view as it is drawn."""
_BUSY, _DRAWN = (
    f"() => {{ document.querySelector('#rn-tabs').ariaBusy = {is_busy}; }}"
    for is_busy in ("true", "false")
)
"""Said in words, by the style sheet, of what is not there at once, as while a reader starts."""
_ZOOM = """() => {
  const drawing = document.querySelector('#rn-document-drawing');
  const scales = ['1', '1.5', '2', '3'];
  const at = scales.indexOf(drawing.style.getPropertyValue('--rn-zoom') || '1') + {step};
  drawing.style.setProperty('--rn-zoom', scales[Math.min(Math.max(at, 0), scales.length - 1)]);
}"""
"""Pictures are drawn at twice the width they are shown in."""


@dataclass(frozen=True, slots=True)
class DocumentTab:
    """The view, in which other tabs open a place.

    Attributes:
        events: what draws it.
        view: brings it up to date.
        tabs: the tabs of the page, to bring it to the front.
    """

    events: DocumentEvents
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
        """Let an event of another tab open a place here.

        Args:
            event: such as the click of a component.
            work: returns what `DocumentEvents.open` does.
            at_once: visitors for whom it runs at the same time.
            group: events that share this limit.
            inputs: components whose values it gets.
        """
        say = _say_busy([event])
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
        say([opened])


def build_document_tab(sessions: PageSessions, tabs: gr.Tabs) -> DocumentTab:
    """Build and wire the view inside the blocks that are open."""
    events = DocumentEvents(sessions)
    shown, found = gr.State(""), gr.State(-1)
    with gr.Column(elem_id="rn-document-tab", elem_classes="rn-tab"):
        with gr.Column(visible=False, elem_id="rn-document-controls") as controls:
            with gr.Row(elem_classes="rn-choose"):
                document = gr.Dropdown(label="Document", elem_id="rn-document-name", scale=1)
                strategy = gr.Radio(label="Parser", elem_id="rn-document-strategy", scale=2)
                summary = gr.HTML(apply_default_css=False, elem_id="rn-document-summary")
            with gr.Column(elem_id="rn-whole"):
                whole = gr.HTML(js_on_load=_MAP, apply_default_css=False, elem_id="rn-map")
                where = gr.HTML(apply_default_css=False, elem_id="rn-where")
            with gr.Row(elem_classes="rn-pager", elem_id="rn-document-pager"):
                back = gr.Button("Previous", size="sm", scale=0, min_width=90)
                page = gr.Number(1, label="Page", precision=0, scale=0, min_width=110)
                forth = gr.Button("Next", size="sm", scale=0, min_width=90)
                chunk = gr.Number(1, label="Chunk", precision=0, scale=0, min_width=110)
                words = gr.Textbox(
                    label="Search", max_length=LONGEST_SEARCH, max_lines=1, min_width=160,
                    elem_id="rn-search",
                )  # fmt: skip
                for name, step in (("Zoom in", 1), ("Zoom out", -1)):
                    zoom = gr.Button(name, size="sm", scale=0, min_width=90, elem_classes="rn-zoom")
                    zoom.click(
                        None, js=_ZOOM.replace("{step}", str(step)), api_visibility="private"
                    )
        drawing = gr.HTML(js_on_load=_PAGE, apply_default_css=False, elem_id="rn-document-drawing")
        label, marked, asked = _label_row()
    outputs = [shown, controls, document, strategy, page, chunk, whole, where, summary, drawing]
    common: dict[str, Any] = {
        "outputs": outputs,
        "show_progress": "hidden",
        "concurrency_limit": _AT_ONCE,
        "concurrency_id": "document",
        "trigger_mode": "always_last",
        "api_visibility": "private",
    }
    here = [strategy, document, page]
    jumps, places = [strategy.input, page.input], [whole.click, drawing.click]
    clicks = [chunk.submit, back.click, forth.click, words.submit]
    say = _say_busy([document.input, *jumps, *places, *clicks])
    every_click = {**common, "trigger_mode": "multiple"}
    drawn = [
        document.input(events.choose_document, [strategy, document], **common),
        gr.on(jumps, events.jump, here, **common),
        chunk.submit(events.to_chunk, [strategy, document, chunk], **common),
        back.click(events.turn(-1), here, **every_click),
        forth.click(events.turn(1), here, **every_click),
        gr.on(places, events.to_place, here, **common),
    ]
    asked_for = {**common, "outputs": [found, words, *outputs]}
    sought = words.submit(events.search, [words, found, strategy, document], **asked_for)
    sought.then(None, js=_TO_CHOSEN, api_visibility="private")
    say([*drawn, sought])
    labels = LabelEvents(sessions, events)
    changed = {**common, "outputs": [label, marked, drawing], "trigger_mode": "multiple"}
    drawing.select(labels.mark, [strategy, page], **changed)
    marked.click(labels.unmark, here, **changed)
    changed["outputs"] = [asked, *changed["outputs"]]
    asked.submit(labels.add, [asked, *here], **changed)
    return DocumentTab(events, TabView(events.refresh, [shown, *here], outputs), tabs)


def _say_busy(events: list[Any]) -> Callable[[Sequence[Dependency]], None]:
    """Let the page say from these events on that it is busy; called before they are wired.

    Gradio does what an event asks for in the order in which it was wired, one after the other.

    Returns:
        Takes what the events ask for: once that is drawn the page is not busy any more.
    """
    gr.on(events, None, js=_BUSY, api_visibility="private")

    def until(drawn: Sequence[Dependency]) -> None:
        for one in drawn:
            one.then(None, js=_DRAWN, api_visibility="private")

    return until


def _label_row() -> tuple[gr.Column, gr.HTML, gr.Textbox]:
    """What was marked as an answer, and its question; hidden until something was marked."""
    with gr.Column(visible=False, elem_id="rn-label") as label:
        take_back = """element.addEventListener('click', (event) => {
  const picked = event.target.closest('button[data-act]');
  if (picked) trigger('click', {...picked.dataset});
});"""
        marked = gr.HTML(js_on_load=take_back, apply_default_css=False, elem_id="rn-marked")
        asked = gr.Textbox(
            label="Question that this answers",
            placeholder="Question that this answers",
            show_label=False,
            submit_btn="Add question",
            max_length=MOST_QUESTION,
            elem_id="rn-label-question",
        )
    return label, marked, asked
