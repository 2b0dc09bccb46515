"""What was understood of files, before anything is cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from rag_nodes import metadata as keys
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import Flag, Request, Result
from rag_nodes.operations.files import check_there
from rag_nodes.operations.run import Doing, Run

if TYPE_CHECKING:
    from rag_nodes.readers import ReadResult
    from rag_nodes.text.formats import Heading as HeadingBlock
    from rag_nodes.text.spans import PageMap

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]\\\n]|\\.){1,500})\]\(([^()\s]{1,2000})\)")


class ReadRequest(Request):
    """Show what was read from documents: pages, headings, tables, links, warnings."""

    files: Annotated[list[Path], Flag(metavar="FILE", argument=True, stdin="text")]
    """Files and folders; - for a text from standard input."""
    markdown: bool = False
    """Print the text, as the parsers get it."""
    layout: Literal["onnx"] | None = None
    """PyMuPDF's layout model for short PDFs; slow."""


@dataclass(frozen=True, slots=True)
class OutlineHeading:
    """A heading: how deep it is, what it says, its page where there are any, and its offset."""

    level: int
    text: str
    page: int | None
    start: int


@dataclass(frozen=True, slots=True)
class Link:
    """A link: what it says and where it leads."""

    text: str
    target: str


@dataclass(frozen=True, slots=True)
class Understood:
    """What was understood of a file, if it could be read; its text where that was asked for."""

    file: str
    error: str | None = None
    name: str = ""
    source: str | None = None
    kind: str = ""
    title: str | None = None
    pages: int | None = None
    characters: int = 0
    text: str | None = None
    headings: Sequence[OutlineHeading] = ()
    tables: int = 0
    links: Sequence[Link] = ()
    warnings: Sequence[str] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings(Result):
    """What was understood of each file."""

    documents: Sequence[Understood]


def read(request: ReadRequest, run: Run) -> Readings:
    """Read them all; what could not be read is said."""
    check_there(request.files)
    run.emit(Doing("Reading"))
    from rag_nodes.readers import read_all

    documents = []
    for one in read_all(request.files, limits=run.limits(), layout=request.layout):
        run.check()
        documents.append(_understood(one, with_text=request.markdown))
    lost = [one.error for one in documents if one.error is not None]
    for error in lost:
        run.warn(error)
    some = ExitCode.PARTIAL if len(lost) < len(documents) else ExitCode.FAILURE
    return Readings(outcome=some if lost else ExitCode.DONE, documents=documents)


def _understood(result: ReadResult, *, with_text: bool) -> Understood:
    from rag_nodes.text.formats import Format, HeadingTree, blocks_of
    from rag_nodes.text.markdown import Kind
    from rag_nodes.text.spans import PageMap

    document, path = result.document, result.path
    if document is None:
        return Understood(str(path), str(result.error))
    metadata, text = document.metadata, document.text
    blocks = blocks_of(text, Format(metadata[keys.TEXT_FORMAT]))
    pages = PageMap.of(metadata)
    return Understood(
        file=str(path),
        name=keys.display_name(metadata) or path.name,
        source=metadata.get(keys.SOURCE),
        kind=path.suffix.lower().lstrip(".").upper(),
        title=metadata.get(keys.TITLE),
        pages=metadata.get(keys.TOTAL_PAGES),
        characters=len(text),
        text=text if with_text else None,
        headings=[_heading(one, pages) for one in HeadingTree(text, blocks).headings],
        tables=sum(one.kind is Kind.TABLE for one in blocks),
        links=[Link(" ".join(one[1].split()), one[2]) for one in _LINK.finditer(text)],
        warnings=list(metadata.get(keys.READ_WARNINGS) or ()),
        seconds=round(result.seconds, 3),
    )


def _heading(found: HeadingBlock, pages: PageMap | None) -> OutlineHeading:
    start = found.block.start
    page = pages.page_of(start) if pages else None
    return OutlineHeading(len(found.path), found.path[-1], page, start)
