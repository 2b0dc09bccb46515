"""The command line `rag-nodes`: every command parses, calls one library function and renders.

Nothing heavy is imported before a command runs, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with its exit code (see `ExitCode`).

    Args:
        arguments: what follows the program's name; None for those of this process.
    """
    from rag_nodes.cli.program import run

    sys.exit(run(arguments))
