"""An ingest that is killed again and again ends as one that nobody disturbed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "kills.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the trial forks, which Windows cannot")
def test_two_kills_lose_nothing_double_nothing_and_change_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for n in range(12):
        parts = [f"## Part {k}\n\nPart {k} of machine {n} is made of steel." for k in range(6)]
        (folder / f"{n:02}.md").write_text(f"# Machine {n}\n\n" + "\n\n".join(parts))
    command = [sys.executable, str(SCRIPT), str(folder), "--kills", "2", "--seed", "3"]
    done = subprocess.run(
        [*command, "--part", "20", "--parsers", "heading:chunk_size=30,min_chunk_size=5"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = r"2 kills, \d+ ends: Difference\(lost=0, extra=0, changed=0\)"
    assert re.search(outcome, done.stdout), done.stdout
