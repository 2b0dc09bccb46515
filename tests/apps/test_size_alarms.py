"""What the tab of chunks says about sizes: alarms only where chunks break their parser's size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rag_nodes.apps.visitors.choice import Choice
from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.parsers import PRESETS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rag_nodes.apps.visitors.cuts import Cuts
    from rag_nodes.settings import Settings

TEXT = "# Water\n\n" + "".join(
    f"## Day {day}\n\nThe water is {day} degrees warm. It is clear. Nobody swims in it.\n\n"
    for day in range(150)
)


@pytest.fixture
def cut(settings: Settings, tmp_path: Path) -> Callable[[str], Cuts]:
    def cut(preset: str) -> Cuts:
        sessions = PageSessions(settings)
        path = tmp_path / "water.md"
        path.write_text(TEXT, encoding="utf-8")
        session = sessions.of("visitor")
        session.load([path], Choice((preset,)), lambda _: None)
        found = session.cuts
        assert found is not None
        return found

    return cut


@pytest.mark.parametrize("preset", PRESETS)
def test_no_preset_raises_an_alarm_about_sizes_that_its_chunks_keep(
    preset: str, cut: Callable[[str], Cuts]
) -> None:
    cuts = cut(preset)
    (document,) = cuts.documents
    assert cuts.nodes(preset, document)
    assert cuts.facts(preset, document).oversized == ()


def test_families_are_drawn_as_the_children_that_are_found_and_share_no_text(
    cut: Callable[[str], Cuts],
) -> None:
    cuts = cut("parent-child")
    document = next(iter(cuts.documents))
    assert cuts.facts("parent-child", document).overlap == 0
    assert " ".join(node.text for node in cuts.nodes("parent-child", document)).split() == (
        TEXT.split()
    )
