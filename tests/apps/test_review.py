"""Questions with known answers: selected on the page, drafted, read from a file, and reviewed."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from visits import QUESTION, Visitor, visiting, write_text

from rag_nodes.core.settings import Settings

TEXT = (
    "# The machine\n\nThe machine is red.\n\n## How often does it need oil?\n\n"
    "It needs oil twice a week. Ask the captain for it.\n\n## When is the engine cleaned?\n\n"
    "It is cleaned on Sundays, before the first trip.\n"
)
RED = "The machine is red."


@pytest.fixture
def visitor(settings: Settings, tmp_path: Path) -> Iterator[Visitor]:
    with visiting(settings) as opened:
        opened.load(write_text(tmp_path / "machine.md", TEXT))
        yield opened


@pytest.fixture
def uploads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "uploads"
    folder.mkdir()
    monkeypatch.setitem(os.environ, "GRADIO_TEMP_DIR", str(folder))
    return folder


def _select(visitor: Visitor, text: str, drawn: str | None = None) -> dict[str, str]:
    [document] = visitor.session.documents
    start = document.text.index(text)
    sent = {"document": document.id_, "start": str(start), "end": str(start + len(text))}
    return visitor.act("mark", **sent, text=drawn or text)


def _questions(visitor: Visitor) -> list[tuple[str, bool]]:
    dataset = visitor.session.questions.dataset
    return [(question.text, question.draft) for question in dataset.questions] if dataset else []


def test_the_last_question_and_what_is_selected_become_a_labelled_question(
    visitor: Visitor,
) -> None:
    visitor.ask(QUESTION)
    _select(visitor, RED)
    assert 'rn-gold"' in visitor.regions["sheet"]
    assert f'value="{QUESTION}"' in visitor.regions["marked"]
    assert "you have 1 question" in visitor.act("label", question=QUESTION)["said"]
    assert _questions(visitor) == [(QUESTION, False)]
    assert visitor.text("marked") == ""


def test_a_selection_that_is_not_the_text_of_the_document_is_refused(visitor: Visitor) -> None:
    assert "select it again" in _select(visitor, RED, "The machine is blue.")["notice"]
    assert visitor.session.questions.marked == ()


def test_several_passages_answer_together_and_one_is_taken_back(visitor: Visitor) -> None:
    _select(visitor, RED)
    _select(visitor, "twice a week")
    visitor.act("unmark", passage="0")
    assert "twice a week" in visitor.text("marked")
    assert RED not in visitor.text("marked")


def test_without_words_or_without_a_passage_nothing_is_added(visitor: Visitor) -> None:
    assert "type its question" in visitor.act("label", question="Why?")["notice"]
    _select(visitor, RED)
    assert "type its question" in visitor.act("label", question="  ")["notice"]
    assert _questions(visitor) == []


def test_drafts_are_accepted_in_other_words_or_rejected(visitor: Visitor) -> None:
    visitor.act("draft")
    assert [draft for _, draft in _questions(visitor)] == [True, True]
    assert "of 2 (draft)" in visitor.text("review")
    first = visitor.session.questions.dataset.questions[0].id
    visitor.act("accept", id=first, question="  How much   oil?\n")
    assert _questions(visitor)[0] == ("How much oil?", False)
    assert "1 accepted 1 draft to review" in visitor.text("review")
    second = visitor.session.questions.dataset.questions[1].id
    visitor.act("reject", question=second)
    assert _questions(visitor) == [("How much oil?", False)]
    assert "Type the question" in visitor.act("accept", id=first, question=" ")["notice"]


def test_fewer_drafts_than_ten_say_why_and_no_draft_is_empty(
    visitor: Visitor, settings: Settings, tmp_path: Path
) -> None:
    visitor.act("draft")
    assert [text for text, _ in _questions(visitor)] == [
        "How often does it need oil?", "When is the engine cleaned?",
    ]  # fmt: skip
    why = "2 headings here are questions that its section answers. For more, select an answer"
    assert f"2 of 10 questions drafted: only {why}" in visitor.text("review")
    visitor.act("draft")
    assert f"No question drafted: only {why}" in visitor.text("review")
    assert len(_questions(visitor)) == 2
    with visiting(settings) as other:
        other.load(write_text(tmp_path / "short.md", RED))
        assert "Only headings that are questions become drafts" in other.text("review")
        primary = '<button type="button" class="rn-act rn-primary" data-act="draft"'
        assert primary in other.regions["review"]
        other.act("draft")
        assert primary not in other.regions["review"]
        assert "No question drafted: no heading here is a question" in other.text("review")
        assert "rn-notice rn-warning" in other.regions["review"]
        assert _questions(other) == []


def test_a_passage_of_the_review_opens_on_the_page(visitor: Visitor) -> None:
    visitor.act("draft")
    asked = visitor.session.questions.dataset.questions[0].id
    visitor.act("passage", question=asked, answer="0", passage="0")
    assert visitor.session.place.gold


def test_questions_of_a_file_are_added_and_reasons_of_refusals_are_counted(
    visitor: Visitor, uploads: Path
) -> None:
    rows = [
        {"question": "Which colour?", "gold": [{"text": RED}]},
        {"question": "Where <b>is</b> it?", "gold": [{"text": "Nowhere in this document at all"}]},
    ]
    path = write_text(uploads / "questions.json", json.dumps({"questions": rows}))
    visitor.act("questions", paths=[str(path)])
    assert _questions(visitor) == [("Which colour?", False)]
    assert "1 question added from questions.json" in visitor.text("review")
    assert "Where &lt;b&gt;is&lt;/b&gt; it?" in visitor.text("review")
    bad = write_text(uploads / "bad.json", "{")
    notice = visitor.act("questions", paths=[str(bad)])["notice"]
    assert "bad.json" in notice
    assert str(uploads) not in notice


def test_a_second_file_says_how_many_questions_were_there_and_which_rows_were_left_out(
    visitor: Visitor, uploads: Path
) -> None:
    sheet = "question,quote\nWhich colour?,The machine is red\nWhen is it cleaned?,on Sundays\n"
    visitor.act("questions", paths=[str(write_text(uploads / "first.csv", sheet))])
    assert "2 questions added from first.csv: you have 2 questions." in visitor.text("review")
    missing = "Who mends it?,\nWho buys the oil?,Nobody ever buys that\nWho sells it?,\n"
    more = sheet + "How often?,twice a week\n" + missing
    visitor.act("questions", paths=[str(write_text(uploads / "second.csv", more))])
    review = visitor.text("review")
    assert "1 question added from second.csv, 2 were there already: you have 3 questions." in review
    assert "no answer is quoted; quote the words that answer it, or name their page" in review
    assert "by its number : row 5 Who mends it? , row 7 Who sells it?" in review
    assert "was the text changed? : row 6 Who buys the oil?" in review


def test_questions_are_taken_along_and_come_back(visitor: Visitor, uploads: Path) -> None:
    assert "no questions yet" in visitor.act("download")["notice"]
    _select(visitor, RED)
    visitor.act("label", question="Which colour?")
    file = visitor.act("download")["file"]
    visitor.act("remove_all")
    assert _questions(visitor) == []
    visitor.act("questions", paths=[str(write_text(uploads / file["name"], file["text"]))])
    assert _questions(visitor) == [("Which colour?", False)]
