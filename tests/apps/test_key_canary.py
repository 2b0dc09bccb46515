"""Where keys must not turn up: pages, answers, logs, state, files, errors of a model server."""

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest
from app_process import app_process
from browser_page import PATIENCE, ask, wait_for_documents
from openai_server import FAILING, Fault, OpenAIServer
from playwright.sync_api import Browser, Page
from pydantic import SecretStr
from visits import visiting

from rag_nodes.core.settings import Settings

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
        page.on("console", lambda node: seen.update({f"console {len(seen)}": node.text}))
        page.on("response", lambda item: _note(item, seen))
        page.goto(running.address)
        _load(page, "")  # with the server's key
        _load(page, TYPED)
        assert {request.authorization for request in openai_server.requests} == {
            f"Bearer {OWN}",
            f"Bearer {TYPED}",
        }
        _ask(page, 1)
        openai_server.fail(_faults()[0], times=20)
        _ask(page, 2)
        openai_server.faults.clear()
        seen |= _save_files(page)
        seen["page"] = page.content()
        seen |= {f"GET {path}": _get(f"{running.address}{path}").text for path in ADDRESSES}
        seen |= _rest(running.address)
        page.close()
    seen["output"] = running.output
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    seen |= {str(path): path.read_bytes().decode(errors="replace") for path in kept}
    assert any("ferry" in text for text in seen.values())
    assert _hits(seen) == []


def test_the_check_above_finds_a_key() -> None:
    assert _hits({"a": f"x{TYPED}x", "b": OWN.removeprefix("sk-"), "c": "sk-****"}) == ["a", "b"]


def test_a_key_is_in_no_log_state_or_reply(
    settings: Settings,
    openai_server: OpenAIServer,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    own = settings.model_copy(
        update={"api_base": openai_server.base, "api_key": SecretStr(OWN), "retry_seconds": 0}
    )
    texts: dict[str, str] = {}
    with visiting(own) as visitor:
        texts["models"] = repr(visitor.act("models", api_key=TYPED))
        visitor.load(CORPUS / "manual.md")
        for number, fault in enumerate([None, FAILING, *_faults()]):
            if fault is not None:
                openai_server.fail(fault, times=50)
            visitor.ask(QUESTION)
            openai_server.faults.clear()
            texts[f"page {number}"] = repr(visitor.regions)
        assert f"Bearer {TYPED}" in {request.authorization for request in openai_server.requests}
        texts["session"] = repr([vars(visitor.session), visitor.session.turns])
        texts["comparison"] = repr(visitor.session.comparison)
    written = capfd.readouterr()
    texts["log"] = "\n".join(_whole(record) for record in caplog.records)
    texts["streams"] = written.out + written.err
    assert _hits(texts) == []


def _whole(record: logging.LogRecord) -> str:
    return logging.Formatter().format(record) + repr(record.args)


def _note(response: Any, seen: dict[str, str]) -> None:
    """Keep where a response came from and its headers; streams are in the page."""
    seen[f"response {len(seen)}"] = response.url + repr(response.headers)


def _load(page: Page, key: str) -> None:
    """Load the example, with a key if there is one."""
    if not key:
        page.get_by_role("button", name="Try the example").click()
    else:
        page.locator(".rn-models-menu > summary").click()
        page.get_by_label("API key").fill(key)
        page.get_by_role("button", name="Use these models").click()
        page.get_by_label("API key").wait_for(state="hidden")
        page.wait_for_selector(".rn:not([data-waiting])")
    wait_for_documents(page, "ferry.pdf")


def _ask(page: Page, turns: int) -> None:
    ask(page, f"{turns}. {QUESTION}")


def _save_files(page: Page) -> dict[str, str]:
    """The files that a visitor can take away."""
    page.get_by_role("button", name="Use it").click()
    return {"script": _download(page, "Download the script")}


def _download(page: Page, button: str) -> str:
    with page.expect_download() as saved:
        page.get_by_role("button", name=button).click()
    return Path(saved.value.path()).read_text(encoding="utf-8")


def _get(address: str) -> httpx.Response:
    return httpx.get(address, timeout=60)


def _rest(address: str) -> dict[str, str]:
    """An answer of REST, and refusals of those who send a key, which has no field there."""
    files = {"files": ("handbook.md", b"# Filter\n\nRinse it at 2.4 bar.\n")}
    uploaded = httpx.post(f"{address}api/upload", files=files, timeout=60)
    headers = {"X-Session": uploaded.json()["session"]}
    texts = {"upload": uploaded.text}
    for number, more in enumerate(({}, {"api_key": TYPED}, {"models": {"api_key": TYPED}})):
        body = {"question": QUESTION, **more}
        for path in ("ask", "compare"):
            reply = httpx.post(f"{address}api/{path}", json=body, headers=headers, timeout=60)
            texts[f"{path} {number}"] = reply.text + repr(reply.headers)
    return texts
