"""Nodes on their way into a collection: embedded by requests, stored as these come back.

What they replace is deleted when all of its document is stored.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from rag_nodes.errors import CancelledError, RagNodesError
from rag_nodes.parsers.parent_child import is_leaf
from rag_nodes.pipeline.embedding import Waiting, embed, requests_of
from rag_nodes.pipeline.notes import HOPELESS, said
from rag_nodes.pipeline.under_way import UnderWay
from rag_nodes.processes import current_interrupt

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from llama_index.core.ingestion import IngestionPipeline
    from llama_index.core.schema import BaseNode

    from rag_nodes.models import Models
    from rag_nodes.pipeline.deposit import Deposit
    from rag_nodes.pipeline.embedding import Embedded
    from rag_nodes.pipeline.notes import ColumnNotes
    from rag_nodes.pipeline.record import CollectionRecord

BATCH = 200
"""Chunks embedded and written together; small documents share a batch."""

GRACE = 5.0
"""Seconds for which a run that is given up waits for what it has asked for."""


class Delivery:
    """What one column stores; used by one thread at a time.

    Every method but `salvage` may raise what is in `HOPELESS`, noted already where it came of a
    request, and `CancelledError`.

    Args:
        pipeline: embeds.
        record: of the collection.
        models: names the embedding model and says how many texts it takes at once.
        notes: of the column.

    Attributes:
        written: chunks that are stored.
        deleted: nodes that were replaced.
    """

    def __init__(
        self,
        pipeline: IngestionPipeline,
        record: CollectionRecord,
        models: Models,
        notes: ColumnNotes,
    ) -> None:
        self.written = self.deleted = 0
        self._pipeline, self._record, self._models, self._notes = pipeline, record, models, notes
        self._under_way = UnderWay(0 if models.offline else models.embedding.num_workers or 1)
        self._waiting: Waiting = []
        self._emptied: list[Deposit] = []
        self._wanted = 0

    def replace_later(self, deposit: Deposit) -> None:
        """Delete the former chunks of a document with the next batch: it has no new ones."""
        self._emptied.append(deposit)

    def finish(self) -> None:
        """Store all that waits."""
        self._flush()
        while self._under_way:
            self._take()

    def give_up(self, reason: str) -> None:
        """Store what other requests gave, after one has failed for good, and nothing else."""
        for _, deposit in self._waiting:
            deposit.fail(reason)
        while self._under_way:
            with suppress(*HOPELESS):
                self._take()

    def salvage(self) -> None:
        """Store what was paid for, of a run that is given up; then it is over."""
        for embedded in self._under_way.settled(GRACE):
            with suppress(RagNodesError):
                self._write(embedded)

    def add(self, nodes: Sequence[BaseNode], deposit: Deposit) -> None:
        """Take what is to be stored of a document; full batches are sent at once."""
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
                deposit.fail(said(error))
            raise

    def _send(self, part: Waiting) -> None:
        """Start a request; those before it are taken where they are answered, or too many."""
        at_once = self._under_way.at_once
        while self._under_way.is_answered or len(self._under_way) >= max(1, at_once):
            self._take()
        current_interrupt().check(f"{self._notes.name}: embedding")
        with self._notes.timed("embed"), self._notes.embedded.counting():
            self._under_way.start(partial(embed, part, self._pipeline, self._models.embedding_name))
        # What would refuse every request is asked once: the first one is waited for.
        if not at_once or not self.written:
            self._take()

    def _take(self) -> None:
        """Store the chunks of the first request under way."""
        with self._notes.timed("embed"):
            embedded = self._under_way.take()
        self._keep(embedded)

    def _keep(self, embedded: Embedded) -> None:
        """Store the chunks of one request, so that no later failure costs their vectors."""
        for node, deposit, refusal in embedded.refused:
            deposit.fail(said(refusal))
            self._notes.note(f"{deposit.label}, chunk {node.node_id}", refusal)
        try:
            self._write(embedded)
        except CancelledError:
            raise
        except Exception as error:
            for _, deposit in embedded.part:
                deposit.fail(said(error))
            self._notes.note(embedded.part[0][1].label, error)
            if isinstance(error, HOPELESS):
                raise

    def _write(self, embedded: Embedded) -> None:
        if stored := embedded.accepted:
            # Before anything is reported, as whoever is told may give up.
            with self._notes.timed("store"):
                touched: dict[str, list[str]] = {}
                for node, deposit in stored:
                    touched.setdefault(deposit.document_id, []).append(node.node_id)
                self._record.unsettle(touched, _dimension(stored))
                self._record.store.add(self._record.collection, [node for node, _ in stored])
            for node, deposit in stored:
                deposit.count_stored(is_chunk=is_leaf(node))
            self.written += sum(is_leaf(node) for node, _ in stored)
            self._notes.tell("embed", self.written, self._wanted)
            self._notes.tell("store", self.written, self._wanted)
            self._delete_replaced(dict.fromkeys(deposit for _, deposit in stored))
        if embedded.error:
            raise embedded.error

    def _delete_replaced(self, deposits: Iterable[Deposit]) -> None:
        """Delete the former chunks of the documents whose new ones are all stored."""
        done = [deposit for deposit in deposits if deposit.is_stored]
        stale = [node_id for deposit in done for node_id in deposit.stale]
        try:
            with self._notes.timed("store"):
                if stale:
                    self._record.unsettle({one.document_id: () for one in done})
                    self._record.store.delete(self._record.collection, stale)
        except Exception as error:
            for deposit in done:
                if deposit.stale:
                    deposit.fail(said(error))
            raise
        self.deleted += len(stale)
        for deposit in done:
            deposit.stale.clear()
        with self._notes.timed("store"):
            self.settle(done, len(stale))

    def settle(self, deposits: Iterable[Deposit], deleted: int = 0) -> None:
        """Write down documents that are stored whole, and nothing of the others."""
        whole = [one.row(self._record.collection) for one in deposits if one.is_whole]
        self._record.settle(whole, deleted)


def _dimension(waiting: Waiting) -> int | None:
    """Length of the vectors; None where there are parents only."""
    return next((len(node.embedding) for node, _ in waiting if node.embedding), None)
