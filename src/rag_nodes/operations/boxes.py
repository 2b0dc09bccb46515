"""Boxes of quotes on the printed pages of PDFs: of what an answer cites, and of any text."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from rag_nodes.core.errors import MissingExtraError, ReadError
from rag_nodes.core.metadata import FILE_HASH
from rag_nodes.operations import ExitCode
from rag_nodes.operations.base import NOT_BLANK, Flag, Reply, Request, Result
from rag_nodes.operations.places import check_there
from rag_nodes.operations.run import Doing, Run

if TYPE_CHECKING:
    from rag_nodes.query import Citation
    from rag_nodes.readers import PlacedBox


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
    """Text around it, to tell it from others of the same words."""


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
    boxes = located(request.file, request.page, request.text, within=request.within)
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


def boxes_of(citations: Sequence[Citation], run: Run) -> list[list[PlacedBox]]:
    """Return the boxes of each citation; of one whose PDF cannot be opened none, and why is said.

    Of a stranger's citations only the PDFs that they have sent are opened.
    """
    boxes: list[list[PlacedBox]] = []
    said: set[str] = set()
    with _files_of(citations, run) as files:
        for citation in citations:
            try:
                boxes.append(_boxes_of(citation, files))
            except (ReadError, MissingExtraError) as error:
                boxes.append([])
                said.add(f"No boxes in {citation.file_name}: {_in_words(error)}")
    for words in sorted(said):
        run.warn(words)
    return boxes


def _boxes_of(citation: Citation, files: dict[str, Path] | None) -> list[PlacedBox]:
    if files is None:
        return citation.boxes()
    path = files.get(_hash_of(citation))
    return citation.boxes(path) if path else []


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
