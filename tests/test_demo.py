"""What a newcomer sees first shows a difference between the parsers, and a true one."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rag_nodes.apps.page import example_document
from rag_nodes.apps.tabs.compare.tab import EXAMPLE_QUESTIONS
from rag_nodes.compare import Comparison
from rag_nodes.models import choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import COMPARED
from rag_nodes.settings import Settings
from rag_nodes.store import open_store

ROOT = Path(__file__).parents[1]
DEMO = dict(re.findall(r"^(DOC|ASK) \??:?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
TRUTHS = {
    one["question"]: one["answer_contains"]
    for one in json.loads((ROOT / "examples/corpus/questions.json").read_text(encoding="utf-8"))
}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    models = choose_models(Settings(embedding="lexical", llm="extractive"))
    parsers = {name: get_parser(name) for name in COMPARED}
    made = Comparison(store=open_store(":memory:"), models=models, parsers=parsers)
    made.ingest([ROOT / DEMO["DOC"]])
    return made


def test_page_picture_and_terminal_begin_with_the_same_document_and_question() -> None:
    picture = (ROOT / "docs" / "make_screenshot.py").read_text(encoding="utf-8")
    assert example_document() == ROOT / DEMO["DOC"]
    assert Path(DEMO["DOC"]).name in picture
    assert DEMO["ASK"] == EXAMPLE_QUESTIONS[0]
    assert f'"{DEMO["ASK"]}"' in picture


@pytest.mark.parametrize("question", EXAMPLE_QUESTIONS)
def test_each_example_question_is_answered_right_by_some_parser_and_not_alike_by_all(
    question: str, comparison: Comparison
) -> None:
    answers = [one.answer.text for one in comparison.ask(question).columns if one.answer]
    assert len(answers) == len(COMPARED)
    assert any(TRUTHS[question] in one for one in answers)
    assert len({re.sub(r"\[.*?\]", "", one) for one in answers}) > 1


def test_the_first_question_is_answered_right_by_one_parser_only(comparison: Comparison) -> None:
    columns = comparison.ask(DEMO["ASK"]).columns
    right = [one.name for one in columns if one.answer and TRUTHS[DEMO["ASK"]] in one.answer.text]
    assert right == ["heading"]
    (fixed,) = (one.answer for one in columns if one.name == "fixed")
    assert fixed is not None
    assert "Quiet hours last from ten in the eveni " in fixed.text.replace("\n", " ")
