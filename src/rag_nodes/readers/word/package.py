"""A DOCX file in, its XML parts out; everything hostile is refused before a parser sees it.

A DOCX is a ZIP archive of XML parts that refer to each other. We open those we read by name, one
at a time. What a part refers to outside is never fetched.
What looks like a ZIP bomb is refused by the directory of the archive alone, in milliseconds.
"""

from __future__ import annotations

import mmap
import posixpath
import struct
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.core.errors import (
    CorruptFileError,
    EncryptedFileError,
    FileTooLargeError,
    MisnamedFileError,
    MissingExtraError,
)
from rag_nodes.readers.sniff import HEAD, is_readable_text, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lxml.etree import _Element as Element

MOST_XML = 256 * 1024 * 1024
"""Bytes of one XML part above which it is not parsed; an 872-page handbook has 5 MB."""

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PASSWORD_FLAG = 0x1
"""Bit of a member of a ZIP archive that says it is encrypted."""
_DOCTYPES = tuple(
    "<!DOCTYPE".encode(code)
    for code in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
)
_STRICT = (  # names that Word writes into "Strict Open XML" files for what we look for
    (
        b"http://purl.oclc.org/ooxml/wordprocessingml/main",
        b"http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    ),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    ),
)


@dataclass(frozen=True, slots=True)
class Relation:
    """Reference of a part to another part by its name, or to something outside by its address."""

    kind: str
    target: str
    external: bool


class Package:
    """The parts of an open DOCX file."""

    def __init__(self, path: Path, archive: zipfile.ZipFile) -> None:
        self.path = path
        self._archive = archive
        self._names = frozenset(archive.namelist())
        self.main = self._main_part()

    def part(self, name: str | None) -> Element | None:
        """Return the root element of an XML part; None if the file has no such part.

        Raises:
            CorruptFileError: the part is damaged or declares entities.
            EncryptedFileError: it asks for a password.
            FileTooLargeError: it is larger than any text.
        """
        if name is None or name not in self._names:
            return None
        return _parsed(self.path, name, self.content(name))

    def relations(self, name: str) -> dict[str, Relation]:
        """Return the references of a part, by id."""
        folder, file = posixpath.split(name)
        root = self.part(posixpath.join(folder, "_rels", f"{file}.rels"))
        elements = () if root is None else root
        return {e.get("Id", ""): _relation(e, folder) for e in elements if e.get("Target")}

    def content(self, name: str) -> bytes:
        """Return the bytes of a part.

        Raises:
            ReadError: as `part` says, or there is no such part.
        """
        if name not in self._names:
            raise CorruptFileError(self.path, f"the archive has no {name}")
        info = self._archive.getinfo(name)
        if info.flag_bits & _PASSWORD_FLAG:
            raise EncryptedFileError(self.path)
        if info.file_size > MOST_XML:
            raise FileTooLargeError(
                self.path, f"{name} has {info.file_size:,} bytes, over the limit of {MOST_XML:,}"
            )
        try:
            return self._archive.read(info)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise CorruptFileError(self.path, f"{name} cannot be unpacked: {error}") from error

    def _main_part(self) -> str:
        parts = (
            relation.target
            for relation in self.relations("").values()
            if relation.kind == "officeDocument"
        )
        main = next(parts, "word/document.xml")
        if main in self._names and not main.startswith(("xl/", "ppt/")):
            return main
        if kind := self._other_kind():
            raise MisnamedFileError(self.path, f"the content is {kind}, not a Word document")
        raise CorruptFileError(self.path, f"the archive has no {main}, which holds the text")

    def _other_kind(self) -> str | None:
        for name, kind in (
            ("xl/workbook.xml", "an Excel workbook"),
            ("xl/workbook.bin", "an Excel workbook"),
            ("ppt/presentation.xml", "a PowerPoint presentation"),
            ("mimetype", "an OpenDocument or EPUB file"),
        ):
            if name in self._names:
                return kind
        return None if "[Content_Types].xml" in self._names else "a ZIP archive"


@contextmanager
def open_package(path: Path) -> Iterator[Package]:
    """Open a DOCX file for reading.

    Raises:
        MisnamedFileError: it is something else.
        EncryptedFileError: it asks for a password.
        CorruptFileError: it is cut off or damaged.
        FileTooLargeError: it unpacks to far more than a text would.
    """
    with checked_archive(path, "a Word document (DOCX)") as archive:
        yield Package(path, archive)


@contextmanager
def checked_archive(path: Path, wanted: str) -> Iterator[zipfile.ZipFile]:
    """Open an Office file that is a ZIP archive, if its directory says that it holds no bomb.

    A directory that conceals something is found out later: a member is never unpacked beyond its
    stated size.

    Args:
        path: the file.
        wanted: the kind that its name promises, with its article, for messages.

    Raises:
        ReadError: as `open_package`.
    """
    _check_kind(path, wanted)
    _check_end(path)
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, struct.error) as error:
        raise CorruptFileError(path, f"the archive is cut off or damaged: {error}") from error
    with archive:
        _check_members(path, archive.infolist())
        yield archive


def _check_kind(path: Path, wanted: str) -> None:
    """Refuse a file that does not start as an Office file that is a ZIP archive does."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if head.startswith(b"PK\x03\x04"):
        return
    if head.startswith(_OLE) and _names_an_encrypted_package(path):
        raise EncryptedFileError(path)
    kind = kind_of(head) or ("text" if is_readable_text(head) else None)
    if kind:
        raise MisnamedFileError(path, f"the content is {kind}, not {wanted}")
    raise CorruptFileError(path, f"the file does not start as {wanted} does")


def _names_an_encrypted_package(path: Path) -> bool:
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find("EncryptedPackage".encode("utf-16-le")) >= 0


def _parsed(path: Path, name: str, data: bytes) -> Element:
    try:
        from lxml import etree
    except ImportError as error:
        raise MissingExtraError("lxml", "docx") from error

    if any(doctype in data for doctype in _DOCTYPES):
        raise CorruptFileError(path, f"{name} declares a document type, which no Word file does")
    for strict, usual in _STRICT:
        data = data.replace(strict, usual)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root: Element = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        raise CorruptFileError(path, f"{name} is not well-formed: {error.msg}") from error
    return root


def _relation(element: Element, folder: str) -> Relation:
    target = element.get("Target", "")
    external = element.get("TargetMode") == "External"
    if not external:
        target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
    return Relation(element.get("Type", "").rpartition("/")[2], target, external)


MOST_MEMBERS = 10_000
"""Files in an archive; a Word document has a few dozen, with very many images some thousands."""
MOST_RATIO = 100
"""Bytes out per byte in; the XML of the files we measured reaches 18."""
SMALL = 10 * 1024 * 1024
"""Bytes that may be unpacked at any ratio: they do no harm."""

_END = struct.Struct("<4s4H2LH")
_END_SIGNATURE = b"PK\x05\x06"
_END64_LOCATOR = b"PK\x06\x07"
_LOCATOR_BYTES = 20
_MAX_COMMENT_BYTES = 0xFFFF
_MOST_DIRECTORY_BYTES = MOST_MEMBERS * 200


def _check_members(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Refuse too many members, and members that unpack to far more than they take."""
    if len(members) > MOST_MEMBERS:
        raise _too_many(path, len(members))
    for member in members:
        _check_ratio(path, member.filename, member.file_size, member.compress_size)
    unpacked = sum(member.file_size for member in members)
    packed = sum(member.compress_size for member in members)
    _check_ratio(path, "the archive", unpacked, packed)


def _check_end(path: Path) -> None:
    """Look at the end record, before a directory of any size is taken into memory."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _END.size - _MAX_COMMENT_BYTES - _LOCATOR_BYTES))
        tail = file.read()
    at = tail.rfind(_END_SIGNATURE)
    if at < 0 or len(tail) - at < _END.size:
        raise CorruptFileError(path, "the archive is cut off: it has no directory at its end")
    _, _, _, _, members, directory_bytes, _, _ = _END.unpack_from(tail, at)
    if members > MOST_MEMBERS or directory_bytes > _MOST_DIRECTORY_BYTES:
        raise _too_many(path, members)
    if tail[max(0, at - _LOCATOR_BYTES) : at].startswith(_END64_LOCATOR):
        raise CorruptFileError(
            path,
            "the archive is in the ZIP64 format, made for files far larger than any document",
            "open it in Word or Excel and save it again",
        )


def _too_many(path: Path, members: int) -> FileTooLargeError:
    return FileTooLargeError(
        path,
        f"an archive of {members:,} files; a document has no more than {MOST_MEMBERS:,}",
        "do not open it unless you know where it comes from",
    )


def _check_ratio(path: Path, name: str, unpacked: int, packed: int) -> None:
    if unpacked > SMALL and unpacked > MOST_RATIO * max(packed, 1):
        raise FileTooLargeError(
            path,
            f"{name} unpacks from {packed:,} to {unpacked:,} bytes, as ZIP bombs do",
            "do not open it unless you know where it comes from",
        )
