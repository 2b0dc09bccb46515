"""The first output and the first page show true answers that differ between the parsers."""

import json
import re
import shutil
import subprocess
import sys
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


def demo(*given: str) -> list[str]:
    """Lines that `make demo` prints, run by the Python of the tests."""
    programs = Path(sys.executable).parent
    command = ["make", "-s", "-o", ".venv/installed-demo", "demo", f"BIN={programs}", *given]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_demo_prints_an_answer_its_source_and_the_verdict_of_the_readme() -> None:
    lines = demo()
    labels = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert labels == ["Question", "Answer", "Source", "Verdict", "Next"]
    assert len(lines) <= 12
    assert lines[0].endswith(DEMO["ASK"])
    assert TRUTHS[DEMO["ASK"]] in lines[1]
    assert "ferry.pdf, page 2, 1.3 " in lines[2]
    verdict = " ".join(" ".join(lines).partition("Verdict")[2].partition("Next")[0].split())
    readme = (ROOT / "README.md").read_text(encoding="utf-8").replace("\n> ", " ")
    assert f"\n<!-- decision --> {verdict}\n<!-- /decision -->\n" in readme


def test_a_document_without_questions_gets_an_answer_and_the_way_to_a_verdict(
    tmp_path: Path,
) -> None:
    document = tmp_path / "my $5 report.md"
    document.write_text("# Approval\n\nThe harbour office approves for $5.\n", encoding="utf-8")
    question = "Who approves for $5?"
    lines = demo(f"DOC={document}", f"ASK={question}")
    assert lines[0].split(maxsplit=1) == ["Question", question]
    assert "The harbour office approves for $5." in lines[1]
    assert "None yet" in lines[3]
    again = f"make demo DOC='{document}' ASK='{question}' QUESTIONS=questions.json"
    assert again in [line.strip() for line in lines]


def test_the_long_output_has_all_parsers_and_the_table_of_recall(tmp_path: Path) -> None:
    for name in ("document.md", "questions.csv"):
        text = (
            "# Pump\n\nIt starts at six.\n"
            if name == "document.md"
            else ("question,quote\nWhen does it start?,It starts at six.\n")
        )
        (tmp_path / name).write_text(text, encoding="utf-8")
    document, questions = tmp_path / "document.md", tmp_path / "questions.csv"
    lines = demo(f"DOC={document}", "ASK=When?", f"QUESTIONS={questions}", "VERBOSE=1")
    commands = [line for line in lines if line.startswith("$ rag-nodes ")]
    assert [line.split()[2] for line in commands] == ["compare", "evaluate"]
    assert {name for name in COMPARED if any(line.startswith(f" {name} ") for line in lines)} == {
        *COMPARED
    }


def test_the_demo_says_what_it_installs_and_how_much_before_it_begins(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    programs = tmp_path / ".venv" / "bin"
    programs.mkdir(parents=True)
    for name in ("uv", "python"):
        (programs / name).write_text(f"#!/bin/sh\necho '<{name} begins>'\n")
        (programs / name).chmod(0o755)

    command = ["make", "-s", "demo"]
    first, second = (
        subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    )

    announcement, _, rest = first.partition("<uv begins>")
    assert re.search(
        r"Installing .* packages.*: about \d+ MB to download, \d+ MB on disk", announcement
    )
    assert "Once." in announcement
    assert rest
    assert "Installing" not in second
