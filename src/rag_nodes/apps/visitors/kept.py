"""A visitor's work on disk: one folder per browser tab, written so that a crash spoils nothing."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from llama_index.core.schema import TextNode

from rag_nodes.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FORMAT = 1
"""Version of what is written; raised when an older program could not read it."""
DAYS = 30
"""Days after which what nobody opened is deleted."""
_MAIN = "workspace.json"
"""Two lines of JSON: format and name, which a list shows; and the rest, with whole documents."""
_MARK = "@"
"""Key of an object in JSON that says what it was."""

logger = logging.getLogger(__name__)


class KeptWork(NamedTuple):
    """Work that can be opened again, by the name of its folder; `saved` in seconds since 1970."""

    key: str
    name: str
    saved: float


class Kept:
    """The folder of one workspace; it is made when something is written.

    Args:
        folder: where; it does not change, since ids of documents come of their paths.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def is_there(self) -> bool:
        """Whether anything was written."""
        return (self.folder / _MAIN).is_file()

    def write(self, plain: Mapping[str, Any]) -> None:
        """Replace what was written before.

        Interrupted at any point, it leaves the work of before or the new one.

        Args:
            plain: as JSON; "name" is what a list shows of it.

        Raises:
            OSError: the disk is full or may not be written to.
        """
        _private(self.folder)
        part = self.folder / f"{_MAIN}.part"
        with part.open("w", encoding="utf-8") as new:
            part.chmod(0o600)
            for line in ({"format": FORMAT, "name": plain.get("name", "")}, plain):
                json.dump(line, new)  # in ASCII: half a character has no UTF-8
                new.write("\n")
            new.flush()
            os.fsync(new.fileno())
        part.replace(self.folder / _MAIN)

    def read(self, *, whole: bool = True) -> dict[str, Any]:
        """What was written last, or only its format and name.

        Raises:
            StoreError: a newer program wrote it, or it is damaged.
        """
        path = self.folder / _MAIN
        try:
            with path.open(encoding="utf-8") as opened:
                head = json.loads(opened.readline())
                version = head["format"]
                plain = json.loads(opened.readline()) if whole and version == FORMAT else {}
                found = {**plain, **head}
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreError(f"{path} cannot be read ({error}); delete its folder") from error
        if version != FORMAT:
            raise StoreError(
                f"{path} has format {version}, and this version of rag_nodes reads {FORMAT}; "
                "open it with the version that wrote it, or delete its folder"
            )
        return found

    def file(self, path: Path) -> Path:
        """A copy of a file that stays here, under a name its content gives it."""
        with path.open("rb") as opened:
            content = hashlib.file_digest(opened, "sha256").hexdigest()[:16]
        there = self.folder / "files" / content / path.name
        if not there.exists():
            _private(there.parent)
            part = there.with_name(f"{there.name}.part")
            shutil.copyfile(path, part)
            part.replace(there)
        return there

    def drop_files(self, needed: Sequence[Path]) -> None:
        """Delete the files of documents that were replaced by others."""
        wanted = {path.parent for path in needed}
        for one in (self.folder / "files").glob("*"):
            if one not in wanted:
                shutil.rmtree(one, ignore_errors=True)

    def delete(self) -> None:
        """Delete all of it."""
        shutil.rmtree(self.folder, ignore_errors=True)


def listed(data: Path) -> list[KeptWork]:
    """The workspaces of a folder, the one saved last first; those that nobody opened are deleted.

    Args:
        data: holds a folder for each.
    """
    found = []
    for path in data.glob(f"*/{_MAIN}"):
        saved = path.stat().st_mtime
        if time.time() - saved > DAYS * 24 * 3600:
            Kept(path.parent).delete()
            continue
        found.append(KeptWork(path.parent.name, _name_of(Kept(path.parent)), saved))
    return sorted(found, key=lambda one: -one.saved)


def _name_of(kept: Kept) -> str:
    try:
        return str(kept.read(whole=False).get("name") or "without a name")
    except StoreError as error:
        logger.warning("%s", error)
        return f"cannot be opened: {error.__class__.__name__}"


def plain(value: Any, nodes: dict[str, Any]) -> Any:
    """A value as JSON that `made` reads.

    Args:
        value: of plain types, tuples, dataclasses, named tuples and nodes of LlamaIndex.
        nodes: takes each node once, by id: many parts of an answer share them.

    Raises:
        TypeError: something else is in it.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, TextNode):
        nodes[value.node_id] = value.to_dict()
        return {_MARK: "node", "id": value.node_id}
    if isinstance(value, Mapping):
        return {_MARK: "map", "of": [[key, plain(one, nodes)] for key, one in value.items()]}
    if isinstance(value, list):
        return [plain(one, nodes) for one in value]
    if isinstance(value, tuple):
        name = type(value).__name__ if hasattr(value, "_fields") else "tuple"
        return {_MARK: name, "of": [plain(one, nodes) for one in value]}
    if is_dataclass(value) and not isinstance(value, type):
        given = {one.name: plain(getattr(value, one.name), nodes) for one in fields(value)}
        return {_MARK: type(value).__name__, "of": given}
    raise TypeError(f"{type(value).__name__} cannot be kept")


def made(value: Any, nodes: Mapping[str, Any], classes: Mapping[str, type]) -> Any:
    """What `plain` was given.

    Args:
        value: what it gave.
        nodes: those it filled.
        classes: that may be made, by name; nothing else is.

    Raises:
        KeyError: another class was written.
        TypeError: a class has other fields now.
    """
    if isinstance(value, list):
        return [made(one, nodes, classes) for one in value]
    if not isinstance(value, dict):
        return value
    kind, of = value[_MARK], value.get("of", ())
    if kind == "node":
        return TextNode.from_dict(nodes[value["id"]])
    if kind == "map":
        return {key: made(one, nodes, classes) for key, one in of}
    if isinstance(of, dict):
        given = {name: made(one, nodes, classes) for name, one in of.items()}
        return classes[kind](**given)
    parts = [made(one, nodes, classes) for one in of]
    return tuple(parts) if kind == "tuple" else classes[kind](*parts)


def _private(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
