"""Writes what commands print into the pages that show it: run it after their output has changed.

A block of `console` begins with `$` and the command, and is run in a copy of `examples/corpus`.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "cli.md",)
_BLOCK = re.compile(r"(?<=```console\n\$ rag-nodes )(?P<command>[^\n]+)\n.*?(?=```)", re.DOTALL)
_RUN = "import sys; from rag_nodes.cli.program import run; sys.exit(run(sys.argv[1:]))"


def printed(command: str, folder: Path) -> str:
    """What a command prints on a terminal of 80 characters, without colour and configuration.

    Args:
        command: without `rag-nodes` before it.
        folder: where it is run.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    ended = subprocess.run(  # noqa: S603 - our own commands, from our own pages
        [sys.executable, "-c", _RUN, *shlex.split(command)],
        cwd=folder,
        env={**kept, "COLUMNS": "80", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return ended.stdout.strip("\n") or ended.stderr.strip("\n")


def with_outputs(page: str, folder: Path) -> str:
    """The text of a page with all commands run anew, in their order."""
    return _BLOCK.sub(lambda m: f"{m['command']}\n{printed(m['command'], folder)}\n", page)


def made(path: Path) -> str:
    """The text of a page, run in a copy of the example documents."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = shutil.copytree(ROOT / "examples" / "corpus", Path(folder, "corpus"))
        return with_outputs(path.read_text(encoding="utf-8"), corpus)


def main() -> None:
    """Write the outputs into the pages that have them."""
    for path in PAGES:
        path.write_text(made(path), encoding="utf-8")


if __name__ == "__main__":
    main()
