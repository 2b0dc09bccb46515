"""Units done as tasks of a Ray cluster, which this process joins and leaves again."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import socket
import threading
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import ConfigurationError, EngineError, MissingExtraError
from rag_nodes.core.keys import words_of
from rag_nodes.core.numbers import number_in
from rag_nodes.core.processes import current_interrupt
from rag_nodes.models.executors.executor import POLL, Death, Dispatcher, UnitOutcome, WorkerJob

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_JOINING = {
    "RAY_gcs_server_port_wait_time_s": "5",  # for a cluster that refuses the token
    "RAY_gcs_server_request_timeout_seconds": "10",  # for this machine to be seen to be part of it
}
"""Seconds after which Ray gives up to join a cluster that answers: 20 and 60 of its own accord."""
_PORT_DIGITS = 5
_PROBE = 5.0
"""Seconds a cluster has to answer; Ray itself would try for minutes."""
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""Greeting of a client of gRPC, which Ray's processes speak (RFC 9113, 3.4)."""
_SETTINGS = b"\x04"
"""The type of the frame it is greeted with, the fourth byte of nine."""
_REMEDY = "start one with `ray start --head`, or use worker processes of this machine"
_JOBS: dict[str, WorkerJob] = {}
"""Made in this process of Ray, by their names in its store."""


class Ray(Dispatcher):
    """See `Executor`: tasks of a Ray cluster, on all its machines.

    The files, and the current folder where names are relative, have the same paths on every
    machine, with the same version of rag_nodes, and this process runs on one of them. Of a dead
    process or machine only its own tasks are tried again. Recipes are arguments, which Ray shows
    nowhere, and not an environment, which it writes down.

    Args:
        workers: tasks at a time, a core each; None for the cores this process may use.
        address: `host:port` of the cluster's head.
        num_gpus: share of a graphics card for each worker.

    Raises:
        ConfigurationError: fewer than one worker, or a negative share.
        MissingExtraError: Ray is not installed.
    """

    is_remote = True

    def __init__(self, workers: int | None = None, *, address: str, num_gpus: float = 0.0) -> None:
        super().__init__(workers)
        if num_gpus < 0:
            raise ConfigurationError(f"num_gpus must be at least 0, not {num_gpus}")
        if find_spec("ray") is None:  # before a store is made, or a file read
            raise MissingExtraError("ray", "ray")
        self.address, self.num_gpus = address, num_gpus

    def _begin(self, job: bytes) -> None:
        self._ray = ray = self._session.enter_context(ray_session(self.address))
        self._session.callback(self._cancel)
        self._do = ray.remote(num_cpus=1, num_gpus=self.num_gpus, max_retries=0)(do)
        # Within a list it stays where it is until a process asks for it.
        self._job = [ray.put(job)]
        self._made = self._do.remote(self._job, None)

    def _submit(self, unit: bytes) -> Any:
        return self._do.remote(self._job, unit)

    def _done(self) -> Iterator[tuple[Any, UnitOutcome | Death]]:
        for ready in self._ray.wait([*self._flying], num_returns=1, timeout=POLL)[0]:
            yield ready, self._outcome(ready)

    def _outcome(self, reference: Any) -> UnitOutcome | Death:
        errors = self._ray.exceptions
        try:
            return pickle.loads(self._ray.get(reference))  # type: ignore[no-any-return]  # noqa: S301 -- of our own task
        except errors.RayTaskError as error:
            raise EngineError(
                f"a task of Ray could not be done: {words_of(error.cause)}"
            ) from error
        except errors.RayError as error:
            if not self._ray.cluster_resources():
                raise EngineError(
                    "Ray's own process has ended, and with it all workers; check free memory and "
                    "run this again"
                ) from error
            return Death(f"lost by Ray: {type(error).__name__}", self._can_begin())

    def _can_begin(self) -> bool:
        """Return True if a process can make the job, so that others do not die of making it.

        One that dies of something else meanwhile says nothing, so that another one is asked.
        """
        for _ in range(2):
            while not self._ray.wait([self._made], timeout=POLL)[0]:
                current_interrupt().check("the work")
            try:
                self._ray.get(self._made)
            except self._ray.exceptions.RayError:
                self._made = self._do.remote(self._job, None)
            else:
                return True
        return False

    def _cancel(self) -> None:
        for flying in self._flying:
            self._ray.cancel(flying, force=True)


def do(job: Sequence[Any], unit: bytes | None) -> bytes:
    """Run a unit in a process of Ray, by a job that it makes once; without a unit, make the job."""
    name = job[0].hex()
    if name not in _JOBS:
        import ray

        _JOBS.clear()
        _JOBS[name] = WorkerJob(ray.get(job[0]))
    return b"" if unit is None else _JOBS[name].do(unit)


@contextmanager
def ray_session(address: str) -> Iterator[Any]:
    """Ray, joined at an address, and left when this is over.

    Where the caller has joined a Ray in this process already, that is used and not left. A process
    that forks afterwards must not use Ray in the child: it would wait there for ever.

    Args:
        address: `host:port` of a cluster on one of whose machines this runs.

    Yields:
        The module `ray`.

    Raises:
        ConfigurationError: no such form of address.
        EngineError: nothing answers at the address, or it cannot be joined.
    """
    _probe(address)
    with ExitStack() as stack:
        with _environment(_joining_options()):
            import ray

            if not ray.is_initialized():
                stack.callback(ray.shutdown)
                try:
                    with sigterm_kept():
                        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
                except Exception as error:
                    why = ": ".join(_words(cause) for cause in (error, error.__cause__) if cause)
                    raise EngineError(
                        f"the cluster at {address} cannot be joined: {why}; run this on a "
                        f"machine that joined it with `ray start --address={address}`, with its "
                        "token in RAY_AUTH_TOKEN"
                    ) from error
        yield ray


@contextmanager
def sigterm_kept() -> Iterator[None]:
    """Put the handler of SIGTERM back that Ray replaces where it is joined or started.

    Ray's would end the process with another exit code, past whoever waits for the signal.
    """
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def _joining_options() -> dict[str, str]:
    """Return Ray's options for joining a cluster, besides those of the environment.

    To show the token that is there: with an address it does not of its own accord.
    """
    has_token = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    options = {**_JOINING, **({"RAY_AUTH_MODE": "token"} if has_token else {})}
    return {name: value for name, value in options.items() if name not in os.environ}


def _probe(address: str) -> None:
    """Say hello once, which fails within seconds where nobody is, or somebody else."""
    host, _, digits = address.rpartition(":")
    port = number_in(digits, _PORT_DIGITS)
    if not host or "/" in host or port is None:
        raise ConfigurationError(
            f"'{address}' is not the address of a Ray cluster; give host:port of its head, such "
            f"as 10.0.0.5:6379, on a machine that joined it with `ray start`"
        )
    try:
        with socket.create_connection((host.strip("[]"), port), timeout=_PROBE) as probe:
            probe.sendall(_HTTP2_PREFACE)
            greeting = probe.recv(9)
    except (OSError, OverflowError) as error:
        raise EngineError(f"no Ray cluster answers at {address} ({error}); {_REMEDY}") from error
    if greeting[3:4] != _SETTINGS:
        raise EngineError(f"the server at {address} is not a Ray cluster; {_REMEDY}")


def _words(error: BaseException) -> str:
    """Return the message of a Ray error; of a traceback within it, only the last line."""
    head, _, rest = str(error).partition("Traceback (most recent call last):")
    return " ".join([head.strip(), *rest.strip().splitlines()[-1:]]).strip(". ")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Have these names, which are new, in the environment meanwhile."""
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
