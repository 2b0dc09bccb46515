"""Starts a stand-in for Ray and gets a signal, in a process of its own; prints what came of it."""

import signal
import sys
import threading
from types import SimpleNamespace
from typing import Any

from rag_nodes.executors.ray import ray_session


def interrupted_while_it_starts() -> None:
    def init(**_: object) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        threading.Event().wait(0.3)  # the interrupt comes while it starts

    session_of(init).__enter__()


def told_to_end(own: bool) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    wanted: Any = stop if own else signal.SIG_DFL
    signal.signal(signal.SIGTERM, wanted)
    try:
        with session_of(lambda **_: None):
            signal.raise_signal(signal.SIGTERM)
    finally:
        sys.stdout.write(f"restored {signal.getsignal(signal.SIGTERM) == wanted}\n")


def session_of(init: Any) -> Any:
    """A session with `init` in the place of Ray's start."""
    module: Any = SimpleNamespace(
        is_initialized=lambda: False, init=init, shutdown=lambda: sys.stdout.write("shutdown\n")
    )
    sys.modules["ray"] = module
    return ray_session(2)


if __name__ == "__main__":
    try:
        if sys.argv[1] == "start":
            interrupted_while_it_starts()
        else:
            told_to_end(own=sys.argv[1] == "own")
    except BaseException as error:  # noqa: BLE001 -- its name is what is asked for
        sys.stdout.write(f"{type(error).__name__}\n")
