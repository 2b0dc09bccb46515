"""The evaluation: which parser finds the answers to labelled questions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.tabs import TabView
from rag_nodes.apps.tabs.evaluate.asked import NONE
from rag_nodes.apps.tabs.evaluate.running import VerdictEvents
from rag_nodes.apps.tabs.evaluate.verdict import EMPTY as VERDICT_EMPTY
from rag_nodes.apps.view.html import tag

if TYPE_CHECKING:
    from pathlib import Path

    from rag_nodes.apps.tabs.chunks.tab import ChunksTab
    from rag_nodes.apps.visitors.evaluating import Verdict
    from rag_nodes.apps.visitors.session import PageSessions

AT_ONCE = 2
"""Visitors measured at the same time: it keeps a processor busy."""
_PICK_CELL = """element.addEventListener('click', (event) => {
  const picked = event.target.closest('button.rn-cell, button.rn-open');
  if (!picked) return;
  element.querySelectorAll('.rn-picked').forEach((one) => one.classList.remove('rn-picked'));
  picked.classList.add('rn-picked');
  trigger('click', {...picked.dataset});
});"""
_TO_WHY = """() => {
  const why = document.querySelector('#rn-why section');
  if (why) { why.scrollIntoView({block: 'nearest'});
    why.focus({preventScroll: true}); }
}"""
_SAVE = """() => document.querySelector('#rn-save-run-{kind}')?.click()"""
_RUNS_AT_ONCE = 1
"""Evaluations at the same time: each keeps a processor busy for a while; others wait."""
_KINDS = [".json", ".jsonl", ".csv", ".tsv", ".yaml", ".yml"]


def build_evaluate_tab(
    sessions: PageSessions, chunks: ChunksTab, example: Path | None = None
) -> TabView:
    """Build and wire the evaluation inside the blocks that are open.

    Args:
        sessions: where each visitor's work is.
        chunks: where a chosen chunk opens.
        example: the example document; None where none is offered.
    """
    with gr.Column(elem_id="rn-evaluate-tab", elem_classes="rn-tab"):
        return _build_verdict(VerdictEvents(sessions, chunks.events, example), chunks)


def _build_verdict(events: VerdictEvents, chunks: ChunksTab) -> TabView:
    """The part about labelled questions."""
    with gr.Column(elem_id="rn-labelled"):
        gr.HTML(tag("h2", "Labelled questions"), apply_default_css=False)
        questions = gr.HTML(NONE, apply_default_css=False, elem_id="rn-asked")
        with gr.Row(elem_classes="rn-run"):
            upload = gr.UploadButton(
                "Add questions from a file",
                file_types=_KINDS,
                size="sm",
                scale=0,
                min_width=210,
                elem_id="rn-questions-file",
            )
            given = gr.Button(
                "Add the example's questions",
                size="sm",
                scale=0,
                min_width=220,
                visible=False,
                elem_id="rn-given",
            )
        with gr.Row(elem_id="rn-plan"):
            budgets = gr.Textbox(
                "500, 1000, 2000", label="Budgets", info="tokens of context", max_length=100
            )
            sizes = gr.Textbox(
                "100, 200, 400, 800", label="Sizes", info="tokens, for the curve", max_length=100
            )
            equal = gr.Number(
                200,
                label="Equal size",
                info="mean tokens; 0 for none",
                precision=0,
                minimum=0,
                maximum=100_000,
            )
        with gr.Row(elem_classes="rn-run"):
            run = gr.Button(
                "Evaluate",
                variant="primary",
                interactive=False,
                scale=0,
                min_width=160,
                elem_id="rn-run",
            )
            stop = gr.Button("Stop", visible=False, scale=0, elem_id="rn-stop-run")
    result = gr.HTML(
        VERDICT_EMPTY, js_on_load=_PICK_CELL, apply_default_css=False, elem_id="rn-verdict"
    )
    why = gr.HTML(js_on_load=_PICK_CELL, apply_default_css=False, elem_id="rn-why")
    with gr.Row(visible=False, elem_id="rn-run-files") as downloads:
        buttons = {
            "html": gr.Button("Download the report (HTML)", size="sm", scale=0, min_width=200),
            "json": gr.Button("Download the run (JSON)", size="sm", scale=0, min_width=200),
        }
        files = {
            kind: gr.DownloadButton(f"Save {kind}", elem_id=f"rn-save-run-{kind}")
            for kind in buttons
        }
    quick: dict[str, Any] = {"show_progress": "hidden", "api_visibility": "private"}
    taken = [questions, run]
    upload.upload(events.upload, upload, taken, concurrency_limit=AT_ONCE, **quick)
    given.click(events.use_example, None, taken, concurrency_limit=AT_ONCE, **quick)
    run.click(
        events.run,
        [budgets, sizes, equal],
        [result, why, run, stop, downloads],
        concurrency_limit=_RUNS_AT_ONCE,
        concurrency_id="verdict",
        **quick,
    )
    stop.click(events.stop, None, None, queue=False, **quick)
    explained = result.click(events.explain, outputs=why, concurrency_limit=AT_ONCE, **quick)
    explained.then(None, js=_TO_WHY, api_visibility="private")
    chunks.open_on(why.click, events.open, AT_ONCE, "evaluate")
    for kind, content in (("html", _html), ("json", _json)):
        made = buttons[kind].click(
            events.save(kind, content), None, files[kind], concurrency_limit=AT_ONCE, **quick
        )
        made.success(None, js=_SAVE.replace("{kind}", kind), api_visibility="private")
    return TabView(events.refresh, [], [questions, given, run, result, why, downloads])


def _html(found: Verdict) -> bytes:
    return found.html


def _json(found: Verdict) -> bytes:
    return found.json
