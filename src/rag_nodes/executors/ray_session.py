"""A start and an end of Ray that leave no trace: nobody outside is told, nothing is kept.

What Ray does of its own accord is not what a tool on somebody's computer may do: it listens on all
interfaces, asks the metadata services of clouds where it runs, writes a secret into the home
folder, joins whatever cluster the environment names, and keeps its logs for ever.
"""

from __future__ import annotations

import logging
import os
import secrets
import signal
import socket
import tempfile
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError, EngineError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_TOKEN = secrets.token_hex(32)
"""Who does not know it cannot have our processes do anything; Ray reads it once per process."""

_LOCAL: dict[str, str | None] = {
    "RAY_AUTH_MODE": None,  # Ray's own default is to ask for the token
    "RAY_AUTH_TOKEN": _TOKEN,  # in no argument, no log and no file; the processes inherit it
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on Linux too: listen on the loopback only
}
"""What Ray is told by its environment while it starts on this machine."""

_PROBE = 5.0
"""Seconds a cluster has to answer; Ray itself would try for minutes."""

_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of gRPC, which Ray's processes speak, says hello (RFC 9113, 3.4)."""

_SETTINGS = b"\x04"
"""The type of the frame it is greeted with, the fourth byte of nine."""

_JOINING = {
    "RAY_gcs_server_port_wait_time_s": "5",  # for a cluster that refuses the token
    "RAY_gcs_server_request_timeout_seconds": "10",  # for this machine to be seen to be part of it
}
"""Seconds after which Ray gives up to join a cluster that answers: 20 and 60 of its own accord."""

_REMEDY = "start one with `ray start --head`, or leave the address out to use this machine"

_LONGEST = 25
"""Characters of a folder below which Ray's sockets still have names short enough for the system."""


@contextmanager
def ray_session(actors: int, address: str | None = None) -> Iterator[Any]:
    """Ray, started on this machine or joined at an address, and left when this is over.

    Where the caller has started Ray in this process already, that is used and left running.
    A process that forks afterwards must not use Ray in the child: it would wait there for ever. One
    that has imported Ray before gets it listening on all interfaces, with the token still: Ray
    decides that when it is imported.

    Args:
        actors: how many will run at the same time, one core each.
        address: `host:port` of a cluster on one of whose machines this runs; None for processes
            of our own on this machine, whatever RAY_ADDRESS says.

    Yields:
        The module `ray`.

    Raises:
        MissingExtraError: Ray is not installed.
        ConfigurationError: no such form of address.
        EngineError: nothing answers at the address, or Ray does not start.
    """
    if address is not None:
        _probe(address)
    told = _LOCAL if address is None else _told_to_join()
    with _environment(told):
        ray = _ray()
        given = ray.is_initialized()
    if given:
        yield ray
        return
    with ExitStack() as stack:
        folder = stack.enter_context(_private_folder())
        stack.callback(ray.shutdown)
        try:
            with _kept_sigterm():
                if address is None:
                    _start(ray, actors, Path(folder))
                else:
                    with _environment(told):
                        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        except Exception as error:
            # Of no narrower kind where a busy machine has not started it within 30 seconds.
            why = ": ".join(_words(one) for one in (error, error.__cause__) if one)
            if address is None:
                raise EngineError(f"Ray could not be used on this machine: {why}") from error
            raise EngineError(
                f"the cluster at {address} cannot be joined: {why}; run this on a machine that "
                f"`ray start --address={address}` has made part of it, with its token in "
                "RAY_AUTH_TOKEN"
            ) from error
        yield ray


def _told_to_join() -> dict[str, str | None]:
    """What Ray is told while it joins a cluster, besides what the environment says of it.

    To show the token that is there: with an address it does not of its own accord.
    """
    has_token = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    told = {**_JOINING, **({"RAY_AUTH_MODE": "token"} if has_token else {})}
    return {name: value for name, value in told.items() if name not in os.environ}


def _words(error: BaseException) -> str:
    """What an error of Ray says, of a traceback within it only the last line."""
    head, _, rest = str(error).partition("Traceback (most recent call last):")
    last = rest.strip().splitlines()[-1:]
    return " ".join([head.strip(), *last]).strip(". ")


@contextmanager
def _kept_sigterm() -> Iterator[None]:
    """Have what this process does on SIGTERM stay, where it does anything: Ray puts its own there.

    That of Ray at least ends in order, which Python by itself does not.
    """
    before = signal.getsignal(signal.SIGTERM)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    try:
        yield
    except SystemExit:  # by Ray's
        before(signal.SIGTERM, None)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def home_for_actors() -> dict[str, Any]:
    """Options that give actors on this machine the home folder which Ray was started without."""
    home = os.environ.get("HOME")
    return {"runtime_env": {"env_vars": {"HOME": home}}} if home else {}


def _ray() -> Any:
    try:
        import ray
    except ImportError:
        raise MissingExtraError("ray", "ray") from None
    return ray


def _start(ray: Any, actors: int, folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    # Its presence alone keeps Ray from asking 169.254.169.254 and metadata.google.internal which
    # cloud this is, which it does before it looks whether it may report anything.
    (home / "ray_bootstrap_config.yaml").write_text("{}\n", encoding="utf-8")
    with _environment({**_LOCAL, "HOME": str(home)}):
        ray.init(
            address="local",
            num_cpus=actors + 1,
            include_dashboard=False,
            object_store_memory=max(80, 25 * actors) * 2**20,
            log_to_driver=False,  # it would write what workers print to stdout
            logging_level=logging.ERROR,
            _temp_dir=str(folder / "r"),
        )


def _probe(address: str) -> None:
    """Say hello once, which fails within seconds where nobody is, or somebody else."""
    host, _, port = address.rpartition(":")
    if not host or "/" in host or not port.isdecimal():
        raise ConfigurationError(
            f"{address!r} is no address of a Ray cluster; give host:port of its head, such as "
            "10.0.0.5:6379, on a machine that `ray start` has made part of it"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_PROBE) as probe:
            probe.sendall(_HTTP2_PREFACE)
            greeting = probe.recv(9)
    except (OSError, OverflowError) as error:
        raise EngineError(f"no Ray cluster answers at {address} ({error}); {_REMEDY}") from error
    if greeting[3:4] != _SETTINGS:
        raise EngineError(f"what answers at {address} is no Ray cluster; {_REMEDY}")


@contextmanager
def _environment(values: Mapping[str, str | None]) -> Iterator[None]:
    """Have these in the environment, None for not at all, and what was there before afterwards."""
    before = {name: os.environ.get(name) for name in values}
    _set(values)
    try:
        yield
    finally:
        _set(before)


def _set(values: Mapping[str, str | None]) -> None:
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder only its owner can enter, gone at the end.

    Ray opens the folder it is given to everybody, so that it gets one inside.
    """
    usual = tempfile.gettempdir()
    short = usual if len(usual) <= _LONGEST or not Path("/tmp").is_dir() else "/tmp"  # noqa: S108 - made private
    return tempfile.TemporaryDirectory(prefix="rag-", dir=short, ignore_cleanup_errors=True)
