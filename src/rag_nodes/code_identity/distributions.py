"""Which installed distribution a file belongs to."""

from __future__ import annotations

import re
import sys
import sysconfig
from functools import lru_cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution, distributions
from pathlib import Path

OWN = str(Path(__file__).resolve().parent.parent)
"""The folder of this package."""
_INSTALLED = {"site-packages", "dist-packages"}
"""Names of folders that installers write to."""


@lru_cache(maxsize=1024)
def distribution_of(file: str) -> str | None:
    """Name and version of the distribution that installed a file; None where none did.

    A file of an editable install, or of a folder on PYTHONPATH, was installed by none: it may
    change while the version stays. The standard library is "python" and its version.

    Args:
        file: path of a module, or what stands for it in code that is frozen into the interpreter.
    """
    if file.startswith("<frozen "):
        return _python()
    path = Path(file).resolve()
    for folder in path.parents:
        if folder.name in _INSTALLED:
            return _installed(folder, path)
    if any(path.is_relative_to(folder) for folder in _standard_library()):
        return _python()
    return None


def _python() -> str:
    return "python " + ".".join(map(str, sys.version_info[:3]))


@lru_cache(maxsize=1)
def _standard_library() -> tuple[Path, ...]:
    named = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return tuple(Path(folder).resolve() for folder in named if folder)


def _installed(folder: Path, path: Path) -> str | None:
    """The distribution in a folder that lists a file, else that says a package is its own."""
    parts = path.relative_to(folder).parts
    listed = "/".join(parts)
    top = parts[0].removesuffix(".py")
    for found in _likely(parts):
        if _lists(found, listed):
            return _named(found)
    here = list(distributions(path=[str(folder)]))
    for found in here:
        if _lists(found, listed):
            return _named(found)
    # Packages of an operating system have no list of their files.
    for found in here:
        if top in (found.read_text("top_level.txt") or "").split():
            return _named(found)
    return None


def _likely(parts: tuple[str, ...]) -> list[Distribution]:
    """Distributions called like the packages around a file: to ask all takes long."""
    found = []
    for depth in range(len(parts) - 1, 0, -1):
        try:
            found.append(distribution("-".join(parts[:depth])))
        except (PackageNotFoundError, ValueError):
            continue
    return found


def _lists(found: Distribution, listed: str) -> bool:
    record = found.read_text("RECORD") or ""
    return re.search(rf'^"?{re.escape(listed)}"?,', record, re.MULTILINE) is not None


def _named(found: Distribution) -> str:
    return f"{found.metadata['Name']} {found.version}"
