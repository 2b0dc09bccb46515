"""What a newcomer sees first shows a difference between the parsers, and a true one."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_nodes.apps.page import example_document
from rag_nodes.apps.visitors.questions import OF_THE_EXAMPLE
from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import choose_models
from rag_nodes.parsers import get_parser
from rag_nodes.parsers.presets import COMPARED
from rag_nodes.readers import read

ROOT = Path(__file__).parents[1]
DEMO = dict(re.findall(r"^(DOC|ASK) \??:?= (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE))
TRUTHS = {
    row["question"]: row["gold"]
    for row in json.loads((ROOT / "examples/corpus/questions.json").read_text(encoding="utf-8"))
}


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    models = choose_models(Settings(embedding="lexical", llm="extractive"))
    parsers = {name: get_parser(name) for name in COMPARED}
    return Comparison(parsers, documents=read(ROOT / DEMO["DOC"]), models=models)


def right(comparison: Comparison, question: str) -> list[str]:
    """The parsers whose answer holds what is true."""
    columns = comparison.ask(question).columns
    return [
        column.name
        for column in columns
        if column.answer and TRUTHS[question] in column.answer.text
    ]


def test_page_picture_and_terminal_begin_with_the_same_document_and_question() -> None:
    picture = (ROOT / "scripts" / "docs" / "make_screenshot.py").read_text(encoding="utf-8")
    assert example_document() == ROOT / DEMO["DOC"]
    assert Path(DEMO["DOC"]).name in picture
    assert DEMO["ASK"] == OF_THE_EXAMPLE[0]
    assert f'"{DEMO["ASK"]}"' in picture


@pytest.mark.parametrize("question", OF_THE_EXAMPLE)
def test_each_example_question_is_answered_right_by_some_parser_and_not_alike_by_all(
    question: str, comparison: Comparison
) -> None:
    answers = [column.answer.text for column in comparison.ask(question).columns if column.answer]
    assert len(answers) == len(COMPARED)
    assert any(TRUTHS[question] in answer for answer in answers)
    assert len({re.sub(r"\[.*?\]", "", answer) for answer in answers}) > 1


def test_all_but_one_parser_find_when_quiet_hours_begin_and_that_one_breaks_off(
    comparison: Comparison,
) -> None:
    assert right(comparison, DEMO["ASK"]) == ["heading", "token-overlap", "semantic"]
    columns = comparison.ask(DEMO["ASK"]).columns
    (fixed,) = (column.answer for column in columns if column.name == "fixed")
    assert fixed is not None
    assert "Quiet hours last from ten in the eveni " in fixed.text.replace("\n", " ")


@pytest.fixture
def demo(tmp_path: Path) -> Callable[..., str]:
    """`make demo` with a command that only writes down what it is asked for."""
    stub = tmp_path / "rag-nodes"
    stub.write_text('#!/bin/sh\nprintf "<%s> " "$@"\necho\n')
    stub.chmod(0o755)

    def run(*given: str) -> str:
        command = ["make", "-s", "-o", ".venv/installed-demo", "demo", f"BIN={tmp_path}", *given]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout

    return run


def test_the_demo_ends_in_the_verdict_on_the_questions_of_its_document(
    demo: Callable[..., str],
) -> None:
    first, *_, last = demo().splitlines()
    assert first.startswith(f"<compare> <{DEMO['DOC']}> <--ask> <{DEMO['ASK']}> ")
    assert last.startswith(f"<evaluate> <{DEMO['DOC']}> <--questions> <examples/corpus/ferry_")


def test_a_document_of_ones_own_is_asked_and_it_is_said_how_to_have_questions(
    demo: Callable[..., str],
) -> None:
    first, *rest = demo("DOC=my report.pdf", "ASK=What is $5?").splitlines()
    assert first.startswith("<compare> <my report.pdf> <--ask> <What is $5?> ")
    assert (
        'rag-nodes questions draft "my report.pdf" --llm openai --output questions.json'
        in "".join(rest)
    )
    assert 'set "draft" to false' in "".join(rest)
    assert "<evaluate>" not in "".join(rest)


def test_questions_of_ones_own_are_asked_of_ones_own_document(demo: Callable[..., str]) -> None:
    *_, last = demo("DOC=a.pdf", "ASK=Why?", "QUESTIONS=own $5.csv").splitlines()
    assert last.startswith("<evaluate> <a.pdf> <--questions> <own $5.csv> ")


def test_the_demo_says_what_it_installs_and_how_much_before_it_begins(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("uv", "rag-nodes"):
        (programs / name).write_text(f"#!/bin/sh\necho '<{name} begins>'\n")
        (programs / name).chmod(0o755)

    command = ["make", "-s", "demo"]
    first, second = (
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )

    said, _, rest = first.partition("<uv begins>")
    assert re.search(r"Installing .* packages.*: about \d+ MB to download, \d+ MB on disk", said)
    assert "Once." in said
    assert rest
    assert "Installing" not in second
