"""What the report says to take is written as a preset file, where a file may name it."""

from pathlib import Path

import pytest

from rag_nodes.evaluation.report import EvaluationReport, ReportDecision
from rag_nodes.models import settled
from rag_nodes.operations.evaluating import written_files
from rag_nodes.operations.measuring import RecommendRequest
from rag_nodes.operations.run import Run, Said
from rag_nodes.parsers import get_parser, load_preset, preset_for
from rag_nodes.parsers.preset_files import preset_text
from rag_nodes.settings import Settings

PRESET = preset_text(preset_for(get_parser("retrieval"), "chosen", query={"mode": "sparse"}))


def report(take: str | None, preset: str = "") -> EvaluationReport:
    decision = ReportDecision(take, 200, "these documents", "Take A.", preset=preset)
    return EvaluationReport({}, {}, (), (), (), (), (), decision, ())


def written_by(
    request: RecommendRequest, of: EvaluationReport
) -> tuple[list[str], dict[Path, bool]]:
    """What is said, and which files are written."""
    said: list[str] = []
    run = Run(
        Settings(), lambda event: said.append(event.words) if isinstance(event, Said) else None
    )
    return said, written_files(request, of, settled(None), run)


@pytest.mark.parametrize("take", ["A", None])  # None: what stands is kept
def test_what_is_to_be_taken_is_written_with_how_to_use_it(
    tmp_path: Path, take: str | None
) -> None:
    path = tmp_path / "mine.toml"
    request = RecommendRequest(save=path)
    [said], written = written_by(request, report(take, PRESET))
    assert written == {path: True}
    assert said == f"Wrote {path}; use it: rag-nodes ingest DOCUMENTS --parser {path}"
    preset = load_preset(path)
    assert (preset.name, dict(preset.query)) == ("mine", {"mode": "sparse"})
    assert preset.make().fingerprint == get_parser("retrieval").fingerprint


@pytest.mark.parametrize(
    ("take", "why"), [(None, "no column is shown"), ("A", "no preset file may name A")]
)
def test_what_no_file_can_name_is_no_error_after_all_was_measured(
    tmp_path: Path, take: str | None, why: str
) -> None:
    path, script = tmp_path / "mine.toml", tmp_path / "mine.py"
    request = RecommendRequest(save=path, export=script)
    said, written = written_by(request, report(take))
    assert written == {}
    assert [one.partition(" was not written: ")[0] for one in said] == [str(path), str(script)]
    assert all(why in one for one in said)
    assert not path.exists()
