"""Every event and route, mounted and launched: no server path becomes an upload, no flood comes in.

What there is to try is asked of the app itself, so a new event or route is tried as well.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from app_server import listening
from starlette.types import Message, Receive, Scope, Send

from rag_nodes.apps.actions import ACTIONS
from rag_nodes.core.settings import Settings
from rag_nodes.server.limits import ServerLimits
from rag_nodes.server.serve import make_server

LIMITS = ServerLimits(upload_bytes=50_000, body_bytes=10_000)
SECRET = "the canary sings at midnight"
_TAKING = {"POST", "PUT", "PATCH", "DELETE"}
_FORM = "multipart/form-data; boundary=cut"


class _Counting:
    """Counts the bytes that an app takes in."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.read = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def count_body() -> Message:
            message = await receive()
            self.read += len(message.get("body", b""))
            return message

        await self.app(scope, count_body, send)


@pytest.fixture(scope="module")
def server(
    leaks_collected: Callable[[], AbstractContextManager[None]], _gradio: None
) -> Iterator[tuple[str, _Counting]]:
    """The app as the command serves it, and what it takes in."""
    settings = Settings(embedding="lexical", llm="extractive")
    with leaks_collected():
        counting = _Counting(make_server(settings, limits=LIMITS, mcp=True))
    with leaks_collected(), listening(counting) as address:
        yield address, counting


@pytest.fixture(scope="module", params=["launched", "mounted"])
def client(
    request: pytest.FixtureRequest, app: Any, server: tuple[str, _Counting]
) -> Iterator[httpx.Client]:
    """Of the page, launched by Gradio and as the command serves it."""
    address = str(app.local_url).rstrip("/") if request.param == "launched" else server[0]
    with httpx.Client(base_url=address, timeout=60) as opened:
        yield opened


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    """A file of the server in a form it could read."""
    path = tmp_path / "canary-of-the-server.txt"
    path.write_text(SECRET, encoding="utf-8")
    return path


def _shapes(path: Path) -> list[Any]:
    """Ways to say "this file" in the data of an event."""
    file = {"path": str(path), "meta": {"_type": "gradio.FileData"}}
    posing = {**file, "url": f"file://{path}", "orig_name": "a.txt", "size": 5}
    return [file, [file], [posing], {"text": "", "files": [file]}, str(path), [str(path)]]


def _functions(client: httpx.Client) -> list[dict[str, Any]]:
    """Return the functions that the page calls on the server, each as the start of a request."""
    return [
        {"session_hash": "probe", "component_id": component["id"], "fn_name": name}
        for component in client.get("/config").json()["components"]
        for name in component["props"].get("server_fns") or ()
    ]


def _act(client: httpx.Client, function: dict[str, Any], **sent: Any) -> httpx.Response:
    data = {"token": "7" * 48, **sent}
    return client.post("/gradio_api/component_server", json={**function, "data": data})


def _copies(canary: Path) -> list[Path]:
    folder = Path(os.environ["GRADIO_TEMP_DIR"])
    return [path for path in folder.rglob("*") if path.is_file() and _holds(path, canary.name)]


def _holds(path: Path, name: str) -> bool:
    return path.name == name or SECRET.encode() in path.read_bytes()


def test_the_page_has_no_event_and_no_named_address_of_gradio(client: httpx.Client) -> None:
    """Whatever takes files there would have to be tried below."""
    assert not any(event["inputs"] for event in client.get("/config").json()["dependencies"])
    assert client.get("/gradio_api/info").json()["named_endpoints"] == {}


def test_no_action_takes_a_path_on_the_server_for_an_upload(
    client: httpx.Client, canary: Path
) -> None:
    [function] = _functions(client)
    for action in ACTIONS:
        for shape in _shapes(canary):
            paths = shape if isinstance(shape, list) else [shape]
            reply = _act(client, function, action=action, payload={"paths": paths})
            assert reply.status_code == 200, action
            assert SECRET not in reply.text, action
    assert _copies(canary) == []


def test_an_upload_of_ones_own_is_taken(client: httpx.Client) -> None:
    """So the refusals above are not those of a page that takes nothing."""
    [function] = _functions(client)
    files = {"files": ("own.md", b"# Own\n\nThe machine is red.\n")}
    paths = client.post("/gradio_api/upload", files=files).json()
    reply = _act(client, function, action="documents", payload={"paths": paths})
    assert "notice" not in reply.json()
    for _ in range(100):  # each look waits for a change
        if "own.md" in reply.text:
            break
        seen = {"epoch": reply.json()["epoch"], "since": str(reply.json()["at"])}
        reply = _act(client, function, action="look", payload={}, **seen)
    assert "own.md" in reply.text


# --- floods -------------------------------------------------------------------------------------


def _routes(app: Any, before: str = "") -> Iterator[str]:
    """Every path of an app and of what is mounted in it that takes a body."""
    for route in app.routes:
        path = before + (getattr(route, "path", None) or "")
        inner = getattr(route, "original_router", getattr(route, "app", None))
        if hasattr(inner, "routes"):
            yield from _routes(inner, path)
        elif _TAKING & set(getattr(route, "methods", None) or _TAKING):
            yield path


def test_a_body_of_twice_the_limit_is_refused_on_every_route(
    server: tuple[str, _Counting],
) -> None:
    address, counting = server
    routes = _routes(counting.app)
    paths = {path.replace("{", "").replace("}", "").replace(":path", "") for path in routes}
    assert {"/api/upload", "/api/ask", "/api/chunk", "/mcp", "/gradio_api/upload"} <= paths
    assert "/gradio_api/queue/join" in paths
    folder = Path(os.environ["GRADIO_TEMP_DIR"])
    with httpx.Client(base_url=address, timeout=60) as client:
        before = _size(folder)
        for path in sorted(paths):
            for announced in (True, False):
                counting.read = 0
                reply = client.post(path, content=_flood(announced), headers=_headers(path))
                # A route that wants no body answers without having looked at it.
                unread = counting.read == 0 and not announced
                assert reply.status_code == 413 or unread, (path, announced, reply.text[:200])
        assert _size(folder) - before <= 2 * LIMITS.upload_bytes


def _flood(announced: bool) -> bytes | Iterator[bytes]:
    """A form with one file of twice the limit, whole or in pieces of unknown number."""
    start = b'--cut\r\nContent-Disposition: form-data; name="files"; filename="a.txt"\r\n\r\n'
    body = start + b"x" * 2 * LIMITS.upload_bytes + b"\r\n--cut--\r\n"
    if announced:
        return body
    return (body[at : at + 8192] for at in range(0, len(body), 8192))


def _headers(path: str) -> dict[str, str]:
    kind = _FORM if path.rstrip("/").endswith("upload") else "application/json"
    return {"Content-Type": kind, "Accept": "application/json, text/event-stream"}


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
