"""The script of what the report says to take, if a script can name it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_nodes.core.settings import Settings
from rag_nodes.evaluation.report import EvaluationReport, Row
from rag_nodes.evaluation.tables import ChunkStatistics, Cost, ReportDecision
from rag_nodes.models import settled
from rag_nodes.operations.evaluating import written_files
from rag_nodes.operations.measuring import RecommendRequest
from rag_nodes.operations.run import Run, Said
from rag_nodes.parsers import get_parser

USE = {
    "preset": "retrieval:chunk_size=300",
    "parser": get_parser("retrieval", chunk_size=300).to_dict(),
    "query": {"mode": "sparse"},
}


def report(take: str | None, use: dict[str, Any]) -> EvaluationReport:
    decision = ReportDecision(
        take, 200, "these documents", "Take A.", certainty="Not decided: why.", **use
    )
    return EvaluationReport({}, {}, (), (), (), (), (), decision, ())


def written_by(
    request: RecommendRequest, result: EvaluationReport
) -> tuple[list[str], dict[Path, bool]]:
    """What is said, and which files are written."""
    messages: list[str] = []
    run = Run(
        Settings(), lambda event: messages.append(event.words) if isinstance(event, Said) else None
    )
    return messages, written_files(request, result, settled(None), run)


@pytest.mark.parametrize("take", ["A", None])  # None: what stands is kept
def test_the_script_of_what_to_take_is_written_with_how_to_run_it(
    tmp_path: Path, take: str | None
) -> None:
    path = tmp_path / "mine.py"
    [message], written = written_by(RecommendRequest(export=path), report(take, USE))
    assert written == {path: True}
    assert message == f"Wrote {path}; run it: python {path} DOCUMENT --question QUESTION"
    script = path.read_text("utf-8")
    assert "PARSER = get_parser('retrieval', chunk_size=300)" in script
    assert "mode='sparse'" in script


@pytest.mark.parametrize(
    ("take", "kind", "use", "why"),
    [
        (None, "", {}, "Not decided: why."),
        ("A", "collection", {}, "A is a collection, which `rag-nodes ask` can search as it is"),
        ("A", "as it stands", {}, "A is your own, so you have its code already"),
        ("A", "ForeignNodeParser", {}, "A cannot be named by a preset or an import path"),
        ("A", "fixed", {"preset": "fixed"}, "A was searched with a reranker"),
    ],
)
def test_a_setting_that_no_script_can_name_is_said_with_the_reason(
    tmp_path: Path, take: str | None, kind: str, use: dict[str, Any], why: str
) -> None:
    path = tmp_path / "mine.py"
    row = Row(
        "A", "A", "own", {"class": kind}, None, "", ChunkStatistics(), Cost(), {}, None, {}, ()
    )
    measured = replace(report(take, use), rows=(row,))
    [message], written = written_by(RecommendRequest(export=path), measured)
    assert written == {path: False}
    assert message.startswith(f"{path} was not written: {why}")
    assert not path.exists()
