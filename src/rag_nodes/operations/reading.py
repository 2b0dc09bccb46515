"""What was understood of files before anything is cut."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator

from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import READ_WARNINGS, SOURCE, TEXT_FORMAT, TITLE, TOTAL_PAGES
from rag_nodes.operations.base import OWNER, Flag, Outcome, Request, Result
from rag_nodes.operations.files import check_there
from rag_nodes.operations.run import Doing, Run
from rag_nodes.text.spans import PageMap

if TYPE_CHECKING:
    from llama_index.core.schema import Document

    from rag_nodes.text.formats import Heading

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]\\\n]|\\.){1,500})\]\(([^()\s]{1,2000})\)")


def page_range(given: object) -> object:
    """Pages as typed, `3` or `3-5`, both ends included and counted from 1.

    Raises:
        ConfigurationError: something else was typed.
    """
    if not isinstance(given, str):
        return given
    match = _RANGE.fullmatch(given.strip())
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not 1 <= first <= last:
        raise ConfigurationError(f'--pages takes a page or a range such as 3-5, not "{given}"')
    return first, last


class ReadRequest(Request):
    """Show what was understood of documents: pages, headings, tables, links, warnings."""

    files: Annotated[list[Path], OWNER, Flag(argument=True, metavar="FILE")]
    """Files and folders; - for a text from standard input."""
    markdown: bool = False
    """Print the text, as the parsers get it."""
    pages: Annotated[
        tuple[int, int] | None, BeforeValidator(page_range), Flag(metavar="N[-M]", joined=True)
    ] = None
    """Show these pages only, as 3 or 3-5."""
    layout: Literal["onnx"] | None = None
    """onnx: PyMuPDF's layout model for short PDFs; slow."""


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A document, or some pages of it.

    Attributes:
        path: the file.
        document: all of it.
        start: offset of the first character that is shown.
        end: offset one past the last.
        seconds: time it took to read.
    """

    path: Path
    document: Document
    start: int
    end: int
    seconds: float

    @classmethod
    def of(
        cls, path: Path, document: Document, wanted: tuple[int, int] | None, took: float
    ) -> Self | None:
        """The part of a document that was asked for; None where it has no such page."""
        if wanted is None:
            return cls(path, document, 0, len(document.text), took)
        pages = PageMap.of(document.metadata)
        span = pages and pages.span(*wanted, len(document.text))
        return cls(path, document, *span, took) if span else None

    @property
    def text(self) -> str:
        """What is shown of the text."""
        return self.document.text[self.start : self.end]

    @property
    def kind(self) -> str:
        """The format of the file."""
        return self.path.suffix.lower().lstrip(".").upper()

    @property
    def links(self) -> list[tuple[str, str]]:
        """Words and target of each link."""
        return [(" ".join(match[1].split()), match[2]) for match in _LINK.finditer(self.text)]

    def page_of(self, offset: int) -> int | None:
        """Page of an offset of the document; None where the format has none."""
        pages = PageMap.of(self.document.metadata)
        return pages.page_of(offset) if pages else None

    def structure(self) -> tuple[list[Heading], int]:
        """Headings and number of tables of what is shown; scanned in the whole document."""
        from rag_nodes.text.formats import Format, HeadingTree, blocks_of
        from rag_nodes.text.markdown import Kind

        text = self.document.text
        blocks = blocks_of(text, Format(self.document.metadata[TEXT_FORMAT]))
        headings = HeadingTree(text, blocks).headings
        starts = [heading.block.start for heading in headings]
        inside = slice(bisect_left(starts, self.start), bisect_left(starts, self.end))
        tables = sum(
            block.kind is Kind.TABLE and self.start <= block.start < self.end for block in blocks
        )
        return headings[inside], tables

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        metadata = self.document.metadata
        headings, tables = self.structure()
        return {
            "file": str(self.path),
            "source": metadata.get(SOURCE),
            "kind": self.kind,
            "title": metadata.get(TITLE),
            "pages": metadata.get(TOTAL_PAGES),
            "characters": len(self.text),
            "headings": [
                {
                    "level": len(heading.path),
                    "text": heading.path[-1],
                    "page": self.page_of(heading.block.start),
                    "start": heading.block.start,
                }
                for heading in headings
            ],
            "tables": tables,
            "links": [{"text": text, "target": target} for text, target in self.links],
            "warnings": list(metadata.get(READ_WARNINGS) or ()),
            "seconds": round(self.seconds, 3),
            "error": None,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Understood(Result):
    """Documents, and files that could not be read.

    Attributes:
        documents: each a part of a document, or a file with the reason why there is none.
        with_text: the text itself was asked for.
    """

    documents: Sequence[DocumentPart | tuple[Path, str]]
    with_text: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        return {"documents": [self._row(one) for one in self.documents]}

    def _row(self, one: DocumentPart | tuple[Path, str]) -> dict[str, Any]:
        if isinstance(one, tuple):
            return {"file": str(one[0]), "error": one[1]}
        return {**one.as_dict(), **({"text": one.text} if self.with_text else {})}


def read(request: ReadRequest, run: Run) -> Understood:
    """Read each file."""
    check_there(request.files)
    run.emit(Doing("Loading the readers"))
    from rag_nodes.readers import read_all

    documents: list[DocumentPart | tuple[Path, str]] = []
    failed = 0
    for one in read_all(request.files, limits=run.limits(), layout=request.layout):
        shown: DocumentPart | str | None = str(one.error)
        if one.document is not None:
            shown = DocumentPart.of(one.path, one.document, request.pages, one.seconds)
            shown = shown or f"{one.path}: it has no such page; leave --pages out to see all of it"
        if isinstance(shown, str):
            failed += 1
            run.warn(shown)
            documents.append((one.path, shown))
        elif shown:
            documents.append(shown)
    outcome = Outcome.PARTLY if failed else Outcome.DONE
    return Understood(
        outcome=Outcome.FAILED if failed and failed == len(documents) else outcome,
        documents=documents,
        with_text=request.markdown,
    )
