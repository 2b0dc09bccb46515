"""What to take: one question, one sentence, what it rests on, and how to use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.inside_gradio import Drawn, data_of, now, offer, texts_of
from rag_nodes.apps.markup import count, drawn, in_a_line, left, part, render, title_of
from rag_nodes.apps.tabs import TabView, evidence
from rag_nodes.apps.tabs.review import build_review
from rag_nodes.apps.visitors.sessions import session_of
from rag_nodes.core.errors import ConfigurationError
from rag_nodes.evaluation.drafts.probes import ANSWER_LENGTHS, examples
from rag_nodes.evaluation.page import html_of, matrix
from rag_nodes.evaluation.run import standing
from rag_nodes.evaluation.wording import rounded
from rag_nodes.operations.scripts import script_name, script_of, script_to_use

if TYPE_CHECKING:
    from markupsafe import Markup

    from rag_nodes.apps.tabs.document_tab import DocumentTab
    from rag_nodes.apps.visitors.deciding import Decider
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions

AT_ONCE = 8
"""Visitors whose decisions are looked at at the same time."""
EMPTY = render("lengths", lengths=[])
_TITLES = {"sentence": "a sentence or two", "paragraph": "a paragraph", "page": "a page"}
_DOTS = {
    "documents like these": "●●●",
    "these documents": "●●●",
    "likely": "●●○",
    "not shown": "●○○",
    "alone": "●○○",
    "drafts": "●○○",
}
_OWN = "Make it sure: about 20 questions of your own"
_UNTRIED = "○○○"
_FIRST, _LAST, _MORE = 26, 14, "[…]"
"""Words that are shown of the beginning and of the end of an example."""
_OUTPUTS = 17
_CLICKS = """element.addEventListener('click', (event) => {
  const picked = event.target.closest('button[data-length]');
  if (picked) trigger('click', {length: picked.dataset.length});
});"""
_TO_ROW = """element.addEventListener('click', (event) => {
  const link = event.target.closest('a[href]');
  const row = link && document.getElementById(link.getAttribute('href').slice(1));
  if (!row) return;
  event.preventDefault();
  row.closest('details').open = true;
  row.tabIndex = -1;
  row.focus({preventScroll: true});
  row.scrollIntoView({block: 'center'});
});"""
_SAVE = "() => document.querySelector('#rn-save-report')?.click()"
_TICK = 1.5
"""Seconds between two looks at a sweep."""
_WAITING_TICK = 6.0
"""The same of one that waits for those of others: pages that wait cost the server most."""


class DecideEvents:
    """What the events do; those that draw return values for all outputs of the tab."""

    def __init__(self, sessions: PageSessions, chunks: DocumentTab) -> None:
        self._sessions = sessions
        self._chunks = chunks

    def refresh(self, shown: str, request: gr.Request) -> tuple[Any, ...]:
        """Everything as it is now; where nothing was decided since, how far the sweep is."""
        at, session = now(), session_of(self._sessions, request)
        if shown != _key(session):
            return _drawn(session)
        kept = (gr.skip(),) * (_OUTPUTS - 7)
        return Drawn(at, (gr.skip(), gr.skip(), *_state(session), *kept))

    def choose(self, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """Another length of what is looked for: decide by that."""
        session, length = session_of(self._sessions, request), texts_of(event).get("length")
        if length in ANSWER_LENGTHS:
            session.shown["length"] = length
        session.decider.start()
        return _drawn(session)

    def start(self, request: gr.Request) -> tuple[Any, ...]:
        """Try the settings, whatever that costs."""
        session = session_of(self._sessions, request)
        session.decider.start(told=True)
        return _drawn(session)

    def by_questions(self, request: gr.Request) -> tuple[Any, ...]:
        """Decide by the accepted questions, however few."""
        session = session_of(self._sessions, request)
        session.decider.start(told=True, by_questions=True)
        return _drawn(session)

    def stop(self, request: gr.Request) -> tuple[Any, ...]:
        """End the sweep."""
        session = session_of(self._sessions, request)
        session.decider.stop()
        return _drawn(session)

    def use(self, setting: str, request: gr.Request) -> tuple[Any, ...]:
        """The script of a setting.

        Returns:
            Code, and file of the script.
        """
        return Drawn(now(), _used(session_of(self._sessions, request), setting))

    def open(self, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """The passage of a line of the table, in its document."""
        session = session_of(self._sessions, request)
        verdict = session.decider.verdict
        sent = data_of(event)  # a script sends anything, which SelectData would stumble over
        values = sent.get("row_value") if isinstance(sent, dict) else None
        values = values if isinstance(values, list) else []
        number = str(values[0]) if values else ""
        lines = matrix(verdict).lines if verdict else ()
        line = next((one for one in lines if str(one.number) == number), None)
        place = evidence.place_of(line) if line else None
        return self._chunks.events.open(place, request)

    def save(self, request: gr.Request) -> str:
        """The report of what was found as a file to read."""
        verdict = session_of(self._sessions, request).decider.verdict
        if verdict is None:
            raise gr.Error("Nothing was tried yet.", print_exception=False)
        return offer(html_of(verdict).encode(), "decision.html")


def build_decide_tab(sessions: PageSessions, chunks: DocumentTab) -> TabView:
    """Build and wire the decision inside the blocks that are open."""
    events, shown = DecideEvents(sessions, chunks), gr.State("")
    html: dict[str, Any] = {"apply_default_css": False}
    with gr.Column(elem_id="rn-decide-tab", elem_classes="rn-tab"):
        lengths = gr.HTML(js_on_load=_CLICKS, elem_id="rn-lengths", **html)
        said = gr.HTML(drawn(part("bones")), elem_id="rn-said", **html)
        with gr.Row(elem_classes="rn-run"):
            start = _button("Try the settings", variant="primary", visible=False)
            asked = _button("Decide by my questions", visible=False)
            stop = _button("Stop", visible=False, elem_id="rn-stop-sweep")
        with gr.Accordion("Use it", open=False, visible=False, elem_id="rn-use") as use:
            with gr.Row(elem_classes="rn-choose"):
                setting = gr.Dropdown(label="Setting", elem_id="rn-use-setting", scale=2)
                script = gr.DownloadButton("Script", size="sm", scale=0, min_width=110)
            code = gr.Code(
                language="python", label="Python script", interactive=False, wrap_lines=True,
                max_lines=24, buttons=["copy"], elem_id="rn-use-code",
            )  # fmt: skip
        with gr.Accordion(_OWN, open=False, visible=False, elem_id="rn-own") as own:
            review = build_review(sessions, chunks)
        plot = gr.HTML(js_on_load=_TO_ROW, elem_id="rn-plot", **html)
        heading = gr.HTML(elem_id="rn-differ", **html)
        table = gr.Dataframe(
            type="array", interactive=False, visible=False, wrap=True, show_search="search",
            buttons=[], max_height=420, elem_id="rn-matrix",
        )  # fmt: skip
        why = gr.HTML(elem_id="rn-why", **html)
        with gr.Row(visible=False, elem_classes="rn-run") as downloads:
            saved = _button("Download the report (HTML)")
            file = gr.DownloadButton("Save", elem_id="rn-save-report")
        timer = gr.Timer(_TICK, active=False)
    outputs = [
        shown, lengths, said, start, asked, stop, timer, use, own, setting, code, script,
        plot, heading, table, why, downloads,
    ]  # fmt: skip
    common: dict[str, Any] = {
        "show_progress": "hidden",
        "concurrency_limit": AT_ONCE,
        "concurrency_id": "decide",
        "api_visibility": "private",
    }
    timer.tick(events.refresh, shown, outputs, **common)
    lengths.click(events.choose, None, outputs, **common)
    start.click(events.start, None, outputs, **common)
    asked.click(events.by_questions, None, outputs, **common)
    stop.click(events.stop, None, outputs, **common)
    setting.input(events.use, setting, [code, script], **common)
    chunks.open_on(table.select, events.open, AT_ONCE, "decide")
    made = saved.click(events.save, None, file, **common)
    made.success(None, js=_SAVE, api_visibility="private")
    for change in review.decided:
        change.then(events.refresh, shown, outputs, **common)

    def refresh(shown: str, reviewed: str, current: str, request: gr.Request) -> tuple[Any, ...]:
        at, decided = now(), events.refresh(shown, request)
        return Drawn(at, (*decided, *review.events.refresh(reviewed, current, request)))

    return TabView(refresh, [shown, *review.inputs], [*outputs, *review.outputs])


def _button(label: str, **more: Any) -> gr.Button:
    return gr.Button(label, size="sm", scale=0, min_width=160, **more)


def _key(session: PageSession) -> str:
    return f"{id(session.comparison)} {session.decider.revision}"


def _drawn(session: PageSession) -> Drawn:
    """Values of all outputs."""
    at = now()
    hidden = gr.update(visible=False)
    if not session.documents or session.comparison is None:
        state = "", hidden, hidden, hidden, gr.Timer(active=False)
        use = hidden, hidden, *(gr.skip(),) * 3
        return Drawn(at, ("", EMPTY, *state, *use, "", "", hidden, "", hidden))
    verdict = session.decider.verdict
    choices = [("The decision", ""), *((title_of(one), one) for one in session.comparison.parsers)]
    shown = (
        _key(session),
        _lengths(session),
        *_state(session),
        gr.Accordion(visible=True),
        gr.Accordion(visible=True),
        gr.Dropdown(choices=choices, value=""),
        *_used(session, ""),
        evidence.plot(verdict) if verdict else "",
        *(evidence.table(session, verdict) if verdict else ("", hidden)),
        evidence.why(verdict) if verdict else "",
        gr.Row(visible=verdict is not None),
    )
    return Drawn(at, shown)


def _lengths(session: PageSession) -> Markup | str:
    """The question; nothing where accepted questions answer it."""
    verdict = session.decider.verdict
    if verdict and not verdict.dataset.probed:
        return ""
    texts = {one.id_: one.text for one in session.documents}
    found = examples(session.documents)
    shown = []
    for name in ANSWER_LENGTHS:
        text = found[name].span.of(texts[found[name].document]) if name in found else ""
        words, chosen = in_a_line(text).split(), name == session.decider.length
        short = [*words[:_FIRST], _MORE, *words[-_LAST:]] if len(words) > _FIRST + _LAST else words
        shown.append({"name": name, "title": _TITLES[name], "words": f"{rounded(len(words)):,}",
                      "example": " ".join(short), "chosen": chosen})  # fmt: skip
    return render("lengths", lengths=shown)


def _state(session: PageSession) -> tuple[Any, ...]:
    """Sentence with progress, the buttons that start, decide by questions and stop, the timer."""
    decider = session.decider
    verdict, running = decider.verdict, decider.running
    decision = verdict.decision if verdict else standing(session.decider.plan)
    dots = _DOTS[decision.grade] if verdict else _UNTRIED
    first, reasons = decision.headline
    others = [one for one in (reasons, decision.costs) if one]
    price = "" if verdict or running else decider.price
    doing, share = _progress(decider)
    html = render(
        "decision", dots=dots, sure=decision.certainty, first=first, others=others,
        running=running, doing=doing, share=f"{share:.3f}", error=decider.error, price=price,
    )  # fmt: skip
    again = not running and not verdict
    label = f"Decide by my {count(decider.accepted, 'question')}"
    questions = gr.Button(label, visible=not running and decider.has_new_questions)
    return (
        html,
        gr.Button("Try again" if decider.error else "Try the settings", visible=again),
        questions,
        gr.Button(visible=running),
        gr.Timer(_WAITING_TICK if decider.waiting else _TICK, active=running),
    )


def _progress(decider: Decider) -> tuple[str, float]:
    step = decider.step
    if decider.resting:
        return "Rests while a question is answered or documents are loaded", 0.0
    if decider.waiting:
        return "Waits while settings are tried on other documents", 0.0
    if step is None or not step.total:
        return "Settings are going to be tried on your documents", 0.0
    rest = left(step.seconds_left) if step.seconds_left else ""
    return f"Trying settings on your documents: {step.name}{rest}", step.done / step.total


def _used(session: PageSession, setting: str) -> tuple[Any, ...]:
    """Code, and file of the script; or why there is none."""
    comparison, verdict = session.comparison, session.decider.verdict
    if comparison is None:
        return "", None
    decision = verdict.decision if verdict else standing(session.decider.plan)
    try:
        if setting in comparison.parsers:
            script, name = script_of(comparison, setting), script_name(setting)
        elif decision.parser:
            name = "chosen.py"
            script = script_to_use(decision, comparison.models, name)
        else:
            return "# No script can name this setting: see Why.\n", None
    except ConfigurationError as error:
        return f"# {error}\n", None
    return script, offer(script.encode(), name)
