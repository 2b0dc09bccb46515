"""Writes what commands print into the pages that show it: run it after their output has changed.

A block of `console` has lines that begin with `$` and a command, each followed by what it prints.
All commands of a page are run in their order, in one copy of `examples/corpus`. What differs from
run to run, such as times and sizes on disk, stays as it is where nothing else changed.
"""  # noqa: INP001 - a script, not a package

from __future__ import annotations

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = {ROOT / "docs" / "cli.md": 80, ROOT / "docs" / "operating.md": 100}
"""And how many characters wide a terminal is shown in each."""
SERVER = "http://localhost:6333"
"""Where pages say that a Qdrant server is; the tests' own stands in for it."""
_BLOCK = re.compile(r"(?<=```console\n)\$ .*?(?=```)", re.DOTALL)
_COMMAND = re.compile(
    r"^\$ (?P<command>[^\n]+)\n(?P<shown>.*?)(?=^\$ |\Z)", re.DOTALL | re.MULTILINE
)
_PASSING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d"  # a moment
    r"|\d[\d,.]* (?:ms|s|KB|MB|GB)\b"  # how long, how large
    r"|\b[0-9a-f]{32}\b"  # a checksum
    r"|[\s─]+"  # columns are as wide as what stands in them
)
_RUN = "import sys; from rag_nodes.cli.program import run; sys.exit(run(sys.argv[1:]))"


def printed(command: str, folder: Path, width: int = 80) -> str:
    """What a command prints on a terminal, without colour and configuration.

    Args:
        command: of ours, or any other of a shell.
        folder: where it is run.
        width: of the terminal, in characters.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    ours = command.removeprefix("rag-nodes ")
    ended = subprocess.run(  # noqa: S603 - our own commands, from our own pages
        ["/bin/sh", "-ec", command]
        if ours == command
        else [sys.executable, "-c", _RUN, *shlex.split(ours)],
        cwd=folder,
        env={
            **kept,
            "COLUMNS": str(width),
            "NO_COLOR": "1",
            "PYTHONIOENCODING": "utf-8",
            "XDG_STATE_HOME": str(folder.parent / "state"),
        },
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return ended.stdout.strip("\n") or ended.stderr.strip("\n")


def with_outputs(page: str, folder: Path, server: str = SERVER, width: int = 80) -> str:
    """The text of a page with all commands run anew, in their order.

    Args:
        page: its text.
        folder: where they are run.
        server: what stands in for `SERVER`.
        width: see `printed`.
    """

    def again(found: re.Match[str]) -> str:
        command = found["command"]
        said = printed(command.replace(SERVER, server), folder, width).replace(server, SERVER)
        shown = found["shown"].strip("\n")
        said = shown if _lasting(said) == _lasting(shown) else said
        return f"$ {command}\n{said}\n" if said else f"$ {command}\n"

    return _BLOCK.sub(lambda block: _COMMAND.sub(again, block[0]), page)


def _lasting(said: str) -> str:
    """What does not differ from run to run."""
    return _PASSING.sub(" ", said).strip()


def made(path: Path) -> str:
    """The text of a page, run in a copy of the example documents."""
    page = path.read_text(encoding="utf-8")
    with ExitStack() as stack:
        server = SERVER
        if SERVER in page:
            double = runpy.run_path(str(ROOT / "tests" / "store" / "qdrant_server.py"))
            server = stack.enter_context(double["serve"]()).url
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        corpus = shutil.copytree(ROOT / "examples" / "corpus", Path(folder, "corpus"))
        return with_outputs(page, corpus, server, PAGES[path])


def main() -> None:
    """Write the outputs into the pages that have them."""
    for path in PAGES:
        path.write_text(made(path), encoding="utf-8")


if __name__ == "__main__":
    main()
