"""What happens while questions are reviewed: a decision in, the next question out."""

from __future__ import annotations

import json
from dataclasses import replace

# At runtime, since Gradio evaluates the annotations of its events.
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from rag_nodes.apps.inside_gradio import offer
from rag_nodes.apps.sent import number_in, texts_of
from rag_nodes.apps.tabs.chunks.events import ChunkLocation
from rag_nodes.apps.tabs.questions.card import card
from rag_nodes.apps.view.html import Html, tag
from rag_nodes.apps.view.parts import count, empty
from rag_nodes.apps.visitors.choice import MOST_QUESTION
from rag_nodes.apps.visitors.questions import read_questions
from rag_nodes.apps.visitors.requests import session_of
from rag_nodes.errors import DatasetError, DatasetTooLargeError, RagNodesError
from rag_nodes.evaluation.checks import DRAFTED
from rag_nodes.evaluation.drafts import draft_questions
from rag_nodes.evaluation.drafts.review import TO_ASK, following, free, lengthened, next_to_ask
from rag_nodes.evaluation.importers import plain_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.apps.tabs.chunks.events import ChunksEvents
    from rag_nodes.apps.visitors.session import PageSession, PageSessions
    from rag_nodes.evaluation.dataset import Dataset, Question

EMPTY = empty(
    "Questions whose answers you know",
    tag("p", "Load a document first: its questions are drafted, marked and reviewed here."),
)
_NONE_YET = empty(
    "No questions yet",
    tag(
        "ul",
        tag(
            "li",
            tag("strong", "Draft"),
            " some from the documents, and keep those you would ask: ",
            f"{DRAFTED}.",
        ),
        tag("li", tag("strong", "Select"), " text in Chunks and type the question it answers."),
        tag("li", tag("strong", "Say"), " in Compare that a citation answers your question."),
        tag("li", tag("strong", "Add"), " a file of what you have: JSON, JSON lines, CSV or YAML."),
        cls="rn-steps",
    ),
    tag("p", "They stay in this session until you download them.", cls="rn-quiet"),
)
MOST_KIND = 60
"""Characters of a kind."""
DRAFTS = 20
"""Questions drafted unless the visitor wants another number."""
MOST_DRAFTS = 200
"""Questions drafted at once."""
OUTPUTS = 8
"""Values every event returns that draws a question."""


class QuestionEvents:
    """What the events do: find the visitor's questions, change one, draw one.

    Those that draw return: shown key, the question's id, note, tools, review, card, text, kind.

    Args:
        sessions: where each visitor's work is.
        chunks: draws a passage in its document.
    """

    def __init__(self, sessions: PageSessions, chunks: ChunksEvents) -> None:
        self._sessions = sessions
        self._chunks = chunks

    def refresh(self, shown: str, current: str, request: gr.Request) -> tuple[Any, ...]:
        """Draw a question as it is now, unless nothing has changed since."""
        session = session_of(self._sessions, request)
        return (gr.skip(),) * OUTPUTS if shown == _key(session) else _drawn(session, current)

    def accept(
        self, current: str, text: str, kind: str | None, request: gr.Request
    ) -> tuple[Any, ...]:
        """Keep a question in these words, and go to the next draft."""
        session = session_of(self._sessions, request)
        asked, sort = _one_line(text, MOST_QUESTION), _one_line(kind, MOST_KIND)
        if not asked:
            raise gr.Error("Type the question, or reject it.", print_exception=False)
        at = _position(session.questions.dataset, current)
        session.questions.change(
            current, lambda one: replace(one, text=asked, kind=sort, draft=False)
        )
        return _drawn(session, _following(session, at + 1))

    def reject(self, current: str, request: gr.Request) -> tuple[Any, ...]:
        """Throw a question out, and go to the next draft.

        Returns:
            What it was, the button that brings it back, and what the others return.
        """
        session = session_of(self._sessions, request)
        at = _position(session.questions.dataset, current)
        removed = session.questions.remove(current)
        drawn = _drawn(session, _following(session, at))
        return removed, gr.Button(interactive=removed is not None), *drawn

    def bring_back(self, removed: Any, request: gr.Request) -> tuple[Any, ...]:
        """Take the question back that was thrown out last; as `reject`."""
        session = session_of(self._sessions, request)
        if removed is None or session.questions.dataset is None:
            return None, gr.Button(interactive=False), *(gr.skip(),) * OUTPUTS
        try:
            session.questions.add([removed], session.documents)
        except RagNodesError as error:
            raise gr.Error(str(error), print_exception=False) from error
        return None, gr.Button(interactive=False), *_drawn(session, removed.id)

    def longer(self, current: str, request: gr.Request) -> tuple[Any, ...]:
        """Take more for the answer: the paragraph, then the section."""
        return self._resize(current, 1, request)

    def shorter(self, current: str, request: gr.Request) -> tuple[Any, ...]:
        """Take less for the answer: the paragraph, then its first sentence."""
        return self._resize(current, -1, request)

    def elsewhere(self, request: gr.Request) -> tuple[Any, ...]:
        """A passage that lies far from all answers, as a draft whose question is to be typed."""
        session = session_of(self._sessions, request)
        parts = session.questions.parts(session.documents)
        texts = {one.id_: one.text for one in session.documents}
        made = next_to_ask(parts, _asked(session), texts)
        if made is None:
            raise gr.Error("Every part of the documents has an answer.", print_exception=False)
        try:
            session.questions.add([made], session.documents)
        except RagNodesError as error:
            raise gr.Error(str(error), print_exception=False) from error
        return _drawn(session, made.id)

    def forth(self, current: str, request: gr.Request) -> tuple[Any, ...]:
        """The next question, whatever was decided about it."""
        return self._step(current, 1, request)

    def back(self, current: str, request: gr.Request) -> tuple[Any, ...]:
        """The one before."""
        return self._step(current, -1, request)

    def draft(self, number: float | None, request: gr.Request) -> tuple[Any, ...]:
        """Add drafts about the documents; those that were drafted before are not drafted again.

        Where none can be made, a passage whose question is to be typed.
        """
        session = session_of(self._sessions, request)
        wanted = min(max(int(number or 1), 1), MOST_DRAFTS)
        dataset = session.questions.dataset
        known = {one.id for one in dataset.questions} if dataset else set()
        try:
            drafts = draft_questions(session.documents, count=wanted).questions
            new = [one for one in drafts if one.id not in known]
            session.questions.add(new, session.documents)
        except DatasetTooLargeError as error:
            raise gr.Error(str(error), print_exception=False) from error
        except DatasetError:
            gr.Info("No question can be drafted here: type what this passage answers.")
            return self.elsewhere(request)
        gr.Info(f"{count(len(new), 'draft')} added.")
        return _drawn(session, new[0].id if new else "")

    def upload(self, path: str | None, request: gr.Request) -> tuple[Any, ...]:
        """Add the questions of a file to those there are; see `Questions.take`."""
        session = session_of(self._sessions, request)
        if not path:
            raise gr.Error("Choose a file of questions.", print_exception=False)
        try:
            found = read_questions(Path(path), session.documents)
            session.questions.take(found)
        except RagNodesError as error:
            raise gr.Error(
                str(error).replace(path, Path(path).name), print_exception=False
            ) from error
        said = f"{count(len(found.questions), 'question')} added"
        if found.unplaced:
            said += f"; the answers of {len(found.unplaced):,} stand nowhere in these documents"
        gr.Info(f"{said}.")
        first = found.questions[0].text if found.questions else ""
        return _drawn(session, _called(session.questions.dataset, first))

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
        """A passage in its document; see `ChunksEvents.open`."""
        dataset = session_of(self._sessions, request).questions.dataset
        return self._chunks.open(_place(dataset, current, texts_of(event)), request)

    def _resize(self, current: str, step: int, request: gr.Request) -> tuple[Any, ...]:
        session = session_of(self._sessions, request)
        documents = {one.id_: one for one in session.documents}
        session.questions.change(current, lambda one: lengthened(one, documents, step))
        return _drawn(session, current)

    def _step(self, current: str, step: int, request: gr.Request) -> tuple[Any, ...]:
        session = session_of(self._sessions, request)
        dataset = session.questions.dataset
        if dataset is None or not dataset.questions:
            return _drawn(session, "")
        at = (_position(dataset, current) + step) % len(dataset.questions)
        return _drawn(session, dataset.questions[at].id)


def _drawn(session: PageSession, current: str) -> tuple[Any, ...]:
    dataset, key = session.questions.dataset, _key(session)
    hidden, there = gr.Column(visible=False), gr.Column(visible=True)
    if session.cuts is None:
        return key, "", EMPTY, hidden, hidden, Html(""), "", gr.skip()
    if dataset is None or not dataset.questions:
        return key, "", _NONE_YET, there, hidden, Html(""), "", gr.skip()
    at = _position(dataset, current or _following(session, 0))
    question = dataset.questions[at]
    kinds = sorted({one.kind for one in dataset.questions if one.kind})
    kind = gr.Dropdown(choices=kinds, value=question.kind or None)
    parts = session.questions.parts(session.documents)
    drawn = card(dataset, at, len(parts) - len(free(parts, dataset.questions)), len(parts))
    to_ask = question.draft and question.kind in (TO_ASK, "phrase")
    text = gr.Textbox(value="" if to_ask else question.text, placeholder=question.text)
    return key, question.id, "", there, there, drawn, text, kind


def _asked(session: PageSession) -> Sequence[Question]:
    dataset = session.questions.dataset
    return dataset.questions if dataset else ()


def _key(session: PageSession) -> str:
    cuts = session.cuts
    return f"{cuts.key if cuts else ''} {session.questions.revision}"


def _position(dataset: Dataset | None, current: str) -> int:
    """Where a question stands; that of the first for one that is gone."""
    ids = [one.id for one in dataset.questions] if dataset else []
    return ids.index(current) if current in ids else 0


def _called(dataset: Dataset | None, text: str) -> str:
    """Id of the first question in these words; "" for none."""
    asked = dataset.questions if dataset else ()
    return next((one.id for one in asked if one.text == text), "")


def _following(session: PageSession, position: int) -> str:
    return following(_asked(session), position)


def _place(dataset: Dataset | None, current: str, sent: dict[str, str]) -> ChunkLocation | None:
    question = (
        next((one for one in dataset.questions if one.id == current), None) if dataset else None
    )
    answer, place = number_in(sent.get("answer")), number_in(sent.get("passage"))
    if question is None or answer is None or place is None or answer >= len(question.gold):
        return None
    passages = question.gold[answer]
    if place >= len(passages):
        return None
    passage = passages[place]
    others = tuple(one.span for one in passages if one.document == passage.document)
    gold = (passage.span, *(one for one in others if one != passage.span))
    return ChunkLocation(document=passage.document, gold=gold)


def _one_line(text: str | None, most: int) -> str:
    return " ".join(str(text or "").split())[:most]
