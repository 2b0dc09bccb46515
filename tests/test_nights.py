"""A re-ingest works for what changed: the simulation of docs/guides/scale.md, made small."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "benchmarks"
SMALL = """
import json, nights
from dataclasses import asdict
print(json.dumps([asdict(night) for night in nights.simulate(files=20, nights=3, share=0.1)]))
"""


def test_a_night_opens_and_embeds_what_changed_and_nothing_else() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SMALL], cwd=FOLDER, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    first, *rest = json.loads(run.stdout)
    assert first["opened"] == 20
    assert first["embedded"] == first["written"] > 100
    assert len(rest) == 3
    for night in rest:
        assert night["opened"] == night["changed"] == 2
        # Around a new paragraph, and at most all of two files.
        assert 0 < night["embedded"] <= first["embedded"] * 0.15
