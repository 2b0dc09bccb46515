"""What one visitor's scripts cannot do to the server and to other visitors."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any

import pytest
from app_server import listening
from gradio import processing_utils
from openai_server import Fault, OpenAIServer
from script_visitor import Script

from rag_nodes.apps.inside_gradio import DOES_NOT_FIT, MOST_WAITING
from rag_nodes.apps.visitors.choice import MOST_QUESTION
from rag_nodes.core.settings import Settings
from rag_nodes.server.serve import make_server

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
MORE_THAN_AT_ONCE = 9
"""Events that take every place there is, if they take one each."""


@pytest.fixture(scope="module")
def address(
    _running_openai_server: OpenAIServer,
    leaks_collected: Callable[[], AbstractContextManager[None]],
    _gradio: None,
) -> Iterator[str]:
    settings = Settings(
        embedding="lexical",
        llm="openai",
        api_base=_running_openai_server.base,
        api_key="sk-anything",
        retry_seconds=0,
    )
    with leaks_collected():
        app = make_server(settings)
    with leaks_collected(), listening(app) as found:
        yield found


@pytest.fixture
def visitors(address: str, request: pytest.FixtureRequest) -> Iterator[tuple[Script, Script]]:
    """Two of them, new in every test."""
    pair = (Script(address, f"{request.node.name} 1"), Script(address, f"{request.node.name} 2"))
    yield pair
    for one in pair:
        one.close()


def test_the_questions_of_one_take_no_place_of_another(
    visitors: tuple[Script, Script], openai_server: OpenAIServer
) -> None:
    greedy, other = visitors
    greedy.load()
    other.load()
    openai_server.fail(Fault(body="slow"), times=4)
    for number in range(MORE_THAN_AT_ONCE):
        greedy.begin("ask", f"{QUESTION} {number}", False)
    openai_server.wait_for("chat/completions", 4)
    answered = other.outcome("ask", QUESTION, False)
    assert "The documents answer this" in json.dumps(answered)
    openai_server.release()
    ended = [one["output"] for one in greedy.messages() if one["msg"] == "process_completed"]
    refused = [one["error"] for one in ended if one.get("error")]
    assert len(refused) == MORE_THAN_AT_ONCE - 1
    assert {"stop them" in one for one in refused} == {True}


def test_whoever_clears_while_a_slow_model_answers_holds_up_nobody(
    visitors: tuple[Script, Script], openai_server: OpenAIServer
) -> None:
    slow, other = visitors
    slow.load()
    openai_server.fail(Fault(body="slow"), times=4)
    before = len(openai_server.asked("chat/completions"))
    slow.begin("ask", QUESTION, False)
    openai_server.wait_for("chat/completions", before + 4)
    for _ in range(MORE_THAN_AT_ONCE):
        slow.begin("clear")
    assert "error" not in other.outcome("clear")
    openai_server.release()
    assert len([one for one in slow.messages() if one["msg"] == "process_completed"]) == 10


def test_a_question_longer_than_the_box_takes_is_refused(visitors: tuple[Script, Script]) -> None:
    refused = visitors[0].outcome("ask", "w" * (MOST_QUESTION + 1), False)
    assert "4,000 characters" in refused["error"]


def test_a_page_that_is_loaded_again_opens_the_tab_that_was_open_unless_another_was_turned_to(
    visitors: tuple[Script, Script],
) -> None:
    token = "5e" * 24
    arrival = [token, *visitors[0].defaults("arrive")[1:]]
    for page in visitors:
        assert "error" not in page.outcome("arrive", *arrival)
        page.outcome("note")  # that Compare is open, as it is at first
        if page is visitors[0]:
            page.outcome("note_2")
    (opened,) = visitors[1].outcome("back", None)["data"]
    assert opened["selected"] == "document"
    visitors[1].outcome("note_1")
    (kept,) = visitors[1].outcome("back", None)["data"]
    assert "selected" not in kept


@pytest.mark.parametrize("event", ["ask", "process", "clear"])
def test_no_event_gets_past_the_queue(event: str, visitors: tuple[Script, Script]) -> None:
    data = visitors[0].defaults(event)
    for way in ("run", "api"):
        assert visitors[0].post(f"/gradio_api/{way}/{event}", {"data": data}).status_code == 404


@pytest.mark.parametrize("path", ["https://evil.example/a.md", "http://192.0.2.1/a.md"])
def test_the_server_downloads_nothing_for_a_visitor(
    path: str, visitors: tuple[Script, Script], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    async def get(url: str, **_: Any) -> None:
        opened.append(url)

    monkeypatch.setattr(processing_utils, "async_ssrf_protected_get", get)
    file = {"path": path, "meta": {"_type": "gradio.FileData"}}
    _, *choice = visitors[0].defaults("process")
    for shape in (file, [file], [{"value": file}]):
        assert "Upload the file" in visitors[0].outcome("process", shape, *choice)["error"]
    assert "Upload the file" in visitors[0].outcome("ask", file, False)["error"]
    assert opened == []


def test_no_event_fails_on_what_the_page_never_sends(
    visitors: tuple[Script, Script],
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    script, other = visitors
    script.load()
    other.load()
    capfd.readouterr()
    every, at_once = script.events, MOST_WAITING // len(WRONG)
    for events in (every[at : at + at_once] for at in range(0, len(every), at_once)):
        begun = {
            script.begin(event, *[one] * len(script.defaults(event)), click=one): (event, one)
            for event in events
            for one in WRONG
        }
        ended = script.ended()
        for number, sent in begun.items():
            assert ended[number].get("error", "ignored"), str(sent)[:80]
        assert "Traceback" not in capfd.readouterr().err, events
    assert [one.message for one in caplog.records if one.levelname == "ERROR"] == []
    answered = json.dumps(other.outcome("ask", QUESTION, False))
    assert QUESTION in answered
    assert CANARY not in answered


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_what_is_no_number_moves_no_slider(number: float, visitors: tuple[Script, Script]) -> None:
    script, _ = visitors
    values = script.defaults("process_example")
    sliders = [at for at, one in enumerate(values) if type(one) in {int, float}]
    for at in (sliders[1], sliders[-3]):
        changed = [number if place == at else one for place, one in enumerate(values)]
        refusal = script.outcome("process_example", *changed)["error"]
        assert refusal == DOES_NOT_FIT or "value" in refusal
