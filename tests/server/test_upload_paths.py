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
        async def counted() -> Message:
            message = await receive()
            self.read += len(message.get("body", b""))
            return message

        await self.app(scope, counted, send)


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


def _events(config: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any], list[int], bool]]:
    """Each event that runs here, with the places of the inputs that take files, and whether any do.

    Where none does, with a place of each kind of input.
    """
    kinds = {one["id"]: one["type"] for one in config["components"]}
    for index, event in enumerate(config["dependencies"]):
        if event["backend_fn"] and event["inputs"]:
            files = [at for at, one in enumerate(event["inputs"]) if "file" in kinds[one]]
            each = {kinds[one]: at for at, one in enumerate(event["inputs"])}
            yield index, event, files or list(each.values()), bool(files)


def _messages(client: httpx.Client, index: int, each: list[list[Any]], visitor: str) -> str:
    """What an event says of all the data that it is sent at once."""
    for data in each:
        body = {"data": data, "fn_index": index, "session_hash": visitor}
        assert client.post("/gradio_api/queue/join", json=body).status_code == 200
    return client.get(f"/gradio_api/queue/data?session_hash={visitor}").text


def _copies(canary: Path) -> list[Path]:
    folder = Path(os.environ["GRADIO_TEMP_DIR"])
    return [path for path in folder.rglob("*") if path.is_file() and _holds(path, canary.name)]


def _holds(path: Path, name: str) -> bool:
    return path.name == name or SECRET.encode() in path.read_bytes()


def test_no_event_takes_a_path_on_the_server_for_an_upload(
    client: httpx.Client, canary: Path
) -> None:
    config = client.get("/config").json()
    taking = 0
    for index, event, places, takes_files in _events(config):
        taking += takes_files
        nothing: list[Any] = [None] * len(event["inputs"])
        each = [
            [*nothing[:at], shape, *nothing[at + 1 :]]
            for at in places
            for shape in (_shapes(canary) if takes_files else _shapes(canary)[:1])
        ]
        said = _messages(client, index, each, f"probe {index}")
        assert SECRET not in said, event
        assert said.count("process_completed") == len(each), said
    assert taking
    assert _copies(canary) == []


def test_no_named_address_takes_a_path_on_the_server_for_an_upload(
    client: httpx.Client, canary: Path
) -> None:
    endpoints = client.get("/gradio_api/info").json()["named_endpoints"]
    tried = 0
    for name, endpoint in endpoints.items():
        wanted = endpoint["parameters"]
        files = [at for at, one in enumerate(wanted) if "filepath" in str(one["python_type"])]
        tried += len(files)
        for shape in _shapes(canary) if files else [None]:
            data: list[Any] = [one.get("parameter_default") for one in wanted]
            for at in files:
                data[at] = shape
            started = client.post(f"/gradio_api/call{name}", json={"data": data})
            if started.status_code == 200 and data:
                event = started.json()["event_id"]
                assert SECRET not in client.get(f"/gradio_api/call{name}/{event}").text
    assert tried
    assert _copies(canary) == []


def test_an_upload_of_ones_own_is_taken(client: httpx.Client) -> None:
    """So the refusals above are not those of a page that takes nothing."""
    files = {"files": ("own.md", b"# Own\n\nThe machine is red.\n")}
    (path,) = client.post("/gradio_api/upload", files=files).json()
    config = client.get("/config").json()
    index, event, places, _ = next(one for one in _events(config) if one[3])
    defaults = {one["id"]: one["props"].get("value") for one in config["components"]}
    data = [defaults[one] for one in event["inputs"]]
    data[places[0]] = [{"path": path, "meta": {"_type": "gradio.FileData"}}]
    assert "own.md" in _messages(client, index, [data], "owner")


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
    found = _routes(counting.app)
    paths = {path.replace("{", "").replace("}", "").replace(":path", "") for path in found}
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
