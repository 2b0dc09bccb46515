"""What files were found to hold, and what is to be done about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

from rag_nodes.metadata import READ_WARNINGS, SOURCE, SOURCE_HASH, TOTAL_PAGES, display_name

if TYPE_CHECKING:
    from llama_index.core.schema import Document

    from rag_nodes.ledger import DepositRow, DocumentRow, FileRow
    from rag_nodes.readers import ListedFile


class FoundDocument(NamedTuple):
    """What a file was found to hold: a document, without its text.

    Attributes:
        id: of the document.
        source_hash: of all its nodes are made of.
        name: what to call it.
        source: where its text came from, path or URL.
        pages: None for formats without pages.
        characters: of its text.
        warnings: what the reader could not take over; None where nothing.
    """

    id: str
    source_hash: str
    name: str
    source: str | None
    pages: int | None
    characters: int
    warnings: str | None

    @classmethod
    def of(cls, document: Document) -> Self:
        """What is to be known of a document that has a hash of all its nodes are made of."""
        facts = document.metadata
        return cls(
            document.id_,
            str(facts[SOURCE_HASH]),
            display_name(facts),
            facts.get(SOURCE),
            facts.get(TOTAL_PAGES),
            len(document.text),
            "; ".join(facts.get(READ_WARNINGS) or ()) or None,
        )


class Left(NamedTuple):
    """A document of a file that is not opened, as nothing of it changed.

    Attributes:
        row: the document.
        deposits: what is stored of it, by each parser in order.
    """

    row: DocumentRow
    deposits: tuple[DepositRow, ...]


class Seen(NamedTuple):
    """A file that was listed, and what is to be done about it.

    Attributes:
        file: as it was found.
        row: to be written down when it was read; None where no ledger is kept.
        left: its documents, where it is not to be opened; none where it is due.
        twins: ids of documents of other files with the same bytes.
    """

    file: ListedFile
    row: FileRow | None = None
    left: tuple[Left, ...] = ()
    twins: tuple[str, ...] = ()
