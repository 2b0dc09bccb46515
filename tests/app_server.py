"""The served app on a loopback port, for tests of REST, MCP and their limits."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import httpx
import uvicorn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from starlette.types import ASGIApp


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
