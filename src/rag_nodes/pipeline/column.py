"""One parser's way through an ingest: cut, skip what is stored, embed, write, delete the stale.

Cutting and embedding are a LlamaIndex `IngestionPipeline`; what is due, what is written and what
may go is decided here.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from rag_nodes.errors import CancelledError, ModelError, RagNodesError
from rag_nodes.ledger.versions import model_of, version_of
from rag_nodes.metadata import DECISION, FILE_NAME, SOURCE, SOURCE_HASH, START_CHAR
from rag_nodes.parsers.parent_child import is_leaf, parents_first
from rag_nodes.pipeline.delivery import Delivery
from rag_nodes.pipeline.deposit import Counts, Deposit, is_kept, tokens_of
from rag_nodes.pipeline.embedding import further_due, give_vector, lacks_vector
from rag_nodes.pipeline.identity import made_by
from rag_nodes.pipeline.notes import HOPELESS, ColumnNotes, said, summary
from rag_nodes.pipeline.report import ParserOutcome
from rag_nodes.pipeline.taken import TakenDocuments
from rag_nodes.processes import current_interrupt
from rag_nodes.store import is_complete
from rag_nodes.transforms import further_text
from rag_nodes.vector_names import USUAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from llama_index.core.schema import BaseNode, Document

    from rag_nodes.ledger import DepositRow
    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.build import ColumnPipeline
    from rag_nodes.pipeline.record import CollectionRecord
    from rag_nodes.pipeline.report import Progress
    from rag_nodes.store import StoredNode

_IDENTITY = (SOURCE, FILE_NAME, SOURCE_HASH)
"""Metadata of the document that every node needs."""


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
        self.record = record
        self._pipeline = pipeline
        self._store = record.store
        self._collection = record.collection
        self._notes = ColumnNotes(name, models, report, prices)
        self._delivery = Delivery(pipeline.embedding, record, models, self._notes)
        self._has_answered = False
        self._taken = TakenDocuments()
        self._counts = Counts()
        self._unchanged = self._spared = self._begun = 0

    @property
    def errors(self) -> tuple[str, ...]:
        """Everything that went wrong, in order."""
        return tuple(self._notes.errors)

    @property
    def stopped(self) -> str | None:
        """Why it gave up, which the next document would fail by too; None while it has not."""
        return self._notes.stopped

    def leave(self, name: str, row: DepositRow) -> Deposit:
        """Leave a document as it is stored.

        Args:
            name: of the document.
            row: what is stored of it.

        Returns:
            The same, as of one that was taken.
        """
        deposit = self._taken.get(name, row.document_id, row.source_hash)
        if deposit is None:
            deposit = Deposit(name, row.document_id, row.source_hash)
            self._leave(deposit, row)
            self._taken.add(deposit)
        return deposit

    def add(self, document: Document, twins: Sequence[str] = ()) -> Deposit:
        """Take one document through all stages, as far as batches are full.

        Args:
            document: with a hash of all that its nodes are made of.
            twins: ids of documents of the same bytes, whose vectors may do.

        Returns:
            What is stored of it; changes until `finish`.
        """
        document = made_by(self.record.code, document)
        source_hash = str(document.metadata[SOURCE_HASH])
        known = self._taken.get(_label(document), document.id_, source_hash)
        if known:
            return known
        deposit = Deposit(_label(document), document.id_, source_hash)
        is_another = self._taken.has(document.id_)
        self._taken.add(deposit)
        with self._failures_noted(deposit):
            if is_another and not self._notes.stopped:
                self._delivery.finish()
            self._add(document, deposit, twins, is_another=is_another)
        return deposit

    def finish(self) -> ParserOutcome:
        """Write what still waits for a full batch, and say what happened."""
        if not self._notes.stopped:
            with self._failures_noted():
                self._delivery.finish()
        with self._failures_noted():
            self._tell_failures()
            self.record.conclude()
        counts = self._counts
        return ParserOutcome(
            parser=self.name,
            collection=self._collection,
            chunks=counts.chunks,
            tokens=counts.tokens,
            mean_tokens=counts.tokens / counts.chunks if counts.chunks else 0.0,
            max_tokens=counts.largest,
            parents=counts.parents,
            written=self._begun + self._delivery.written,
            unchanged=self._unchanged,
            deleted=self._delivery.deleted,
            seconds={stage: self._notes.seconds[stage] for stage in ("parse", "embed", "store")},
            error=summary(self._notes.errors),
            unplaced=counts.unplaced,
            embedding_tokens=self._notes.embedded.tokens,
            embedding_cost=self._notes.cost(self._notes.embedded.tokens),
            spared_tokens=self._spared,
            spared_cost=self._notes.cost(self._spared),
        )

    def salvage(self) -> None:
        """Store what was paid for, of a run that is given up; then it is over."""
        self._delivery.salvage()
        with suppress(RagNodesError):
            self._tell_failures()

    def _add(
        self, document: Document, deposit: Deposit, twins: Sequence[str], *, is_another: bool
    ) -> None:
        current_interrupt().check(f"{self.name}: {deposit.label}")
        source_hash = deposit.source_hash
        if self._notes.stopped:
            deposit.fail(self._notes.stopped)
            if not self._has_answered:
                return
        row = self.record.known([document.id_]).get(document.id_)
        if row and row.source_hash == source_hash:
            self._leave(deposit, row)
            return
        # Two files may have the same page, each as it was when they were crawled; what was asked
        # before the first of them was stored is no longer true.
        asked = partial(self._store.stored, self._collection)
        stored = (asked if is_another else self.record.stored)(document.id_)
        self._has_answered = True
        if is_complete(stored, source_hash):
            deposit.counts.add(
                (node.tokens, not node.is_parent, node.is_placed) for node in stored.values()
            )
            self._counts.join(deposit.counts)
            deposit.expect(deposit.counts.chunks, begun=self._keep(stored))
            self._delivery.settle([deposit])
            return
        deposit.keep(stored, sum(not node.is_parent for node in stored.values()))
        if self._notes.stopped:
            return
        nodes = self._parse(document, deposit)
        deposit.choice = next((node.metadata.get(DECISION) for node in nodes), None)
        ids = {node.node_id for node in nodes}
        kept = {
            node.node_id: stored[node.node_id]
            for node in nodes
            if is_kept(node, stored, source_hash)
        }
        begun = self._keep(kept)
        due = [node for node in nodes if node.node_id not in kept]
        stale = stored.keys() - ids
        deposit.expect(
            sum(map(is_leaf, nodes)),
            map(is_leaf, due),
            stale=stale,
            former=sum(not stored[one].is_parent for one in stale),
            begun=begun,
        )
        if deposit.is_stored:
            self._delivery.replace_later(deposit)
        same = self._embedded_alike(stored)
        self._reuse_vectors([node for node in due if node.node_id in same])
        if not stored and twins:
            self._take_vectors_of(twins, due)
        self._delivery.add(due, deposit)

    def _keep(self, stored: Mapping[str, StoredNode]) -> bool:
        """Count nodes that are stored as they should be; whether this ingest has written some."""
        own = stored.keys() & self.record.own
        chunks = {one: node for one, node in stored.items() if not node.is_parent}
        before = chunks.keys() - own
        self._begun += len(chunks) - len(before)
        self._unchanged += len(before)
        self._spared += sum(chunks[one].tokens for one in before)
        return bool(own)

    def _leave(self, deposit: Deposit, row: DepositRow) -> None:
        """Count a document that is stored whole already."""
        deposit.counts.join(row)
        self._counts.join(deposit.counts)
        self._unchanged += deposit.counts.chunks
        self._spared += deposit.counts.tokens
        deposit.expect(deposit.counts.chunks)
        if row.error is not None:  # of another version, or of a run that was killed
            with self._failures_noted(deposit):
                self._delivery.settle([deposit])

    def _parse(self, document: Document, deposit: Deposit) -> list[BaseNode]:
        with self._notes.timed("parse"), self._notes.embedded.counting():
            cut = self._pipeline.cutting.run(documents=[document])
        # A parent goes before its children: the first batch has a vector to make a collection by,
        # and a run that was killed leaves no child without its parent.
        nodes = parents_first(cut)
        _identify(nodes, document)
        self._note_unwritten(nodes, deposit)
        deposit.counts.add(
            (tokens_of(node), is_leaf(node), START_CHAR in node.metadata) for node in nodes
        )
        self._counts.join(deposit.counts)
        self._notes.tell("parse", self._counts.chunks)
        return nodes

    def _note_unwritten(self, nodes: Sequence[BaseNode], deposit: Deposit) -> None:
        """Have chunks be due again about which an LLM was to write and did not.

        They are stored without it meanwhile, as their usual vector finds them.
        """
        found = [node for node in nodes if self._pipeline.unwritten & node.metadata.keys()]
        if not found:
            return
        for node in found:
            node.metadata[SOURCE_HASH] = f"{deposit.source_hash} unwritten"  # another version
        (reason, *_) = sorted(self._pipeline.unwritten & found[0].metadata.keys())
        error = ModelError(
            f"an LLM wrote nothing about {len(found)} of {len(nodes)} chunks, which are stored "
            f"without ({found[0].metadata[reason]}); ingest again to have them written about"
        )
        deposit.lacks_texts = True
        deposit.fail(said(error))
        self._notes.note(deposit.label, error)

    def _embedded_alike(self, stored: Mapping[str, StoredNode]) -> list[str]:
        """Ids of the nodes whose vectors the model would make again."""
        model = model_of(version_of("", self.record.code))
        return [one for one, node in stored.items() if model_of(node.source_hash) == model]

    def _reuse_vectors(self, nodes: list[BaseNode]) -> None:
        """Give nodes whose metadata alone changed the vectors that are stored for them."""
        ids = [node.node_id for node in nodes]
        for name in {USUAL}.union(*map(further_due, nodes)):
            with self._notes.timed("store"):
                stored = self._store.vectors(self._collection, ids, name)
            for node in nodes:
                text, vector = stored.get(node.node_id, (None, None))
                if vector is not None and text == further_text(node, name):
                    self._spare(node, name, vector)

    def _take_vectors_of(self, twins: Sequence[str], nodes: list[BaseNode]) -> None:
        """Give nodes of a file that was moved or copied the vectors of what reads the same."""
        stored = [one for twin in twins for one in self._embedded_alike(self.record.stored(twin))]
        for name in {USUAL}.union(*map(further_due, nodes)):
            with self._notes.timed("store"):
                vectors = dict(self._store.vectors(self._collection, stored, name).values())
            for node in filter(lacks_vector, nodes) if name == USUAL else nodes:
                if vector := vectors.get(further_text(node, name) or ""):
                    self._spare(node, name, vector)

    def _spare(self, node: BaseNode, name: str, vector: list[float]) -> None:
        give_vector(node, name, vector)
        self._spared += tokens_of(node)

    def _tell_failures(self) -> None:
        """Have it written down what is not stored whole, and why."""
        taken = self._taken.unfinished()
        failed = {one.document_id: one.error for one in taken if one.error and not one.is_whole}
        if failed:
            self.record.fail(failed)

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
            if not self._notes.stopped:
                self._notes.note(label, error)
            deposit.fail(self._notes.stopped or said(error))
            self._delivery.give_up(said(error))
        # Parsers and models are other people's code; one with a loop of its own may raise its
        # cancellation, which is no `Exception`.
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001
            deposit.fail(said(error))
            self._notes.note(label, error)


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
