"""Facts of documents that were read, and their chunks; nothing is embedded or stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import DocumentMissingError
from rag_nodes.embedding.failures import missing_extra
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import OWNER, Flag, Only, Reply, Request, Result, visitors
from rag_nodes.operations.fields import OfText, ParserSpec, ParserToUse
from rag_nodes.operations.parsers import plain_options
from rag_nodes.operations.places import check_there, text_document
from rag_nodes.operations.run import Doing, Run
from rag_nodes.parsers.presets import DEFAULT_PARSER

if TYPE_CHECKING:
    from llama_index.core.schema import Document, TextNode

    from rag_nodes.parsers import SpanNodeParser
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
    """Facts of a file, if it could be read; its text on request."""

    file: str
    error: str | None = None
    name: str = ""
    source: str | None = None
    kind: str = ""
    title: str | None = None
    pages: int | None = None
    blank_pages: Sequence[int] = ()
    characters: int = 0
    text: str | None = None
    headings: Sequence[OutlineHeading] = ()
    tables: int = 0
    links: Sequence[Link] = ()
    warnings: Sequence[str] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings(Result):
    """Facts of each file, and numbers of files skipped (by suffix) or excluded."""

    documents: Sequence[Understood]
    skipped: Mapping[str, int]
    excluded: int


def read(request: ReadRequest, run: Run) -> Readings:
    """Read them all; what could not be read is said."""
    check_there(request.files)
    run.emit(Doing("Reading"))
    documents, errors = [], []
    for result in run.results(request.files):
        documents.append(_understood(result, with_text=request.markdown))
        if result.error is not None:
            errors.append(result.error)
            run.warn(str(result.error))
    outcome = ExitCode.PARTIAL if errors else ExitCode.DONE
    if errors and len(errors) == len(documents):
        is_missing = any(map(missing_extra, errors))
        outcome = ExitCode.UNAVAILABLE if is_missing else ExitCode.FAILURE
    return Readings(
        outcome=outcome, documents=documents, skipped=run.skipped, excluded=run.excluded
    )


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
        blank_pages=metadata.get(keys.BLANK_PAGES) or (),
        characters=len(text),
        text=text if with_text else None,
        headings=[_heading(heading, pages) for heading in HeadingTree(text, blocks).headings],
        tables=sum(block.kind is Kind.TABLE for block in blocks),
        links=[Link(" ".join(match[1].split()), match[2]) for match in _LINK.finditer(text)],
        warnings=list(metadata.get(keys.READ_WARNINGS) or ()),
        seconds=round(result.seconds, 3),
    )


def _heading(heading: HeadingBlock, pages: PageMap | None) -> OutlineHeading:
    start = heading.block.start
    page = pages.page_of(start) if pages else None
    return OutlineHeading(len(heading.path), heading.path[-1], page, start)


# --- chunk and parsers --------------------------------------------------------------------------


class ChunkRequest(OfText):
    """Show how a parser splits a document: offsets, pages, tokens, headings."""

    file: Annotated[Path | None, OWNER, Flag(argument=True, required=True, stdin="text")] = None
    """A PDF, DOCX, XLSX, HTML, Markdown, CSV or text file; - for a text from standard input."""
    document_id: Annotated[str | None, Only(("rest",)), visitors(max_length=100)] = None
    """Id of a document that was uploaded."""
    parser: ParserToUse = ParserSpec(name=DEFAULT_PARSER)
    full: Annotated[bool, OWNER] = False
    """Show the whole text of each chunk."""
    first: Annotated[int, Only(("rest",)), Field(ge=0, le=10_000_000)] = 0
    """Index of the first chunk to show."""
    limit: Annotated[int, Only(("rest",)), Field(ge=1, le=1000)] = 100
    """Chunks to show."""

    @model_validator(mode="after")
    def _one_of_them(self) -> Self:
        if sum(given is not None for given in (self.file, self.text, self.document_id)) != 1:
            raise ValueError("give either `text` or `document_id`")
        return self


class Chunk(Reply):
    """A piece of a document, taken out of it character by character."""

    index: int
    """Position in the document, from 0."""
    id: str
    """The same for the same document, parser and options."""
    text: str
    """Exactly as in the document; of a splitter of another package as it gave it, where start and
    end are null."""
    start: int | None
    """Offset of its first character."""
    end: int | None
    """Offset after its last character."""
    page_start: int | None
    """First page, from 1."""
    page_end: int | None
    """Last page."""
    heading_path: list[str]
    """Headings above it, outermost first."""
    tokens: int | None
    """Its size."""


class ChunksReply(Reply):
    """Some chunks of a document."""

    parser: str
    """Parser that made it."""
    fingerprint: str
    """The same for the same parser and options."""
    file: str | None
    """Name of the document."""
    title: str | None
    """As the document says it."""
    pages: int | None
    """Pages; null for formats without any."""
    characters: int
    """Characters of its text."""
    total: int
    """Chunks of the whole document."""
    not_located: int
    """Chunks whose place in the document is not known, of splitters of other packages."""
    warnings: list[str]
    """Content that could not be read."""
    chunks: list[Chunk]
    """From `first` on, at most `limit`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunks(Result):
    """A document, all its chunks, and which were asked for: `limit` of them from `first` on."""

    reply: ClassVar[str] = "documents:ChunksReply"
    label: str
    parser: SpanNodeParser
    document: Document
    nodes: Sequence[TextNode]
    first: int = 0
    limit: int | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data for programs."""
        metadata = self.document.metadata
        numbered = enumerate(self.nodes[self.first :][: self.limit], self.first)
        return {
            "parser": self.label,
            "fingerprint": self.parser.fingerprint,
            "file": metadata.get(keys.FILE_NAME),
            "source": metadata.get(keys.SOURCE),
            "title": metadata.get(keys.TITLE),
            "pages": metadata.get(keys.TOTAL_PAGES),
            "characters": len(self.document.text),
            "total": len(self.nodes),
            "not_located": sum(node.start_char_idx is None for node in self.nodes),
            "warnings": [str(warning) for warning in metadata.get(keys.READ_WARNINGS) or ()],
            "chunks": [_plain(node, index) for index, node in numbered],
        }


def chunk(request: ChunkRequest, run: Run) -> Chunks:
    """Split it."""
    document = _document(request, run)
    ((label, parser),) = run.parsers([request.parser]).items()
    limit = None if request.file else request.limit
    return Chunks(
        label=label,
        parser=parser,
        document=document,
        nodes=parser([document]),  # type: ignore[arg-type]
        first=request.first,
        limit=limit,
    )


def _document(request: ChunkRequest, run: Run) -> Document:
    """Return the document to split: a file, a text, or one that a visitor has sent.

    Raises:
        DocumentMissingError: the visitor has sent no such document.
    """
    if request.file is None:
        if request.text is not None:
            return text_document(request.text)
        upload = next(
            (document for document in run.documents if document.id_ == request.document_id), None
        )
        if upload is None:
            raise DocumentMissingError(
                "this session has no such document; use the `document_id` from the response to its "
                "upload"
            )
        return upload
    check_there([request.file])
    run.emit(Doing(f"Splitting {request.file.name}"))
    from rag_nodes.readers import read

    return read(request.file, limits=run.limits())


def _plain(node: TextNode, index: int) -> dict[str, Any]:
    """One chunk for programs."""
    metadata = node.metadata
    return {
        "index": index,
        "id": node.node_id,
        "start": node.start_char_idx,
        "end": node.end_char_idx,
        "page_start": metadata.get(keys.PAGE_START),
        "page_end": metadata.get(keys.PAGE_END),
        "tokens": metadata.get(keys.TOKEN_COUNT),
        "heading_path": list(metadata.get(keys.HEADING_PATH) or ()),
        "text": node.text,
        "metadata": dict(metadata),
    }


class ParsersRequest(Request):
    """List the parsers with their options and defaults."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsers(Result):
    """Parsers that can be named: name, title, summary, class, options, sizes worth a try."""

    parsers: Sequence[dict[str, Any]]


def parsers(request: ParsersRequest, run: Run) -> Parsers:  # noqa: ARG001 - as all are called
    """Describe each preset."""
    run.emit(Doing("Loading parsers"))
    from rag_nodes.parsers import offered

    return Parsers(
        parsers=[
            {
                "name": preset.name,
                "title": preset.title,
                "summary": preset.summary,
                "class": preset.parser.class_name(),
                "options": plain_options(preset.make()),
                "sizes": list(preset.sizes) if preset.sizes else None,
            }
            for preset in offered().values()
        ]
    )
