"""Replies of REST about sessions and refusals; an operation describes its own reply."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from rag_nodes.core.metadata import TOTAL_PAGES, display_name

if TYPE_CHECKING:
    from llama_index.core.schema import Document


class _Reply(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class Problem(_Reply):
    """Reason why a request was refused or failed."""

    error: str
    """Problem, in words."""
    remedy: str
    """Remedy, in words."""


class UploadedFile(_Reply):
    """Outcome of a file, or of a page of a crawl."""

    name: str
    """Its name, made harmless."""
    status: str
    """read or failed."""
    document_id: str | None = None
    """Id of the document; null where it failed."""
    pages: int | None = None
    """Pages; null for formats without any."""
    characters: int = 0
    """Characters of its text."""
    warnings: list[str] = []
    """Content that could not be read."""
    error: str | None = None
    """Reason of the failure."""
    remedy: str | None = None
    """Remedy, in words."""


class Uploaded(_Reply):
    """The session and the files that were sent to it."""

    session: str
    """Send it as X-Session with every further request."""
    files: list[UploadedFile]
    """In the order they were sent."""


class SessionDocument(_Reply):
    """One document of a session."""

    document_id: str
    """Its id."""
    name: str
    """Its file name."""
    pages: int | None
    """Pages; null for formats without any."""
    characters: int
    """Characters of its text."""

    @classmethod
    def of(cls, document: Document) -> SessionDocument:
        """A document, as a row."""
        return cls(
            document_id=document.doc_id,
            name=display_name(document.metadata, document.doc_id),
            pages=document.metadata.get(TOTAL_PAGES),
            characters=len(document.text),
        )


class OfferedParser(_Reply):
    """Parser that can split documents."""

    name: str
    """Name in requests."""
    title: str
    """For display."""
    summary: str
    """Summary of how it splits."""


class Status(_Reply):
    """Facts about this server, and the contents of your session."""

    version: str
    """Version of rag_nodes."""
    models: str
    """Models that run."""
    mode: str
    """Default search of a question: sparse, dense or hybrid."""
    parsers: list[OfferedParser]
    """Names that requests may use."""
    documents: list[SessionDocument] | None
    """Documents of your session; null without X-Session."""


class Cleared(_Reply):
    """The session is over."""

    cleared: bool = True
    """Its documents and chunks are gone."""
