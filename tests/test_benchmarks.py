"""The benchmarks still fit the library they measure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "benchmarks"


def test_every_benchmark_finds_what_it_imports() -> None:
    names = sorted(script.stem for script in FOLDER.glob("*.py"))
    assert "parsers" in names
    done = subprocess.run(
        [sys.executable, "-c", f"import {', '.join(names)}"],
        cwd=FOLDER,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
