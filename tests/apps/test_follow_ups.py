"""Questions on the page: each stands alone, unless the visitor ticks the box for a follow-up."""

from pathlib import Path

import gradio as gr
import pytest
from plant import scripted_models
from visits import VISITOR, visiting

from rag_nodes.apps.tabs.compare.events import history
from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.session import PageSession
from rag_nodes.core.settings import Settings
from rag_nodes.text.tokens import count_tokens

FIRST = "When is the sand filter rinsed?"
TEXT = "The sand filter is rinsed at 2.4 bar.\n\nRinsing the sand filter takes an hour."


@pytest.mark.parametrize("question", ["Why?", "What is apt?", "How long does it take?", "And?"])
def test_a_question_on_the_page_stands_alone(
    settings: Settings, tmp_path: Path, question: str
) -> None:
    with visiting(settings, tmp_path / "a.md", TEXT, Choice(("fixed",))) as sessions:
        session = sessions.of(VISITOR)
        session.ask(FIRST)
        turn = session.ask(question)
    assert turn.report is not None
    assert (turn.report.question, turn.searched) == (question, "")
    assert "Searched for" not in history([turn], ready=True)


def test_the_page_shows_what_a_follow_up_was_searched_for(
    settings: Settings, tmp_path: Path
) -> None:
    with visiting(settings, tmp_path / "a.md", TEXT, Choice(("fixed",))) as sessions:
        session = sessions.of(VISITOR)
        first = session.ask(FIRST, follow_up=True)
        turn = session.ask("How long does it take?", follow_up=True)
        session.clear()
        after_clear = session.ask("How long does it take?", follow_up=True)
    assert first.searched == after_clear.searched == "", "there is no earlier question"
    assert turn.report is not None
    assert turn.report.question == turn.searched == f"{FIRST} How long does it take?"
    assert f"Searched for: {turn.searched}" in history([turn], ready=True)


def test_an_answer_on_the_page_counts_what_condensing_the_follow_up_took(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = scripted_models("At 2.4 bar.", "How long does rinsing take?", "An hour.")
    monkeypatch.setattr(PageSession, "models_of", lambda *_, **__: models)
    with visiting(settings, tmp_path / "a.md", TEXT, Choice(("fixed",))) as sessions:
        session = sessions.of(VISITOR)
        session.ask(FIRST)
        [column] = session.ask("How long does it take?", follow_up=True).columns
    _, condensing, last = models.llm.prompts  # type: ignore[union-attr]
    assert column.answer is not None
    assert column.answer.tokens_in == count_tokens(condensing) + count_tokens(last)


def test_the_box_is_off_by_default_and_holds_for_typed_questions_alone(app: gr.Blocks) -> None:
    asking = [one for one in app.fns.values() if getattr(one.fn, "__name__", "") == "ask"]
    follow_ups = [follow_up for _, follow_up in (one.inputs for one in asking)]
    [box] = {one for one in follow_ups if isinstance(one, gr.Checkbox)}
    [alone] = {one for one in follow_ups if isinstance(one, gr.State)}  # of suggested questions
    assert follow_ups.count(alone) == len(follow_ups) - follow_ups.count(box) > 1
    assert (box.value, alone.value) == (False, False)
