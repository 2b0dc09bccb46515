"""Patterns of files and folders that a walk leaves out, by the rules of .gitignore."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from rag_nodes.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Pattern(NamedTuple):
    """Pattern of the parts of a path, or of a name if it is not anchored."""

    parts: tuple[str, ...]
    is_anchored: bool
    is_for_folders: bool

    @classmethod
    def of(cls, text: str) -> Pattern:
        """Read a pattern.

        Raises:
            ConfigurationError: it is empty, or begins with "!".
        """
        written = text.strip().replace(os.sep, "/").removeprefix("./")
        if written.startswith("!"):
            raise ConfigurationError(
                f"exclude '{text}': a pattern cannot begin with '!'; name what is to be left out"
            )
        parts = tuple(part for part in written.split("/") if part)
        if not parts:
            raise ConfigurationError(
                f"exclude '{text}': write a pattern such as '*.tmp', 'drafts' or 'drafts/*.md'"
            )
        return cls(parts, "/" in written.rstrip("/"), written.endswith("/"))

    def matches(self, parts: Sequence[str], *, is_folder: bool) -> bool:
        """Return True if a path below the folder that is walked matches."""
        if self.is_for_folders and not is_folder:
            return False
        return _fits(parts if self.is_anchored else parts[-1:], self.parts)


class Exclusion:
    """Files and folders that a walk leaves out.

    Args:
        patterns: see the guide on ingesting; a single text is one pattern.

    Raises:
        ConfigurationError: a pattern is empty, or begins with "!".
    """

    def __init__(self, patterns: str | Iterable[str] = ()) -> None:
        given = [patterns] if isinstance(patterns, str) else patterns
        self._patterns = [Pattern.of(pattern) for pattern in given]

    def __bool__(self) -> bool:
        """Return True if there is any pattern."""
        return bool(self._patterns)

    def leaves_out(self, parts: Sequence[str], *, is_folder: bool = False) -> bool:
        """Return True if an entry matches, whose folders do not.

        Args:
            parts: names of the folders below the one that is walked, and its own.
            is_folder: the entry is a folder.
        """
        return any(pattern.matches(parts, is_folder=is_folder) for pattern in self._patterns)

    def leaves_out_any(self, parts: Sequence[str]) -> bool:
        """Return True if a file or a folder around it matches."""
        ends = range(1, len(parts) + 1)
        return any(self.leaves_out(parts[:end], is_folder=end < len(parts)) for end in ends)

    def below(self, roots: Iterable[Path]) -> Callable[[str], bool]:
        """Return a test of canonical paths: in some of the roots, and left out of each of them."""
        places = [root.resolve() for root in roots] if self else []
        folders = [(os.path.join(place, ""), place.name) for place in places]  # noqa: PTH118

        def is_left_out(path: str) -> bool:
            inside = [
                Path(path[len(folder) :]).parts if path.startswith(folder) else (name,)
                for folder, name in folders
                if path.startswith(folder) or f"{path}{os.sep}" == folder
            ]
            return bool(inside) and all(map(self.leaves_out_any, inside))

        return is_left_out


def _fits(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns:
        return not parts
    first, rest = patterns[0], patterns[1:]
    if first == "**":
        if not rest:
            return bool(parts)
        return any(_fits(parts[start:], rest) for start in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], first) and _fits(parts[1:], rest)
