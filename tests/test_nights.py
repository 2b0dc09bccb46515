"""A re-ingest works for what changed: the simulation of docs/guides/scale.md, made small."""

from importlib import import_module
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "benchmarks"


@pytest.mark.usefixtures("no_configuration")
def test_a_night_opens_and_embeds_what_changed_and_nothing_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    first, *rest = import_module("nights").simulate(files=20, nights=3, share=0.1)
    assert first.opened == 20
    assert first.embedded == first.written > 100
    assert len(rest) == 3
    for night in rest:
        assert night.opened == night.changed == 2
        # Around a new paragraph, and at most all of two files.
        assert 0 < night.embedded <= first.embedded * 0.15
