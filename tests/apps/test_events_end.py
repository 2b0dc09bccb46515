"""Events of the page come to an end: Gradio must not start them again and again."""

from collections import Counter

import gradio as gr

from rag_nodes.apps.header.loading import LOOKING
from rag_nodes.apps.tabs.compare.tab import AT_ONCE


def test_of_what_one_change_starts_only_one_waits_for_its_turn(
    app: gr.Blocks,
) -> None:
    # When one has waited for its turn, the page starts all of the same change again. Two that wait
    # start each other without end.
    waiting = Counter(
        (target, kind)
        for one in app.get_config_file()["dependencies"]
        if one["trigger_mode"] == "always_last"
        for target, kind in one["targets"]
        if target is not None  # what another event is followed by
    )
    assert waiting
    assert [started for started, events in waiting.items() if events > 1] == []


def test_questions_that_wait_for_documents_hold_up_nobody_who_is_ready(app: gr.Blocks) -> None:
    limits = {one.concurrency_limit for one in app.fns.values() if one.name == "apply_and_hold"}
    assert limits == {LOOKING}
    assert LOOKING > AT_ONCE
