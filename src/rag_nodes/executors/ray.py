"""Units done as tasks of Ray, on this machine or on all of a cluster; of it no trace is left.

What Ray does of its own accord is not what a tool on somebody's computer may do: it listens on all
interfaces, asks the metadata services of clouds where it runs, writes a secret into the home
folder, joins whatever cluster the environment names, and keeps its logs for ever.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import pickle
import secrets
import signal
import socket
import sys
import tempfile
import threading
import warnings
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError, EngineError, MissingExtraError
from rag_nodes.executors.executor import POLL, Death, Dispatcher, UnitOutcome, WorkerJob
from rag_nodes.keys import words_of
from rag_nodes.processes import BackgroundThread, current_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_LOCAL = {
    "RAY_AUTH_MODE": "token",
    # Who does not know it cannot have our processes do anything. It is in no argument, no log and
    # no file; the processes inherit it, and Ray reads it once per process.
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",  # on Linux too: listen on the loopback only
}
"""What Ray is told by its environment while it starts on this machine."""
_JOINING = {
    "RAY_gcs_server_port_wait_time_s": "5",  # for a cluster that refuses the token
    "RAY_gcs_server_request_timeout_seconds": "10",  # for this machine to be seen to be part of it
}
"""Seconds after which Ray gives up to join a cluster that answers: 20 and 60 of its own accord."""
_PROBE = 5.0
"""Seconds a cluster has to answer; Ray itself would try for minutes."""
_LIMIT = 180.0
"""Seconds Ray may take to start or to join, of which it needs ten: it may else wait for ever."""
_LAST = 10.0
"""Seconds a start that is interrupted may take, so that what has begun can be ended in order."""
_HTTP2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of gRPC, which Ray's processes speak, says hello (RFC 9113, 3.4)."""
_SETTINGS = b"\x04"
"""The type of the frame it is greeted with, the fourth byte of nine."""
_REMEDY = "start one with `ray start --head`, or leave the address out to use this machine"
_LONGEST = 25
"""Characters of a folder below which Ray's sockets still have names short enough for the system."""
_JOBS: dict[str, WorkerJob] = {}
"""Made in this process of Ray, by their names in its store."""


class Ray(Dispatcher):
    """See `Executor`: tasks of Ray, of use on several machines.

    On one `Pool` does the same without Ray's start and half a GB. On a cluster the files must have
    the same paths on every machine, with the same version of rag_nodes, and this process must run
    on one of its machines. Of a dead process only its own task is tried again, and by us. Recipes
    are arguments, which Ray shows nowhere, and not an environment, which it writes down.

    Args:
        workers: tasks at a time, a core each; None for the cores this process may use.
        address: `host:port` of a cluster; None to start Ray on this machine until it is closed.
        num_gpus: share of a graphics card for each worker.

    Raises:
        ConfigurationError: fewer than one worker, or a negative share.
        MissingExtraError: Ray is not installed.
    """

    def __init__(
        self, workers: int | None = None, *, address: str | None = None, num_gpus: float = 0.0
    ) -> None:
        super().__init__(workers)
        if num_gpus < 0:
            raise ConfigurationError(f"num_gpus must not be negative, and is {num_gpus}")
        if find_spec("ray") is None:  # before a store is made, or a file read
            raise MissingExtraError("ray", "ray")
        self.is_remote, self.address, self.num_gpus = address is not None, address, num_gpus

    def _begin(self, job: bytes) -> None:
        self._ray = ray = self._session.enter_context(ray_session(self.workers, self.address))
        self._session.callback(self._cancel)
        options: dict[str, Any] = {"num_cpus": 1, "num_gpus": self.num_gpus, "max_retries": 0}
        if not self.is_remote and (home := os.environ.get("HOME")):  # Ray was started without
            options["runtime_env"] = {"env_vars": {"HOME": home}}
        self._do = ray.remote(**options)(do)
        # Within a list it stays where it is until a process asks for it.
        self._job = [ray.put(job)]
        self._made = self._do.remote(self._job, None)

    def _submit(self, unit: bytes) -> Any:
        return self._do.remote(self._job, unit)

    def _done(self) -> Iterator[tuple[Any, UnitOutcome | Death]]:
        for one in self._ray.wait([*self._flying], num_returns=1, timeout=POLL)[0]:
            yield one, self._outcome(one)

    def _outcome(self, one: Any) -> UnitOutcome | Death:
        errors = self._ray.exceptions
        try:
            return pickle.loads(self._ray.get(one))  # type: ignore[no-any-return]  # noqa: S301 -- of our own task
        except errors.RayTaskError as error:
            raise EngineError(
                f"a task of Ray could not be done: {words_of(error.cause)}"
            ) from error
        except errors.RayError as error:
            if not self._ray.cluster_resources():
                raise EngineError(
                    "Ray's own process has ended, and with it all workers; look at free memory, "
                    "and run this again"
                ) from error
            return Death(f"lost by Ray: {type(error).__name__}", self._can_begin())

    def _can_begin(self) -> bool:
        """Whether a process makes the job, so that others do not die of making it.

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
        for one in self._flying:
            self._ray.cancel(one, force=True)


def do(job: Sequence[Any], unit: bytes | None) -> bytes:
    """What a process of Ray runs: one unit, by a job that it makes once; none for the job alone."""
    name = job[0].hex()
    if name not in _JOBS:
        import ray

        _JOBS.clear()
        _JOBS[name] = WorkerJob(ray.get(job[0]))
    return b"" if unit is None else _JOBS[name].do(unit)


@contextmanager
def ray_session(tasks: int, address: str | None = None) -> Iterator[Any]:
    """Ray, started on this machine or joined at an address, and left when this is over.

    Where the caller has started Ray in this process already, that is used and left running.
    A process that forks afterwards must not use Ray in the child: it would wait there for ever. One
    that has imported Ray before gets it listening on all interfaces, with the token still: Ray
    decides that when it is imported.

    Args:
        tasks: how many will run at the same time, one core each.
        address: `host:port` of a cluster on one of whose machines this runs; None for processes
            of our own on this machine, whatever RAY_ADDRESS says.

    Yields:
        The module `ray`.

    Raises:
        ConfigurationError: no such form of address.
        EngineError: nothing answers at the address, or Ray does not start, or not in three minutes.
    """
    if address is not None:
        _probe(address)
    told = _LOCAL if address is None else _told_to_join()
    with ExitStack() as stack:
        with _environment(told):
            import ray

            if not ray.is_initialized():
                folder = Path(stack.enter_context(_private_folder()))
                stack.enter_context(_ordered_sigterm())
                _start(ray, tasks, address, folder, stack)
        yield ray


def _start(ray: Any, tasks: int, address: str | None, folder: Path, session: ExitStack) -> None:
    home, start = folder / "home", partial(_start_here, ray, tasks, folder)
    if address is not None:
        start = partial(ray.init, address=address, log_to_driver=False, logging_level=logging.ERROR)
    home.mkdir()
    # Its presence alone keeps Ray from asking 169.254.169.254 and metadata.google.internal which
    # cloud this is, which it does before it looks whether it may report anything.
    (home / "ray_bootstrap_config.yaml").write_text("{}\n", encoding="utf-8")
    try:
        # Not on the thread, which may be left behind and would never put it back.
        with _environment({"HOME": str(home)} if address is None else {}):
            _start_in_time(start, ray.shutdown, session)
    except Exception as error:
        why = ": ".join(_words(one) for one in (error, error.__cause__) if one)
        if address is None:
            raise EngineError(f"Ray could not be used on this machine: {why}") from error
        raise EngineError(
            f"the cluster at {address} cannot be joined: {why}; run this on a machine that "
            f"`ray start --address={address}` has made part of it, with its token in "
            "RAY_AUTH_TOKEN"
        ) from error


def _start_in_time(
    start: Callable[[], object], shutdown: Callable[[], None], session: ExitStack
) -> None:
    """Start Ray on a thread of its own, which is left behind where a call of Ray never returns.

    The thread stays for the session: Linux ends Ray's processes with the thread that started them.
    """
    started, over = Future[object](), threading.Event()

    def run() -> None:
        try:
            started.set_result(start())
        except BaseException as error:  # noqa: BLE001 - raised below
            started.set_exception(error)
        over.wait()

    session.callback(over.set)
    try:
        BackgroundThread(run, "ray", end=over.set).start()
        wait([started], _LIMIT)
    except BaseException:
        wait([started], _LAST)
        raise
    finally:
        if started.done():
            session.callback(shutdown)
        else:  # it would wait as well, and at the end of this process Ray ends its own all the same
            atexit.unregister(shutdown)
    if not started.done():
        raise TimeoutError(
            f"it did not start within {_LIMIT:.0f} seconds; look at free memory and processors, "
            "end what is left of an earlier Ray with `ray stop`, or go without Ray"
        )
    started.result()


def _start_here(ray: Any, tasks: int, folder: Path) -> None:
    options = {
        "address": "local",
        "num_cpus": tasks + 1,
        "include_dashboard": False,
        "object_store_memory": max(80, 25 * tasks) * 2**20,
        "log_to_driver": False,  # it would write what workers print to stdout
        "logging_level": logging.ERROR,
        "_temp_dir": str(folder / "r"),
    }
    try:
        ray.init(**options)
    except Exception as error:
        if "timed out" not in str(error):  # Ray gives its processes 30 s, however busy others are
            raise
        ray.shutdown()
    else:
        return
    with warnings.catch_warnings():  # of processes that it has ended and not waited for
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    ray.init(**options)


def _told_to_join() -> dict[str, str]:
    """What Ray is told while it joins a cluster, besides what the environment says of it.

    To show the token that is there: with an address it does not of its own accord.
    """
    has_token = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    told = {**_JOINING, **({"RAY_AUTH_MODE": "token"} if has_token else {})}
    return {name: value for name, value in told.items() if name not in os.environ}


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


def _words(error: BaseException) -> str:
    """What an error of Ray says, of a traceback within it only the last line."""
    head, _, rest = str(error).partition("Traceback (most recent call last):")
    return " ".join([head.strip(), *rest.strip().splitlines()[-1:]]).strip(". ")


@contextmanager
def _ordered_sigterm() -> Iterator[None]:
    """Have SIGTERM end this process in order meanwhile, unless it does something of its own."""
    is_main = threading.current_thread() is threading.main_thread()
    is_ours = is_main and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
    if is_ours:
        signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Have these in the environment meanwhile."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            os.environ.pop(name, None)
        os.environ.update({name: one for name, one in before.items() if one is not None})


def _private_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder only its owner can enter, gone at the end.

    Ray opens the folder it is given to everybody, so that it gets one inside.
    """
    usual = tempfile.gettempdir()
    short = usual if len(usual) <= _LONGEST or not Path("/tmp").is_dir() else "/tmp"  # noqa: S108 - made private
    return tempfile.TemporaryDirectory(prefix="rag-", dir=short, ignore_cleanup_errors=True)
