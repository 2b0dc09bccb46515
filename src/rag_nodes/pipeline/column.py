"""One parser's way through an ingest: cut, skip what is stored, embed, write, delete the stale."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rag_nodes.errors import (
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    ModelRequestError,
    RagNodesError,
    RateLimitedError,
    StoreError,
)
from rag_nodes.metadata import FILE_NAME, SOURCE, SOURCE_HASH, TOKEN_COUNT
from rag_nodes.pipeline.report import ParserOutcome, Progress
from rag_nodes.store import is_complete
from rag_nodes.text.tokens import count_tokens
from rag_nodes.transforms import EmbeddingGuard

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llama_index.core.schema import BaseNode, Document

    from rag_nodes.models import Models
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.pipeline.report import Stage
    from rag_nodes.store import Catalogue, Store

logger = logging.getLogger(__name__)

BATCH = 200
"""Chunks embedded and written together; small documents share a batch."""

_IDENTITY = (SOURCE, FILE_NAME, SOURCE_HASH)
"""Metadata of the document that every node needs."""

_HOPELESS = (CredentialsError, DimensionError, ModelConnectionError, RateLimitedError, StoreError)
"""Errors after which the next document would only fail the same way, slowly."""


class ColumnRun:
    """One parser within one ingest run; used by one thread at a time.

    Args:
        name: the parser's name in the report.
        parser: cuts the documents.
        store: where chunks go.
        collection: which collection of the store.
        models: gives the embedding model.
        report: takes progress; safe to call from any thread.
    """

    def __init__(
        self,
        name: str,
        parser: SpanNodeParser,
        store: Store,
        collection: str,
        *,
        models: Models,
        report: Callable[[Progress], None],
    ) -> None:
        self.name = name
        self._parser = parser
        self._store = store
        self._collection = collection
        self._models = models
        self._report = report
        self._catalogue: Catalogue | None = None
        self._seen: dict[str, str] = {}
        self._waiting: list[BaseNode] = []
        self._stale: list[str] = []
        self._counts = _Counts()
        self._wanted = self._written = self._unchanged = self._deleted = 0
        self._seconds: dict[str, float] = defaultdict(float)
        self._errors: list[str] = []
        self._guard = EmbeddingGuard()
        self._stopped = False

    def add(self, document: Document) -> bool:
        """Take one document through all stages, as far as batches are full.

        Returns:
            True when all of it was stored already.
        """
        if self._stopped:
            return False
        with self._failures_noted(_label(document)):
            return self._add(document)
        return False

    def finish(self) -> ParserOutcome:
        """Write what still waits for a full batch, and say what happened."""
        if not self._stopped:
            with self._failures_noted("the last chunks"):
                self._flush()
        counts = self._counts
        return ParserOutcome(
            parser=self.name,
            collection=self._collection,
            chunks=counts.chunks,
            tokens=counts.tokens,
            mean_tokens=counts.tokens / counts.chunks if counts.chunks else 0.0,
            max_tokens=counts.largest,
            written=self._written,
            unchanged=self._unchanged,
            deleted=self._deleted,
            seconds={stage: self._seconds[stage] for stage in ("parse", "embed", "store")},
            error=_summary(self._errors),
        )

    def _add(self, document: Document) -> bool:
        source_hash = str(document.metadata[SOURCE_HASH])
        if self._seen.get(document.id_) == source_hash:
            return True
        self._seen[document.id_] = source_hash
        stored = self._known().of(document.id_)
        if is_complete(stored, source_hash):
            self._counts.add(node.tokens for node in stored.values())
            self._unchanged += len(stored)
            return True
        nodes = self._parse(document)
        kept = {
            node.node_id
            for node in nodes
            if node.node_id in stored and stored[node.node_id].source_hash == source_hash
        }
        self._unchanged += len(kept)
        self._enqueue([node for node in nodes if node.node_id not in kept])
        # Queued behind the new chunks, so a batch deletes only what it has replaced.
        self._stale.extend(stored.keys() - {node.node_id for node in nodes})
        return False

    def _known(self) -> Catalogue:
        if self._catalogue is None:
            self._catalogue = self._store.catalogue(self._collection)
        return self._catalogue

    def _parse(self, document: Document) -> list[BaseNode]:
        with self._timed("parse"):
            nodes: list[BaseNode] = self._guard(self._parser([document]))
        _identify(nodes, document)
        self._counts.add(_tokens(node) for node in nodes)
        self._report(Progress("parse", self.name, self._counts.chunks))
        return nodes

    def _enqueue(self, nodes: Sequence[BaseNode]) -> None:
        self._wanted += len(nodes)
        for node in nodes:
            self._waiting.append(node)
            if len(self._waiting) >= BATCH:
                self._flush()

    def _flush(self) -> None:
        """Embed and write what waits, then delete what that replaced."""
        nodes, self._waiting = self._waiting, []
        stale, self._stale = self._stale, []
        if nodes:
            with self._timed("embed"):
                nodes = self._embedded(nodes)
            self._report(Progress("embed", self.name, self._written + len(nodes), self._wanted))
            with self._timed("store"):
                self._store.vector_store(self._collection).add(nodes)
            self._written += len(nodes)
            self._report(Progress("store", self.name, self._written, self._wanted))
        if stale:
            with self._timed("store"):
                self._store.delete(self._collection, stale)
            self._deleted += len(stale)

    def _embedded(self, nodes: list[BaseNode]) -> list[BaseNode]:
        """The nodes with their vectors; where a batch is refused, each one alone (S3-19)."""
        try:
            return self._embed(nodes)
        except ModelRequestError:
            if len(nodes) == 1:
                raise
            logger.info("%s: a batch was refused, embedding its chunks one by one", self.name)
        done: list[BaseNode] = []
        for node in nodes:
            try:
                done.extend(self._embed([node]))
            except ModelRequestError as error:
                self._note(f"chunk {node.node_id}", error)
        return done

    def _embed(self, nodes: list[BaseNode]) -> list[BaseNode]:
        from rag_nodes.models import map_model_error

        try:
            return list(self._models.embedding(nodes))
        except RagNodesError:
            raise
        except Exception as error:
            # Any LlamaIndex embedding can be plugged in, and each raises its provider's errors.
            raise map_model_error(
                error, model=self._models.embedding_name, api_base=None
            ) from error

    @contextmanager
    def _timed(self, stage: Stage) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] += time.perf_counter() - started

    @contextmanager
    def _failures_noted(self, what: str) -> Iterator[None]:
        """Turn failures into the column's error: one parser never stops the others."""
        try:
            yield
        except _HOPELESS as error:
            self._stopped = True
            self._note(what, error)
        except Exception as error:  # noqa: BLE001 - parsers and models are other people's code
            self._note(what, error)

    def _note(self, what: str, error: Exception) -> None:
        logger.warning("%s: %s: %s", self.name, what, error, exc_info=error)
        kind = "" if isinstance(error, RagNodesError) else f"{type(error).__name__}: "
        self._errors.append(f"{what}: {kind}{error}")


class _Counts:
    """Running totals of chunks and tokens."""

    def __init__(self) -> None:
        self.chunks = self.tokens = self.largest = 0

    def add(self, token_counts: Iterable[int]) -> None:
        for count in token_counts:
            self.chunks += 1
            self.tokens += count
            self.largest = max(self.largest, count)


def _tokens(node: BaseNode) -> int:
    known = node.metadata.get(TOKEN_COUNT)
    return int(known) if known is not None else count_tokens(node.get_content())


def _identify(nodes: list[BaseNode], document: Document) -> None:
    """Tell each node its document, also where the parser was told to leave metadata out.

    Skipping what is stored and citing both depend on it.
    """
    facts = {key: document.metadata[key] for key in _IDENTITY if key in document.metadata}
    for node in nodes:
        for key in facts.keys() - node.metadata.keys():
            node.metadata[key] = facts[key]
            node.excluded_embed_metadata_keys.append(key)
            node.excluded_llm_metadata_keys.append(key)


def _label(document: Document) -> str:
    return str(document.metadata.get(FILE_NAME) or document.id_)


def _summary(errors: list[str]) -> str | None:
    if not errors:
        return None
    more = f" (and {len(errors) - 1} more, see the log)" if len(errors) > 1 else ""
    return errors[0] + more
