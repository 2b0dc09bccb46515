"""The documents that an app is built with, by the path that each goes by on the page."""

from __future__ import annotations

from itertools import groupby, pairwise
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from llama_index.core.schema import Document

from rag_nodes.apps.markup import count
from rag_nodes.core.metadata import (
    BOOKKEEPING,
    PAGE_LABEL,
    TOTAL_PAGES,
    display_name,
    page_number,
    sources,
)
from rag_nodes.readers import Reading, build_document, group_pages

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_nodes.readers import FilePages

_MAX_MISSING = 1_000
"""Missing pages of a file, each of which takes memory."""


def given_documents(
    documents: Sequence[str | Path | Document],
) -> tuple[list[Path], dict[Path, Document]]:
    """Name what an app is built with, and put the pages of each file together.

    Args:
        documents: paths, or documents of LlamaIndex. Consecutive pages of one file, as
            `SimpleDirectoryReader` makes them, become one document.

    Returns:
        A path for each file or document, in their order, and the documents by their paths. A path
        names a file if that is there to be shown as printed; otherwise no file has it.
    """
    paths: list[Path] = []
    given: dict[Path, Document] = {}
    for is_document, group in groupby(documents, lambda document: isinstance(document, Document)):
        if not is_document:
            paths += [Path(document) for document in group if not isinstance(document, Document)]
            continue
        for file in group_pages(page for page in group if isinstance(page, Document)):
            document = _one_document(file)
            path = _printed_file(file)
            if path is None or path in given:
                name = display_name(document.metadata) or f"document {len(paths) + 1}"
                path = Path(f"<given {len(paths) + 1}>") / name.replace("/", "_")
            given[path] = document
            paths.append(path)
    return paths, given


def _printed_file(file: FilePages) -> Path | None:
    """Return the PDF in which the pages of a document are printed; None if it is not there."""
    if file.path and not _is_whole(file):
        return None
    named = sources(file.documents[0].metadata)
    paths = (Path(name) for name in named if isfile(name))  # noqa: PTH113 - Path raises if it is long
    return next((path for path in paths if path.suffix.lower() == ".pdf"), None)


def _is_whole(file: FilePages) -> bool:
    """Tell whether the pages are numbered from 1 without a gap, so that each is known in the file.

    Others may be some pages of the file only, or numbered as they are printed.
    """
    labels = [str(page.metadata.get(PAGE_LABEL)) for page in file.documents]
    return labels == [str(number) for number in range(1, len(labels) + 1)]


def _numbers(file: FilePages) -> list[int]:
    """Return the page numbers as labelled if they ascend and few are missing, else by order."""
    labels = (page_number(page.metadata.get(PAGE_LABEL)) for page in file.documents)
    numbers, count = [label for label in labels if label], len(file.documents)
    ascends = len(numbers) == count and all(left < right for left, right in pairwise(numbers))
    is_close = ascends and numbers[-1] <= count + _MAX_MISSING
    return numbers if is_close else list(range(1, count + 1))


def _one_document(file: FilePages) -> Document:
    """Return the document, or all pages of a file as one that knows where each of them starts."""
    first = file.documents[0]
    if file.path is None:
        return first
    text, starts = "", list[int]()
    for number, page in zip(_numbers(file), file.documents, strict=True):
        starts += [len(text)] * (number - len(starts))  # pages that are not there are empty
        if page.text.strip():
            text += page.text.strip() + "\n\n"
    text = text.rstrip()
    blank = len(file.blank)
    reading = Reading(
        text=text,
        page_starts=tuple(min(start, len(text)) for start in starts),
        warnings=(f"{count(blank, 'blank page')} left out",) if blank else (),
        facts={key: value for key, value in first.metadata.items() if key != PAGE_LABEL},
    )
    document = build_document(Path(file.path), reading)
    document.metadata[TOTAL_PAGES] = len(file.documents)
    document.excluded_embed_metadata_keys = [*BOOKKEEPING, *first.excluded_embed_metadata_keys]
    document.excluded_llm_metadata_keys = [*BOOKKEEPING, *first.excluded_llm_metadata_keys]
    return document
