"""Questions of one's own: drafted or read from a file, and reviewed on one card."""

from __future__ import annotations

import json

# At runtime, since Gradio evaluates the annotations of its events.
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from rag_nodes.apps.inside_gradio import Drawn, now, offer, texts_of
from rag_nodes.apps.markup import count
from rag_nodes.apps.tabs.card import card, taken
from rag_nodes.apps.tabs.document import ChunkLocation
from rag_nodes.apps.visitors.choice import MOST_QUESTION
from rag_nodes.apps.visitors.questions import read_questions
from rag_nodes.apps.visitors.sessions import session_of
from rag_nodes.core.errors import DatasetError, RagNodesError
from rag_nodes.core.numbers import number_in
from rag_nodes.evaluation.drafts import COUNT, draft_questions, fewer
from rag_nodes.evaluation.drafts.probes import ANSWER_LENGTHS, CHARACTERS
from rag_nodes.evaluation.drafts.review import (
    TO_ASK,
    as_long,
    following,
    lengthened,
    next_to_ask,
    told,
)
from rag_nodes.evaluation.importers import plain_of
from rag_nodes.evaluation.importers.files import SUFFIXES
from rag_nodes.text.tokens.encodings import encodable
from rag_nodes.text.words import words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gradio.events import Dependency

    from rag_nodes.apps.tabs.document_tab import DocumentTab
    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions
    from rag_nodes.evaluation.dataset import Question

AT_ONCE = 4
"""Visitors whose questions are changed at the same time."""
_OUTPUTS = 6
_KEYS = (files(__package__ or "") / "review.js").read_text(encoding="utf-8")
_LEAST = 4
"""Words of a passage that is asked about: of a list item of one word nobody asks anything."""
_GOAL = 20
"""Questions after which no further passage is asked about by itself."""
_FEW = "for more, Another passage (W) marks one whose question you type"
_NONE = (
    "No heading here is a question that its section answers, and without a model nothing else is "
    "drafted: type the question that the marked passage answers"
)
_SURE = """(_, current) =>
  [confirm('Remove all questions? What was not downloaded is lost.'), current]"""
_SAVE = "() => document.querySelector('#rn-save-questions')?.click()"


class ReviewEvents:
    """What the events do: change one question, and draw the next.

    All return: shown key, the question's id, note, card, its column, text of the question.
    """

    def __init__(self, sessions: PageSessions, chunks: DocumentTab) -> None:
        self._sessions = sessions
        self._chunks = chunks

    def refresh(self, shown: str, current: str, request: gr.Request) -> tuple[Any, ...]:
        """A question as it is now, unless nothing has changed since."""
        session = session_of(self._sessions, request)
        return (gr.skip(),) * _OUTPUTS if shown == _key(session) else _drawn(session, current)

    def draft(self, request: gr.Request) -> tuple[Any, ...]:
        """Add drafts; where none can be made, a passage whose question is to be typed."""
        session = session_of(self._sessions, request)
        known = {one.id for one in _all(session)}
        try:
            drafts = draft_questions(session.documents, count=COUNT)
        except DatasetError:
            return self._elsewhere(session, _NONE)
        new = [one for one in drafts.questions if one.id not in known]
        if not new:
            return self._elsewhere(session, "There are no further drafts.")
        _add(session, new)
        return _drawn(session, new[0].id, taken(fewer(drafts, COUNT, remedy=_FEW)))

    def accept(self, current: str, text: str, request: gr.Request) -> tuple[Any, ...]:
        """Keep a question in these words, and go to the next draft."""
        session = session_of(self._sessions, request)
        asked = encodable(" ".join(str(text or "").split()))
        if not asked:
            raise gr.Error("Type the question, or reject it.", print_exception=False)
        at = _position(session, current)
        session.questions.change(
            current, lambda one: replace(one, text=asked[:MOST_QUESTION], draft=False)
        )
        if told(session.decider.accepted):
            session.decider.start()
        every = _all(session)
        if every and session.decider.accepted < _GOAL and not any(one.draft for one in every):
            _ask_elsewhere(session)
        return _drawn(session, following(_all(session), at + 1))

    def reject(self, current: str, request: gr.Request) -> tuple[Any, ...]:
        """Throw a question out, and go to the next draft; first what it was."""
        session = session_of(self._sessions, request)
        at, removed = _position(session, current), session.questions.remove(current)
        drawn = _drawn(session, following(_all(session), at))
        return Drawn(drawn.at, (removed, *drawn))

    def bring_back(self, removed: Any, current: str, request: gr.Request) -> tuple[Any, ...]:
        """Take the question back that was thrown out last; first None."""
        session = session_of(self._sessions, request)
        if removed is not None and session.documents:
            _add(session, [removed])
            current = removed.id
        drawn = _drawn(session, current)
        return Drawn(drawn.at, (None, *drawn))

    def resized(self, step: int) -> Callable[[str, gr.Request], tuple[Any, ...]]:
        """An event that takes more for the answer, or less: sentence, paragraph, section."""

        def resize(current: str, request: gr.Request) -> tuple[Any, ...]:
            session = session_of(self._sessions, request)
            documents = {one.id_: one for one in session.documents}
            session.questions.change(current, lambda one: lengthened(one, documents, step))
            return _drawn(session, current)

        return resize

    def elsewhere(self, request: gr.Request) -> tuple[Any, ...]:
        """A passage that lies far from all answers, whose question is to be typed."""
        return self._elsewhere(session_of(self._sessions, request))

    def following(self, current: str, request: gr.Request) -> tuple[Any, ...]:
        """The next question, whatever was decided about it."""
        session = session_of(self._sessions, request)
        every = _all(session)
        at = (_position(session, current) + 1) % max(1, len(every))
        return _drawn(session, every[at].id if every else "")

    def upload(self, path: str | None, request: gr.Request) -> tuple[Any, ...]:
        """Add the questions of a file, and say how many could not be used and why."""
        if not path:
            return (gr.skip(),) * _OUTPUTS
        session, name = session_of(self._sessions, request), Path(path).name
        try:
            found = read_questions(Path(path), session.documents)
            session.questions.take(found)
        except RagNodesError as error:  # not the whole path: it is one of the server
            raise gr.Error(str(error).replace(path, name), print_exception=False) from error
        session.decider.start()
        first = found.questions[0].text if found.questions else ""
        shown = next((one.id for one in _all(session) if one.text == first), "")
        said = f"{count(len(found.questions), 'question')} added from {name}."
        return _drawn(session, shown, taken(said, found))

    def remove_all(self, sure: bool, current: str, request: gr.Request) -> tuple[Any, ...]:  # noqa: FBT001 -- as Gradio calls it
        """Remove all questions, where the visitor has said so."""
        session = session_of(self._sessions, request)
        if sure:
            session.questions.clear()
        return _drawn(session, current)

    def download(self, request: gr.Request) -> str:
        """All questions as a file of our own format."""
        dataset = session_of(self._sessions, request).questions.dataset
        if dataset is None or not dataset.questions:
            raise gr.Error("There are no questions yet.", print_exception=False)
        text = json.dumps(plain_of(dataset), ensure_ascii=False, indent=1)
        return offer(text.encode("utf-8", "replace"), "questions.json")

    def open(self, current: str, request: gr.Request, event: gr.EventData) -> tuple[Any, ...]:
        """A passage in its document."""
        session, sent = session_of(self._sessions, request), texts_of(event)
        question = next((one for one in _all(session) if one.id == current), None)
        answer, passage = (number_in(sent.get(one)) for one in ("answer", "passage"))
        place = None
        if question and answer is not None and answer < len(question.gold):
            place = _place(question.gold[answer], passage)
        return self._chunks.events.open(place, request)

    def _elsewhere(self, session: PageSession, said: str = "") -> tuple[Any, ...]:
        made = _ask_elsewhere(session)
        if made is None:
            raise gr.Error("Every part of the documents has an answer.", print_exception=False)
        return _drawn(session, made.id, taken(said, kind="warning"))


class ReviewPart(NamedTuple):
    """The review as it is wired: inputs and outputs of its refresh, and what changes questions."""

    events: ReviewEvents
    inputs: list[Any]
    outputs: list[Any]
    decided: list[Dependency]


def build_review(sessions: PageSessions, chunks: DocumentTab) -> ReviewPart:
    """Build and wire the review inside the blocks that are open; see `build_decide_tab`."""
    events = ReviewEvents(sessions, chunks)
    shown, current, removed = gr.State(""), gr.State(""), gr.State(None)
    with gr.Row(elem_classes="rn-run", elem_id="rn-questions-tools"):
        draft = _button("Draft questions", variant="primary")
        uploaded = gr.UploadButton("Add from a file", file_types=list(SUFFIXES), size="sm", scale=0,
                                   min_width=120, elem_id="rn-questions-upload")  # fmt: skip
        download, clear = (
            _button(name, elem_classes="rn-with-questions") for name in ("Download", "Remove all")
        )
        sure = gr.Checkbox(visible=False)
        file = gr.DownloadButton("Save questions", elem_id="rn-save-questions")
    note = gr.HTML(apply_default_css=False, elem_id="rn-taken")
    with gr.Column(visible=False, elem_id="rn-review") as review:
        text = gr.Textbox(label="Question", max_length=MOST_QUESTION, max_lines=4,
                          elem_id="rn-review-text")  # fmt: skip
        with gr.Row(elem_id="rn-review-buttons"):
            accept = _button("Accept (A)", "accept", variant="primary")
            reject, forth = _button("Reject (R)", "reject"), _button("Next (N)", "next")
            shorter, longer = _button("Shorter (S)", "shorter"), _button("Longer (L)", "longer")
            elsewhere = _button("Another passage (W)", "elsewhere")
            undo = _button("Undo reject (Z)", "undo")
        card = gr.HTML(js_on_load=_KEYS, apply_default_css=False, elem_id="rn-review-card")
    outputs = [shown, current, note, card, review, text]
    common: dict[str, Any] = {
        "show_progress": "hidden",
        "concurrency_limit": AT_ONCE,
        "concurrency_id": "questions",
        "api_visibility": "private",
    }
    decided = [
        gr.on([accept.click, text.submit], events.accept, [current, text], outputs, **common),
        reject.click(events.reject, current, [removed, *outputs], **common),
        undo.click(events.bring_back, [removed, current], [removed, *outputs], **common),
        uploaded.upload(events.upload, uploaded, outputs, **common),
        clear.click(events.remove_all, [sure, current], outputs, js=_SURE, **common),
    ]
    draft.click(events.draft, None, outputs, **{**common, "concurrency_id": "drafts"})
    forth.click(events.following, current, outputs, **common)
    shorter.click(events.resized(-1), current, outputs, **common)
    longer.click(events.resized(1), current, outputs, **common)
    elsewhere.click(events.elsewhere, None, outputs, **common)
    made = download.click(events.download, outputs=file, **common)
    made.success(None, js=_SAVE, api_visibility="private")
    chunks.open_on(card.click, events.open, AT_ONCE, "questions", [current])
    return ReviewPart(events, [shown, current], outputs, decided)


def _button(label: str, name: str = "", **more: Any) -> gr.Button:
    if name:
        more["elem_id"] = f"rn-review-{name}"
    return gr.Button(label, size="sm", scale=0, min_width=96, **more)


def _all(session: PageSession) -> Sequence[Question]:
    dataset = session.questions.dataset
    return dataset.questions if dataset else ()


def _add(session: PageSession, questions: Sequence[Question]) -> None:
    try:
        session.questions.add(questions, session.documents)
    except RagNodesError as error:
        raise gr.Error(str(error), print_exception=False) from error


def _ask_elsewhere(session: PageSession) -> Question | None:
    """A passage far from all answers, as long as answers are here; None where there is none."""
    documents = {one.id_: one for one in session.documents}
    texts = {one.id_: one.text for one in session.documents}
    made = next_to_ask(session.questions.parts(session.documents), _all(session), texts)
    if made is not None:
        shorter = lengthened(made, documents, -1)
        while shorter.gold != made.gold and _words_of(shorter, texts) >= _LEAST:
            made, shorter = shorter, lengthened(shorter, documents, -1)
        made = _as_answers_are(session, made)
        _add(session, [made])
    return made


def _words_of(question: Question, texts: Mapping[str, str]) -> int:
    ((passage,),) = question.gold
    return len(words(passage.span.of(texts[passage.document])))


def _as_answers_are(session: PageSession, question: Question) -> Question:
    """With an answer as long as what the visitor looks for; a sentence or two stays as it is."""
    if (length := session.decider.length) == ANSWER_LENGTHS[0]:
        return question
    documents = {one.id_: one for one in session.documents}
    return as_long(question, documents, CHARACTERS[length])


def _key(session: PageSession) -> str:
    return f"{id(session.comparison)} {session.questions.revision}"


def _position(session: PageSession, current: str) -> int:
    """Where a question stands; that of the first for one that is gone."""
    ids = [one.id for one in _all(session)]
    return ids.index(current) if current in ids else 0


def _drawn(session: PageSession, current: str, note: Any = "") -> Drawn:
    at, dataset, key = now(), session.questions.dataset, _key(session)
    if dataset is None or not dataset.questions:
        return Drawn(at, (key, "", note, "", gr.Column(visible=False), ""))
    position = _position(session, current or following(dataset.questions, 0))
    question = dataset.questions[position]
    to_ask = question.draft and question.kind == TO_ASK
    text = gr.Textbox(value="" if to_ask else question.text, placeholder=question.text,
                      label=f"Question {position + 1:,} of {len(dataset.questions):,}"
                      f" ({'draft' if question.draft else 'accepted'})")  # fmt: skip
    drawn = card(session, dataset, question)
    return Drawn(at, (key, question.id, note, drawn, gr.Column(visible=True), text))


def _place(answer: Sequence[Any], passage: int | None) -> ChunkLocation | None:
    if passage is None or passage >= len(answer):
        return None
    chosen = answer[passage]
    others = [one.span for one in answer if one.document == chosen.document and one is not chosen]
    return ChunkLocation(document=chosen.document, gold=(chosen.span, *others))
