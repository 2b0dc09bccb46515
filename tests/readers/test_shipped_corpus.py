"""The corpus that is shipped: readable, small, and its questions right."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rag_nodes import metadata as keys
from rag_nodes.readers import read
from rag_nodes.text.pages import PageMap

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTIONS = json.loads((CORPUS / "questions.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda case: case["question"])
def test_each_question_is_answered_on_its_page(case: dict[str, Any]) -> None:
    document = read(CORPUS / case["file"])
    place = document.text.find(case["answer_contains"])
    assert place >= 0
    if case["page"] is not None:
        assert PageMap(document.metadata[keys.PAGE_STARTS]).page_of(place) == case["page"]


def test_the_handbook_reads_as_it_was_written() -> None:
    """The PDF breaks lines, words and pages; the reader must undo all of it."""
    source = (CORPUS / "handbook.txt").read_text(encoding="utf-8").replace("~", "")
    written = [line for line in source.splitlines() if line and not line.startswith("|")]
    text = read(CORPUS / "handbook.pdf").text
    missing = [line for line in written if f"\n{line}\n" not in f"\n{text}\n"]
    assert missing == []
    assert "Alderwick Fen Glasshouse Handbook" not in text
    assert "Page " not in text
    assert "\nSummer  131  2  610\n" in text


def test_the_handbook_is_small_and_built_by_its_script(tmp_path: Path) -> None:
    shipped = (CORPUS / "handbook.pdf").read_bytes()
    assert len(shipped) < 200_000
    for name in ("build_pdf.py", "handbook.txt"):
        (tmp_path / name).write_bytes((CORPUS / name).read_bytes())
    subprocess.run([sys.executable, tmp_path / "build_pdf.py"], check=True, capture_output=True)
    assert read(tmp_path / "handbook.pdf").text == read(CORPUS / "handbook.pdf").text
