"""Errors in, exit code and one clear message out; the only place that maps one to the other."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

from rich.text import Text

from rag_nodes.cli.views.text import clean
from rag_nodes.core.errors import (
    ConfigurationError,
    EngineError,
    FileMissingError,
    MissingPackageError,
    ModelConnectionError,
    RagNodesError,
    StoreLockedError,
    StoreUnreachableError,
)
from rag_nodes.core.keys import kind_of, trace_of
from rag_nodes.operations import ExitCode

if TYPE_CHECKING:
    from rag_nodes.cli.invocation import Invocation


_CODES: tuple[tuple[type[RagNodesError], ExitCode], ...] = (
    # A missing or refused key is a CredentialsError, thus a matter of configuration: code 2.
    (ConfigurationError, ExitCode.USAGE),
    (FileMissingError, ExitCode.USAGE),
    (EngineError, ExitCode.UNAVAILABLE),
    (MissingPackageError, ExitCode.UNAVAILABLE),
    (ModelConnectionError, ExitCode.UNAVAILABLE),
    (StoreLockedError, ExitCode.UNAVAILABLE),
    (StoreUnreachableError, ExitCode.UNAVAILABLE),
)
"""First match wins; every other error is a failure."""


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code of a command that ended with this error."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return ExitCode.FAILURE


def report_failure(error: Exception, cli: Invocation) -> ExitCode:
    """Say on stderr what went wrong, with where it was raised only under `--verbose`.

    Under `--json`, stdout has it too, so that a program always gets an object.
    """
    if cli.verbose:
        cli.errors.print(Text(clean(f"Traceback\n{trace_of(error)}"), style="dim"), soft_wrap=True)
    message = clean(cli.with_store(_message(error)))
    cli.errors.print(Text.assemble(("Error: ", "bold red"), message), soft_wrap=True)
    if cli.as_json and not cli.has_emitted:
        about = {"type": type(error).__name__, "message": message}
        release = version("rag-nodes")
        cli.emit({"error": about, "started": cli.started, "release": release})
    return exit_code_of(error)


def report_interruption(cli: Invocation) -> ExitCode:
    """Say on stderr that Ctrl-C was heard, and what is left."""
    cli.errors.print(f"Interrupted. {cli.interrupted}".rstrip())
    return ExitCode.INTERRUPTED


def _message(error: Exception) -> str:
    if isinstance(error, RagNodesError):
        return str(error)
    return (
        f"unexpected {kind_of(error)}. This is a bug: please report it with what --verbose prints"
    )
