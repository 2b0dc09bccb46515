"""Splitters of other packages as columns beside ours."""

from pathlib import Path

from llama_index.core.node_parser import HierarchicalNodeParser, SentenceSplitter
from plant import MANUAL, QUESTION
from splitters import Headed, LineChunker, WindowSplitter

from rag_nodes.evaluation.compare import Comparison
from rag_nodes.models import Models
from rag_nodes.parsers import get_parser
from rag_nodes.pipeline import ingest
from rag_nodes.readers import read
from rag_nodes.store import Store


def foreign() -> dict[str, object]:
    return {
        "stock": SentenceSplitter(chunk_size=32, chunk_overlap=8),
        "family": HierarchicalNodeParser.from_defaults(chunk_sizes=[64, 32], chunk_overlap=4),
        "langchain": WindowSplitter(),
        "chonkie": LineChunker(),
        "headed": Headed(),
    }


def test_any_splitter_answers_beside_ours_and_cites_what_the_document_says(
    manual: Path, models: Models
) -> None:
    parsers = {"ours": get_parser("sentence"), **foreign()}
    with Comparison(parsers, documents=read(manual), models=models) as comparison:
        report = comparison.ask(QUESTION)
    assert [column.error for column in report.columns] == [None] * 6
    for column in report.columns:
        assert column.answer is not None
        assert "battery" in column.answer.text
        for citation in column.answer.citations:
            if column.name == "headed":
                assert (citation.start, citation.end, citation.heading_path) == (None, None, ())
            else:
                assert citation.start is not None
                assert MANUAL[citation.start : citation.end] == citation.quote


def test_unchanged_runs_report_the_chunks_with_a_location(
    manual: Path, store: Store, models: Models
) -> None:
    first = ingest([manual], foreign(), store, models=models)
    again = ingest([manual], foreign(), store, models=models)
    for report in (first, again):
        lost = {column.parser: column.not_located / column.chunks for column in report.columns}
        assert lost == {"stock": 0, "family": 0, "langchain": 0, "chonkie": 0, "headed": 1}
        (headed,) = [row for row in report.as_dict()["columns"] if row["parser"] == "headed"]
        assert headed["not_located"] == headed["chunks"] == 4
    assert [file.status for file in again.files] == ["unchanged"]
    assert {column.written for column in again.columns} == {0}
