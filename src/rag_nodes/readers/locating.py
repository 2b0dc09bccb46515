"""Boxes of quotes and of nodes' texts on the printed pages of their PDFs.

They are computed on request from the quote and the page: nothing is stored, and the document is not
read again. So a node of any splitter can be located if it knows its file and its page.
"""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from rag_nodes.core import metadata as keys
from rag_nodes.core.errors import (
    ConfigurationError,
    FileMissingError,
    NoTextLayerError,
    PageMissingError,
    UnsupportedFileError,
)
from rag_nodes.core.keywords import checks_keywords
from rag_nodes.readers.files import checked_size, with_engine
from rag_nodes.readers.isolation import pool
from rag_nodes.readers.kinds import typed_errors
from rag_nodes.readers.pdf.engines import versions
from rag_nodes.readers.pdf.picture import LIMITS
from rag_nodes.readers.pdf.quotes import PageQuote, PlacedBox, locate_quote
from rag_nodes.text.spans import PageMap, Span

if TYPE_CHECKING:
    from collections.abc import Iterator

    from llama_index.core.schema import TextNode

    from rag_nodes.core.metadata import PdfEngineName
    from rag_nodes.readers.base import Limits
    from rag_nodes.readers.ocr import Ocr

MARGIN = 400
"""Characters around a quote that tell its place from others that say the same."""
NEAR = 30
"""Pages behind a number, and from the first, that may be the one on which the number is printed."""


@checks_keywords
def locate(
    path: str | Path,
    page: int,
    quote: str,
    *,
    within: str = "",
    engine: PdfEngineName | None = None,
    ocr: Ocr | None = None,
) -> list[PlacedBox]:
    """Return a box for each printed line of a quote on a page of a PDF.

    Args:
        path: a PDF.
        page: number of the page, counted from 1 in the order of the file.
        quote: cited text, as a reader or splitter has it: line ends, hyphens at line ends,
            ligatures and Markdown may differ from the page.
        within: text around the quote, such as that of its node. It tells the quote from others of
            the same words; without it, or if it holds the quote more than once, the first counts.
        engine: library that opens the PDF, "pymupdf" or "pdfium"; None for the first installed.
        ocr: what reads the page if it is scanned, see `Limits`; None for nothing.

    Returns:
        Boxes in PDF points with the origin at the upper left corner, in the order of the page.
        None if the page does not show the quote: where less than 80 % of its letters are found,
        or where its words stand in other sentences, nothing is guessed.

    Raises:
        ConfigurationError: `within` does not hold the quote.
        FileMissingError: there is no such file.
        UnsupportedFileError: the file is no PDF.
        PageMissingError: it has no such page.
        EncryptedFileError: it asks for a password.
        NoTextLayerError: the page is scanned, and no `ocr` is named.
        ReadError: it cannot be read for another reason.
        MissingExtraError: no PDF engine is installed.

    Examples:
        >>> from rag_nodes import locate
        >>> [box] = locate("examples/corpus/ferry.pdf", 1, "About this manual")
        >>> box.page, round(box.left), round(box.top)
        (1, 61, 73)
    """
    start = within.find(quote) if within else 0
    if start < 0:
        raise ConfigurationError(
            "`within` does not hold the quote; pass the text it was taken from"
        )
    limits = with_engine(LIMITS, engine, ocr)
    span = Span(start, start + len(quote))
    return _located(Path(path), page, within or quote, span, None, limits)


def node_boxes(
    node: TextNode,
    start: int,
    end: int,
    path: str | Path | None = None,
    ocr: Ocr | None = None,
) -> list[PlacedBox]:
    """Return a box for each printed line of characters `start:end` of a node's text.

    Args:
        node: a node that knows its page: of our parsers, or with the `page_label` of LlamaIndex's
            readers. That is what is printed on the page: the page is found by the text of the node.
        start: offset of the first character in `node.text`.
        end: offset one past the last.
        path: the file, if it is not where it was when it was read; None for that place.
        ocr: what has read scanned pages of the file, see `Limits`; None for nothing.

    Returns:
        See `locate`; those of a text over several pages in their order. None for a node that does
        not know on which page the characters are.

    Raises:
        FileChangedError: the file is not the one that was read.
        FileMissingError: there is no such file, or the node does not say which it is.
        PageMissingError: no page near the `page_label` shows the text of the node.
        ReadError: see `locate`.
        MissingExtraError: no PDF engine is installed.
    """
    metadata = node.metadata
    file_hash = metadata.get(keys.FILE_HASH)
    reader = metadata.get(keys.PDF_ENGINE)
    limits = with_engine(LIMITS, reader if reader in versions() else None, ocr)
    label, parts = metadata.get(keys.PAGE_LABEL), list(_pages(node))
    if not label and not parts:
        return []
    file = Path(path or metadata.get(keys.SOURCE) or metadata.get(keys.FILE_PATH) or "")
    if not file.name:
        raise FileMissingError(
            keys.display_name(metadata, node.ref_doc_id or node.node_id),
            "the document does not say from which file it was read",
            'pass the path of its PDF, as in boxes("report.pdf")',
        )
    if label:
        return _on_labelled_page(file, str(label), node.text, Span(start, end), limits)
    return [
        box
        for page, part in parts
        if (shared := part.common(Span(start, end)))
        for box in _located(
            file,
            page,
            part.of(node.text),
            Span(*(at - part.start for at in shared)),
            file_hash,
            limits,
        )
    ]


def _pages(node: TextNode) -> Iterator[tuple[int, Span]]:
    """Yield the pages of a node that are known, each with the characters of its text on it."""
    metadata, length, base = node.metadata, len(node.text), node.start_char_idx
    pages = PageMap.of(metadata)
    if pages is None or base is None:
        first = metadata.get(keys.PAGE_START)
        if first is not None and metadata.get(keys.PAGE_END, first) == first:
            yield int(first), Span(0, length)
        return
    edges = [base, *pages.breaks_within(base, base + length), base + length]
    for start, end in pairwise(edges):
        if start < end:
            yield pages.page_of(start), Span(start - base, end - base)


def _on_labelled_page(
    path: Path, label: str, text: str, span: Span, limits: Limits
) -> list[PlacedBox]:
    """Return the boxes of a span of the text of a page of which the printed label is known.

    The page is the first that shows the text around, from that of this number on; else that of this
    number, if it shows the span.
    """
    number = keys.page_number(label) or 1
    around = Span(max(0, span.start - MARGIN), min(len(text), span.end + MARGIN))
    near = dict.fromkeys((*range(number, number + NEAR), *range(1, NEAR + 1)))
    for page, shown in [*((page, around) for page in near), (number, span)]:
        with suppress(PageMissingError, NoTextLayerError):
            if _located(path, page, text, shown, None, limits):
                return _located(path, page, text, span, None, limits)
    raise PageMissingError(
        path,
        f"no page near the one labelled '{label}' shows this text",
        "join the pages with join_pages before they are split: it counts them in the file",
    )


def _located(
    path: Path, page: int, text: str, span: Span, file_hash: str | None, limits: Limits
) -> list[PlacedBox]:
    """Return the boxes of a span of the text of a page, of which only its surroundings are sent."""
    with typed_errors(path):
        if path.suffix.lower() != ".pdf":
            raise UnsupportedFileError(
                path, "only a PDF has printed pages", "name a PDF, or cite by the offsets"
            )
        checked_size(path, limits)
        first, last = max(0, span.start - MARGIN), span.end + MARGIN
        quote = PageQuote(text[first:last], span.start - first, span.end - first)
        if callable(limits.ocr):
            return locate_quote(path, number=page, quote=quote, file_hash=file_hash, limits=limits)
        return pool.locate(path, page, quote, file_hash, limits)
