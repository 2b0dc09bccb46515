"""Runs the command line in this process, with small files and nothing configured."""

import io
import json
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from store import qdrant_server
from terminals import terminal

from rag_nodes.cli.invocation import Invocation
from rag_nodes.cli.program import run

MANUAL = """\
# Tea machine

The tea machine is made of steel.

## Water

The tank holds nine litres of water. Fill it before the first cup of the day.

## Cleaning

Rinse the machine with vinegar every month. Never use sand.
"""


@dataclass(frozen=True)
class Ended:
    """What a run left behind."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout; fails when there is anything else."""
        parsed: dict[str, Any] = json.loads(self.stdout)
        return parsed


Command = Callable[..., Ended]
"""Runs the command line with some words and says what that left behind."""


@pytest.fixture
def command(
    no_configuration: Path,  # noqa: ARG001 - every run starts from nothing
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Command:
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "GITHUB_ACTIONS"):
        monkeypatch.delenv(name, raising=False)

    def invoke(*arguments: object) -> Ended:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        return Ended(code, *capsys.readouterr())

    return invoke


def invoke_cli(*arguments: object) -> Ended:
    """The same for fixtures of a whole module, in whatever folder and environment there is."""
    with redirect_stdout(io.StringIO()) as output, redirect_stderr(io.StringIO()) as complained:
        code = run([str(argument) for argument in arguments])
    return Ended(code, output.getvalue(), complained.getvalue())


def failing(error: BaseException) -> Callable[..., Any]:
    """Return a function that raises an error, whatever it is called with."""

    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


@pytest.fixture
def url() -> Iterator[str]:
    """Serve an empty store and return its address."""
    with qdrant_server.serve() as double:
        yield double.url


@pytest.fixture
def manual(tmp_path: Path) -> Path:
    path = tmp_path / "manual.md"
    path.write_text(MANUAL, encoding="utf-8")
    return path


@pytest.fixture
def corrupt(tmp_path: Path) -> Path:
    path = tmp_path / "corrupt.pdf"
    path.write_bytes(b"%PDF-1.7\n" + b"garbage " * 50)
    return path


@pytest.fixture
def on_terminal(monkeypatch: pytest.MonkeyPatch) -> Console:
    """Makes the next runs believe that stdout is a terminal."""
    console = terminal(120)
    original = Invocation.__init__

    def with_terminal(cli: Invocation, **values: object) -> None:
        original(cli, **values)  # type: ignore[arg-type]
        cli.output = console

    monkeypatch.setattr(Invocation, "__init__", with_terminal)
    return console
