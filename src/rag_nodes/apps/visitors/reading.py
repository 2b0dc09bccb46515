"""Reading of a visitor's files, each with the outcome that the page shows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rag_nodes.core.metadata import PAGE_STARTS, SOURCE
from rag_nodes.core.processes import shares_told_to
from rag_nodes.embedding import FileOutcome, Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from llama_index.core.schema import Document

    from rag_nodes.embedding import DocumentsReport, FileStatus
    from rag_nodes.readers import ReadResult


def read_documents(
    paths: Sequence[Path],
    read: Callable[[Path], Iterable[ReadResult]],
    progress: Callable[[Progress], None],
) -> tuple[list[Document], dict[str, FileOutcome]]:
    """Read every file once; a bad one becomes a row and stops nothing.

    Returns:
        The documents, and how each file ended, by the name its document goes by.
    """
    documents: list[Document] = []
    files: dict[str, FileOutcome] = {}
    for position, path in enumerate(paths):

        def told(share: float, name: str = path.name, before: int = position) -> None:
            progress(Progress("read", name, before, len(paths), share=share))

        told(0.0)
        with shares_told_to(told):
            for result in read(path):
                if result.document is not None:
                    documents.append(result.document)
                source, outcome = _outcome(result)
                files[source] = outcome
    return documents, files


def _outcome(result: ReadResult) -> tuple[str, FileOutcome]:
    name, error = str(result.path), result.error
    given = result.document
    source = str(given.metadata.get(SOURCE) or given.id_) if given else name
    # Not the whole message: it holds the path on the server, and some reasons repeat it.
    why = f"{error.reason}; {error.remedy}".replace(name, result.path.name) if error else None
    status: FileStatus = "failed" if error else "read"
    pages = len(given.metadata.get(PAGE_STARTS) or ()) if given else 0
    characters = len(given.text) if given else 0
    return source, FileOutcome(name, status, pages or None, characters, why, result.seconds)


def outcomes(files: Mapping[str, FileOutcome], report: DocumentsReport) -> tuple[FileOutcome, ...]:
    """Return how each file ended, in the words of the ingest if it got that far."""
    ingested = {outcome.path: outcome for outcome in report.files}
    return tuple(
        replace(ingested[path], seconds=row.seconds) if path in ingested else row
        for path, row in files.items()
    )
