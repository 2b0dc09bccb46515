"""The comparison: a page of questions with a column per parser."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.inside_gradio import for_scripts
from rag_nodes.apps.sidebar.loading import LOOKING, Follower
from rag_nodes.apps.tabs.compare.events import (
    NOT_YET,
    CompareEvents,
    after_loading,
    while_loading,
)
from rag_nodes.apps.tabs.compare.history import history
from rag_nodes.apps.tabs.compare.places import PlaceEvents
from rag_nodes.apps.visitors.choice import MOST_QUESTION

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.apps.sidebar.loading import LoadingEvents
    from rag_nodes.apps.tabs.chunks.tab import ChunksTab
    from rag_nodes.apps.visitors.session import PageSessions

AT_ONCE = 8
"""Visitors whose questions are answered at the same time."""
EXAMPLE_QUESTIONS = (
    "When do quiet hours begin?",
    "At which oil pressure must an engine of the Heron be stopped?",
    "What is to be done at fault code E-13?",
)
"""About the example document."""
_SENT = """(sent) => { window.rnSent = sent; }"""
_EMPTIED = """(now) => now === window.rnSent ? '' : now"""
"""A question that was answered leaves its box, unless another one is being typed there already. Of
two updates close together the page shows the second only, so the server's alone is not enough."""
_ON_HISTORY = """const opened = new Set();
let marked = '', asked = 0;
const show = () => {
  const row = [...element.querySelectorAll('.rn-history > section')].at(-1);
  const number = Number(row?.dataset.number || 0);
  if (number > asked) row.scrollIntoView({behavior: 'smooth', block: 'start'});
  asked = Math.max(asked, number);
  for (const key of opened) {
    const one = document.getElementById(key);
    if (one && !one.open) one.open = true;
  }
  const chunk = marked && document.getElementById(marked);
  if (chunk && !chunk.classList.contains('rn-shown')) chunk.classList.add('rn-shown');
};
const fold = (summary) => {
  const one = summary.parentElement;
  if (one.id) opened[one.open ? 'delete' : 'add'](one.id);
};
const cite = (chip) => {
  const chunk = document.getElementById(chip.dataset.to);
  if (!chunk) return;
  element.querySelectorAll('.rn-shown').forEach((one) => one.classList.remove('rn-shown'));
  marked = chunk.id;
  opened.add(chunk.closest('.rn-chunks').id).add(chunk.querySelector('.rn-chunk').id);
  show();
  (chunk.querySelector('mark') || chunk).scrollIntoView({behavior: 'smooth', block: 'center'});
};
const act = (button) => {
  const sent = {...button.dataset};
  trigger({stop: 'stop', open: 'select'}[sent.act] || 'click', sent);
};
element.addEventListener('click', (event) => {
  for (const [selector, work] of [['button.rn-chip', cite], ['summary', fold],
    ['button[data-act]', act]]) {
    const found = event.target.closest(selector);
    if (found) return work(found);
  }
});
new MutationObserver(show).observe(element,
  {subtree: true, childList: true, attributes: true, attributeFilter: ['open', 'class', 'id']});"""
"""What was asked comes into view once, as it is first drawn, growing or answered; a citation opens
its chunk; what is open stays so when the page is drawn again; buttons tell the server."""


@dataclass(frozen=True, slots=True)
class CompareTab:
    """The components that events change.

    Attributes:
        sessions: where each visitor's work is.
        events: what they do.
    """

    sessions: PageSessions
    events: CompareEvents
    history: gr.HTML
    suggestions: gr.Row
    suggested: list[gr.Button]
    note: gr.HTML
    question: gr.Textbox
    stop: gr.Button
    clear: gr.Button

    def follow(self, example: Path | None) -> Follower:
        """What becomes of it while the sidebar loads documents, and then.

        Args:
            example: the document that the suggested questions are about.
        """
        return Follower(
            components=[self.history, self.question, self.suggestions, self.note],
            note=self.note,
            meanwhile=while_loading,
            afterwards=partial(after_loading, example=example),
        )

    def ask_with(self, loading: LoadingEvents) -> None:
        """Let questions be asked; what was changed in the sidebar is applied first.

        So what is seen there is what answers.
        """
        ask, clear = self.events.ask, self.events.clear
        answered = [self.history, self.question, self.stop]
        typed: list[tuple[Any, Any]] = [(self.question.submit, self.question)]
        clicked = [(one.click, one) for one in self.suggested]
        common: dict[str, Any] = {"show_progress": "hidden", "concurrency_limit": AT_ONCE}
        for_scripts("ask", ask, self.question, answered, **common)
        for_scripts("clear", clear, None, self.history, show_progress="hidden")
        private: dict[str, Any] = {"api_visibility": "private"}
        for event, source in typed + clicked:
            applied = event(loading.apply, loading.inputs, loading.outputs, **common, **private)
            asking = applied.success(ask, source, answered, **common, **private)
            asking.success(None, self.question, self.question, js=_EMPTIED, **private)
            event(None, source, js=_SENT, **private)
        looking = {**common, "concurrency_limit": LOOKING}
        loading.arrived.then(self.events.watch, outputs=answered, **looking, **private)
        self.stop.click(self.events.stop, show_progress="hidden", queue=False, **private)
        self.clear.click(clear, outputs=self.history, show_progress="hidden", **private)

    def open_chunks_in(self, chunks: ChunksTab) -> None:
        """Let chunks below an answer open in the tab that draws them."""
        places = PlaceEvents(self.sessions, chunks.events)
        chunks.open_on(self.history.select, places.open, AT_ONCE, "places")


def build_compare_tab(sessions: PageSessions) -> CompareTab:
    """Build the comparison inside the blocks that are open, and wire what needs no other part.

    Args:
        sessions: where each visitor's work is.
    """
    page = _layout(sessions, CompareEvents(sessions))
    _wire_clicks(page, page.events)
    return page


def _layout(sessions: PageSessions, events: CompareEvents) -> CompareTab:
    with gr.Column(elem_id="rn-main"):
        main = gr.HTML(
            history((), ready=False),
            js_on_load=_ON_HISTORY,
            apply_default_css=False,
            elem_id="rn-history-box",
        )
        with gr.Column(elem_id="rn-ask"):
            with gr.Row(visible=False, elem_id="rn-suggestions") as suggestions:
                suggested = [gr.Button(text, size="sm") for text in EXAMPLE_QUESTIONS]
            note = gr.HTML(apply_default_css=False, elem_id="rn-note")
            with gr.Row(equal_height=True):
                question = gr.Textbox(
                    label="Question",
                    show_label=False,
                    placeholder=NOT_YET,
                    interactive=False,
                    submit_btn="Send",
                    max_length=MOST_QUESTION,
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
    return CompareTab(
        sessions=sessions,
        events=events,
        history=main,
        suggestions=suggestions,
        suggested=suggested,
        note=note,
        question=question,
        stop=stop,
        clear=clear,
    )


def _wire_clicks(page: CompareTab, work: CompareEvents) -> None:
    common: dict[str, Any] = {
        "show_progress": "hidden",
        "concurrency_limit": AT_ONCE,
        "trigger_mode": "multiple",
        "api_visibility": "private",
    }
    page.history.stop(work.stop_one, **common)
    page.history.click(work.pick, outputs=page.history, **common)
