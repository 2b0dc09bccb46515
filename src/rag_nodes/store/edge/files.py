"""Small files of ours in a storage folder, replaced in one piece."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def replace_json(file: Path, data: Any) -> None:
    """Have a file hold some data, on the disk itself: the former, or the new, never a part."""
    new = file.with_suffix(".new")
    with new.open("w", encoding="utf-8") as opened:
        json.dump(data, opened, indent=1)
        opened.flush()
        os.fsync(opened.fileno())
    new.replace(file)


def remove(file: Path) -> None:
    """Remove a file, on the disk itself; fine where there is none."""
    file.unlink(missing_ok=True)
    with suppress(OSError):  # Windows opens no folders, and needs none of this
        folder = os.open(file.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def strings_in(file: Path) -> dict[str, str]:
    """The texts by name that `replace_json` has kept; none where they cannot be read."""
    try:
        found = json.loads(file.read_bytes())
    except (OSError, ValueError):
        return {}
    return {str(one): str(text) for one, text in found.items()} if isinstance(found, dict) else {}
