"""Writes what commands and Python print into the pages that show it: run it after it has changed.

A block of ```` ```text title="Output" ```` is what the block of Python before it prints. Blocks of
a page share their names, as in the tests.

A block of `console` has lines that begin with `$` and a command, each followed by what it prints.
All commands of a page are run in their order, in one copy of `examples/corpus`. What differs from
run to run, such as times and sizes on disk, stays as it is where nothing else changed.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any, Self

ROOT = Path(__file__).parents[2]
WITH_PYTHON = sorted(
    path
    for path in (ROOT / "docs").rglob("*.md")
    if '```text title="Output"' in path.read_text(encoding="utf-8")
)
NOTEBOOKS = (ROOT / "examples" / "quickstart.ipynb",)
PAGES = (ROOT / "docs" / "get-started" / "choose-chunking.md",)
_PYTHON = re.compile(
    r"^(?P<indent> *)```python\n(?P<code>.*?)^(?P=indent)```\n"
    r'(?:(?P<between>\n*)(?P=indent)```text title="Output"\n.*?^(?P=indent)```\n)?',
    re.DOTALL | re.MULTILINE,
)
_BLOCK = re.compile(r"(?<=```console\n)\$ .*?(?=```)", re.DOTALL)
_COMMAND = re.compile(
    r"^\$ (?P<command>[^\n]+)\n(?P<shown>.*?)(?=^\$ |\Z)", re.DOTALL | re.MULTILINE
)
_PASSING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d"  # a moment
    r"|\d[\d,.]*\s(?:ms|s|KB|MB|GB)\b"  # how long, how large
    r"|(?<=\S)[^\S\n]+|─+"  # columns are as wide as what stands in them
    r"|\n+(?=\S)"  # lines end where there is no room; one that begins with blanks is a row below
)
_RUN = """
import io, json, os, sys
from contextlib import redirect_stderr, redirect_stdout

answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
from rag_nodes.cli.program import run

for line in sys.stdin:
    said, complained = io.StringIO(), io.StringIO()
    with redirect_stdout(said), redirect_stderr(complained):
        run(json.loads(line))
    print(json.dumps(said.getvalue() or complained.getvalue()), file=answers, flush=True)
"""


class Terminal:
    """One that commands of ours and of a shell are typed into, without colour and configuration.

    Ours are all run by one child process: each would take seconds to begin by itself.

    Args:
        folder: where they are run.
    """

    def __init__(self, folder: Path) -> None:
        passed = ("PATH", "HOME", "PYTHONPATH")
        kept = {name: os.environ[name] for name in passed if name in os.environ}
        self._place: dict[str, Any] = {
            "cwd": folder,
            "env": {
                **kept,
                "COLUMNS": "80",
                "NO_COLOR": "1",
                "PYTHONIOENCODING": "utf-8",
                "XDG_STATE_HOME": str(folder.parent / "state"),
            },
            "encoding": "utf-8",
        }

    def __enter__(self) -> Self:
        """Start the child."""
        self._child = subprocess.Popen(  # noqa: S603 - this very Python
            [sys.executable, "-c", _RUN],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            **self._place,
        )
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""
        self._child.communicate()

    def printed(self, command: str) -> str:
        """What a command prints; where that is nothing, what it complains of."""
        ours = command.removeprefix("rag-nodes ")
        if ours == command:
            shell = ["/bin/sh", "-ec", command]
            ended = subprocess.run(shell, capture_output=True, check=False, **self._place)  # noqa: S603 - of our pages
            return (ended.stdout or ended.stderr).strip("\n")
        self._child.stdin.write(json.dumps(shlex.split(ours)) + "\n")
        self._child.stdin.flush()
        output: str = json.loads(self._child.stdout.readline())
        return output.strip("\n")


def with_outputs(page: str, folder: Path) -> str:
    """The text of a page with all commands run anew in a folder, in their order."""
    with Terminal(folder) as terminal:

        def again(block: re.Match[str]) -> str:
            command = block["command"]
            output = terminal.printed(command)
            shown = block["shown"].strip("\n")
            output = shown if _lasting(output) == _lasting(shown) else output
            return f"$ {command}\n{output}\n" if output else f"$ {command}\n"

        return _BLOCK.sub(lambda block: _COMMAND.sub(again, block[0]), page)


def with_printed(page: str) -> str:
    """Return the text of a page with its Python run and the output below it written again."""
    names: dict[str, Any] = {"__name__": "__main__"}

    def again(block: re.Match[str]) -> str:
        with redirect_stdout(io.StringIO()) as printed:
            exec(textwrap.dedent(block["code"]), names)  # noqa: S102 -- our own page
        if block["between"] is None:
            return block[0]
        indent, printed_text = block["indent"], printed.getvalue().strip("\n")
        code = block[0].partition(f'{indent}```text title="Output"')[0]
        output = textwrap.indent(f'```text title="Output"\n{printed_text}\n```\n', indent)
        return f"{code}{output}"

    return _PYTHON.sub(again, page)


def with_cells_run(notebook: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with its cells run in order, inside an event loop as Jupyter runs them."""
    names: dict[str, Any] = {"__name__": "__main__"}

    async def run(cell: dict[str, Any]) -> dict[str, Any]:
        with redirect_stdout(io.StringIO()) as printed:
            exec("".join(cell["source"]), names)  # noqa: S102 -- our own notebook
        lines = printed.getvalue().splitlines(keepends=True)
        output = {"name": "stdout", "output_type": "stream", "text": lines}
        return {**cell, "outputs": [output] if lines else []}

    async def run_all() -> list[dict[str, Any]]:
        return [
            await run(cell) if cell["cell_type"] == "code" else cell for cell in notebook["cells"]
        ]

    return {**notebook, "cells": asyncio.run(run_all())}


def updated_notebook(path: Path) -> str:
    """Return the text of a notebook, run in its folder."""
    with chdir(path.parent):
        run = with_cells_run(json.loads(path.read_text(encoding="utf-8")))
    return json.dumps(run, indent=1, ensure_ascii=False) + "\n"


def _lasting(output: str) -> str:
    """What does not differ from run to run."""
    return _PASSING.sub(" ", output).strip()


def updated(path: Path) -> str:
    """The text of a page, run in a copy of the example documents."""
    with tempfile.TemporaryDirectory() as folder:
        corpus = shutil.copytree(ROOT / "examples" / "corpus", Path(folder, "corpus"))
        return with_outputs(path.read_text(encoding="utf-8"), corpus)


def main() -> None:
    """Write the outputs into the pages and notebooks that have them."""
    for path in PAGES:
        path.write_text(updated(path), encoding="utf-8")
    for path in NOTEBOOKS:
        path.write_text(updated_notebook(path), encoding="utf-8")
    with chdir(ROOT):
        for path in WITH_PYTHON:
            page = path.read_text(encoding="utf-8")
            path.write_text(with_printed(page), encoding="utf-8")


if __name__ == "__main__":
    main()
