"""Files that a command was asked to write."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


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
