"""Whatever a script sends to an event ends in words, not in a fault, and stays with the script."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from app_server import listening
from fixtures_app import offline_settings
from script_visitor import Script

from rag_nodes.apps.inside_gradio import DOES_NOT_FIT
from rag_nodes.server.serve import make_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

QUESTION = "How long does the battery keep the controller alive?"
CANARY = "sent by a script"
FILE = {"path": "/etc/hostname", "meta": {"_type": "gradio.FileData"}}
WRONG: tuple[Any, ...] = (
    None,
    [[CANARY]],
    {"measure": [CANARY], "strategy": {}, "turn": -1, "chunk": None, "act": "best"},
    dict.fromkeys(("turn", "column", "rank", "chunk", "document", "strategy"), "9" * 5000),
    10**30,
    -1,
    float("nan"),
    CANARY * 1000,
    "half a character: \ud800",
    FILE,
)
"""Each in place of every input and of what a click sends along."""


@pytest.fixture(scope="module")
def address(
    leaks_collected: Callable[[], AbstractContextManager[None]], _gradio: None
) -> Iterator[str]:
    with leaks_collected():
        app = make_server(offline_settings())
    with leaks_collected(), listening(app) as found:
        yield found


def test_no_event_fails_on_what_the_page_never_sends(
    address: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    script, other = Script(address, "script"), Script(address, "other")
    script.load()
    other.load()
    capfd.readouterr()
    for event in script.events:
        inputs = len(script.defaults(event))
        begun = {script.begin(event, *[one] * inputs, click=one): one for one in WRONG}
        ended = script.ended()
        for number, wrong in begun.items():
            assert ended[number].get("error", "ignored"), f"{event}: {str(wrong)[:40]}"
        assert "Traceback" not in capfd.readouterr().err, event
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == []
    answered = json.dumps(other.outcome("ask", QUESTION, False))
    assert QUESTION in answered
    assert CANARY not in answered
    script.close()
    other.close()


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_moves_no_slider(address: str, number: float) -> None:
    script = Script(address, f"slider {number}")
    values = script.defaults("process_example")
    sliders = [at for at, one in enumerate(values) if type(one) in {int, float}]
    for at in (sliders[1], sliders[-3]):
        changed = [number if place == at else one for place, one in enumerate(values)]
        refusal = script.outcome("process_example", *changed)["error"]
        assert refusal == DOES_NOT_FIT or "value" in refusal
    script.close()
