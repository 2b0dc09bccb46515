"""The comparison: a page of questions with a column per parser."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.tabs.compare.events import NOT_YET, CompareEvents
from rag_nodes.apps.tabs.compare.history import history
from rag_nodes.apps.tabs.compare.places import PlaceEvents
from rag_nodes.workspace.options import MOST_QUESTION

if TYPE_CHECKING:
    from rag_nodes.apps.sidebar.events import LoadingEvents
    from rag_nodes.apps.sidebar.panel import Sidebar
    from rag_nodes.apps.tabs.chunks.tab import ChunksTab
    from rag_nodes.apps.visitors import AllCuts
    from rag_nodes.apps.votes.store import Votes
    from rag_nodes.workspace.sessions import Sessions

AT_ONCE = 8
"""Visitors whose questions are answered at the same time."""
EXAMPLE_QUESTIONS = (
    "When do quiet hours begin?",
    "At which oil pressure must an engine of the Heron be stopped?",
    "What is to be done at fault code E-13?",
)
"""About the example document."""
_TO_THE_END = """() => { const rows = document.querySelectorAll('.rn-turn, .rn-pending');
  if (rows.length) rows[rows.length - 1].scrollIntoView({behavior: 'smooth', block: 'start'}); }"""
_SENT = f"""(sent) => {{ window.rnSent = sent; setTimeout({_TO_THE_END}, 400); }}"""
_EMPTIED = """(now) => now === window.rnSent ? '' : now"""
"""A question that was answered leaves its box, unless another one is being typed there already. Of
two updates close together the page shows the second only, so the server's alone is not enough."""
_VOTER = """const voter = () => {
  try {
    const known = localStorage.getItem('rn-voter');
    if (known) return known;
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    const made = Array.from(bytes, (one) => one.toString(16).padStart(2, '0')).join('');
    localStorage.setItem('rn-voter', made);
    return made;
  } catch { return ''; }
};
"""
"""A number that tells a browser's votes from those of others; the server keeps a hash of it."""
_ON_HISTORY = (
    _VOTER
    + """const opened = new Set();
let marked = '', focus = '';
const show = () => {
  for (const key of opened) {
    const one = document.getElementById(key);
    if (one && !one.open) one.open = true;
  }
  const chunk = marked && document.getElementById(marked);
  if (chunk && !chunk.classList.contains('rn-shown')) chunk.classList.add('rn-shown');
  const target = focus && document.getElementById(focus);
  if (target) { focus = ''; target.focus({preventScroll: innerWidth > 760}); }
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
  const sent = {...button.dataset, voter: voter()};
  if (sent.act === 'best') focus = `rn-${sent.turn}-vote`;
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
)
"""A citation opens its chunk; what is open stays so when the page is drawn again; buttons tell the
server. After a vote the names that appear stay in view, unless columns stand below each other."""
_ON_VOTES = (
    _VOTER
    + """element.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-act]');
  if (button) trigger('click', {...button.dataset, voter: voter()});
});"""
)


@dataclass(frozen=True, slots=True)
class CompareTab:
    """The components that events change.

    Attributes:
        sessions: where each visitor's work is.
    """

    sessions: Sessions
    history: gr.HTML
    panel: gr.HTML
    votes: gr.Accordion
    blind: gr.Checkbox
    suggestions: gr.Row
    suggested: list[gr.Button]
    note: gr.HTML
    question: gr.Textbox
    stop: gr.Button
    clear: gr.Button

    @property
    def loading(self) -> list[gr.blocks.Block]:
        """What an event that loads gives values for, see `after_loading`."""
        return [self.history, self.question, self.suggestions, self.note]

    def open_chunks_in(self, cuts: AllCuts, chunks: ChunksTab, tabs: gr.Tabs) -> None:
        """Let chunks below an answer open in the tab that draws them.

        Args:
            cuts: of every session.
            chunks: that tab.
            tabs: the tabs of the page, to switch to it.
        """
        opened = self.history.select(
            PlaceEvents(self.sessions, cuts, chunks.events).open,
            outputs=[tabs, *chunks.outputs],
            show_progress="hidden",
            concurrency_limit=AT_ONCE,
            api_visibility="private",
        )
        opened.then(None, js=chunks.to_chosen, api_visibility="private")


def build_compare_tab(
    sessions: Sessions, votes: Votes, sidebar: Sidebar, loading: LoadingEvents
) -> CompareTab:
    """Build and wire the comparison inside the blocks that are open.

    Args:
        sessions: where each visitor's work is.
        votes: what all visitors thought of the answers.
        sidebar: what is chosen there is what answers.
        loading: applies it.
    """
    page = _layout(sessions)
    work = CompareEvents(sessions, votes)
    _wire_asking(page, work, sidebar, loading)
    _wire_votes(page, work)
    return page


def _layout(sessions: Sessions) -> CompareTab:
    with gr.Column(elem_id="rn-main"):
        main = gr.HTML(
            history((), ready=False),
            js_on_load=_ON_HISTORY,
            apply_default_css=False,
            elem_id="rn-history-box",
        )
        with gr.Accordion("Votes", open=False, elem_id="rn-votes-box") as votes:
            panel = gr.HTML(js_on_load=_ON_VOTES, apply_default_css=False, elem_id="rn-votes")
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
            blind = gr.Checkbox(
                label="Hide the parsers' names until I vote",
                container=False,
                elem_id="rn-blind",
            )
    return CompareTab(
        sessions=sessions,
        history=main,
        panel=panel,
        votes=votes,
        blind=blind,
        suggestions=suggestions,
        suggested=suggested,
        note=note,
        question=question,
        stop=stop,
        clear=clear,
    )


def _wire_asking(
    page: CompareTab, work: CompareEvents, sidebar: Sidebar, loading: LoadingEvents
) -> None:
    """What was changed in the sidebar is applied first, so that what is seen is what answers."""
    outputs = [page.history, page.question, page.stop]
    for number, (event, source) in enumerate(
        [(page.question.submit, page.question)] + [(one.click, one) for one in page.suggested]
    ):
        applied = event(
            loading.apply,
            sidebar.controls.inputs,
            sidebar.outputs(page.loading),
            show_progress="hidden",
            concurrency_limit=AT_ONCE,
            api_visibility="private",
        )
        asking = applied.success(
            work.ask,
            [source, page.blind],
            outputs,
            show_progress="hidden",
            concurrency_limit=AT_ONCE,
            api_name="ask" if number == 0 else None,
            api_visibility="public" if number == 0 else "private",
        )
        asking.then(None, js=_TO_THE_END, api_visibility="private")
        asking.success(None, page.question, page.question, js=_EMPTIED, api_visibility="private")
        event(None, source, js=_SENT, api_visibility="private")
    page.stop.click(work.stop, show_progress="hidden", queue=False, api_visibility="private")
    page.clear.click(work.clear, outputs=page.history, show_progress="hidden", api_name="clear")


def _wire_votes(page: CompareTab, work: CompareEvents) -> None:
    common: dict[str, Any] = {
        "show_progress": "hidden",
        "concurrency_limit": AT_ONCE,
        "trigger_mode": "multiple",
        "api_visibility": "private",
    }
    page.history.stop(work.stop_one, **common)
    page.history.click(work.pick, outputs=[page.history, page.panel], **common)
    page.panel.click(work.change_votes, outputs=[page.history, page.panel], **common)
    page.votes.expand(work.show_votes, outputs=page.panel, **common)
