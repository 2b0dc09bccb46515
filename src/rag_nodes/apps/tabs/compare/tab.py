"""Compare: a question, what its answers have in common, and a card for each column."""

from __future__ import annotations

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.header.loading import LOOKING, Follower
from rag_nodes.apps.inside_gradio import Drawn, for_scripts, now
from rag_nodes.apps.tabs import TabView
from rag_nodes.apps.tabs.compare.events import (
    NOT_YET,
    SUGGESTED,
    CompareEvents,
    after_loading,
    history,
    while_loading,
)
from rag_nodes.apps.visitors.choice import MOST_QUESTION

if TYPE_CHECKING:
    from rag_nodes.apps.header.loading import LoadingEvents
    from rag_nodes.apps.tabs.document_tab import DocumentTab
    from rag_nodes.apps.visitors.sessions import PageSessions

AT_ONCE = 8
"""Visitors whose questions are answered at the same time."""
_ACCEPTED = """(sent, typed) => ({
  __type__: 'update', interactive: false, ...(typed === sent ? {value: ''} : {}),
})"""
"""Closes the box while its question is answered. It empties the box only if it still holds that
question: what was typed since is the next one."""
_GIVEN_BACK = """(sent, typed) => typed ? {__type__: 'update'} : sent"""
"""A question that was not answered is in its box again, unless another one is there."""
_ON_HISTORY = (files(__package__ or "") / "history.js").read_text(encoding="utf-8")


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
    suggestion_key: gr.State
    suggestions: gr.Row
    suggested: list[gr.Button]
    note: gr.HTML
    question: gr.Textbox
    follow_up: gr.Checkbox
    alone: gr.State
    stop: gr.Button
    clear: gr.Button

    @property
    def answered(self) -> list[Any]:
        """What changes with the answers."""
        return [self.history, self.question, self.stop]

    def follow(self) -> Follower:
        """What becomes of it while the header loads documents, and then."""
        return Follower(
            components=[self.history, self.question, self.suggestions, self.note],
            note=self.note,
            meanwhile=while_loading,
            afterwards=after_loading,
        )

    def ask_with(self, loading: LoadingEvents) -> None:
        """Let questions be asked; what was changed in the header is applied first.

        So what is seen there is what answers.
        """
        ask, clear, answered = self.events.ask, self.events.clear, self.answered
        typed: list[tuple[Any, Any, Any]] = [(self.question.submit, self.question, self.follow_up)]
        # The words of a suggested question stand alone, whatever was asked before.
        clicked = [(one.click, one, self.alone) for one in self.suggested]
        common: dict[str, Any] = {"show_progress": "hidden", "concurrency_limit": AT_ONCE}
        looking = {**common, "concurrency_limit": LOOKING}
        for_scripts("ask", ask, [self.question, self.follow_up], answered, **common)
        for_scripts("clear", clear, None, answered, show_progress="hidden")
        private: dict[str, Any] = {"api_visibility": "private"}
        apply = _holding(loading.apply)
        for event, source, follow_up in typed + clicked:
            # Asked is what was sent, whatever is typed while documents are loaded for it.
            sent = gr.Textbox(visible=False)
            inputs, outputs = [source, *loading.inputs], [sent, *loading.outputs]
            # Loading itself is limited by the sessions; whoever waits for it holds up nobody else.
            applied = event(apply, inputs, outputs, **looking, **private)
            # Gradio would drop it while the page has not heard of the end of the last answers.
            asking = applied.success(
                ask, [sent, follow_up], answered, trigger_mode="multiple", **common, **private
            )
            box: dict[str, Any] = {"inputs": [sent, self.question], "outputs": self.question}
            applied.success(None, js=_ACCEPTED, **box, **private)
            asking.failure(None, js=_GIVEN_BACK, **box, **private)
        loading.arrived.then(self.events.watch, outputs=answered, **looking, **private)
        self.stop.click(self.events.stop, show_progress="hidden", queue=False, **private)
        self.clear.click(clear, outputs=answered, show_progress="hidden", **private)

    def open_chunks_in(self, chunks: DocumentTab) -> None:
        """Let chunks below an answer open in the tab that draws them."""

        def open_chunk(request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
            return chunks.events.open(self.events.location(request, event), request)

        chunks.open_on(self.history.select, open_chunk, AT_ONCE, "places")

    @property
    def view(self) -> TabView:
        """How the suggested questions follow the documents."""
        outputs = [self.suggestion_key, self.suggestions, *self.suggested]
        return TabView(self.events.suggest, [self.suggestion_key], outputs)


def _holding(apply: Callable[..., Iterator[tuple[Any, ...]]]) -> Callable[..., Any]:
    """Return an event that does what goes before a question, and keeps the question meanwhile.

    Args:
        apply: see `LoadingEvents.apply`.

    Returns:
        The event; it takes the question before the inputs of `apply`, and gives it before the
        outputs.
    """

    def apply_and_hold(
        question: str, request: gr.Request, *values: Any
    ) -> Iterator[tuple[Any, ...]]:
        for shown in apply(request, *values):
            yield Drawn(shown.at if isinstance(shown, Drawn) else now(), (question, *shown))

    return apply_and_hold


def build_compare_tab(sessions: PageSessions) -> CompareTab:
    """Build the comparison inside the blocks that are open, and wire what needs no other part."""
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
        key, alone = gr.State(""), gr.State(False)  # noqa: FBT003
        with gr.Column(elem_id="rn-ask"):
            with gr.Row(visible=False, elem_id="rn-suggestions") as suggestions:
                suggested = [gr.Button(size="sm", visible=False) for _ in range(SUGGESTED)]
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
                follow_up = gr.Checkbox(
                    label="Follow-up",
                    container=False,
                    min_width=96,
                    scale=0,
                    elem_id="rn-follow-up",
                )
                clear = gr.Button("Clear", size="sm", scale=0, min_width=72, elem_id="rn-clear")
    return CompareTab(
        sessions=sessions,
        events=events,
        history=main,
        suggestion_key=key,
        suggestions=suggestions,
        suggested=suggested,
        note=note,
        question=question,
        follow_up=follow_up,
        alone=alone,
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
    page.history.click(work.pick, outputs=page.answered, **common)
