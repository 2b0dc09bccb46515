"""The command line `rag-nodes`: every command parses, calls one library function and renders.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys
import threading
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]

_INTERRUPTED = 130
"""`ExitCode.INTERRUPTED`, which is imported with the commands."""
_INTERRUPTED_SECONDS = 0.1
"""Seconds that Ctrl-C waits for background threads, of which one may hang in a request."""
_COLLECTED_AFTER = 50_000
"""Objects that are new, after which Python looks for cycles of them that nobody needs."""


def main(arguments: str | Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code (see `ExitCode`).

    Args:
        arguments: what follows the program's name; None for those of this process.
    """
    _collect_seldom()
    _fill_in()
    with _ended_as_by_ctrl_c() as signals:
        try:
            from rag_nodes.cli.program import run
            from rag_nodes.core.several import several

            with _output_of_our_own():
                code: int | str = run(several(arguments))
        except OSError as error:  # a full disk, or a reader that has left
            code = f"Error: stdout: {error.strerror}"
        except KeyboardInterrupt:  # while the commands are imported, or a second one at the end
            sys.stderr.write("Interrupted.\n")
            code = _INTERRUPTED
    if code == _INTERRUPTED:
        from rag_nodes.core.processes.threads import end_background_threads

        end_background_threads(_INTERRUPTED_SECONDS)
    sys.exit(128 + signals[0] if signals and code == _INTERRUPTED else code)


def _fill_in() -> None:
    """Have a standard stream that was closed (`>&-`) lead nowhere.

    Else the first file that is opened takes its number, and what is printed may end up in a store.
    """
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 - that of stderr
        os.set_inheritable(number, True)  # noqa: FBT003 - it takes no keyword
    os.close(number)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115 - until the end
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[list[int]]:
    """Let no signal that asks for the end leave a process or a temporary folder behind.

    SIGHUP comes where a terminal is closed; where it is ignored, as by `nohup`, it stays so.

    Yields:
        Those that came.
    """
    came: list[int] = []

    def end(number: int, _frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    named = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    heard = [
        signal_number
        for signal_number in named
        if signal_number and signal.getsignal(signal_number) == signal.SIG_DFL
    ]
    if threading.current_thread() is not threading.main_thread():
        heard = []  # nor is Ctrl-C heard there
    for signal_number in heard:
        signal.signal(signal_number, end)
    try:
        yield came
    finally:
        for signal_number in heard:
            signal.signal(signal_number, signal.SIG_DFL)


def _collect_seldom() -> None:
    """Spare the search for cycles among what is there to stay: modules and their classes.

    Of a command that has little to do it is a seventh of the time, most of that at the very end.
    """
    gc.set_threshold(_COLLECTED_AFTER, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


@contextmanager
def _output_of_our_own() -> Iterator[None]:
    """Keep stdout for data: what libraries and child processes write there goes to stderr.

    `redirect_stdout` catches what is printed in Python and nothing below it. Where stdout is not
    the process's own, as in tests and notebooks, nothing is done.
    """
    ours = sys.stdout
    try:
        number = ours.fileno()
    except (AttributeError, OSError, ValueError):
        number = -1
    if number != 1:
        yield
        return
    ours.flush()
    kept = os.dup(number)
    sys.stdout = open(kept, "w", encoding=ours.encoding, closefd=False)  # noqa: SIM115 -- closed below
    os.dup2(2, number)
    try:
        with closing(sys.stdout):
            yield
    finally:
        sys.stdout = ours
        os.dup2(kept, number)
        os.close(kept)
