"""What the pages about evaluation show can be read, and name what there is."""

import re
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest
from llama_index.core import Document

from rag_nodes.evaluation import load_dataset
from rag_nodes.evaluation.diagnosis import REMEDIES, Reason
from rag_nodes.evaluation.report import TIMES, LeftOut, Row
from rag_nodes.evaluation.tables import (
    ChunkStatistics,
    Cost,
    Effect,
    GoldQuote,
    ReportDataset,
    ReportDocument,
    ReportQuestion,
    ReportSettings,
)
from rag_nodes.readers import read

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "examples" / "corpus"
TUTORIAL = (ROOT / "docs" / "get-started" / "choose-chunking.md").read_text(encoding="utf-8")
QUESTIONS = (ROOT / "docs" / "reference" / "formats.md").read_text(encoding="utf-8")
CONCEPT = (ROOT / "docs" / "concepts" / "evaluation.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [read(CORPUS / name) for name in ("ferry.pdf", "handbook.pdf", "manual.md")]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_examples_of_questions_are_found_in_the_example_document(
    form: str, documents: list[Document], tmp_path: Path
) -> None:
    page = TUTORIAL if form == "csv" else QUESTIONS
    (example,) = re.findall(rf"```{form}\n(.*?)```", page, re.DOTALL)
    path = tmp_path / f"questions.{form}"
    path.write_text(example, encoding="utf-8")
    dataset = load_dataset(path, documents[:1])
    assert dataset.not_located == ()
    assert len(dataset.questions) == 2
    assert all(question.confidence == 1 for question in dataset.questions)


def test_the_questions_of_the_example_corpus_are_found_in_its_documents(
    documents: list[Document],
) -> None:
    dataset = load_dataset(CORPUS / "questions.json", documents)
    assert dataset.not_located == ()
    assert len(dataset.questions) == 19


def test_every_reason_of_a_miss_is_explained_in_its_order() -> None:
    rows = re.findall(r"^\| ([a-z ]+) \| .* \| .* \|$", CONCEPT, re.MULTILINE)
    assert [row for row in rows if row in REMEDIES] == list(get_args(Reason))


@pytest.mark.parametrize(
    ("key", "table"),
    [
        ("rows", Row),
        ("rows", ChunkStatistics),
        ("rows", Cost),
        ("dataset", ReportDataset),
        ("settings", ReportSettings),
        ("documents", ReportDocument),
        ("questions", ReportQuestion),
        ("questions", GoldQuote),
        ("left_out", LeftOut),
        ("effects", Effect),
    ],
)
def test_every_field_of_a_report_is_named_in_its_row_of_the_page(key: str, table: type) -> None:
    report = QUESTIONS.partition("### Report of an evaluation")[2]
    (row,) = re.findall(rf"^\| `{key}` \| (.*) \|$", report, re.MULTILINE)
    named = {field.name for field in fields(table)} - {*TIMES}
    assert named <= {*re.findall(r"`(\w+)`", row)}
