"""A command that is interrupted ends with 130 and without a traceback."""

import signal
import sys
from pathlib import Path
from types import ModuleType

import pytest
from tests.cli.conftest import Command, failing

from rag_nodes.cli import main
from rag_nodes.cli.invocation import Invocation
from rag_nodes.operations import ExitCode
from rag_nodes.operations.run import Run
from rag_nodes.operations.workspace.session import Session


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        (
            "ingest manual.md",
            " What was stored stays valid; run the same command again to complete",
        ),
        ("compare manual.md --ask why?", ""),
        ("evaluate manual.md --answers paragraph", " What a paid model made is kept where --cache"),
        (
            "recommend manual.md --answers paragraph",
            " What a paid model made is kept where --cache",
        ),
        ("doctor --store .", ""),
        ("app", " The app has ended."),
    ],
)
def test_an_interruption_ends_with_130_and_says_what_is_left_where_something_is(
    command: Command, manual: Path, monkeypatch: pytest.MonkeyPatch, asked: str, left: str
) -> None:
    monkeypatch.chdir(manual.parent)
    monkeypatch.setattr(Invocation, "configure_logging", lambda _: None)
    monkeypatch.setattr(Run, "emit", failing(KeyboardInterrupt()))
    ended = command(*asked.split(), "-q")
    assert ended.code == ExitCode.INTERRUPTED
    assert ended.stderr.startswith(f"Interrupted.{left}")
    assert bool(left) == (ended.stderr != "Interrupted.\n")


@pytest.mark.parametrize("when", ["import", "end"])
def test_an_interruption_outside_of_a_command_has_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], when: str
) -> None:
    class Program(ModuleType):
        def __getattr__(self, name: str) -> object:
            if when == "import" and name == "run":
                raise KeyboardInterrupt
            return failing(KeyboardInterrupt())

    monkeypatch.setitem(sys.modules, "rag_nodes.cli.program", Program("rag_nodes.cli.program"))
    with pytest.raises(SystemExit) as ended:
        main(["status"])
    assert ended.value.code == ExitCode.INTERRUPTED
    assert capfd.readouterr().err == "Interrupted.\n"


@pytest.mark.parametrize(("name", "code"), [("SIGTERM", 143), ("SIGHUP", 129)])
def test_a_run_that_is_asked_to_end_does_so_as_by_ctrl_c(
    manual: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    name: str,
    code: int,
) -> None:
    number = signal.Signals[name]
    closed: list[str] = []

    def models(_: Session, **__: object) -> None:
        try:
            signal.raise_signal(number)
        finally:
            closed.append("what was open")

    monkeypatch.setattr(Session, "models", models)
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(manual), "--ask", "why?", "-p", "fixed", "-q"])
    assert ended.value.code == code
    assert closed == ["what was open"]
    assert capfd.readouterr().err.startswith("Interrupted.")
    assert signal.getsignal(number) == signal.SIG_DFL


def test_a_run_that_must_not_hear_of_a_closed_terminal_does_not(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        monkeypatch.setattr(
            "rag_nodes.cli.program.run", lambda _: signal.raise_signal(signal.SIGHUP)
        )
        with pytest.raises(SystemExit) as ended:
            main(["status"])
    finally:
        signal.signal(signal.SIGHUP, before)
    assert ended.value.code is None
    assert capfd.readouterr().err == ""
