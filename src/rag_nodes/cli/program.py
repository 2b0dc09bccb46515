"""Start and end of a run; the version is printed before anything is imported."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "rag-nodes"


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        arguments: what follows the program's name; None for those of this process.

    Returns:
        The exit code, see `ExitCode`.
    """
    typed = sys.argv[1:] if arguments is None else arguments
    if "--version" in typed[:1]:
        from importlib.metadata import version

        sys.stdout.write(f"{PROGRAM} {version(PROGRAM)}\n")
        return 0
    for stream in (sys.stdout, sys.stderr):
        # A file name may hold bytes that are no text; showing it must not fail.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return _run(arguments)


def _run(arguments: Sequence[str] | None) -> int:
    from rag_nodes.cli.commands import command
    from rag_nodes.cli.failures import report_failure, report_interruption
    from rag_nodes.cli.invocation import Invocation
    from rag_nodes.operations import ExitCode

    cli = Invocation()
    try:
        command().main(args=arguments, prog_name=PROGRAM, obj=cli)
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last place where a message can be made of it
        code = report_failure(error, cli)
    else:
        code = ExitCode.DONE
    if code == ExitCode.INTERRUPTED:
        # Worker threads may still be ending and must not be heard, so nothing is undone here.
        return report_interruption(cli)
    cli.cleanup.close()
    return code
