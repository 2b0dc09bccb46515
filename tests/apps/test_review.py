"""Questions of one's own: drafted, taken from files, reviewed, and what is decided by them."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from hostile_views import Seen
from visits import DIARY, VISITOR, Click, Request, visiting, written

from rag_nodes.apps.tabs.document import DocumentEvents
from rag_nodes.apps.tabs.review import ReviewEvents
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.dataset import Question
from rag_nodes.evaluation.metrics import Passage
from rag_nodes.operations.workspace.limits import MOST_BYTES
from rag_nodes.text.spans import Span

REQUEST: Any = Request()
GUIDE = "\n\n".join(
    f"# How is the {name} cleaned?\n\nThe {name} is cleaned once a day. Then it dries for an hour."
    f"\n\nWho has cleaned the {name} writes that down in the book by the door."
    for name in ("pump", "filter", "nozzle")
)
SHEET = (
    "question,quote\n"
    "When did it rain?,It rained on day 7.\n"
    "Did it rain on day 8?,It rained on day 8.\n"
    "Who ate the cake?,The cake was eaten by the mayor of the island.\n"
)


@pytest.fixture
def sessions(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PageSessions]:
    monkeypatch.setattr("rag_nodes.apps.visitors.deciding.QUIET", 3600.0)
    with visiting(settings, tmp_path / "diary.md", DIARY, Choice(("fixed",))) as opened:
        yield opened


@pytest.fixture
def session(sessions: PageSessions) -> PageSession:
    return sessions.of(VISITOR)


@pytest.fixture
def events(sessions: PageSessions) -> ReviewEvents:
    return _events(sessions)


def _events(sessions: PageSessions) -> ReviewEvents:
    tab = SimpleNamespace(events=DocumentEvents(sessions))
    return ReviewEvents(sessions, tab)  # type: ignore[arg-type]


def _question(name: str, session: PageSession, *, draft: bool = True) -> Question:
    passage = Passage(session.documents[0].id_, Span(0, 5))
    return Question(name, f"What about {name}?", ((passage,),), draft=draft)


def _text(html: Any) -> str:
    return " ".join(Seen(str(html)).text.split())


def test_a_draft_is_accepted_in_other_words_or_rejected_and_brought_back(
    events: ReviewEvents, session: PageSession
) -> None:
    asked = [_question("a", session), _question("b", session, draft=False), _question("c", session)]
    session.questions.add(asked, session.documents)
    _, current, _, card, *_ = events.accept("a", " Which\nday? ", REQUEST)
    assert current == "c"
    assert "2 accepted 1 draft to review" in _text(card)
    first, *_ = session.questions.dataset.questions  # type: ignore[union-attr]
    assert (first.text, first.draft) == ("Which day?", False)
    with pytest.raises(gr.Error, match="Type the question"):
        events.accept("c", " ", REQUEST)
    removed, _, current, _, card, *_ = events.reject("c", REQUEST)
    assert (current, len(session.questions)) == ("a", 2)
    assert "all reviewed" in _text(card)
    assert events.bring_back(removed, "a", REQUEST)[2] == "c"
    assert events.bring_back(None, "a", REQUEST)[2] == "a"


def test_another_passage_is_no_list_item_of_a_word_or_two(
    settings: Settings, tmp_path: Path
) -> None:
    text = "# Lunch\n\n- Food\n- Ducks\n- Bread that was baked on the same day\n- Tea\n"
    with visiting(settings, tmp_path / "lunch.md", text, Choice(("fixed",))) as opened:
        _, _, _, card, *_ = _events(opened).elsewhere(REQUEST)
    assert "Bread that was baked" in _text(card).partition("Which question")[2]
    assert "<mark>- Food</mark>" not in str(card)


def test_the_extent_of_an_answer_is_set_and_the_next_passage_lies_far_away(
    settings: Settings, tmp_path: Path
) -> None:
    with visiting(settings, tmp_path / "guide.md", GUIDE, Choice(("fixed",))) as opened:
        events, session = _events(opened), opened.of(VISITOR)
        _, current, note, card, *_ = events.draft(REQUEST)
        assert "Only 3 headings are questions" in _text(note)
        assert "LLM" not in _text(note)  # the page offers none that drafts
        assert "Another passage (W)" in _text(note)

        def answer() -> str:
            dataset = session.questions.dataset
            assert dataset is not None
            [question] = [one for one in dataset.questions if one.id == current]
            return dataset.quote(question.gold[0][0])

        section = answer()
        events.resized(-1)(current, REQUEST)
        paragraph = answer()
        events.resized(-1)(current, REQUEST)
        sentence = answer()
        assert section.startswith(paragraph)
        assert paragraph.startswith(sentence)
        assert len(sentence) < len(paragraph) < len(section)
        events.resized(1)(current, REQUEST)
        assert answer() == paragraph
        assert "3 of 3 parts covered" in _text(card)
        for one in session.questions.dataset.questions[1:]:  # type: ignore[union-attr]
            events.reject(one.id, REQUEST)
        *_, card, _, text = events.elsewhere(REQUEST)
        assert "The nozzle is cleaned once a day." in _text(card)
        assert text.value == ""
        assert "all reviewed" not in _text(card)


def test_after_the_last_draft_the_next_passage_follows_with_a_sentence_marked(
    settings: Settings, tmp_path: Path
) -> None:
    with visiting(settings, tmp_path / "guide.md", GUIDE, Choice(("fixed",))) as opened:
        events, session = _events(opened), opened.of(VISITOR)
        session.questions.add([_question("a", session, draft=True)], session.documents)
        _, current, _, card, _, text = events.accept("a", "When is it?", REQUEST)
        [first, made] = session.questions.dataset.questions  # type: ignore[union-attr]
        assert (first.draft, made.draft, made.id, text.value) == (False, True, current, "")
        [document] = session.documents
        [[passage]] = made.gold
        assert "marked passage" in _text(card)
        assert passage.span.of(document.text).count(".") == 1


def test_where_nothing_can_be_drafted_a_passage_waits_for_its_question(
    events: ReviewEvents, session: PageSession
) -> None:
    _, current, note, _, _, text = events.draft(REQUEST)
    [made] = session.questions.dataset.questions  # type: ignore[union-attr]
    assert (made.id, made.kind, made.draft) == (current, "passage", True)
    assert text.value == ""
    assert "without a model nothing else is drafted" in _text(note)
    assert "rn-warning" in str(note)
    assert "LLM" not in _text(note)


def test_questions_of_a_file_are_added_and_those_left_out_are_counted_by_reason(
    events: ReviewEvents, tmp_path: Path
) -> None:
    path = written(tmp_path / "asked.csv", SHEET)
    _, current, note, card, column, _ = events.upload(str(path), REQUEST)
    assert "2 questions added from asked.csv." in _text(note)
    assert "1: " in _text(note)
    assert "Who ate the cake?" in _text(note)
    assert column.visible
    assert "2 accepted" in _text(card)
    tabs, *_, drawn = events.open(current, REQUEST, Click(answer=0, passage=0))
    assert tabs.selected == "document"
    assert "rn-gold" in str(drawn)
    for sent in ({}, {"answer": 9, "passage": 0}, {"answer": 0, "passage": "x"}):
        nothing = events.open(current, REQUEST, Click(**sent))
        assert all("__type__" in one for one in nothing)
    saved = json.loads(Path(events.download(REQUEST)).read_text("utf-8"))
    assert [one["question"] for one in saved["questions"]] == [
        "When did it rain?", "Did it rain on day 8?",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", "x,y\n1,2\n", "no known format"),
        ("a.json", "{", "not valid JSON"),
        ("a.txt", "hello", "is of no kind that has questions"),
        ("a.json", json.dumps([{"question": "Who?", "gold": "It rained."}] * 1001), "over the 1,0"),
        ("a.json", json.dumps([{"question": "Who?", "gold": "x" * 5001}]), "in one quote"),
        ("a.csv", "question,quote\n" + "Who?,It rained.\n" * 5001, "5,001 quotes"),
        ("big.json", " " * (MOST_BYTES + 1), "over 10 MB"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_without_the_path_of_the_server(
    events: ReviewEvents, session: PageSession, tmp_path: Path, name: str, content: str, said: str
) -> None:
    with pytest.raises(gr.Error) as refused:
        events.upload(str(written(tmp_path / name, content)), REQUEST)
    assert said in refused.value.message
    assert str(tmp_path) not in refused.value.message
    assert session.questions.dataset is None


def test_ten_accepted_answers_start_a_decision_by_them_and_nine_do_not(
    events: ReviewEvents, session: PageSession
) -> None:
    session.questions.add([_question(str(n), session) for n in range(11)], session.documents)
    before = session.decider.revision
    for n in range(9):
        events.accept(str(n), f"What about {n}?", REQUEST)
    assert session.decider.revision == before
    *_, card, _, _ = events.accept("9", "What about nine?", REQUEST)
    assert session.decider.revision > before
    assert "10 answers can show a lead" in _text(card)


def test_all_are_removed_only_by_who_is_sure(events: ReviewEvents, session: PageSession) -> None:
    session.questions.add([_question("a", session), _question("b", session)], session.documents)
    assert events.remove_all(False, "b", REQUEST)[1] == "b"
    assert events.following("b", REQUEST)[1] == "a"
    assert events.remove_all(True, "b", REQUEST)[1] == ""
    assert len(session.questions) == 0
    with pytest.raises(gr.Error, match="no questions yet"):
        events.download(REQUEST)


def test_what_changed_elsewhere_is_drawn_when_the_tab_opens_and_nothing_else(
    events: ReviewEvents, session: PageSession
) -> None:
    shown, *_ = events.refresh("", "", REQUEST)
    assert not isinstance(events.refresh(shown, "", REQUEST)[0], str)
    session.questions.add([replace(_question("a", session), confidence=0.9)], session.documents)
    _, current, _, card, *_ = events.refresh(shown, "", REQUEST)
    assert current == "a"
    assert "found only nearly: 90 % alike" in _text(card)


def test_marked_passages_are_as_long_as_what_is_looked_for(
    settings: Settings, tmp_path: Path
) -> None:
    lengths = {}
    with visiting(settings, tmp_path / "a.md", GUIDE, Choice(("fixed",))) as sessions:
        session = sessions.of(VISITOR)
        for length in ("sentence", "page"):
            session.questions.clear()
            session.shown["length"] = length
            _events(sessions).elsewhere(REQUEST)
            [made] = session.questions.dataset.questions
            lengths[length] = made.gold[0][0].span.length
    assert lengths["page"] > lengths["sentence"]
