"""`evaluate --save` writes what the report says to take, and says how it was asked."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_index.core.node_parser import SentenceSplitter

from rag_nodes.cli.commands.evaluate import _saved
from rag_nodes.evaluation.columns import Searched
from rag_nodes.evaluation.report import EvaluationReport, ReportDecision
from rag_nodes.parsers import get_parser
from rag_nodes.query import QueryOptions


def report(take: str | None) -> EvaluationReport:
    decision = ReportDecision(take, 200, "these documents", "Take A.")
    return EvaluationReport({}, {}, (), (), (), (), (), None, decision, ())


@pytest.mark.parametrize(
    ("column", "end"),
    [
        (get_parser("retrieval"), "--parser {path}"),
        (
            Searched(get_parser("retrieval"), QueryOptions(granularity="sentences", budget=1)),
            "ask as it was asked here: rag-nodes ask --granularity sentences",
        ),
    ],
)
def test_what_is_to_be_taken_is_written_with_how_to_use_it(
    tmp_path: Path, column: object, end: str
) -> None:
    path = tmp_path / "mine.toml"
    said = _saved(path, report("A"), {"A": column})
    assert said.startswith(f"Wrote {path}; use it: rag-nodes ingest DOCUMENTS --parser {path}")
    assert said.endswith(end.format(path=path))
    assert path.read_text()


def test_nothing_is_written_where_nothing_is_to_be_taken(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert "no column is shown" in _saved(path, report(None), {"A": get_parser("retrieval")})
    assert not path.exists()


def test_a_splitter_of_another_package_is_no_error_after_all_was_measured(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    said = _saved(path, report("A"), {"A": SentenceSplitter(chunk_size=100, chunk_overlap=0)})
    assert said.startswith(f"{path} was not written: ")
    assert "is of another package" in said
    assert not path.exists()
