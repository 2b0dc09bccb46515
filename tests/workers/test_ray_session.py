"""What is said before Ray is even started; Ray itself is tried in `test_on_ray`."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rag_nodes.errors import ConfigurationError, EngineError, MissingExtraError
from rag_nodes.workers.on_ray.session import _shown_token, ray_session
from rag_nodes.workers.on_ray.transport import RayTransport


@pytest.fixture
def somebody_else() -> Iterator[str]:
    """The address of a server that speaks HTTP/1."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(64)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        thread.join()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def test_an_address_where_nobody_is_fails_at_once_and_says_what_to_do() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(EngineError, match=rf"no Ray cluster answers at {address}.*ray start"):
        ray_session(2, address).__enter__()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, {}),
        ({"RAY_AUTH_TOKEN": "t"}, {"RAY_AUTH_MODE": "token"}),
        ({"RAY_AUTH_TOKEN_PATH": "/t"}, {"RAY_AUTH_MODE": "token"}),
        ({"RAY_AUTH_TOKEN": "t", "RAY_AUTH_MODE": "disabled"}, {}),
    ],
)
def test_a_cluster_is_shown_the_token_that_is_there(
    given: dict[str, str], told: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert _shown_token() == told


def test_an_address_where_somebody_else_is_fails_at_once(somebody_else: str) -> None:
    with pytest.raises(EngineError, match=rf"{somebody_else} is no Ray cluster"):
        ray_session(2, somebody_else).__enter__()


@pytest.mark.parametrize("address", ["", "here", "ray://head:10001", "head:", ":6379", "head:six"])
def test_an_address_of_another_form_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="give host:port"):
        ray_session(2, address).__enter__()


def test_without_ray_the_message_holds_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'rag-nodes\[ray\]'"):
        ray_session(2).__enter__()


class OutOfMemoryError(Exception):
    """As Ray's."""


def test_a_worker_that_ran_out_of_memory_while_it_started_says_so() -> None:
    def get(*_: object, **__: object) -> None:
        raise OutOfMemoryError

    exceptions = SimpleNamespace(
        GetTimeoutError=TimeoutError,
        RayTaskError=ZeroDivisionError,
        OutOfMemoryError=OutOfMemoryError,
        RayError=Exception,
    )
    transport: RayTransport[Any, Any] = object.__new__(RayTransport)
    transport._ray = SimpleNamespace(get=get, exceptions=exceptions)
    with pytest.raises(EngineError, match=r"out of memory; ask for fewer processes"):
        transport._await([])
