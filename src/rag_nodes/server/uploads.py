"""Files that a visitor sends: kept under harmless names, and read."""

from __future__ import annotations

import shutil
import unicodedata
from pathlib import Path, PureWindowsPath
from typing import TYPE_CHECKING

from rag_nodes.core.metadata import READ_WARNINGS, TOTAL_PAGES
from rag_nodes.server.messages import public_words
from rag_nodes.server.replies import UploadedFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from llama_index.core.schema import Document

    from rag_nodes.core.errors import ReadError
    from rag_nodes.readers import ReadResult

NAME_BYTES = 120
"""Bytes of a name that are kept, suffix included; file systems take 255."""
_REFUSED = frozenset('<>:"/\\|?*')
_DEVICES = frozenset(
    {"CON", "PRN", "AUX", "NUL"} | {f"{port}{n}" for port in ("COM", "LPT") for n in range(1, 10)}
)
"""Names that Windows takes for devices."""


def safe_name(name: str | None) -> str:
    """A file name without folders, control and direction marks, or meaning to any system.

    Args:
        name: as the client sent it.
    """
    last = PureWindowsPath(unicodedata.normalize("NFC", name or "")).name  # knows both slashes
    shown = "".join(
        character for character in last if character.isprintable() and character not in _REFUSED
    ).strip(" .")
    stem, suffix = Path(shown).stem.strip(" ."), Path(shown).suffix[:20]
    if not stem or stem.upper() in _DEVICES:
        stem = f"_{stem or 'document'}"
    room = NAME_BYTES - len(suffix.encode())
    return stem.encode()[:room].decode(errors="ignore") + suffix


def save(stream: BinaryIO, name: str | None, folder: Path) -> Path:
    """Write one file into a folder of its own.

    Args:
        stream: what was sent.
        name: what the client calls it.
        folder: must not exist yet.

    Returns:
        Where it is; its name is the safe one.
    """
    folder.mkdir()
    path = folder / safe_name(name)
    with path.open("xb") as file:
        shutil.copyfileobj(stream, file)
    return path


def received_of(
    path: Path, read: Callable[[Path], Iterator[ReadResult]]
) -> Iterator[tuple[UploadedFile, Document | None]]:
    """The documents of one file, as rows and as they are, or why there are none.

    Args:
        path: the file, as `save` left it; a crawl has many documents.
        read: reads it.
    """
    for result in read(path):
        document = result.document
        if result.error is not None:
            yield _failed(path.name, result.error), None
        elif document is not None:
            row = UploadedFile(
                name=path.name,
                status="read",
                document_id=document.doc_id,
                pages=document.metadata.get(TOTAL_PAGES),
                characters=len(document.text),
                warnings=[
                    public_words(str(word)) for word in document.metadata.get(READ_WARNINGS) or ()
                ],
            )
            yield row, document


def _failed(name: str, error: ReadError) -> UploadedFile:
    why, remedy = public_words(error.reason), public_words(error.remedy)
    return UploadedFile(name=name, status="failed", error=why, remedy=remedy)
