"""Joining a cluster, as far as it needs none; Ray itself is tried in `test_on_ray`."""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import pytest

from rag_nodes.core.errors import ConfigurationError, EngineError
from rag_nodes.models.executors.ray import _joining_options, ray_session

SETTINGS = bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a server of gRPC greets."""


@contextmanager
def answering(greeting: bytes) -> Iterator[str]:
    """The address of a server that says this to whoever comes first."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(64)
                connection.sendall(greeting)

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
        ray_session(address).__enter__()


@pytest.mark.parametrize(
    ("given", "mode"),
    [
        ({}, None),
        ({"RAY_AUTH_TOKEN": "t"}, "token"),
        ({"RAY_AUTH_TOKEN_PATH": "/t"}, "token"),
        ({"RAY_AUTH_TOKEN": "t", "RAY_AUTH_MODE": "disabled"}, None),
    ],
)
def test_a_cluster_is_shown_the_token_that_is_there(
    given: dict[str, str], mode: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert _joining_options().get("RAY_AUTH_MODE") == mode


def test_an_address_where_somebody_else_is_fails_at_once() -> None:
    with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address,
        pytest.raises(EngineError, match=rf"{address} is not a Ray cluster"),
    ):
        ray_session(address).__enter__()


def test_a_cluster_that_cannot_be_joined_is_given_up_soon_and_says_how_it_could_be(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patience: list[int] = []

    def init(**_: object) -> None:
        patience.extend(
            int(os.environ[f"RAY_gcs_server_{name}"])
            for name in ("port_wait_time_s", "request_timeout_seconds")
        )
        inner = "Traceback (most recent call last):\n  File 1\nAuthenticationError: wrong token"
        raise ConnectionError("Failed to connect") from RuntimeError(inner)

    module = SimpleNamespace(is_initialized=lambda: False, init=init, shutdown=lambda: None)
    monkeypatch.setitem(sys.modules, "ray", module)
    with (
        answering(SETTINGS) as address,
        pytest.raises(EngineError) as caught,
    ):
        ray_session(address).__enter__()
    assert str(caught.value) == (
        f"the cluster at {address} cannot be joined: Failed to connect: AuthenticationError: wrong "
        f"token; run this on a machine that joined it with `ray start --address={address}`, "
        "with its token in RAY_AUTH_TOKEN"
    )
    assert max(patience) <= 10
    assert "RAY_gcs_server_port_wait_time_s" not in os.environ


def test_the_process_ends_by_sigterm_as_before_it_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    def init(**_: object) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    module = SimpleNamespace(is_initialized=lambda: False, init=init, shutdown=lambda: None)
    monkeypatch.setitem(sys.modules, "ray", module)
    before = signal.getsignal(signal.SIGTERM)
    with answering(SETTINGS) as address, ray_session(address):
        assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.parametrize("address", ["", "here", "ray://head:10001", "head:", ":6379", "head:six"])
def test_an_address_of_another_form_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="give host:port"):
        ray_session(address).__enter__()
