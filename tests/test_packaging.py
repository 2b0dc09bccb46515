"""What an installation needs is what every platform can have."""

from __future__ import annotations

import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))


def test_gigatoken_which_has_no_wheels_for_alpine_is_an_extra_and_not_needed() -> None:
    project = PROJECT["project"]
    assert not any(one.startswith("gigatoken") for one in project["dependencies"])
    assert [one.partition(">")[0] for one in project["optional-dependencies"]["fast"]] == [
        "gigatoken"
    ]
    assert "fast" in project["optional-dependencies"]["all"][0]
