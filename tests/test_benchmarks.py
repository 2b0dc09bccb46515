"""The benchmarks still fit the library they measure."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "benchmarks"


def test_every_benchmark_finds_what_it_imports() -> None:
    names = sorted(script.stem for script in FOLDER.glob("*.py"))
    assert "parsers" in names
    done = subprocess.run(
        [sys.executable, "-c", f"import {', '.join(names)}"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_fresh_questions_are_many_in_many_languages_about_documents_that_can_be_placed() -> None:
    found = json.loads((FOLDER / "fresh_questions.json").read_text(encoding="utf-8"))
    questions = found["questions"]
    placed = (FOLDER / "fresh_documents.py").read_text(encoding="utf-8")
    assert all(f'"{one["document"]}": Packaged(' in placed for one in questions)
    assert all(passage["text"].strip() for one in questions for passage in one["gold"])
    languages = Counter(one["id"].split("-")[0] for one in questions)
    assert len(questions) >= 60
    assert languages.keys() == {"en", "de", "fr", "es", "ru", "zh", "ja"}
