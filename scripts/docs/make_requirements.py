"""Writes tests/REQUIREMENTS.md: which tests show which requirement. `make format` runs it.

A test names a requirement in its name (`s1_16`) or in its docstring or a comment (S1-16).
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).parents[2] / "tests"
PAGE = TESTS / "REQUIREMENTS.md"
_NUMBER = re.compile(r"(?<![A-Za-z0-9])[Ss]([0-4])[-_](\d\d)(?!\d)")
_HEAD = """# Requirements and the tests that show them

Written by `make format`. Other tests show the rest without naming it.

| requirement | tests |
|---|---|
"""


def main() -> None:
    """Write the map."""
    files_by_case: defaultdict[str, set[str]] = defaultdict(set)
    for path in sorted(TESTS.rglob("*.py")):
        for group, number in _NUMBER.findall(path.read_text(encoding="utf-8").replace("_s", " s")):
            files_by_case[f"S{group}-{number}"].add(f"`{path.relative_to(TESTS).as_posix()}`")
    rows = (
        f"| {case} | {', '.join(sorted(files))} |" for case, files in sorted(files_by_case.items())
    )
    PAGE.write_text(_HEAD + "\n".join(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
