"""The served app on a loopback port, for tests of REST, MCP and their limits."""

import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.types import ASGIApp

from rag_nodes.core.settings import Settings
from rag_nodes.parsers import Preset, offered
from rag_nodes.server.gate import Access, Gate
from rag_nodes.server.limits import BodyLimits, ServerLimits
from rag_nodes.server.rest import make_api
from rag_nodes.server.served import ServedOperations

PATIENCE = 60
"""Seconds after which something counts as stuck."""


class Api:
    """REST without a page: the app, and what is behind it.

    Args:
        settings: of the server.
        limits: how much it takes on.
        access: what requests have to show; None for nothing.
        offer: parsers that may be named; None for the presets.
    """

    def __init__(
        self,
        settings: Settings,
        limits: ServerLimits | None = None,
        access: Access | None = None,
        offer: Mapping[str, Preset] | None = None,
    ) -> None:
        limits, access = limits or ServerLimits(), access or Access()
        served = ServedOperations.of(settings, offered() if offer is None else offer, limits)
        self.sessions, self.workers = served.sessions, served.workers
        inner = Starlette(routes=[Mount("/api", make_api(served, access))])
        self.app: ASGIApp = Gate(BodyLimits(inner, limits), access)

    @contextmanager
    def opened(self, headers: Mapping[str, str] = MappingProxyType({})) -> Iterator[httpx.Client]:
        """A client of it, on a loopback port."""
        with (
            listening(self.app) as address,
            httpx.Client(base_url=f"{address}/api", headers=headers, timeout=PATIENCE) as client,
        ):
            yield client
        self.sessions.close()

    @property
    def at_rest(self) -> bool:
        """Nothing is being worked on."""
        return not self.workers._running

    def rest(self) -> None:
        """Wait until nothing is worked on."""
        waiting = threading.Event()
        for _ in range(PATIENCE * 20):
            if self.at_rest:
                return
            waiting.wait(0.05)
        raise AssertionError(f"still worked on: {self.workers._running}")


def events_of(reply: httpx.Response) -> list[tuple[str, dict[str, Any]]]:
    """Names and data of a stream of events."""
    blocks = [block.split("\n", 1) for block in reply.text.strip().split("\n\n")]
    return [
        (name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
        for name, data in blocks
    ]


@contextmanager
def listening(app: ASGIApp, **options: Any) -> Iterator[str]:
    """Serve an app; gives its address without a slash at the end."""
    config = uvicorn.Config(
        app, port=0, log_level="error", ws="none", timeout_graceful_shutdown=1, **options
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(timeout=20)


@contextmanager
def hanging_up(
    address: str, body: Any, headers: Mapping[str, str] = MappingProxyType({})
) -> Iterator[None]:
    """Send a request and hang up at the end, whatever is answered."""
    request = httpx.Request("POST", address, json=body, headers=dict(headers))
    with socket.create_connection((request.url.host, request.url.port or 80)) as line:
        head = [f"{name}: {value}" for name, value in request.headers.items()]
        start = "\r\n".join([f"POST {request.url.raw_path.decode()} HTTP/1.1", *head, "", ""])
        line.sendall(start.encode() + request.read())
        yield
