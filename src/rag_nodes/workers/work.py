"""What a worker does: an ordinary ingest of a batch of files, and a message for all it does."""

from __future__ import annotations

import os
import threading
import time
from contextlib import ExitStack, suppress
from queue import Queue
from types import MappingProxyType
from typing import TYPE_CHECKING

from rag_nodes.errors import CancelledError, RagNodesError
from rag_nodes.pipeline.arrivals import arrivals_of
from rag_nodes.pipeline.run import IngestRun
from rag_nodes.readers import listed
from rag_nodes.transforms import ChunkWriter
from rag_nodes.workers.messages import (
    BatchFinished,
    Began,
    Message,
    Paid,
    Progressed,
    pack,
    pack_batch,
    unpack,
    unpack_batch,
)
from rag_nodes.workers.outbox import Outbox, SentBooks
from rag_nodes.workers.recipe import Recipe
from rag_nodes.workers.shelf import opened_journals
from rag_nodes.workers.transport import CannotWork, Trade

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from llama_index.core.base.embeddings.base import BaseEmbedding

    from rag_nodes.pipeline import Progress
    from rag_nodes.pipeline.arrivals import Arrival
    from rag_nodes.store import Store
    from rag_nodes.transforms import WrittenTexts
    from rag_nodes.workers.messages import Batch


_WATCHED = 0.2
"""Seconds between two messages about the same steps."""


class BatchWorker:
    """Parsers and models made of a recipe, once for any number of batches.

    Args:
        recipe: says what to make, and where the chunks go.
        models: what stands in for those of the recipe, see `Recipe.make`.
        journals: what stands in for files of the recipe in which is kept what LLMs write.

    Raises:
        RagNodesError: it cannot be made here.
    """

    def __init__(
        self,
        recipe: Recipe,
        models: Sequence[BaseEmbedding] = (),
        journals: Mapping[str, WrittenTexts] = MappingProxyType({}),
    ) -> None:
        if recipe.folder:
            os.chdir(recipe.folder)
        self._recipe = recipe
        with ExitStack() as stack:
            self._made = recipe.make(models, opened_journals(recipe.journals, journals, stack))
            self._store: Store | None = recipe.open_store()
            if self._store:
                stack.callback(self._store.close)
            self._opened = stack.pop_all()

    def work(self, batch: Batch) -> Generator[Message, None, None]:
        """Ingest the files of a batch.

        Yields:
            What happens, as it happens. The one before the next is asked for only when it has been
            passed on: a file that ends this process was named before. The last one is
            `BatchFinished`, or `CannotWork` where the run itself broke off.
        """
        relay = _Relay()
        thread = threading.Thread(target=self._ingest, args=(batch, relay), daemon=True)
        thread.start()
        try:
            yield from relay
        finally:
            relay.close()
            thread.join()

    def close(self) -> None:
        """Close store and journals, where the worker has any."""
        self._opened.close()

    def _ingest(self, batch: Batch, relay: _Relay) -> None:
        with suppress(CancelledError):  # nobody listens any more
            try:
                relay.give(self._finished(batch, relay))
            except CancelledError:
                raise
            except RagNodesError as error:
                relay.give(CannotWork(error))
            except Exception as error:  # noqa: BLE001 - a bug must not look like a dead worker
                relay.give(CannotWork(RagNodesError(f"unexpected {type(error).__name__}: {error}")))

    def _finished(self, batch: Batch, relay: _Relay) -> BatchFinished:
        rows: list[int] = []
        books, steps = SentBooks(batch, relay.give), _Steps(relay)

        def arrivals() -> Iterator[Arrival]:
            for number, path in enumerate(batch.files):
                relay.give(Began(number), passed_on=True)
                books.file = number
                for arrival in arrivals_of(listed([path]), self._made.limits, books):
                    rows.append(number)
                    yield arrival
            relay.give(Began(len(batch.files)), passed_on=True)

        run = IngestRun(
            self._made.parsers,
            self._store or Outbox(batch, relay.give),
            self._made.models,
            transformations=self._made.transformations,
            corpus=self._recipe.corpus,
            progress=steps.take,
            prices=self._made.prices,
            books=books,
            identities=self._recipe.identities or None,
            codes=self._recipe.codes or None,
        )
        for step in self._made.transformations:
            if isinstance(step, ChunkWriter):
                step.on_done = lambda: relay.give(Paid(run.writers))
        report = run.take(arrivals())
        steps.give()
        return BatchFinished(report, tuple(rows), run.errors, run.stopped)


class _Steps:
    """Steps of a run for those who watch it, who need not see each document cut."""

    def __init__(self, relay: _Relay) -> None:
        self._relay = relay
        self._kept: dict[tuple[str, str], Progress] = {}
        self._due = 0.0

    def take(self, progress: Progress) -> None:
        """Keep a step until it is time to pass some on; what is paid for is passed on at once."""
        if progress.stage == "embed":
            self._relay.give(Progressed(progress))
        elif progress.stage != "read":
            self._kept[progress.stage, progress.name] = progress
            if time.monotonic() >= self._due:
                self.give()

    def give(self) -> None:
        """Pass on what is kept."""
        self._due = time.monotonic() + _WATCHED
        kept, self._kept = self._kept, {}
        for progress in kept.values():
            self._relay.give(Progressed(progress))


class _Relay:
    """Messages of the threads of a run for the one that passes them on, a few at a time."""

    def __init__(self) -> None:
        self._messages: Queue[Message] = Queue(maxsize=2)
        self._closed = False

    def give(self, message: Message, *, passed_on: bool = False) -> None:
        """Hand a message over; wait until it and all before it were passed on where that matters.

        Raises:
            CancelledError: nobody takes them any more.
        """
        if self._closed:
            raise CancelledError("the batch was given up")
        self._messages.put(message)
        if passed_on:
            self._messages.join()

    def __iter__(self) -> Iterator[Message]:
        """The messages up to the last one."""
        while True:
            message = self._messages.get()
            yield message
            self._messages.task_done()
            if isinstance(message, BatchFinished | CannotWork):
                return

    def close(self) -> None:
        """Let whoever waits to give find that nobody listens."""
        self._closed = True
        while self._messages.unfinished_tasks:
            with suppress(Exception):
                self._messages.get_nowait()
            self._messages.task_done()


INGESTING = Trade(
    recipe=Recipe,
    worker=BatchWorker,
    pack_task=pack_batch,
    unpack_task=unpack_batch,
    pack=pack,
    unpack=unpack,
    last=(BatchFinished, CannotWork),
)
"""What the workers of an ingest do."""
