"""The command line `rag-nodes`: every command parses, calls one library function and renders.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import os
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code (see `ExitCode`).

    Args:
        arguments: what follows the program's name; None for those of this process.
    """
    from rag_nodes.cli.program import run

    try:
        with _output_of_our_own():
            code: int | str = run(arguments)
    except OSError as error:  # a full disk, or a reader that has left
        code = f"Error: stdout: {error.strerror}"
    sys.exit(code)


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
