"""A Word file in, its Markdown out: parts, body, notes and title put together."""

from __future__ import annotations

import io
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rag_nodes.core.errors import (
    CorruptFileError,
    EmptyFileError,
    MissingExtraError,
    ReadError,
    UnsupportedFileError,
)
from rag_nodes.readers.base import Limits, Reading
from rag_nodes.readers.word.body import BodyBlock, BodyReader
from rag_nodes.readers.word.embedded import read_embedded
from rag_nodes.readers.word.forms import PROMPTS, write_controls
from rag_nodes.readers.word.inline import InlineReader, Notes
from rag_nodes.readers.word.names import W
from rag_nodes.readers.word.numbering import Numbering
from rag_nodes.readers.word.package import Package, Relation, open_package
from rag_nodes.readers.word.styles import Styles
from rag_nodes.text.formats import Format

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lxml.etree import _Element as Element

DEEPEST = 3
"""Levels of documents within documents that are read; a file can hold itself."""

_TEXTS: Final = frozenset({"comments", "footer", "header"})
_ELSEWHERE: Final = {
    "chart": "charts",
    "comments": "comments",
    "diagramData": "diagrams",
    "footer": "page footers",
    "header": "page headers",
    "image": "images",
    "oleObject": "embedded objects",
    "package": "embedded objects",
}
"""Parts that are not read, by the kind of their relation."""
_CORE: Final = "docProps/core.xml"
_DC: Final = "{http://purl.org/dc/elements/1.1/}"


def read_word(path: str | Path, limits: Limits) -> Reading:
    """Read a DOCX file as Markdown.

    Headings (by style or outline level, with the number Word shows), lists, tables, links,
    footnotes and endnotes, text boxes, values of form fields, embedded documents that have a reader
    and inserted tracked changes are kept. Page headers and footers, the table of contents,
    comments, deleted and hidden text, images and character formats are not. A DOCX has no pages
    until a program draws it, so there is no page map.

    The XML is read directly: python-docx takes several times as long for a handbook of 872
    pages, most of it for searching the default style again for each paragraph without a style.

    Title and subject are those of the file's properties; a ZIP bomb is a `FileTooLargeError`.
    """
    return _read(Path(path), limits, count(1), 0)


def _read(path: Path, limits: Limits, notes: Iterator[int], depth: int) -> Reading:
    """Read a Word file that is so many levels inside of others, with the numbers of its notes."""
    with open_package(path) as package:
        try:
            return _reading(package, limits, notes, depth)
        except RecursionError as error:
            raise CorruptFileError(path, "nested deeper than any document is") from error


def _reading(package: Package, limits: Limits, notes: Iterator[int], depth: int) -> Reading:
    document = _Document(package, limits, notes, depth)
    text = io.StringIO()
    size = 0
    before: BodyBlock | None = None
    for block in document.blocks():
        gap = "" if before is None else "\n" if before.item and block.item else "\n\n"
        size += text.write(gap + block.text)
        limits.check(package.path, size, "characters")
        before = block
    if not size:
        raise document.empty()
    return Reading(
        text=text.getvalue(),
        text_format=Format.MARKDOWN,
        title=document.property("title") or document.body.title,
        description=document.property("subject"),
        warnings=document.warnings(),
    )


class _Document:
    def __init__(self, package: Package, limits: Limits, notes: Iterator[int], depth: int) -> None:
        self._package = package
        self._limits, self._numbers, self._depth = limits, notes, depth
        self._relations = package.relations(package.main)
        self._parts = {
            relation.kind: relation.target
            for relation in self._relations.values()
            if not relation.external
        }
        self._said: list[str] = []
        styles = Styles(self._part("styles"))
        self._notes = Notes(notes)
        self._inline = InlineReader(self._relations, self._notes, styles)
        numbering = Numbering(self._part("numbering"), styles)
        self.body = BodyReader(styles, numbering, self._inline, self._embedded)

    def blocks(self) -> Iterator[BodyBlock]:
        root = self._package.part(self._package.main)
        body = None if root is None else root.find(W + "body")
        if body is None:
            raise CorruptFileError(self._package.path, f"{self._package.main} has no text body")
        self._inline.losses[PROMPTS] += write_controls(body)
        yield from self.body.blocks(body)
        yield from self._note_blocks()

    def property(self, name: str) -> str | None:
        core = self._package.part(_CORE)
        return None if core is None else core.findtext(_DC + name)

    def warnings(self) -> tuple[str, ...]:
        losses = (
            f"{number} {singular if number == 1 else plural}"
            for (singular, plural), number in self._inline.losses.items()
            if number
        )
        return (*losses, *self._said)

    def empty(self) -> EmptyFileError:
        """Return the error of a document without text, which names what else there is."""
        elsewhere = dict.fromkeys(
            _ELSEWHERE[relation.kind]
            for relation in self._relations.values()
            if relation.kind in _ELSEWHERE and self._has_text(relation)
        )
        remedy = f"put the text of its {' and '.join(elsewhere)}, which are not read, into the body"
        reason = "; ".join(("no text in the body of the document", *self.warnings()))
        return EmptyFileError(self._package.path, reason, remedy if elsewhere else None)

    def _has_text(self, relation: Relation) -> bool:
        """Return True if a part has text; a part that is no text of Word may have some."""
        if relation.kind not in _TEXTS:
            return True
        root = self._package.part(relation.target)
        return root is not None and any((text.text or "").strip() for text in root.iter(W + "t"))

    def _embedded(self, relation_id: str) -> str:
        """Return the Markdown of an embedded document; if it cannot be read, a warning says so."""
        relation = self._relations.get(relation_id)
        name = relation.target if relation else "without a name"
        try:
            if relation is None or relation.external:
                raise UnsupportedFileError(name, "it is not in the file")
            if self._depth == DEEPEST:
                raise UnsupportedFileError(name, f"it is over {DEEPEST} documents deep")
            data = self._package.content(name)
            text, warnings = read_embedded(name, data, self._limits, self._inner)
        except EmptyFileError:
            return ""
        except (ReadError, MissingExtraError) as error:
            reason = error.reason if isinstance(error, ReadError) else str(error)
            self._said.append(f"the embedded document {name} was left out: {reason}")
            return ""
        self._said += (f"the embedded document {name}: {warning}" for warning in warnings)
        return text

    def _inner(self, path: Path, limits: Limits) -> Reading:
        return _read(path, limits, self._numbers, self._depth + 1)

    def _part(self, kind: str) -> Element | None:
        return self._package.part(self._parts.get(kind))

    def _note_blocks(self) -> Iterator[BodyBlock]:
        named = (self._part("footnotes"), self._part("endnotes"))
        parts = [part for part in named if part is not None]
        self._inline.losses[PROMPTS] += sum(map(write_controls, parts))
        texts = {(note.tag, note.get(W + "id", "")): note for part in parts for note in part}
        for key in self._notes:  # a note may refer to further ones
            if key in texts:
                text = " ".join(self.body.flat_text(texts[key]).split())
                yield BodyBlock(f"{self._notes.mark(*key)}: {text}")
