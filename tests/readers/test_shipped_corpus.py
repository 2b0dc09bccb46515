"""The corpus that is shipped: readable, small, and its questions right."""

import json
import runpy
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document

from rag_nodes.core import metadata as keys
from rag_nodes.readers import read
from rag_nodes.text.spans import PageMap

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTIONS = json.loads((CORPUS / "questions.json").read_text(encoding="utf-8"))


@cache
def read_shipped(name: str) -> Document:
    return read(CORPUS / name)


@pytest.mark.parametrize("case", QUESTIONS, ids=lambda case: case["question"])
def test_each_question_is_answered_on_its_page(case: dict[str, Any]) -> None:
    document = read_shipped(case["file"])
    place = document.text.find(case["gold"])
    assert place >= 0
    if case["page"] is not None:
        assert PageMap(document.metadata[keys.PAGE_STARTS]).page_of(place) == case["page"]


def test_the_handbook_reads_as_it_was_written() -> None:
    """The PDF breaks lines, words and pages; the reader must undo all of it."""
    source = (CORPUS / "handbook.txt").read_text(encoding="utf-8").replace("~", "")
    written = [line for line in source.splitlines() if line and not line.startswith("|")]
    text = read_shipped("handbook.pdf").text
    missing = [line for line in written if f"\n{line}\n" not in f"\n{text}\n"]
    assert missing == []
    assert "Alderwick Fen Glasshouse Handbook" not in text
    assert "Page " not in text
    assert "\n| Summer | 131 | 2 | 610 |\n" in text


def test_the_table_of_the_ferry_manual_is_one_over_all_its_pages() -> None:
    source = (CORPUS / "ferry.txt").read_text(encoding="utf-8")
    rows = [line for line in source.splitlines() if line.startswith("|")]
    document = read_shipped("ferry.pdf")
    assert "\n".join([rows[0], "| --- | --- | --- | --- |", *rows[1:]]) in document.text
    pages = PageMap(document.metadata[keys.PAGE_STARTS])
    first, last = (document.text.index(row) for row in (rows[0], rows[-1]))
    assert pages.page_of(last) - pages.page_of(first) >= 2
    assert document.metadata[keys.TOTAL_PAGES] >= 20


@pytest.mark.parametrize("name", ["handbook", "ferry"])
def test_each_pdf_is_small_and_built_by_its_script(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (CORPUS / f"{name}.pdf").stat().st_size < 250_000
    for file in ("build_pdf.py", f"{name}.txt"):
        (tmp_path / file).write_bytes((CORPUS / file).read_bytes())
    monkeypatch.setattr(sys, "argv", ["build_pdf.py", name])
    runpy.run_path(str(tmp_path / "build_pdf.py"), run_name="__main__")
    assert read(tmp_path / f"{name}.pdf").text == read_shipped(f"{name}.pdf").text
