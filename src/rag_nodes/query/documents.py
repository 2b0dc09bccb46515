"""`DocumentIndex`: documents in memory, searchable by any number of parsers while it is open."""

from __future__ import annotations

import threading
from contextlib import ExitStack, suppress
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rag_nodes.core.errors import CollectionMissingError
from rag_nodes.core.processes import current_interrupt
from rag_nodes.embedding.failures import missing_extra, without_text
from rag_nodes.embedding.report import DocumentFacts, FileOutcome, ParserOutcome
from rag_nodes.query.cache import VectorCache
from rag_nodes.query.indexing import NOTHING_BEFORE, StoredBefore, indexed
from rag_nodes.readers import blank_page
from rag_nodes.store import open_store, parser_collection
from rag_nodes.store.conditions import DOCUMENT_ID, Condition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from llama_index.core.schema import Document

    from rag_nodes.embedding.report import FileColumn, Progress
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.query.indexing import Indexed
    from rag_nodes.readers import ReadResult
    from rag_nodes.store import Store

_CORPUS = "memory"
_POLL = 0.1
"""Seconds after which whoever waits for another thread notices a cancellation."""


class DocumentIndex:
    """Documents in memory; each parser that is added gets a collection of their chunks.

    Args:
        documents: of several with the same id the last.
        cache: vectors of paid models, which stays the caller's; None for one that ends with this.
        before: index whose chunks of these documents are used again as long as it is open.

    Attributes:
        documents: with different ids.
        store: of the collections, in memory.
        is_closed: the chunks are forgotten, so nothing can be searched.
    """

    def __init__(
        self,
        documents: Sequence[Document],
        cache: VectorCache | None = None,
        before: DocumentIndex | None = None,
    ) -> None:
        self.documents = tuple({document.id_: document for document in documents}.values())
        self._opened = ExitStack()
        self.is_closed = False
        self.store: Store = self._opened.enter_context(open_store())
        self._cache = cache or self._opened.enter_context(VectorCache())
        self._adding = threading.Lock()
        self._whole: dict[str, Indexed] = {}
        self._before = before

    def close(self) -> None:
        """Forget all chunks."""
        self.is_closed, self._before = True, None
        self._opened.close()

    def collection(self, parser: SpanNodeParser, models: Models) -> str:
        """Return the name of the collection that holds the chunks of a parser."""
        return parser_collection(_CORPUS, parser, models.embedding_name)

    def add(
        self,
        name: str,
        parser: SpanNodeParser,
        models: Models,
        *,
        progress: Callable[[Progress], None] = lambda _: None,
        prices: Prices = MappingProxyType({}),
    ) -> tuple[ParserOutcome, Mapping[str, FileColumn]]:
        """Make the documents searchable by a parser, unless an equal one did.

        See `indexed` for the arguments; the outcome of an equal parser says that nothing was done.

        Raises:
            CancelledError: see `interruptible`.
        """
        collection = self.collection(parser, models)
        while not self._adding.acquire(timeout=_POLL):
            current_interrupt().check(name)
        try:
            if previous := self._whole.get(collection):
                return _unchanged(name, previous)
            with suppress(CollectionMissingError):
                self.store.drop(collection)
            before = self._before
            result = indexed(
                self.store,
                collection,
                parser,
                self.documents,
                self._cache.of(models),
                name=name,
                progress=progress,
                prices=prices,
                before=before.stored(collection, self.documents) if before else NOTHING_BEFORE,
            )
            if not result.outcome.error:  # else the next time may go better
                self._whole[collection] = result._replace(nodes=[])
        finally:
            self._adding.release()
        return result.outcome, result.documents

    def stored(self, collection: str, documents: Sequence[Document]) -> StoredBefore:
        """Return the chunks of those of some documents that are whole in a collection."""
        whole = None if self.is_closed else self._whole.get(collection)
        if whole is None:
            return NOTHING_BEFORE
        own = {document.id_: document for document in self.documents}
        ids = [document.id_ for document in documents if own.get(document.id_) is document]
        chosen = Condition(DOCUMENT_ID, "in", ids)
        return StoredBefore(
            {key: (whole.documents[key], whole.counts[key]) for key in ids},
            self.store.select(collection, chosen, None, vectors=True),
        )

    def keep(self, collections: Collection[str]) -> None:
        """Forget the chunks in all other collections."""
        with self._adding:
            for info in self.store.collections():
                if info.name not in collections:
                    self._whole.pop(info.name, None)
                    self.store.drop(info.name)


def rows_of(
    documents: Iterable[Document], columns: Mapping[str, Mapping[str, FileColumn]]
) -> tuple[FileOutcome, ...]:
    """Return a row for each document but blank pages, with what each parser made of it.

    Args:
        documents: of a `DocumentIndex`.
        columns: by parser and id of the document, as `DocumentIndex.add` returns it.
    """
    return tuple(
        _row(document, {name: rows[document.id_] for name, rows in columns.items()})
        for document in documents
        if not blank_page(document)
    )


def row_of(result: ReadResult) -> FileOutcome:
    """Return the row of a file that no parser has split yet, or that could not be read."""
    if result.document is not None:
        return replace(_row(result.document, {}), path=str(result.path), seconds=result.seconds)
    words = str(result.error) if result.error else None
    extra = missing_extra(result.error)
    return FileOutcome(
        str(result.path), "failed", None, 0, words, result.seconds, missing_extra=extra
    )


def _unchanged(name: str, previous: Indexed) -> tuple[ParserOutcome, Mapping[str, FileColumn]]:
    outcome = replace(
        previous.outcome,
        parser=name,
        written=0,
        unchanged=previous.outcome.chunks,
        seconds={},
        embedding_tokens=0,
        embedding_cost=0.0,
    )
    return outcome, {
        key: replace(document, status="unchanged") for key, document in previous.documents.items()
    }


def _row(document: Document, columns: dict[str, FileColumn]) -> FileOutcome:
    facts = DocumentFacts.of(document)
    path = str(facts.source or document.id_)
    row = facts.outcome(path, columns)
    if document.text.strip():
        return row
    # No parser has anything of it, as in an ingest.
    return replace(row, status="failed", error=str(without_text(document, path)), columns={})
