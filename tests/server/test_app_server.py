"""Page, REST and MCP at one address: closed to files, strangers, foreign sites and large bodies."""

import base64
import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import httpx
import pytest
from app_server import listening
from pydantic import SecretStr

import rag_nodes.server.serve as serving
from rag_nodes.core.settings import Settings
from rag_nodes.server.gate import Access
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.serve import launch, make_server

LIMITS = ServerLimits(upload_bytes=50_000, body_bytes=10_000)
CANARIES = {"key": "sk-canary-key-1", "token": "canary-token-22", "password": "canary-password"}
ADDRESSES = (
    "/",
    "/config",
    "/theme.css",
    "/nowhere",
    "/gradio_api/info",
    "/gradio_api/file=/etc/passwd",
    "/api/status",
    "/api/openapi.json",
    "/api/nowhere",
    "/api/ask",
    "/mcp",
)
_DOTS = (
    "..",
    "%2e%2e",
    "%252e%252e",
    "..%00",
    "..;",
    ".%2e",
    "%c0%ae%c0%ae",
    "\uff0e\uff0e",
)
_SLASHES = ("/", "%2f", "%5c", "%252f")
TRAVERSALS = [dots + slash for dots in _DOTS for slash in _SLASHES]
"""32 ways to write "one folder up"."""


@pytest.fixture(scope="module")
def served(
    _gradio: None, leaks_collected: Callable[[], AbstractContextManager[None]]
) -> Callable[..., AbstractContextManager[httpx.Client]]:
    """Everything at one address; see `make_server` for the options."""

    @contextmanager
    def serve(settings: Settings, **options: Any) -> Iterator[httpx.Client]:
        with leaks_collected():
            app = make_server(settings, limits=LIMITS, mcp=True, **options)
        with (
            leaks_collected(),
            listening(app) as address,
            httpx.Client(base_url=address, timeout=60) as client,
        ):
            yield client

    return serve


@pytest.fixture(scope="module")
def client(served: Callable[..., AbstractContextManager[httpx.Client]]) -> Iterator[httpx.Client]:
    with served(Settings(embedding="lexical", llm="extractive")) as opened:
        yield opened


def test_page_rest_and_tools_answer_at_one_address(client: httpx.Client) -> None:
    assert "gradio" in client.get("/").text
    assert client.get("/api/status").json()["parsers"]
    accept = {"Accept": "application/json, text/event-stream"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    events = client.post("/mcp", json=body, headers=accept).text
    (event,) = re.findall(r"^data: (.+)$", events, re.MULTILINE)
    names = {tool["name"] for tool in json.loads(event)["result"]["tools"]}
    assert names == {"search", "ask", "quote", "list_documents"}


def test_the_pages_own_events_are_no_tools(client: httpx.Client) -> None:
    for path in ("/gradio_api/mcp/", "/gradio_api/mcp/schema", "/gradio_api/mcp/sse"):
        assert client.get(path).status_code == 404


def test_every_answer_and_refusal_tells_the_browser_to_stay_with_this_server(
    client: httpx.Client,
) -> None:
    replies = [client.get(address) for address in ADDRESSES]
    replies.append(client.get("/", headers={"Host": "evil.example"}))
    replies.append(client.post("/api/ask", content=b"x" * 20_000))
    at_most = {"'self'", "'none'", "data:", "blob:", "'unsafe-inline'", "'unsafe-eval'"}
    for reply in replies:
        policy = reply.headers["content-security-policy"]
        rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
        assert {"default-src", "frame-ancestors", "base-uri", "form-action"} <= rules.keys()
        assert set(" ".join(rules.values()).split()) <= at_most, reply.url
        assert rules["frame-ancestors"] == "'none'"
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["x-frame-options"] == "DENY"
    assert [reply.status_code for reply in replies[-2:]] == [421, 413]


def test_no_way_to_write_a_folder_up_reads_a_file(client: httpx.Client, tmp_path: Path) -> None:
    canary = tmp_path / "canary.txt"
    canary.write_text("midnight", encoding="utf-8")
    ups = [f"{up * 8}{str(canary).lstrip('/')}" for up in TRAVERSALS]
    for path in (str(canary), "/etc/passwd", serving.__file__, "http://192.0.2.1/", *ups):
        reply = client.get(f"/gradio_api/file={path}")
        assert reply.status_code != 200, path
        assert "midnight" not in reply.text


def test_nothing_counts_the_visitors(client: httpx.Client) -> None:
    assert client.get("/config").json()["analytics_enabled"] is False


def test_keys_tokens_and_passwords_are_on_no_page_and_in_no_log(
    served: Callable[..., AbstractContextManager[httpx.Client]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    access = Access(
        token=SecretStr(CANARIES["token"]), user="ann", password=SecretStr(CANARIES["password"])
    )
    with served(Settings(api_key=CANARIES["key"]), access=access) as client:
        client.auth = ("ann", CANARIES["password"])
        pages = [client.get(address).text for address in ADDRESSES]
    everything = "".join(pages) + caplog.text + repr(access)
    assert not [name for name, canary in CANARIES.items() if canary in everything]


def test_a_password_closes_every_route_and_a_token_opens_only_those_for_programs(
    served: Callable[..., AbstractContextManager[httpx.Client]], settings: Settings
) -> None:
    access = Access(token=SecretStr("right-token"), user="ann", password=SecretStr("right-word"))
    bearer = {"Authorization": "Bearer right-token"}
    wrong = {"Authorization": "Basic " + base64.b64encode(b"ann:wrong").decode()}
    with served(settings, access=access) as client:
        for address in ADDRESSES:
            assert client.get(address).status_code == 401
            assert client.get(address, headers=wrong).status_code == 401
            # One that is right, so that the wrong ones are not too many in a row.
            assert client.get("/config", auth=("ann", "right-word")).status_code == 200
        assert client.post("/gradio_api/upload", headers=bearer).status_code == 401
        assert client.get("/", headers=bearer).status_code == 401
        assert client.get("/api/status", headers=bearer).status_code == 200
        for address in ("/", "/config", "/api/status"):
            assert client.get(address, auth=("ann", "right-word")).status_code == 200


@pytest.fixture
def nothing_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "make_server", create_autospec(make_server))
    monkeypatch.setattr(serving, "_run", lambda _server, _listener, ready: ready())


@pytest.mark.usefixtures("nothing_served")
@pytest.mark.parametrize(
    ("host", "access", "warns"),
    [
        ("127.0.0.1", None, False),
        ("0.0.0.0", None, True),
        ("0.0.0.0", Access(token=SecretStr("a"), local=False), True),
        ("0.0.0.0", Access(user="ann", password=SecretStr("a"), local=False), False),
    ],
)
def test_an_app_that_everyone_can_reach_without_a_password_says_so(
    host: str,
    access: Access | None,
    warns: bool,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
) -> None:
    announced: list[str] = []
    launch(settings, host=host, port=0, access=access, announce=announced.append)
    assert announced
    assert ("Warning" in capsys.readouterr().err) is warns


@pytest.mark.usefixtures("nothing_served")
@pytest.mark.parametrize("mcp", [True, False])
def test_the_address_of_the_tools_is_shown_if_they_are_offered(
    mcp: bool,
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
) -> None:
    launch(settings, port=0, mcp=mcp)
    assert bool(re.search(r"http://127\.0\.0\.1:\d+/mcp\n", capsys.readouterr().err)) is mcp
