"""Paths in, the files to read out: folders are walked, odd names survived."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterator


def files_at(path: Path, suffixes: Container[str]) -> Iterator[Path]:
    """The files of a folder that hold a document, or the path itself.

    In sorted order, without hidden entries and links that lead out of the folder; the folder
    itself where there is no such file.

    Args:
        path: a file or folder, there or not.
        suffixes: of the files to look for in folders, lower case; crawls are not among them, since
            hardly any JSON file in a folder is one.
    """
    if not is_folder(path):
        yield path
        return
    found = False
    for file in _walk(path, suffixes):
        found = True
        yield file
    if not found:
        yield path


def is_folder(path: Path) -> bool:
    """Whether this is a folder; a name that the system cannot take is none."""
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False


def canonical(path: Path) -> Path:
    """The path without links and dots, or as it is where the system cannot take the name."""
    with suppress(OSError, ValueError):
        return path.resolve()
    return path


def _walk(folder: Path, suffixes: Container[str]) -> Iterator[Path]:
    root = folder.resolve()
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            file = Path(parent, name)
            if name.startswith(".") or file.suffix.lower() not in suffixes:
                continue
            if file.resolve().is_relative_to(root):
                yield file
