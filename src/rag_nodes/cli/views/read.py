"""What was understood of a document, as plain data and for people."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rag_nodes.cli.views.text import clean, counted, facts, one_line, plain, seconds
from rag_nodes.errors import ConfigurationError
from rag_nodes.metadata import (
    READ_WARNINGS,
    SOURCE,
    TEXT_FORMAT,
    TITLE,
    TOTAL_PAGES,
    display_name,
)
from rag_nodes.text.spans import PageMap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from llama_index.core.schema import Document
    from rich.console import RenderableType

    from rag_nodes.text.formats import Heading

MOST_HEADINGS = 200
"""Headings on a screen; all of them are in `--json`."""

_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?")
_LINK = re.compile(r"(?<!!)\[((?:[^\[\]\\\n]|\\.){1,500})\]\(([^()\s]{1,2000})\)")


@dataclass(frozen=True, slots=True)
class PageRange:
    """Pages that were asked for, both ends included and counted from 1."""

    first: int
    last: int

    @classmethod
    def parse(cls, text: str) -> PageRange:
        """Take `3` or `3-5`; raises ConfigurationError for anything else."""
        match = _RANGE.fullmatch(text.strip())
        first = int(match[1]) if match else 0
        last = int(match[2] or first) if match else 0
        if not 1 <= first <= last:
            raise ConfigurationError(f'--pages takes a page or a range such as 3-5, not "{text}"')
        return cls(first, last)


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
        cls, path: Path, document: Document, wanted: PageRange | None, took: float
    ) -> DocumentPart | None:
        """The part of a document that was asked for; None where it has no such page."""
        if wanted is None:
            return cls(path, document, 0, len(document.text), took)
        pages = PageMap.of(document.metadata)
        span = pages and pages.span(wanted.first, wanted.last, len(document.text))
        return cls(path, document, *span, took) if span else None

    @property
    def text(self) -> str:
        """What is shown of the text."""
        return self.document.text[self.start : self.end]

    def page_of(self, offset: int) -> int | None:
        """Page of an offset of the document; None where the format has none."""
        pages = PageMap.of(self.document.metadata)
        return pages.page_of(offset) if pages else None


def read_data(shown: DocumentPart) -> dict[str, Any]:
    """One document for `--json`."""
    metadata = shown.document.metadata
    headings, tables = _structure(shown)
    return {
        "file": str(shown.path),
        "source": metadata.get(SOURCE),
        "kind": _kind(shown.path),
        "title": metadata.get(TITLE),
        "pages": metadata.get(TOTAL_PAGES),
        "characters": len(shown.text),
        "headings": [
            {
                "level": len(heading.path),
                "text": heading.path[-1],
                "page": shown.page_of(heading.block.start),
                "start": heading.block.start,
            }
            for heading in headings
        ],
        "tables": tables,
        "links": [{"text": text, "target": target} for text, target in _links(shown)],
        "warnings": list(metadata.get(READ_WARNINGS) or ()),
        "seconds": round(shown.seconds, 3),
        "error": None,
    }


def read_view(shown: DocumentPart) -> Iterator[RenderableType]:
    """The parts of the view, top to bottom."""
    metadata = shown.document.metadata
    headings, tables = _structure(shown)
    links = _links(shown)
    rows = [
        ("File", one_line(display_name(metadata) or shown.path.name)),
        ("Kind", _kind(shown.path)),
        ("Title", one_line(metadata.get(TITLE) or "-")),
        ("Pages", f"{metadata[TOTAL_PAGES]:,}" if TOTAL_PAGES in metadata else "none"),
        ("Text", f"{counted(len(shown.text), 'character')}, read in {seconds(shown.seconds)}"),
        ("Headings", f"{len(headings):,}"),
        ("Tables", f"{tables:,}"),
        ("Links", _link_count(links)),
    ]
    yield facts(rows)
    for warning in metadata.get(READ_WARNINGS) or ():
        yield plain(f"warning: {one_line(warning)}", "yellow")
    for heading in headings[:MOST_HEADINGS]:
        yield plain(_outline_row(shown, heading))
    if len(headings) > MOST_HEADINGS:
        yield plain(f"{len(headings) - MOST_HEADINGS:,} more headings with --json", "dim")
    yield plain("")


def shown_text(shown: DocumentPart, *, terminal: bool) -> str:
    """The text, ending in a line end; on a terminal without what that would act on."""
    text = clean(shown.text) if terminal else shown.text
    return text if text.endswith("\n") else text + "\n"


def _outline_row(shown: DocumentPart, heading: Heading) -> str:
    page = shown.page_of(heading.block.start)
    place = f"  p. {page}" if page else ""
    return "  " * len(heading.path) + one_line(heading.path[-1]) + place


def _structure(shown: DocumentPart) -> tuple[list[Heading], int]:
    """Headings and number of tables of what is shown; scanned in the whole document."""
    from rag_nodes.text.formats import Format, HeadingTree, blocks_of
    from rag_nodes.text.markdown import Kind

    blocks = blocks_of(shown.document.text, Format(shown.document.metadata[TEXT_FORMAT]))
    headings = HeadingTree(shown.document.text, blocks).headings
    starts = [heading.block.start for heading in headings]
    inside = slice(bisect_left(starts, shown.start), bisect_left(starts, shown.end))
    tables = sum(
        block.kind is Kind.TABLE and shown.start <= block.start < shown.end for block in blocks
    )
    return headings[inside], tables


def _links(shown: DocumentPart) -> list[tuple[str, str]]:
    return [(one_line(match[1]), match[2]) for match in _LINK.finditer(shown.text)]


def _link_count(links: list[tuple[str, str]]) -> str:
    targets = len({target for _, target in links})
    return f"{len(links):,}, to {targets:,} address{'' if targets == 1 else 'es'}"


def _kind(path: Path) -> str:
    return path.suffix.lower().lstrip(".").upper()
