"""One parser's way through an ingest: cut, skip what is stored, embed, write, delete the stale.

Cutting and embedding are a LlamaIndex `IngestionPipeline`; what is due, what is written and what
may go is decided here.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from llama_index.core.schema import MetadataMode

from rag_nodes.errors import (
    CancelledError,
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    RagNodesError,
    RateLimitedError,
    StoreError,
    UnknownModelError,
)
from rag_nodes.metadata import DECISION, FILE_NAME, SOURCE, SOURCE_HASH, START_CHAR, USUAL
from rag_nodes.models.embedded_tokens import EmbeddedTokens
from rag_nodes.models.prices import cost_of
from rag_nodes.parsers.parent_child import is_leaf, parents_first
from rag_nodes.pipeline.deposit import Counts, Deposit, is_kept, tokens_of
from rag_nodes.pipeline.embedding import (
    Waiting,
    embed,
    further_due,
    give_vector,
    lacks_vector,
    requests_of,
)
from rag_nodes.pipeline.report import ParserOutcome, Progress
from rag_nodes.pipeline.under_way import UnderWay
from rag_nodes.processes import current_interrupt
from rag_nodes.store import is_complete
from rag_nodes.transforms import further_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from llama_index.core.schema import BaseNode, Document

    from rag_nodes.ledger import DepositRow
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.build import ColumnPipeline
    from rag_nodes.pipeline.embedding import Embedded
    from rag_nodes.pipeline.record import CollectionRecord
    from rag_nodes.pipeline.report import Stage

logger = logging.getLogger(__name__)

BATCH = 200
"""Chunks embedded and written together; small documents share a batch."""

GRACE = 5.0
"""Seconds for which a run that is given up waits for what it has asked for."""

_IDENTITY = (SOURCE, FILE_NAME, SOURCE_HASH)
"""Metadata of the document that every node needs."""

HOPELESS = (
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    RateLimitedError,
    StoreError,
    UnknownModelError,
)
"""Errors after which the next document would only fail the same way, slowly."""


class ColumnRun:
    """One parser within one ingest run; used by one thread at a time.

    Args:
        name: the parser's name in the report.
        pipeline: cuts the documents and embeds the chunks.
        record: which collection of the store, and what is known of it.
        models: names the embedding model and says how many texts it takes at once.
        report: takes progress; safe to call from any thread.
        prices: of embedding models, see `rag_nodes.models.prices`.
    """

    def __init__(
        self,
        name: str,
        pipeline: ColumnPipeline,
        record: CollectionRecord,
        *,
        models: Models,
        report: Callable[[Progress], None],
        prices: Prices = MappingProxyType({}),
    ) -> None:
        self.name = name
        self._prices = prices
        self._embedding = EmbeddedTokens()
        self._pipeline = pipeline
        self.record = record
        self._store = record.store
        self._collection = record.collection
        self._models = models
        self._report = report
        self._has_answered = False
        self._seen: dict[tuple[str, str], Deposit] = {}
        self._waiting: Waiting = []
        self._under_way = UnderWay(0 if models.offline else models.embedding.num_workers or 1)
        self._emptied: list[Deposit] = []
        self._counts = Counts()
        self._wanted = self._written = self._unchanged = self._deleted = self._spared = 0
        self._seconds: dict[str, float] = defaultdict(float)
        self._errors: list[str] = []
        self._stopped: str | None = None

    @property
    def errors(self) -> tuple[str, ...]:
        """Everything that went wrong, in order."""
        return tuple(self._errors)

    @property
    def stopped(self) -> str | None:
        """Why it gave up, which the next document would fail by too; None while it has not."""
        return self._stopped

    def leave(self, name: str, row: DepositRow) -> Deposit:
        """Leave a document as it is stored.

        Args:
            name: of the document.
            row: what is stored of it.

        Returns:
            The same, as of one that was taken.
        """
        key = row.document_id, row.source_hash
        if key not in self._seen:
            deposit = self._seen[key] = Deposit(name, *key)
            deposit.counts.join(row)
            self._leave(deposit)
        return self._seen[key]

    def add(self, document: Document, twins: Sequence[str] = ()) -> Deposit:
        """Take one document through all stages, as far as batches are full.

        Args:
            document: with a hash of all that its nodes are made of.
            twins: ids of documents of the same bytes, whose vectors may do.

        Returns:
            What is stored of it; changes until `finish`.
        """
        source_hash = str(document.metadata[SOURCE_HASH])
        key = document.id_, source_hash
        if key in self._seen:
            return self._seen[key]
        deposit = self._seen[key] = Deposit(_label(document), *key)
        with self._failures_noted(deposit):
            self._add(document, deposit, twins)
        return deposit

    def finish(self) -> ParserOutcome:
        """Write what still waits for a full batch, and say what happened."""
        if not self._stopped:
            with self._failures_noted():
                self._flush()
                while self._under_way:
                    self._take()
        counts = self._counts
        return ParserOutcome(
            parser=self.name,
            collection=self._collection,
            chunks=counts.chunks,
            tokens=counts.tokens,
            mean_tokens=counts.tokens / counts.chunks if counts.chunks else 0.0,
            max_tokens=counts.largest,
            parents=counts.parents,
            written=self._written,
            unchanged=self._unchanged,
            deleted=self._deleted,
            seconds={stage: self._seconds[stage] for stage in ("parse", "embed", "store")},
            error=summary(self._errors),
            unplaced=counts.unplaced,
            embedding_tokens=self._embedding.tokens,
            embedding_cost=self._cost(self._embedding.tokens),
            spared_tokens=self._spared,
            spared_cost=self._cost(self._spared),
        )

    def _cost(self, tokens: int) -> float | None:
        return cost_of(tokens, 0, self._models.embedding_name, self._prices)

    def _tell(self, stage: Stage, done: int, total: int | None = None) -> None:
        tokens = self._embedding.tokens
        self._report(Progress(stage, self.name, done, total, tokens, self._cost(tokens)))

    def salvage(self) -> None:
        """Store what was paid for, of a run that is given up; then it is over."""
        for embedded in self._under_way.settled(GRACE):
            with suppress(RagNodesError):
                self._write(embedded)

    def _add(self, document: Document, deposit: Deposit, twins: Sequence[str]) -> None:
        current_interrupt().check(f"{self.name}: {deposit.label}")
        source_hash = deposit.source_hash
        if self._stopped:
            deposit.fail(self._stopped)
            if not self._has_answered:
                return
        row = self.record.known([document.id_]).get(document.id_)
        if row and row.source_hash == source_hash:
            deposit.counts.join(row)
            self._leave(deposit)
            return
        stored = self.record.stored(document.id_)
        self._has_answered = True
        if is_complete(stored, source_hash):
            deposit.counts.add(
                (node.tokens, not node.is_parent, node.is_placed) for node in stored.values()
            )
            self._leave(deposit)
            self._settle([deposit])
            return
        deposit.keep(stored, sum(not node.is_parent for node in stored.values()))
        if self._stopped:
            return
        nodes = self._parse(document, deposit)
        deposit.choice = next((node.metadata.get(DECISION) for node in nodes), None)
        ids = {node.node_id for node in nodes}
        kept = {node.node_id for node in nodes if is_kept(node, stored, source_hash)}
        chunks = [stored[one] for one in kept if not stored[one].is_parent]
        self._unchanged += len(chunks)
        self._spared += sum(chunk.tokens for chunk in chunks)
        due = [node for node in nodes if node.node_id not in kept]
        stale = stored.keys() - ids
        deposit.expect(
            sum(map(is_leaf, nodes)),
            map(is_leaf, due),
            stale=stale,
            former=sum(not stored[one].is_parent for one in stale),
        )
        if deposit.is_stored:
            self._emptied.append(deposit)
        self._reuse_vectors([node for node in due if node.node_id in stored])
        if not stored and twins:
            self._take_vectors_of(twins, due)
        self._enqueue(due, deposit)

    def _leave(self, deposit: Deposit) -> None:
        """Count a document that is stored whole already."""
        self._counts.join(deposit.counts)
        self._unchanged += deposit.counts.chunks
        self._spared += deposit.counts.tokens
        deposit.expect(deposit.counts.chunks)

    def _parse(self, document: Document, deposit: Deposit) -> list[BaseNode]:
        with self._timed("parse"), self._embedding.counting():
            cut = self._pipeline.cutting.run(documents=[document])
        # A parent goes before its children: the first batch has a vector to make a collection by,
        # and a run that was killed leaves no child without its parent.
        nodes = parents_first(cut)
        _identify(nodes, document)
        deposit.counts.add(
            (tokens_of(node), is_leaf(node), START_CHAR in node.metadata) for node in nodes
        )
        self._counts.join(deposit.counts)
        self._tell("parse", self._counts.chunks)
        return nodes

    def _reuse_vectors(self, nodes: list[BaseNode]) -> None:
        """Give nodes whose metadata alone changed the vectors that are stored for them."""
        ids = [node.node_id for node in nodes]
        for name in {USUAL}.union(*map(further_due, nodes)):
            with self._timed("store"):
                stored = self._store.vectors(self._collection, ids, name)
            for node in nodes:
                text, vector = stored.get(node.node_id, (None, None))
                if vector is not None and text == further_text(node, name):
                    self._spare(node, name, vector)

    def _take_vectors_of(self, twins: Sequence[str], nodes: list[BaseNode]) -> None:
        """Give nodes of a file that was moved or copied the vectors of what reads the same."""
        with self._timed("store"):
            stored = [one for twin in twins for one in self.record.stored(twin)]
            vectors = dict(self._store.vectors(self._collection, stored).values())
        for node in filter(lacks_vector, nodes):
            if vector := vectors.get(node.get_content(MetadataMode.EMBED)):
                self._spare(node, USUAL, vector)

    def _spare(self, node: BaseNode, name: str, vector: list[float]) -> None:
        give_vector(node, name, vector)
        self._spared += tokens_of(node)

    def _enqueue(self, nodes: Sequence[BaseNode], deposit: Deposit) -> None:
        self._wanted += sum(map(is_leaf, nodes))
        for node in nodes:
            self._waiting.append((node, deposit))
            if len(self._waiting) >= BATCH:
                self._flush()

    def _flush(self) -> None:
        """Have what waits embedded, and delete what that replaced."""
        waiting, self._waiting = self._waiting, []
        # First, since these need nothing of the model, whatever becomes of the others.
        emptied, self._emptied = self._emptied, []
        self._delete_replaced(emptied)
        try:
            for part in requests_of(waiting, self._models):
                self._send(part)
        except HOPELESS as error:
            for _, deposit in waiting:
                deposit.fail(_said(error))
            raise

    def _send(self, part: Waiting) -> None:
        """Start a request; those before it are taken where they are answered, or too many."""
        at_once = self._under_way.at_once
        while self._under_way.is_answered or len(self._under_way) >= max(1, at_once):
            self._take()
        current_interrupt().check(f"{self.name}: embedding")
        with self._timed("embed"), self._embedding.counting():
            self._under_way.start(
                partial(embed, part, self._pipeline.embedding, self._models.embedding_name)
            )
        # What would refuse every request is asked once: the first one is waited for.
        if not at_once or not self._written:
            self._take()

    def _take(self) -> None:
        """Store the chunks of the first request under way."""
        with self._timed("embed"):
            embedded = self._under_way.take()
        self._keep(embedded)

    def _keep(self, embedded: Embedded) -> None:
        """Store the chunks of one request, so that no later failure costs their vectors."""
        for node, deposit, refusal in embedded.refused:
            deposit.fail(_said(refusal))
            self._note(f"{deposit.label}, chunk {node.node_id}", refusal)
        try:
            self._write(embedded)
        except CancelledError:
            raise
        except Exception as error:
            for _, deposit in embedded.part:
                deposit.fail(_said(error))
            self._note(embedded.part[0][1].label, error)
            if isinstance(error, HOPELESS):
                self._stopped = self._stopped or _said(error)
                raise

    def _write(self, embedded: Embedded) -> None:
        if stored := embedded.accepted:
            # Before anything is reported, as whoever is told may give up.
            with self._timed("store"):
                touched = {deposit.document_id for _, deposit in stored}
                self.record.unsettle(touched, _dimension(stored))
                self._store.add(self._collection, [node for node, _ in stored])
            for node, deposit in stored:
                deposit.count_stored(is_chunk=is_leaf(node))
            self._written += sum(is_leaf(node) for node, _ in stored)
            self._tell("embed", self._written, self._wanted)
            self._tell("store", self._written, self._wanted)
            self._delete_replaced(dict.fromkeys(deposit for _, deposit in stored))
        if embedded.error:
            raise embedded.error

    def _drain(self) -> None:
        """Store what other requests gave, after one has failed for good."""
        while self._under_way:
            with suppress(*HOPELESS):
                self._take()

    def _delete_replaced(self, deposits: Iterable[Deposit]) -> None:
        """Delete the former chunks of the documents whose new ones are all stored."""
        done = [deposit for deposit in deposits if deposit.is_stored]
        stale = [node_id for deposit in done for node_id in deposit.stale]
        try:
            with self._timed("store"):
                if stale:
                    self.record.unsettle([one.document_id for one in done])
                    self._store.delete(self._collection, stale)
        except Exception as error:
            for deposit in done:
                if deposit.stale:
                    deposit.fail(_said(error))
            raise
        self._deleted += len(stale)
        for deposit in done:
            deposit.stale.clear()
        with self._timed("store"):
            self._settle(done)

    def _settle(self, deposits: Iterable[Deposit]) -> None:
        """Write down documents that are stored whole, and nothing of the others."""
        self.record.settle([one.row(self._collection) for one in deposits if one.is_whole])

    @contextmanager
    def _timed(self, stage: Stage) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[stage] += time.perf_counter() - started

    @contextmanager
    def _failures_noted(self, deposit: Deposit | None = None) -> Iterator[None]:
        """Turn failures into the column's error: one parser never stops the others."""
        label = deposit.label if deposit else "the last chunks"
        deposit = deposit or Deposit(label)
        try:
            yield
        except CancelledError:
            raise
        except HOPELESS as error:
            if not self._stopped:
                self._note(label, error)
            self._stopped = self._stopped or _said(error)
            deposit.fail(self._stopped)
            for _, other in self._waiting:
                other.fail(self._stopped)
            self._drain()
        except Exception as error:  # noqa: BLE001 - parsers and models are other people's code
            deposit.fail(_said(error))
            self._note(label, error)

    def _note(self, what: str, error: Exception) -> None:
        logger.warning("%s: %s: %s", self.name, what, error, exc_info=error)
        self._errors.append(f"{what}: {_said(error)}")


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


def _dimension(waiting: Waiting) -> int | None:
    """Length of the vectors; None where there are parents only."""
    return next((len(node.embedding) for node, _ in waiting if node.embedding), None)


def _label(document: Document) -> str:
    return str(document.metadata.get(FILE_NAME) or document.id_)


def _said(error: Exception) -> str:
    kind = "" if isinstance(error, RagNodesError) else f"{type(error).__name__}: "
    return f"{kind}{error}"


def summary(errors: Sequence[str]) -> str | None:
    """The first error, and how many more there are; None without any."""
    if not errors:
        return None
    more = f" (and {len(errors) - 1} more, see the log)" if len(errors) > 1 else ""
    return errors[0] + more
