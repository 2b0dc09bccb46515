"""Boxes of quotes on the printed pages of PDFs, and lines of quotes in text files."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from pydantic import Field

from rag_nodes.core.errors import MissingExtraError, ReadError
from rag_nodes.core.metadata import FILE_HASH, FILE_NAME, display_name
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import NOT_BLANK, Flag, Reply, Request, Result
from rag_nodes.operations.places import check_there
from rag_nodes.operations.run import Doing, Run
from rag_nodes.operations.workspace.limits import MAX_KEPT_BYTES

if TYPE_CHECKING:
    from llama_index.core.schema import Document, TextNode

    from rag_nodes.query import Citation, Hit
    from rag_nodes.readers import Lines, PlacedBox
    from rag_nodes.text.spans import Span

_NOT_KEPT = (
    f"a session keeps {MAX_KEPT_BYTES // 1024**2} MB of PDFs for boxes, and this one did not fit; "
    "send fewer or smaller PDFs, or run `rag-nodes locate` where the file is"
)


class BoxReply(Reply):
    """A box around one printed line, in PDF points from the upper left corner of the page."""

    page: int
    """Page, from 1."""
    left: float
    """Left edge."""
    top: float
    """Upper edge."""
    right: float
    """Right edge."""
    bottom: float
    """Lower edge."""
    page_width: float
    """Width of the page."""
    page_height: float
    """Height of the page."""


class LocateRequest(Request):
    """Show where a PDF prints a text: a box for each line, in points from the upper left."""

    file: Annotated[Path, Flag(argument=True)]
    """A PDF."""
    page: Annotated[int, Field(ge=1, le=1_000_000)]
    """Page that holds the text, counted from 1 in the order of the file."""
    text: Annotated[str, Flag(stdin="text"), Field(pattern=NOT_BLANK)]
    """Text to look for, such as a cited sentence."""
    within: Annotated[str, Flag(stdin="text")] = ""
    """Text around it, to tell it from other places with the same words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located(Result):
    """A text and its boxes; none if the page does not show it."""

    file: str
    page: int
    text: str
    boxes: Sequence[PlacedBox]


def locate(request: LocateRequest, run: Run) -> Located:
    """Locate it."""
    from rag_nodes.readers import locate as located

    check_there([request.file])
    run.emit(Doing("Looking at the page"))
    engine, ocr = run.settings.pdf_engine, run.settings.ocr
    boxes = located(
        request.file, request.page, request.text, within=request.within, engine=engine, ocr=ocr
    )
    if not boxes:
        run.warn(
            f"Page {request.page} does not show this text; check the number of the page, or name "
            "a whole sentence as it is printed."
        )
    return Located(
        outcome=ExitCode.DONE if boxes else ExitCode.FAILURE,
        file=str(request.file),
        page=request.page,
        text=request.text,
        boxes=boxes,
    )


class CitedBoxes(NamedTuple):
    """Boxes of a citation, and why there are none if its PDF cannot be opened."""

    boxes: list[PlacedBox]
    error: str | None = None


def boxes_of(citations: Sequence[Citation], run: Run) -> list[CitedBoxes]:
    """Return the boxes of each citation; why a PDF cannot be opened is a warning, too.

    Of a stranger's citations only the PDFs that they have sent are opened.
    """
    with _files_of(citations, run) as files:
        all_boxes = [_boxes_of(citation, files, run.settings.ocr) for citation in citations]
    pairs = zip(citations, all_boxes, strict=True)
    errors = {
        f"No boxes in {citation.file_name}: {boxes.error}"
        for citation, boxes in pairs
        if boxes.error
    }
    for words in sorted(errors):
        run.warn(words)
    return all_boxes


def boxes_in(node: TextNode, span: Span, ocr: str | None) -> CitedBoxes:
    """Return the boxes of characters of a node in its PDF; none of a document that is no PDF."""
    from rag_nodes.readers import node_boxes

    if not display_name(node.metadata).lower().endswith(".pdf"):
        return CitedBoxes([])
    return _tried(lambda: node_boxes(node, *span, ocr=ocr))


def _boxes_of(citation: Citation, files: dict[str, Path] | None, ocr: str | None) -> CitedBoxes:
    path = (files or {}).get(_hash_of(citation))
    if files is not None and path is None:
        is_pdf = citation.file_name.lower().endswith(".pdf")
        return CitedBoxes([], _NOT_KEPT if is_pdf else None)
    return _tried(lambda: citation.boxes(path, ocr))


def _tried(boxes: Callable[[], list[PlacedBox]]) -> CitedBoxes:
    try:
        return CitedBoxes(boxes())
    except (ReadError, MissingExtraError) as error:
        return CitedBoxes([], _in_words(error))


def lines_in(passages: Sequence[Citation | Hit], run: Run) -> list[Lines | None]:
    """Return the lines of citations or hits in their text files, see `Citation.lines`.

    Of a stranger's, those in the documents that they have sent.
    """
    if run.is_trusted:
        return [passage.lines() for passage in passages]
    sent = {document.id_: document for document in run.documents}
    return [_lines_in(passage, sent) for passage in passages]


def _lines_in(passage: Citation | Hit, sent: Mapping[str, Document]) -> Lines | None:
    from rag_nodes.query import Hit
    from rag_nodes.readers import has_lines, lines_of

    node = passage.found if isinstance(passage, Hit) else passage.node
    document = sent.get(node.ref_doc_id or "") if node else None
    if isinstance(passage, Hit):
        start, end = passage.found.start_char_idx, passage.found.end_char_idx
    else:
        start, end = passage.start, passage.end
    if document is None or start is None or end is None:
        return None
    name = str(document.metadata.get(FILE_NAME) or "")
    return lines_of(document.text, start, end) if has_lines(name) else None


def _in_words(error: ReadError | MissingExtraError) -> str:
    """Return reason and remedy of an error without the path of the file."""
    return f"{error.reason}; {error.remedy}" if isinstance(error, ReadError) else str(error)


def _hash_of(citation: Citation) -> str:
    return str(citation.node.metadata.get(FILE_HASH) or "") if citation.node else ""


@contextmanager
def _files_of(citations: Sequence[Citation], run: Run) -> Iterator[dict[str, Path] | None]:
    """Write the cited PDFs that a stranger has sent, for as long as they are looked at.

    None if the owner asks, whose files are where they are.
    """
    if run.is_trusted:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="rag_nodes_") as folder:
        files: dict[str, Path] = {}
        for name in dict.fromkeys(map(_hash_of, citations)):
            if content := run.session.files.get(name):
                files[name] = Path(folder, f"{len(files)}.pdf")
                files[name].write_bytes(content)
        yield files
