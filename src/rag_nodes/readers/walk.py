"""Files of folders, with those that are skipped because no reader takes them."""

from __future__ import annotations

import os
import stat
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.core.spelling import counted
from rag_nodes.readers.exclude import Exclusion
from rag_nodes.readers.kinds import COLLECTIONS, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NO_SUFFIX = "(no suffix)"
"""Type of files without a suffix."""
LINK = "(link out of the folder)"
"""Type of links that are not followed."""
_EXCLUDED = "(excluded)"
_LEFTOVERS = frozenset({"desktop.ini", "ehthumbs.db", "thumbs.db"})
"""Names of files that a system leaves in folders, in lower case."""
_LEFTOVER_SUFFIXES = frozenset({".pyc", ".pyo"})
_MOST_TYPES = 8
"""Types that a line names."""
_MOST_FILES = 1_000
"""Skipped files whose paths are kept."""


class ListedFile(NamedTuple):
    """A file, as far as it is known without being opened.

    Attributes:
        path: as found.
        place: its canonical path.
        size: in bytes; None where it cannot be asked, or is no regular file.
        mtime_ns: time of its last change, in nanoseconds since 1970; 0 where that is so.
        skipped: type of a file that no reader takes; "" for one that is to be read.
    """

    path: Path
    place: str
    size: int | None
    mtime_ns: int
    skipped: str = ""


@dataclass(slots=True)
class Skipped:
    """Files that a walk of folders left out.

    Hidden files and folders, and leftovers of systems and programs such as `Thumbs.db`, `~$a.docx`
    and `a.md~`, are not counted.

    Attributes:
        types: number of files that no reader takes, by suffix in lower case.
        files: paths of the first 1,000 of them.
        excluded: number of files and folders that match a pattern; a folder counts once, whatever
            is in it.

    Examples:
        >>> from collections import Counter
        >>> from rag_nodes.readers import Skipped
        >>> str(Skipped(Counter({".adoc": 1, ".pptx": 2})))
        'skipped 3 files: 2 .pptx, 1 .adoc'
    """

    types: Counter[str] = field(default_factory=Counter)
    excluded: int = 0
    files: list[str] = field(default_factory=list, init=False)

    def __bool__(self) -> bool:
        """Return True if anything was left out."""
        return bool(self.types or self.excluded)

    def by_type(self) -> dict[str, int]:
        """Return the number of files by suffix, most frequent first, then by name."""
        return dict(sorted(self.types.items(), key=lambda pair: (-pair[1], pair[0])))

    def facts(self) -> dict[str, Any]:
        """Return the fields of a report."""
        files = tuple(self.files)
        return {"skipped": self.by_type(), "skipped_files": files, "excluded": self.excluded}

    def __str__(self) -> str:
        """Return a line about the files that were left out; "" if there are none."""
        clauses = []
        if self.types:
            counts = [f"{number:,} {suffix}" for suffix, number in self.by_type().items()]
            rest = sum([*self.by_type().values()][_MOST_TYPES:])
            more = [f"{rest:,} of other types"] if rest else []
            files = counted(self.types.total(), "file")
            hint = " (name a crawl to read it)" if COLLECTIONS.keys() & self.types.keys() else ""
            clauses.append(f"skipped {files}: {', '.join(counts[:_MOST_TYPES] + more)}{hint}")
        if self.excluded:
            entries = "file or folder" if self.excluded == 1 else "files or folders"
            clauses.append(f"excluded {self.excluded:,} {entries}")
        return "; ".join(clauses)

    def count(self, file: ListedFile) -> None:
        """Add a file that no reader takes, or one that is excluded."""
        if file.skipped == _EXCLUDED:
            self.excluded += 1
            return
        self.types[file.skipped] += 1
        if len(self.files) < _MOST_FILES:
            self.files.append(str(file.path))


def files_at(path: Path, exclude: Exclusion) -> Iterator[ListedFile]:
    """List the files of a folder, or the path itself if it is none.

    In sorted order, without hidden entries; files to be skipped are among them. If there is none
    to be read, the last one is the folder itself. So is a folder below it that cannot be listed.

    Crawls in folders are not looked for, since hardly any JSON file in a folder is one.
    """
    is_bare = True
    if is_folder(path):
        root = canonical(path)
        for file in _Walk(root, exclude).files(path, str(root), ()):
            is_bare = is_bare and bool(file.skipped)
            yield file
    elif exclude.leaves_out((path.name,)):
        is_bare = False
        yield ListedFile(path, str(canonical(path)), None, 0, _EXCLUDED)
    if is_bare:
        yield _listed_file(path, str(canonical(path)), path.stat)


def is_folder(path: Path) -> bool:
    """Return True if this is a folder; a name that the system refuses is none."""
    with suppress(OSError, ValueError):
        return path.is_dir()
    return False


def canonical(path: Path) -> Path:
    """Return the path without links and dots, or as it is if the system refuses the name."""
    with suppress(OSError, ValueError):
        return path.resolve()
    return path


class _Walk(NamedTuple):
    """A walk of a folder, known by its canonical path."""

    root: Path
    exclude: Exclusion

    def files(self, folder: Path, place: str, above: tuple[str, ...]) -> Iterator[ListedFile]:
        """List the files of a folder and those below it.

        Args:
            folder: path as found.
            place: its canonical path.
            above: its path below the root.
        """
        entries: list[os.DirEntry[str]] = []
        try:
            with os.scandir(folder) as listing:
                entries = sorted((entry for entry in listing if entry.name[0] != "."), key=_NAME)
        except OSError:
            yield ListedFile(folder, place, None, 0)  # whoever reads it says why
        folders: list[os.DirEntry[str]] = []
        for entry in entries:
            is_folder = _leads_to_folder(entry)
            own = f"{place}{os.sep}{entry.name}"
            if self.exclude and self.exclude.leaves_out((*above, entry.name), is_folder=is_folder):
                yield ListedFile(folder / entry.name, own, None, 0, _EXCLUDED)
            elif is_folder and not entry.is_symlink():
                folders.append(entry)
            else:
                yield from self._file(entry, folder / entry.name, own, is_folder=is_folder)
        for entry in folders:
            below = (*above, entry.name)
            yield from self.files(folder / entry.name, f"{place}{os.sep}{entry.name}", below)

    def _file(
        self, entry: os.DirEntry[str], path: Path, place: str, *, is_folder: bool
    ) -> Iterator[ListedFile]:
        """List a file, or a link to something."""
        suffix = _suffix(entry.name)
        if not is_folder and (suffix not in SUFFIXES or entry.name.startswith("~$")):
            if not _is_leftover(entry.name, suffix):
                yield ListedFile(path, place, None, 0, suffix or NO_SUFFIX)
            return
        if not entry.is_symlink():
            yield _listed_file(path, place, entry.stat)
            return
        target = canonical(path)
        if not target.is_relative_to(self.root):
            yield ListedFile(path, place, None, 0, LINK)
        elif not is_folder:  # what is in a folder of this one is found there
            parts = target.relative_to(self.root).parts
            kind = _EXCLUDED if self.exclude.leaves_out_any(parts) else ""
            yield _listed_file(path, str(target), entry.stat)._replace(skipped=kind)


_NAME = attrgetter("name")


def _suffix(name: str) -> str:
    """Return the suffix of a name without making a path, which takes long for a million names."""
    stem, dot, rest = name.rpartition(".")
    return f".{rest.lower()}" if stem and dot and rest else ""


def _is_leftover(name: str, suffix: str) -> bool:
    """Return True for a lock, a backup, or a file that a system leaves in folders."""
    if name.startswith("~$") or name.endswith("~"):
        return True
    return suffix in _LEFTOVER_SUFFIXES or name.lower() in _LEFTOVERS


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:  # of a million entries, `suppress` would be seen
        return entry.is_dir()
    except OSError:
        return False


def _listed_file(path: Path, place: str, ask: Callable[[], os.stat_result]) -> ListedFile:
    try:
        status = ask()
    except (OSError, ValueError):
        return ListedFile(path, place, None, 0)
    if stat.S_ISREG(status.st_mode):
        return ListedFile(path, place, status.st_size, status.st_mtime_ns)
    return ListedFile(path, place, None, 0)
