"""Questions that nothing is measured with are counted and named on every surface."""

import json
from io import StringIO
from pathlib import Path

import pytest
from llama_index.core import Document
from rich.console import Console
from tests.evaluation.labelled import BARE

from rag_nodes.apps.panes.evidence import why_html
from rag_nodes.cli.views.evaluation import evaluation_view
from rag_nodes.evaluation.importers import load_dataset, place
from rag_nodes.evaluation.importers.formats import read_rows
from rag_nodes.evaluation.page import html_of
from rag_nodes.evaluation.report import EvaluationReport
from rag_nodes.evaluation.run import evaluate

ROOT = Path(__file__).parents[2]
FERRY = ROOT / "examples" / "corpus" / "ferry.pdf"
TEXT = "High water is at noon. Low water is at six. The lamp is lit at dusk by the keeper."
TIDES = Document(text=TEXT, id_="tides", metadata={"file_name": "tides.md"})
LOST = "no document is called 'moon.md'; write one of the names there are (tides), or no name"


def evaluate_questions(rows: list[object], folder: Path) -> EvaluationReport:
    """Evaluate one parser on the questions of a file."""
    path = folder / "questions.json"
    path.write_text(json.dumps(rows), "utf-8")
    return evaluate(load_dataset(path, [TIDES]), {"ours": "sentence"}, plan=BARE)


def question_row(name: str, quote: str, document: str = "tides.md") -> dict[str, str]:
    return {"id": name, "question": f"What of {name}?", "quote": quote, "document": document}


def test_every_surface_counts_and_names_the_questions_that_were_left_out(tmp_path: Path) -> None:
    lost = [question_row(f"m{number}", "Low water is at six.", "moon.md") for number in range(5)]
    report = evaluate_questions([question_row("high", "High water is at noon."), *lost], tmp_path)
    words = f"5 of 6 questions were left out (m0, m1 and 3 others): {LOST}."
    assert words in report.said
    assert words in json.loads(report.to_json())["verdict"]
    terminal = Console(width=200, record=True, file=StringIO())
    terminal.print(*evaluation_view(report))
    assert words in " ".join(terminal.export_text().split())
    for page in (html_of(report), str(why_html(report))):
        assert words.replace("'", "&#39;") in page


def test_questions_left_out_for_several_reasons_are_counted_once(tmp_path: Path) -> None:
    lost = [
        question_row("m0", "Low water is at six.", "moon.md"),
        question_row("m1", "Nobody wrote this down."),
        question_row("m2", "Low water is at six.", "moon.md"),
    ]
    sentences = evaluate_questions(
        [question_row("high", "High water is at noon."), *lost], tmp_path
    ).said
    start = sentences.index("3 of 4 questions were left out:")
    assert sentences[start + 1] == f"m0 and m2: {LOST}."
    assert sentences[start + 2].startswith("m1: ")
    assert sum("left out" in sentence for sentence in sentences) == 1


def test_entries_that_are_no_questions_are_counted_in_the_report(tmp_path: Path) -> None:
    report = evaluate_questions(
        [question_row("high", "High water is at noon."), "a note"], tmp_path
    )
    assert (
        "1 of 2 entries of the file was left out: something else than a question with its columns."
    ) in report.said


def test_nothing_is_reported_if_nothing_is_left_out(tmp_path: Path) -> None:
    report = evaluate_questions([question_row("high", "High water is at noon.")], tmp_path)
    assert not any("left out" in sentence for sentence in report.said)


def test_pages_of_llamaindexs_reader_keep_every_question_and_are_one_document() -> None:
    """As its `PDFReader` makes them, with pypdf: a document for each page, all of one path."""
    texts = (ROOT / "tests" / "data" / "ferry_pypdf.txt").read_text("utf-8").split("\f")
    metadata = {"file_name": FERRY.name, "file_path": str(FERRY)}
    pages = [
        Document(text=text, metadata={"page_label": str(number), **metadata})
        for number, text in enumerate(texts, start=1)
    ]
    dataset = load_dataset(FERRY.with_name("ferry_questions.csv"), pages)
    kept = len(dataset.questions)
    assert kept > 0.9 * (kept + len(dataset.not_located))
    assert not any("called" in question.reason for question in dataset.not_located)
    report = evaluate(dataset, {"ours": "recursive"}, plan=BARE)
    assert f"Based on {kept} questions about one document." in report.said


@pytest.mark.parametrize(
    "metadata", [{"source": "/d/a.pdf"}, {"file_path": "/d/a.pdf", "source": "2"}]
)
def test_pages_with_one_path_say_nothing_of_other_documents(metadata: dict[str, str]) -> None:
    pages = [
        Document(text=f"{TEXT} Page {number}.", id_=f"p{number}", metadata=metadata)
        for number in range(8)
    ]
    rows = [
        {"id": page.id_, "question": f"{page.id_}?", "quote": f"Page {page.id_[1:]}."}
        for page in pages
    ]
    labels = read_rows(rows)
    assert labels is not None
    dataset = place(labels, pages, "pages")
    report = evaluate(dataset, {"ours": "sentence", "other": "recursive"}, plan=BARE)
    assert "Based on 8 questions about one document." in report.said
    assert report.contrasts[0].like_these is None
