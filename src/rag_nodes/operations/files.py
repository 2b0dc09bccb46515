"""Files that a request names and what came of them, and texts that come without one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid5

from rag_nodes.errors import ConfigurationError, FileMissingError
from rag_nodes.metadata import FILE_NAME
from rag_nodes.operations import ExitCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.operations.run import Run
    from rag_nodes.pipeline import FileOutcome


def check_there(paths: Iterable[Path]) -> None:
    """Refuse names of which nothing is there, before a model is loaded or a store is opened.

    Where some are there, the work goes on with those, and the report names the others.

    Raises:
        FileMissingError: there is no file and no folder of any of these names.
    """
    named = list(paths)
    if named and not any(path.exists() for path in named):
        more = f" (nor the other {len(named) - 1})" if len(named) > 1 else ""
        raise FileMissingError(named[0], f"no such file or folder{more}")


def check_writable(path: Path) -> None:
    """Refuse a name before hours are spent on what should be written there.

    Raises:
        ConfigurationError: nothing can be written there.
    """
    known = path if path.exists() else path.parent
    if path.is_dir() or not path.parent.is_dir() or not os.access(known, os.W_OK):
        raise ConfigurationError(f"{path} cannot be written; name a file in a folder that is there")


def write_text(path: Path, text: str) -> None:
    """Write a file that was asked for.

    Raises:
        ConfigurationError: it cannot be written.
    """
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigurationError(
            f"{path} cannot be written ({error}); name a file in a folder that is there"
        ) from error


def text_document(text: str) -> Document:
    """A text as a document; the same text has the same id, and so have its chunks."""
    from llama_index.core.schema import Document

    return Document(text=text, id_=str(uuid5(NAMESPACE_OID, text)), metadata={FILE_NAME: "text"})


def concluded(
    run: Run,
    files: Sequence[FileOutcome],
    parsers: Mapping[str, str | None],
    *,
    some_done: bool = False,
    omitted: int = 0,
) -> ExitCode:
    """How work on many files with many parsers ended; what failed is said.

    Args:
        run: where to say it.
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
    for message in (*(file.error for file in lost), *errors.values()):
        run.detail(message or "unknown reason")
    counts = (_share(len(lost), total, "file"), _share(len(errors), len(parsers), "parser"))
    run.warn("Failed: " + ", ".join(count for count in counts if count))
    if incomplete:
        run.warn(
            f"Not stored whole: {_share(len(incomplete), total, 'file')}; what was stored before "
            "is kept; mend the cause and run this again"
        )
    all_parsers = len(errors) == len(parsers) and not some_done
    nothing_left = (lost and len(lost) == total) or all_parsers
    if nothing_left and any(file.missing_extra for file in lost):
        return ExitCode.UNAVAILABLE
    return ExitCode.FAILURE if nothing_left else ExitCode.PARTIAL


def _share(failed: int, total: int, thing: str) -> str:
    return f"{failed} of {total} {thing}{'' if total == 1 else 's'}" if failed else ""
