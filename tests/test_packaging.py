"""What the package says of itself, held against what is true before anything is published."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
IS_RELEASED = re.search(r"^## \[?\d", CHANGELOG, re.MULTILINE) is not None


def test_before_a_release_every_install_line_of_the_documentation_works_from_a_checkout() -> None:
    for page in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        text = page.read_text(encoding="utf-8")
        blocks = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        for wanted in re.findall(r"^pip install (\S+)", "".join(blocks), re.MULTILINE):
            assert IS_RELEASED or wanted.strip("\"'").startswith("."), (page.name, wanted)


def test_before_a_release_the_package_calls_itself_an_alpha() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (status,) = (one for one in project["classifiers"] if one.startswith("Development Status"))
    assert IS_RELEASED or status == "Development Status :: 3 - Alpha"


def test_the_wheel_is_built_and_tried_before_a_change_is_accepted() -> None:
    assert "make wheel\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
