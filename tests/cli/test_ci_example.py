"""The example of a workflow is true: it passes as things are, and fails for a real drop."""

import re
import shlex
import shutil
from pathlib import Path

import pytest
import yaml
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]
CORPUS = ROOT / "examples" / "corpus"
EXAMPLE = (ROOT / "examples" / "ci" / "retrieval.yml").read_text("utf-8")


def _gate() -> list[str]:
    (job,) = yaml.safe_load(EXAMPLE)["jobs"].values()
    (command,) = (step["run"] for step in job["steps"] if "evaluate " in step.get("run", ""))
    return shlex.split(command)[1:]


def test_it_passes_as_things_are_and_fails_where_fewer_answers_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "tests").mkdir()
    shutil.copy(CORPUS / "ferry.pdf", tmp_path / "docs")
    shutil.copy(CORPUS / "ferry_questions.csv", tmp_path / "tests" / "questions.csv")
    monkeypatch.chdir(tmp_path)
    (kept,) = re.findall(r"^#   rag-nodes (.*)$", EXAMPLE, re.MULTILINE)
    assert command(*shlex.split(kept), "-q").code == 0
    ended = command(*_gate())
    assert ended.code == 0, ended.stdout
    assert (tmp_path / "report.html").is_file()
    assert "heading holds" in ended.stdout
    assert "heading reaches recall@1000" in ended.stdout
    worse = command(*_gate(), "--similarity-cutoff", "0.9")
    assert worse.code == 4
    assert "heading fell by " in " ".join(worse.stdout.split())
