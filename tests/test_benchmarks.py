"""The benchmarks still fit the library they measure."""

import argparse
import ast
import json
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_finds_what_it_imports_of_the_library(script: Path) -> None:
    for statement in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        package = (
            (statement.module or "").partition(".")[0]
            if isinstance(statement, ast.ImportFrom)
            else ""
        )
        if package == "rag_nodes":
            exec(ast.unparse(statement), {})  # noqa: S102 -- an import of ours


def _names_bound_in(script: Path) -> set[str]:
    """Names of a module, read and not run: some benchmarks import packages that only they need."""
    nodes = list(ast.walk(ast.parse(script.read_text(encoding="utf-8"))))
    definitions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {
        *(node.name for node in nodes if isinstance(node, definitions)),
        *(
            node.id
            for node in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ),
        *(node.asname or node.name for node in nodes if isinstance(node, ast.alias)),
    }


@pytest.mark.parametrize("script", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_every_benchmark_finds_what_it_imports_of_another(script: Path) -> None:
    for statement in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(statement, ast.ImportFrom):
            source = FOLDER / f"{statement.module}.py"
            if source.is_file():
                assert {name.name for name in statement.names} <= _names_bound_in(source)


def test_fresh_questions_are_many_in_many_languages_about_documents_that_can_be_located() -> None:
    loaded = json.loads((FOLDER / "fresh_questions.json").read_text(encoding="utf-8"))
    questions = loaded["questions"]
    placed = (FOLDER / "fresh_documents.py").read_text(encoding="utf-8")
    assert all(f'"{question["document"]}": Packaged(' in placed for question in questions)
    assert all(passage["text"].strip() for question in questions for passage in question["gold"])
    languages = Counter(question["id"].split("-")[0] for question in questions)
    assert len(questions) >= 60
    assert languages.keys() == {"en", "de", "fr", "es", "ru", "zh", "ja"}


def test_a_share_of_false_winners_that_luck_may_have_made_is_counted_again_before_it_is_judged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    verdict, asked = import_module("verdict"), []

    def count(sets: int, seed: int) -> float:
        asked.append((sets, seed))
        return 0.07 if sets == 600 else 0.05

    assert verdict.share_of(count, 600, 0) == (0.07, 0.05)
    assert asked == [(600, 0), (6000, 1)]
    assert verdict.share_of(lambda *_: 0.06, 600, 0) == (0.06, 0.06)


@pytest.mark.parametrize(("again", "good"), [(0.07, True), (0.08, False)])
def test_one_cell_over_seven_percent_fails_whatever_the_others_are(
    monkeypatch: pytest.MonkeyPatch, again: float, good: bool
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    verdict = import_module("verdict")
    monkeypatch.setattr(verdict.Cell, "named", lambda cell, *_: again if cell.columns == 8 else 0.0)
    options = argparse.Namespace(as_they_are=True, sets=600, seed=0, draws=1)
    assert verdict.winners([], options) is good
