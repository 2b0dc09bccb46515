"""The review: one question at a time, with its answer in the text around it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.tabs import ASK_BEFORE_LEAVING, LEAVE_FREELY, TabView
from rag_nodes.apps.tabs.questions.events import DRAFTS, EMPTY, MOST_DRAFTS, QuestionEvents
from rag_nodes.apps.visitors.choice import MOST_QUESTION

if TYPE_CHECKING:
    from rag_nodes.apps.tabs.chunks.tab import ChunksTab
    from rag_nodes.apps.visitors.session import PageSessions

AT_ONCE = 4
"""Visitors whose questions are changed at the same time."""
_ON_CARD = """element.addEventListener('click', (event) => {
  const picked = event.target.closest('button[data-act]');
  if (picked) trigger('click', {...picked.dataset});
});
const keys = {a: '#rn-review-accept', r: '#rn-review-reject', z: '#rn-review-undo',
  n: '#rn-review-forth', p: '#rn-review-back', s: '#rn-review-shorter',
  l: '#rn-review-longer', w: '#rn-review-elsewhere', e: '#rn-review-text textarea',
  q: '#rn-review-text textarea'};
const press = (event) => {
  if (!element.isConnected) return document.removeEventListener('keydown', press);
  if (event.key === 'Enter' && event.target.matches('#rn-review-text textarea'))
    setTimeout(() => event.target.blur());
  const free = !event.target.closest('input, textarea, select, [contenteditable]');
  const asked = free && element.offsetParent && keys[event.key.toLowerCase()];
  if (!asked || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  event.preventDefault();
  const one = document.querySelector(asked);
  if (!one) return;
  if (!one.matches('textarea')) return one.click();
  one.focus();
  if (event.key.toLowerCase() !== 'q') return;
  one.select();
  document.execCommand('delete');
};
document.addEventListener('keydown', press);"""
"""A passage opens in its document; letters press the buttons, but where text is typed; Enter ends
that."""
_SAVE = "() => document.querySelector('#rn-save-questions')?.click()"
_ASK = """(_, current) =>
  [confirm('Remove all questions? What was not downloaded is lost.'), current]"""
_HINT = (
    '<p class="rn-quiet">E edits the question, Q asks something else of the same passage. How long '
    "answers are decides which size of chunks is best: mark as much as answers, and no more.</p>"
)
_FILES = [".json", ".jsonl", ".csv", ".tsv", ".yaml", ".yml"]


def build_questions_tab(sessions: PageSessions, chunks: ChunksTab) -> TabView:
    """Build and wire the review inside the blocks that are open.

    Args:
        sessions: where each visitor's work is.
        chunks: where passages open.
    """
    events = QuestionEvents(sessions, chunks.events)
    shown, current, removed = gr.State(""), gr.State(""), gr.State(None)
    with gr.Column(elem_id="rn-questions-tab", elem_classes="rn-tab"):
        with (
            gr.Column(visible=False) as tools,
            gr.Row(elem_classes="rn-pager", elem_id="rn-questions-tools"),
        ):
            number = gr.Number(
                DRAFTS, label="Drafts", precision=0, minimum=1, maximum=MOST_DRAFTS,
                scale=0, min_width=110,
            )  # fmt: skip
            draft = gr.Button("Draft questions", size="sm", scale=0, min_width=120)
            uploaded = gr.UploadButton(
                "Add from a file", file_types=_FILES, size="sm", scale=0, min_width=120,
                elem_id="rn-questions-upload",
            )  # fmt: skip
            download = gr.Button("Download", size="sm", scale=0, min_width=90)
            clear = gr.Button("Remove all", size="sm", scale=0, min_width=90)
            sure = gr.Checkbox(visible=False)
            file = gr.DownloadButton("Save questions", elem_id="rn-save-questions")
        note = gr.HTML(EMPTY, apply_default_css=False)
        with gr.Column(visible=False, elem_id="rn-review") as review:
            drawn = gr.HTML(js_on_load=_ON_CARD, apply_default_css=False, elem_id="rn-review-card")
            with gr.Row(elem_id="rn-review-words"):
                text = gr.Textbox(
                    label="Question", max_length=MOST_QUESTION, max_lines=4, scale=4,
                    elem_id="rn-review-text",
                )  # fmt: skip
                kind = gr.Dropdown(
                    label="Kind", allow_custom_value=True, scale=1, min_width=120,
                    elem_id="rn-review-kind",
                )  # fmt: skip
            with gr.Row(elem_id="rn-review-buttons"):
                accept = _button("Accept (A)", "accept", variant="primary")
                reject = _button("Reject (R)", "reject")
                back, forth = _button("Previous (P)", "back"), _button("Next (N)", "forth")
                undo = _button("Undo reject (Z)", "undo", interactive=False)
                shorter, longer = (
                    _button("Shorter (S)", "shorter"),
                    _button("Longer (L)", "longer"),
                )
                elsewhere = _button("Elsewhere (W)", "elsewhere")
            gr.HTML(_HINT, apply_default_css=False)
    outputs = [shown, current, note, tools, review, drawn, text, kind]
    common: dict[str, Any] = {
        "show_progress": "hidden",
        "concurrency_limit": AT_ONCE,
        "concurrency_id": "questions",
        "api_visibility": "private",
    }
    accepted = [accept.click, text.submit]
    changed = gr.on(accepted, events.accept, [current, text, kind], outputs, **common)
    changed.success(None, js=ASK_BEFORE_LEAVING, api_visibility="private")
    reject.click(events.reject, current, [removed, undo, *outputs], **common)
    undo.click(events.bring_back, removed, [removed, undo, *outputs], **common)
    forth.click(events.forth, current, outputs, **common)
    back.click(events.back, current, outputs, **common)
    shorter.click(events.shorter, current, outputs, **common)
    longer.click(events.longer, current, outputs, **common)
    elsewhere.click(events.elsewhere, None, outputs, **common)
    draft.click(events.draft, number, outputs, **{**common, "concurrency_id": "drafts"})
    uploaded.upload(events.upload, uploaded, outputs, **common)
    clear.click(events.remove_all, [sure, current], outputs, js=_ASK, **common)
    made = download.click(events.download, outputs=file, **common)
    saved = made.success(None, js=_SAVE, api_visibility="private")
    saved.then(None, js=LEAVE_FREELY, api_visibility="private")
    chunks.open_on(drawn.click, events.open, AT_ONCE, "questions", [current])
    return TabView(events.refresh, [shown, current], outputs)


def _button(label: str, name: str, **more: Any) -> gr.Button:
    return gr.Button(label, size="sm", scale=0, min_width=96, elem_id=f"rn-review-{name}", **more)
