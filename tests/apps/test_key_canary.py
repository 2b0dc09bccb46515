"""Where keys must not turn up: pages, answers, logs, state, files, errors of a model server."""

import json
import logging
import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import gradio as gr
import httpx
import pytest
from app_process import app_process
from browser_page import loading, open_drawer, unfold_parsers
from gradio_client import Client, handle_file
from openai_server import FAILING, Fault, OpenAIServer
from playwright.sync_api import Browser, Page

from rag_nodes.apps.visitors.sessions import PageSessions
from rag_nodes.core.settings import Settings
from rag_nodes.server.serve import launch_options

CORPUS = Path(__file__).parents[2] / "examples" / "corpus"
QUESTION = "When must the sand filter be rinsed backwards?"
TYPED = "sk-canary-typed-3f9c27a1d0"
OWN = "sk-canary-server-8b54e6c2f7"
ADDRESSES = (
    "",
    "config",
    "gradio_api/info",
    "gradio_api/startup-events",
    "theme.css",
    "api/status",
    "api/openapi.json",
    "monitoring",
    "nowhere",
)
PATIENCE = 90_000
"""Milliseconds after which a page counts as stuck."""


def _faults() -> list[Fault]:
    """A model server that repeats what it was sent, as some do."""
    echo = f"Incorrect API key provided: {TYPED}. Not {OWN} either: Bearer {TYPED}"
    return [Fault(401, "invalid_api_key", echo), Fault(500, None, echo), Fault(400, None, echo)]


def _hits(texts: dict[str, str]) -> list[str]:
    """Names of the texts that hold one of the keys, whole or in its telling part."""
    tails = [key.removeprefix("sk-canary-") for key in (TYPED, OWN)]
    return [name for name, text in texts.items() if any(tail in text for tail in tails)]


@pytest.mark.browser
def test_a_key_is_in_nothing_that_a_running_app_shows_writes_or_saves(
    browser: Browser, openai_server: OpenAIServer, tmp_path: Path
) -> None:
    variables = {
        "RAG_NODES_API_KEY": OWN,
        "RAG_NODES_API_BASE": openai_server.base,
        "RAG_NODES_RETRY_SECONDS": "0",
    }
    seen: dict[str, str] = {}
    with app_process(tmp_path, "--mcp", **variables) as running:
        page = browser.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda one: seen.update({f"console {len(seen)}": one.text}))
        page.on("response", lambda one: _note(one, seen))
        page.goto(running.address)
        _load(page, "")  # with the server's key
        _load(page, TYPED)
        assert {one.authorization for one in openai_server.requests} == {
            f"Bearer {OWN}",
            f"Bearer {TYPED}",
        }
        _ask(page, 1)
        openai_server.fail(_faults()[0], times=20)
        _ask(page, 2)
        openai_server.faults.clear()
        seen |= _saved(page)
        seen["page"] = page.content()
        seen |= _linked(running.address, seen)
        seen |= {f"GET {path}": _get(f"{running.address}{path}").text for path in ADDRESSES}
        seen |= _rest(running.address)
        page.close()
    seen["output"] = running.output
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    seen |= {str(path): path.read_bytes().decode(errors="replace") for path in kept}
    assert any("handbook" in text for text in seen.values())
    assert _hits(seen) == []


def test_the_check_above_finds_a_key() -> None:
    assert _hits({"a": f"x{TYPED}x", "b": OWN.removeprefix("sk-"), "c": "sk-****"}) == ["a", "b"]


def test_a_key_is_in_no_state_log_or_answer_of_a_script(
    build: Callable[..., gr.Blocks],
    openai_server: OpenAIServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    leaks_collected: Callable[[], AbstractContextManager[None]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[PageSessions] = []

    def sessions(given: Settings, **options: Any) -> PageSessions:
        opened.append(PageSessions(given, **options))
        return opened[-1]

    monkeypatch.setattr("rag_nodes.apps.page.PageSessions", sessions)
    caplog.set_level(logging.DEBUG)
    launched = build(Settings(api_base=openai_server.base, api_key=OWN, retry_seconds=0))
    with leaks_collected():
        launched.launch(server_name="127.0.0.1", prevent_thread_lock=True, **launch_options())
    client = Client(
        str(launched.local_url),
        verbose=False,
        analytics_enabled=False,
        httpx_kwargs={"timeout": 60},
    )
    document = [handle_file(CORPUS / "manual.md")]
    named = {_parameter(launched, "API key"): TYPED}
    texts = {"loaded": repr(client.predict(document, **named, api_name="/process"))}
    faults = [None, FAILING, *_faults()]
    for number, fault in enumerate(faults):
        if fault is not None:
            openai_server.fail(fault, times=50)
        texts[f"answered {number}"] = repr(client.predict(QUESTION, api_name="/ask"))
        openai_server.faults.clear()
    assert f"Bearer {TYPED}" in {one.authorization for one in openai_server.requests}
    session = opened[0].of(client.session_hash)
    assert len(session.turns) == len(faults)
    written = capfd.readouterr()
    texts |= {
        "config": json.dumps(launched.get_config_file(), default=repr),
        "info": json.dumps(launched.get_api_info(), default=repr),
        # What Gradio remembers of a page beside its states ends with the session.
        "states": repr([one.state_data for one in launched.state_holder.session_data.values()]),
        "sessions": repr([_inside(opened[0]), _inside(session), session.turns]),
        "comparison": repr(session.comparison),
        "log": "\n".join(_whole(record) for record in caplog.records),
        "streams": written.out + written.err,
    }
    link = f"{launched.local_url}gradio_api/deep_link?session_hash={client.session_hash}"
    assert _get(link).status_code == 404  # it would write what was typed into a file
    uploads = Path(os.environ["GRADIO_TEMP_DIR"]).rglob("*")
    texts |= {str(one): one.read_text(errors="replace") for one in uploads if one.is_file()}
    with leaks_collected():
        launched.close()
    assert _hits(texts) == []


def _inside(one: object) -> object:
    """What an object holds, in a dictionary or in slots."""
    names = [*getattr(one, "__dict__", ()), *getattr(type(one), "__slots__", ())]
    return {name: getattr(one, name, None) for name in names} or one


def _whole(record: logging.LogRecord) -> str:
    return logging.Formatter().format(record) + repr(record.args)


def _parameter(app: gr.Blocks, label: str) -> str:
    """What an endpoint calls the component of that label."""
    parameters = app.get_api_info()["named_endpoints"]["/process"]["parameters"]
    return next(one["parameter_name"] for one in parameters if one["label"] == label)


def _note(response: Any, seen: dict[str, str]) -> None:
    """Keep where a response came from and its headers; streams are in the page."""
    seen[f"response {len(seen)}"] = response.url + repr(response.headers)


def _load(page: Page, key: str) -> None:
    field = page.get_by_label("API key")
    if not page.locator(".sidebar.open").count():
        open_drawer(page, "Models and key")
    field.fill(key)
    unfold_parsers(page)
    with loading(page):
        page.get_by_role("button", name="Try the example document").click()


def _ask(page: Page, turns: int) -> None:
    # A question that was answered leaves its box, which may be while the same is typed again.
    page.locator("#rn-question textarea:enabled").fill(f"{turns}. {QUESTION}")
    page.locator("#rn-question textarea").press("Enter")
    page.wait_for_function(f"() => document.querySelectorAll('.rn-turn').length === {turns}")


def _saved(page: Page) -> dict[str, str]:
    """The files that a visitor can take away."""
    found = {}
    page.get_by_role("tab", name="Decide").click()
    page.get_by_role("button", name="Use it").click()
    page.locator("#rn-use-code .cm-content").wait_for()
    found["script"] = _download(page, "Script")
    return found


def _download(page: Page, button: str) -> str:
    with page.expect_download() as saved:
        page.get_by_role("button", name=button).click()
    return Path(saved.value.path()).read_text(encoding="utf-8")


def _get(address: str) -> httpx.Response:
    return httpx.get(address, timeout=60)


def _linked(address: str, seen: dict[str, str]) -> dict[str, str]:
    """Links to the state of a page, which are switched off: they would hold all that was typed."""
    found = re.findall(r"session_hash=(\w+)", "".join(seen.values()))
    assert found
    links = {one: f"{address}gradio_api/deep_link?session_hash={one}" for one in set(found)}
    replies = {one: _get(link) for one, link in links.items()}
    assert {reply.status_code for reply in replies.values()} == {404}
    return {f"link {one}": reply.text for one, reply in replies.items()}


def _rest(address: str) -> dict[str, str]:
    """An answer of REST, and refusals of those who send a key, which has no field there."""
    files = {"files": ("handbook.md", b"# Filter\n\nRinse it at 2.4 bar.\n")}
    uploaded = httpx.post(f"{address}api/upload", files=files, timeout=60)
    headers = {"X-Session": uploaded.json()["session"]}
    found = {"upload": uploaded.text}
    for number, more in enumerate(({}, {"api_key": TYPED}, {"models": {"api_key": TYPED}})):
        body = {"question": QUESTION, **more}
        for path in ("ask", "compare"):
            reply = httpx.post(f"{address}api/{path}", json=body, headers=headers, timeout=60)
            found[f"{path} {number}"] = reply.text + repr(reply.headers)
    return found
