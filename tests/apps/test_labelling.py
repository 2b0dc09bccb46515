"""Labelled questions made on the page: what becomes of selections, citations and decisions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from visits import DIARY, VISITOR, Click, Request, visiting

from rag_nodes.apps.tabs.compare.right import GONE, TAKEN_BACK, TORN, call_right, called_right
from rag_nodes.apps.tabs.document import DocumentEvents
from rag_nodes.apps.tabs.labelling import LabelEvents, selected
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.text.spans import Span

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rag_nodes.apps.visitors.session import PageSession
    from rag_nodes.apps.visitors.sessions import PageSessions
    from rag_nodes.apps.visitors.turns import Turn
    from rag_nodes.query import Answer
    from rag_nodes.settings import Settings

REQUEST: Any = Request()
QUOTE = "It rained on day 7."


@pytest.fixture
def sessions(settings: Settings, tmp_path: Path) -> Iterator[PageSessions]:
    with visiting(settings, tmp_path / "diary.md", DIARY, Choice(("fixed", "heading"))) as opened:
        yield opened


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of(VISITOR)


def _selection(session: PageSession, quote: str = QUOTE, **other: Any) -> Any:
    document = session.documents[0]
    start = document.text.index(quote)
    sent = {"document": document.id_, "start": start, "end": start + len(quote), "text": quote}
    return Click(**{**sent, **other})


def _question(name: str, session: PageSession, *, draft: bool = True) -> Question:
    passage = Passage(session.documents[0].id_, Span(0, 5))
    return Question(name, f"What about {name}?", ((passage,),), draft=draft)


def test_what_was_marked_and_asked_is_a_question_with_these_characters(
    sessions: PageSessions, session: PageSession
) -> None:
    events = LabelEvents(sessions, DocumentEvents(sessions))
    events.mark("fixed", 1, REQUEST, _selection(session))
    events.add("  When did\n it rain? ", "fixed", "", 1, REQUEST)
    dataset = session.questions.dataset
    assert dataset is not None
    (found,) = dataset.questions
    assert found.text == "When did it rain?"
    assert [dataset.quote(one) for one in found.gold[0]] == [QUOTE]
    assert not found.draft
    assert session.questions.marked == ()


def test_blank_space_around_a_selection_is_not_gold(session: PageSession) -> None:
    sent = _selection(session, f"\n\n{QUOTE}")._data
    passage = selected(session.cuts, sent)
    assert passage is not None
    assert passage.span.of(session.documents[0].text) == QUOTE


@pytest.mark.parametrize(
    "other",
    [
        {"text": "It rained on day 8."},
        {"text": ""},
        {"start": 1},
        {"end": 10**9},
        {"end": "x"},
        {"document": "another"},
    ],
)
def test_a_selection_that_is_not_what_stands_there_is_refused(
    session: PageSession, other: dict[str, Any]
) -> None:
    assert selected(session.cuts, _selection(session, **other)._data) is None


def test_passages_that_overlap_become_one_and_can_be_taken_back(
    sessions: PageSessions, session: PageSession
) -> None:
    events = LabelEvents(sessions, DocumentEvents(sessions))
    for text in ("rained on day 7.", "day 7. Nobody", "It rained on day 20."):
        events.mark("fixed", 1, REQUEST, _selection(session, text))
    text = session.documents[0].text
    marked = [one.span.of(text) for one in session.questions.marked]
    assert marked == ["rained on day 7. Nobody", "It rained on day 20."]
    events.unmark("fixed", "", 1, REQUEST, Click(act="unmark", passage=0))
    assert len(session.questions.marked) == 1


def _asked(session: PageSession) -> tuple[Turn, Answer]:
    turn = session.ask("When did it rain on day 7?")
    answers = [one.answer for one in turn.columns if one.answer and one.answer.citations]
    return turn, answers[0]


def test_a_citation_called_right_is_gold_until_it_is_taken_back(session: PageSession) -> None:
    turn, answer = _asked(session)
    call_right(session, turn, answer, 1)
    dataset = session.questions.dataset
    assert dataset is not None
    (found,) = dataset.questions
    assert found.text == turn.question
    assert dataset.quote(found.gold[0][0]) == answer.citations[0].quote.strip()
    assert 1 in called_right(turn, answer, session.questions)
    assert call_right(session, turn, answer, 1) == TAKEN_BACK
    assert len(session.questions) == 0
    assert not called_right(turn, answer, session.questions)


def test_a_citation_that_ends_inside_a_word_is_a_draft(session: PageSession) -> None:
    turn, answer = _asked(session)
    first = answer.citations[0]
    assert first.start is not None
    inside = next(at for at in range(2, 40) if first.quote[at - 1 : at + 1].isalpha())
    torn = replace(first, end=first.start + inside, quote=first.quote[:inside])
    assert call_right(session, turn, replace(answer, citations=(torn,)), 1) == TORN
    dataset = session.questions.dataset
    assert dataset is not None
    assert dataset.questions[0].draft


def test_a_place_that_nobody_cited_is_no_answer(session: PageSession) -> None:
    turn, answer = _asked(session)
    for position in (0, 99):
        assert call_right(session, turn, answer, position) == GONE
    assert len(session.questions) == 0
