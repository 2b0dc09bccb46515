"""Which installed distribution a file belongs to."""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, packages_distributions
from pathlib import Path

_INSTALLED = {"site-packages", "dist-packages"}
"""Names of folders that installers write to."""
_PYTHON = "python " + ".".join(map(str, sys.version_info[:3]))


@cache
def distribution_of(file: str) -> str | None:
    """Name and version of the distribution that installed a file; None where none did.

    A file of an editable install, or of a folder on PYTHONPATH, was installed by none: it may
    change while the version stays. The standard library is "python" and its version.

    Args:
        file: path of a module, or what stands for it in code that is frozen into the interpreter.
    """
    if file.startswith("<frozen "):
        return _PYTHON
    path = Path(file).resolve()
    for folder in path.parents:
        if folder.name in _INSTALLED:
            return _installed(path.relative_to(folder).parts)
    if any(path.is_relative_to(folder) for folder in _standard_library()):
        return _PYTHON
    return None


@cache
def _standard_library() -> tuple[Path, ...]:
    named = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return tuple(Path(folder).resolve() for folder in named if folder)


def _installed(parts: tuple[str, ...]) -> str | None:
    """The distribution called like the packages around a file, else all that have such a package.

    To ask all of them takes a quarter of a second.
    """
    for depth in range(len(parts) - 1, 0, -1):
        try:
            return _named("-".join(parts[:depth]))
        except (PackageNotFoundError, ValueError):
            continue
    owners = packages_distributions().get(parts[0].removesuffix(".py"), ())
    return ", ".join(map(_named, sorted(set(owners)))) or None


def _named(name: str) -> str:
    found = distribution(name)
    return f"{found.metadata['Name']} {found.version}"
