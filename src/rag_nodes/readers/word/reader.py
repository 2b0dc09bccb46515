"""A Word file in, its Markdown out: parts, body, notes and title put together."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rag_nodes.core.errors import CorruptFileError, EmptyFileError
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.word.body import BodyBlock, BodyReader
from rag_nodes.readers.word.forms import write_ticks
from rag_nodes.readers.word.inline import InlineReader, Notes
from rag_nodes.readers.word.names import W
from rag_nodes.readers.word.numbering import Numbering
from rag_nodes.readers.word.package import Package, open_package
from rag_nodes.readers.word.styles import Styles
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

_CORE: Final = "docProps/core.xml"
_DC: Final = "{http://purl.org/dc/elements/1.1/}"


def read_word(path: str | Path, limits: Limits) -> Reading:
    """Read a DOCX file as Markdown.

    Headings (by style or outline level, with the number Word shows), lists, tables, links,
    footnotes and endnotes, text boxes and inserted tracked changes are kept. Page headers and
    footers, the table of contents, comments, deleted and hidden text, images and character
    formats are not. A DOCX has no pages until a program draws it, so there is no page map.

    The XML is read directly: python-docx takes several times as long for a handbook of 872
    pages, most of it for searching the default style anew for each paragraph without a style.

    Title and subject are those of the file's properties; a ZIP bomb is a `FileTooLargeError`.
    """
    path = Path(path)
    with open_package(path) as package:
        try:
            return _reading(package, limits)
        except RecursionError as error:
            raise CorruptFileError(path, "nested deeper than any document is") from error


def _reading(package: Package, limits: Limits) -> Reading:
    document = _Document(package)
    text = io.StringIO()
    size = 0
    before: BodyBlock | None = None
    for block in document.blocks():
        gap = "" if before is None else "\n" if before.item and block.item else "\n\n"
        size += text.write(gap + block.text)
        limits.check(package.path, size, "characters")
        before = block
    if not size:
        raise EmptyFileError(package.path, "no text in the document")
    return Reading(
        text=text.getvalue(),
        text_format=Format.MARKDOWN,
        title=document.property("title") or document.body.title,
        description=document.property("subject"),
        warnings=document.warnings(),
    )


class _Document:
    def __init__(self, package: Package) -> None:
        self._package = package
        self._parts = {
            relation.kind: relation.target
            for relation in package.relations(package.main).values()
            if not relation.external
        }
        styles = Styles(self._part("styles"))
        self._notes = Notes()
        self._inline = InlineReader(package.relations(package.main), self._notes, styles)
        self.body = BodyReader(styles, Numbering(self._part("numbering"), styles), self._inline)

    def blocks(self) -> Iterator[BodyBlock]:
        root = self._package.part(self._package.main)
        body = None if root is None else root.find(W + "body")
        if body is None:
            raise CorruptFileError(self._package.path, f"{self._package.main} has no text body")
        write_ticks(body)
        yield from self.body.blocks(body)
        yield from self._note_blocks()

    def property(self, name: str) -> str | None:
        core = self._package.part(_CORE)
        return None if core is None else core.findtext(_DC + name)

    def warnings(self) -> tuple[str, ...]:
        return tuple(
            f"{count} {one if count == 1 else several}"
            for (one, several), count in self._inline.losses.items()
            if count
        )

    def _part(self, kind: str) -> Element | None:
        return self._package.part(self._parts.get(kind))

    def _note_blocks(self) -> Iterator[BodyBlock]:
        parts = (self._part("footnotes"), self._part("endnotes"))
        texts = {
            (note.tag, note.get(W + "id", "")): note
            for part in parts
            if part is not None
            for note in part
        }
        for number, key in enumerate(self._notes, 1):  # a note may refer to further ones
            if key in texts:
                text = " ".join(self.body.flat_text(texts[key]).split())
                yield BodyBlock(f"[^{number}]: {text}")
