"""What is said before Ray is even started; Ray itself is tried in `test_on_ray`."""

import gc
import os
import socket
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
import ray_signals_child

from rag_nodes.errors import ConfigurationError, EngineError
from rag_nodes.executors.ray import _told_to_join, ray_session

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


def stand_in(monkeypatch: pytest.MonkeyPatch, init: Callable[..., object]) -> list[str]:
    """Has `init` start Ray; what is called at its end."""
    ends: list[str] = []
    module = SimpleNamespace(
        is_initialized=lambda: False, init=init, shutdown=lambda: ends.append("shutdown")
    )
    monkeypatch.setitem(sys.modules, "ray", module)
    return ends


def test_an_address_where_nobody_is_fails_at_once_and_says_what_to_do() -> None:
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(EngineError, match=rf"no Ray cluster answers at {address}.*ray start"):
        ray_session(2, address).__enter__()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, None),
        ({"RAY_AUTH_TOKEN": "t"}, "token"),
        ({"RAY_AUTH_TOKEN_PATH": "/t"}, "token"),
        ({"RAY_AUTH_TOKEN": "t", "RAY_AUTH_MODE": "disabled"}, None),
    ],
)
def test_a_cluster_is_shown_the_token_that_is_there(
    given: dict[str, str], told: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert _told_to_join().get("RAY_AUTH_MODE") == told


def test_an_address_where_somebody_else_is_fails_at_once() -> None:
    with (
        answering(b"HTTP/1.1 400 Bad Request\r\n\r\n") as address,
        pytest.raises(EngineError, match=rf"{address} is no Ray cluster"),
    ):
        ray_session(2, address).__enter__()


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

    stand_in(monkeypatch, init)
    with (
        answering(SETTINGS) as address,
        pytest.raises(EngineError) as caught,
    ):
        ray_session(2, address).__enter__()
    assert str(caught.value) == (
        f"the cluster at {address} cannot be joined: Failed to connect: AuthenticationError: wrong "
        f"token; run this on a machine that `ray start --address={address}` has made part of it, "
        "with its token in RAY_AUTH_TOKEN"
    )
    assert max(patience) <= 10
    assert "RAY_gcs_server_port_wait_time_s" not in os.environ


@pytest.mark.parametrize("address", ["", "here", "ray://head:10001", "head:", ":6379", "head:six"])
def test_an_address_of_another_form_is_refused(address: str) -> None:
    with pytest.raises(ConfigurationError, match="give host:port"):
        ray_session(2, address).__enter__()


@pytest.mark.parametrize("is_remote", [False, True])
def test_a_start_that_never_ends_is_given_up_says_what_to_do_and_leaves_the_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_remote: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    forever = threading.Event()
    homes: list[str] = []

    def init(**_: object) -> None:
        homes.append(os.environ["HOME"])
        forever.wait()

    ends = stand_in(monkeypatch, init)
    monkeypatch.setattr("rag_nodes.executors.ray._LIMIT", 0.2)
    before = dict(os.environ)
    with (
        answering(SETTINGS) if is_remote else nullcontext() as address,
        pytest.raises(EngineError, match=r"did not start within .* look at free memory"),
    ):
        ray_session(2, address).__enter__()
    after = dict(os.environ)
    forever.set()
    assert after == before
    assert is_remote or homes != [str(tmp_path)], "Ray was started with a home of its own"
    assert ends == []  # it would never end either


class Unwaited:
    """As a process that Ray has ended and not waited for."""

    def __init__(self) -> None:
        self.itself = self

    def __del__(self) -> None:
        warnings.warn("still running", ResourceWarning, stacklevel=1)


def test_a_start_that_ray_gives_up_on_a_busy_machine_is_tried_once_more(
    monkeypatch: pytest.MonkeyPatch, recwarn: pytest.WarningsRecorder
) -> None:
    starts: list[object] = []

    def init(**_: object) -> None:
        starts.append(None)
        if len(starts) == 1:
            Unwaited()
            raise Exception("The current node timed out during startup.")  # noqa: TRY002 - as Ray

    ends = stand_in(monkeypatch, init)
    with ray_session(2):
        assert len(starts) == 2
        assert ends == ["shutdown"]
        gc.collect()
    assert not recwarn.list


def test_the_thread_that_started_ray_lives_as_long_as_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []
    stand_in(monkeypatch, lambda **_: threads.append(threading.current_thread()))
    with ray_session(2):
        assert threads[0].is_alive()
    threads[0].join(10)
    assert not threads[0].is_alive()


@pytest.mark.parametrize(
    ("case", "printed"),
    [
        ("start", ["shutdown", "KeyboardInterrupt"]),
        ("own", ["shutdown", "restored True", "KeyboardInterrupt"]),
        ("usual", ["shutdown", "restored True", "SystemExit"]),
    ],
)
def test_a_signal_does_what_the_process_wants_or_ends_ray_in_order(
    case: str, printed: list[str]
) -> None:
    # In a process of its own: a signal that came late would end this one.
    command = [sys.executable, ray_signals_child.__file__, case]
    assert (
        subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        == printed
    )
