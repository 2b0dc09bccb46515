"""Events of the page come to an end: Gradio must not start them again and again."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import gradio as gr

    from rag_nodes.settings import Settings


def test_of_what_one_change_starts_only_one_waits_for_its_turn(
    build: Callable[..., gr.Blocks], settings: Settings
) -> None:
    # When one has waited for its turn, the page starts all of the same change again. Two that wait
    # start each other without end.
    waiting = Counter(
        (target, kind)
        for one in build(settings).get_config_file()["dependencies"]
        if one["trigger_mode"] == "always_last"
        for target, kind in one["targets"]
        if target is not None  # what another event is followed by
    )
    assert waiting
    assert [started for started, events in waiting.items() if events > 1] == []
