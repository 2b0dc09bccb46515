"""Files that a request names, and texts that come without one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from uuid import NAMESPACE_OID, uuid5

from rag_nodes.errors import ConfigurationError, FileMissingError
from rag_nodes.metadata import FILE_NAME

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from llama_index.core.schema import Document


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
