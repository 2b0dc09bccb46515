"""Errors in, exit code and one clear message out; the only place that maps one to the other."""

from __future__ import annotations

import traceback
from enum import IntEnum
from typing import TYPE_CHECKING

from rich.text import Text

from rag_nodes.cli.views.text import clean, one_line
from rag_nodes.errors import (
    ConfigurationError,
    FileMissingError,
    MissingPackageError,
    ModelConnectionError,
    RagNodesError,
    StoreLockedError,
    StoreUnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations.base import Outcome
    from rag_nodes.pipeline import FileOutcome


class ExitCode(IntEnum):
    """How the process ends (design §11)."""

    DONE = 0
    FAILURE = 1
    USAGE = 2
    PARTIAL = 3
    GATE = 4
    UNAVAILABLE = 5
    UNTOLD = UNAVAILABLE
    INTERRUPTED = 130


_OUTCOMES = {
    "DONE": ExitCode.DONE,
    "PARTLY": ExitCode.PARTIAL,
    "FAILED": ExitCode.FAILURE,
    "UNAVAILABLE": ExitCode.UNAVAILABLE,
    "FELL": ExitCode.GATE,
    "CANNOT_TELL": ExitCode.UNTOLD,
    "UNCONFIRMED": ExitCode.USAGE,
}
_CODES: tuple[tuple[type[RagNodesError], ExitCode], ...] = (
    # A missing or refused key is a CredentialsError, thus a matter of configuration: code 2.
    (ConfigurationError, ExitCode.USAGE),
    (FileMissingError, ExitCode.USAGE),
    (MissingPackageError, ExitCode.UNAVAILABLE),
    (ModelConnectionError, ExitCode.UNAVAILABLE),
    (StoreLockedError, ExitCode.UNAVAILABLE),
    (StoreUnreachableError, ExitCode.UNAVAILABLE),
)
"""First match wins; every other error is a failure."""


def code_of(outcome: Outcome) -> int:
    """The exit code of an operation that ended so."""
    return int(_OUTCOMES[outcome.name])


def exit_code_of(error: BaseException) -> ExitCode:
    """The exit code of a command that ended with this error."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code
    return ExitCode.FAILURE


def conclude(
    cli: Invocation,
    files: Sequence[FileOutcome],
    parsers: Mapping[str, str | None],
    *,
    some_done: bool = False,
    omitted: int = 0,
) -> ExitCode:
    """The exit code of work on many files with many parsers; what failed is named on stderr.

    Args:
        cli: where to say it.
        files: how each file ended.
        parsers: error of each parser by label; None where it did well.
        some_done: whether parsers with an error have done a part of their work all the same.
        omitted: further files, which ended well.
    """
    total = len(files) + omitted
    lost = [file for file in files if file.status == "failed"]
    incomplete = [file for file in files if file.status == "incomplete"]
    errors = {name: error for name, error in parsers.items() if error}
    if not lost and not errors:
        return ExitCode.DONE
    # For people the report on stdout has the reasons already.
    if cli.as_json:
        for message in (*(file.error for file in lost), *errors.values()):
            cli.complain(one_line(message or "unknown reason"))
    counts = (_share(len(lost), total, "file"), _share(len(errors), len(parsers), "parser"))
    cli.complain("Failed: " + ", ".join(count for count in counts if count))
    if incomplete:
        cli.complain(
            f"Not stored whole: {_share(len(incomplete), total, 'file')}; what was stored "
            "before is kept; mend the cause and run this again"
        )
    all_parsers = len(errors) == len(parsers) and not some_done
    nothing_left = (lost and len(lost) == total) or all_parsers
    if nothing_left and any(file.missing_extra for file in lost):
        return ExitCode.UNAVAILABLE
    return ExitCode.FAILURE if nothing_left else ExitCode.PARTIAL


def report_failure(error: Exception, cli: Invocation) -> ExitCode:
    """Say on stderr what went wrong, with a traceback only under `--verbose`."""
    if cli.verbose:
        trace = "".join(traceback.format_exception(error))
        cli.errors.print(Text(clean(trace), style="dim"), soft_wrap=True)
    said = clean(cli.with_store(_message(error)))
    cli.errors.print(Text.assemble(("Error: ", "bold red"), said), soft_wrap=True)
    return exit_code_of(error)


def report_interruption(cli: Invocation) -> ExitCode:
    """Say on stderr that Ctrl-C was heard and nothing is broken."""
    cli.errors.print(
        "Interrupted. What was stored stays valid; run the same command again to complete it."
    )
    return ExitCode.INTERRUPTED


def _message(error: Exception) -> str:
    if isinstance(error, RagNodesError):
        return str(error)
    return (
        f"unexpected {type(error).__name__}: {error}. This is a bug: please report it with what "
        "--verbose prints"
    )


def _share(failed: int, total: int, thing: str) -> str:
    return f"{failed} of {total} {thing}{'' if total == 1 else 's'}" if failed else ""
