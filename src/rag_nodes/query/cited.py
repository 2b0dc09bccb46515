"""Passages that an answer cites, and further places that say the same."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from rag_nodes.core.keywords import checks_keywords
from rag_nodes.core.metadata import FILE_PATH, SOURCE, display_name
from rag_nodes.core.own_metadata import Value
from rag_nodes.query.locations import pages_of
from rag_nodes.readers import node_boxes, node_lines

if TYPE_CHECKING:
    from pathlib import Path

    from llama_index.core.schema import TextNode

    from rag_nodes.readers import Lines, Ocr, PlacedBox


@dataclass(frozen=True, slots=True)
class OtherPlace:
    """A further place of a passage, in another document.

    Attributes:
        document_id: id of the document; "" when unknown.
        file_name: for display; the id of the document if it has no name.
        source: path or URL; "" when unknown.
        page: page, counted from 1; None where the format has no pages.
        page_end: last page.
        start: document offset of the first character; None when unknown.
        end: document offset one past the last.
        quote: the characters there: the same text in any case and white space, or one that has 95 %
            of its word shingles and its numbers.
    """

    document_id: str
    file_name: str
    source: str
    page: int | None
    page_end: int | None
    start: int | None
    end: int | None
    quote: str

    @classmethod
    def of(cls, node: TextNode, start: int, end: int) -> Self:
        """Return the place of characters `start:end` of a node's text."""
        base = node.start_char_idx
        return cls(
            node.ref_doc_id or "",
            display_name(node.metadata, node.ref_doc_id or node.node_id),
            str(node.metadata.get(SOURCE) or node.metadata.get(FILE_PATH) or ""),
            *pages_of(node, start, end),
            None if base is None else base + start,
            None if base is None else base + end,
            node.text[start:end],
        )


@checks_keywords
@dataclass(frozen=True, slots=True)
class Citation:
    """A source the answer names, down to the characters.

    Attributes:
        number: the source number as written in the answer.
        node_id: the cited node.
        document_id: id of the document; "" when unknown.
        file_name: for display; the id of the document if it has no name.
        source: path or URL; "" when unknown.
        page: page of the cited passage, counted from 1; None where the format has no pages.
        page_end: last page of the cited passage.
        heading_path: headings above the passage, outermost first.
        start: document offset of the cited passage; None when unknown.
        end: document offset one past it.
        quote: the cited passage, exactly as in the document.
        also: further places of the quote, in other documents.
        node: the node whose text holds the quote; None if it is not known.
        metadata: what is under the user's own metadata keys.
    """

    number: int
    node_id: str
    document_id: str
    file_name: str
    source: str
    page: int | None
    page_end: int | None
    heading_path: tuple[str, ...]
    start: int | None
    end: int | None
    quote: str
    metadata: dict[str, Value] = field(default_factory=dict, hash=False)
    also: tuple[OtherPlace, ...] = ()
    node: TextNode | None = field(default=None, repr=False, compare=False)

    def boxes(self, path: str | Path | None = None, ocr: Ocr | None = None) -> list[PlacedBox]:
        """Return a box for each printed line of the quote, in PDF points from the upper left.

        They are computed on request: the PDF is opened, and one page of it is looked at in a child
        process. Those of a quote over several pages come in the order of the pages.

        Args:
            path: the PDF, if it is not at `source` any more.
            ocr: what has read its scanned pages, see `Limits`; None for nothing.

        Returns:
            None if the page of the quote is not known, or does not show 80 % of its letters.

        Raises:
            UnsupportedFileError: the document is no PDF.
            FileMissingError: the PDF is gone, or the document does not say which it is.
            FileChangedError: the PDF is not the one that was read.
            ReadError: the PDF cannot be opened for another reason.
        """
        start = self._offset()
        if self.node is None or start < 0:
            return []
        return node_boxes(self.node, start, start + len(self.quote), path, ocr)

    def lines(self, path: str | Path | None = None) -> Lines | None:
        """Return the first and the last line of the quote in its file, counted from 1.

        They are counted on request in the file: Markdown, plain text, and what another reader took
        as it is, such as source code.

        Args:
            path: the file, if it is not at `source` any more.

        Returns:
            None if the format has no such lines, the file is gone, or has other characters there.
        """
        start = self._offset()
        if self.node is None or start < 0:
            return None
        return node_lines(self.node, start, start + len(self.quote), path)

    def _offset(self) -> int:
        """Return where the quote begins in the text of the node; -1 if it is not known."""
        if self.node is None:
            return -1
        base = self.node.start_char_idx
        if base is None or self.start is None:
            return self.node.text.find(self.quote)
        return self.start - base

    def as_dict(self) -> dict[str, Any]:
        """Plain data for `--json`, REST and exports."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        del plain["node"]
        plain |= {
            "heading_path": list(self.heading_path),
            "metadata": dict(self.metadata),
            "also": [asdict(place) for place in self.also],
        }
        return plain
