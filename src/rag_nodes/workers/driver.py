"""The loop over workers: a batch for each, what they send to the writer, and whom they died of."""

from __future__ import annotations

import logging
from collections import Counter, defaultdict, deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING

from rag_nodes.errors import EngineError, LedgerError, ReaderCrashedError
from rag_nodes.pipeline import FileOutcome
from rag_nodes.pipeline.arrivals import Arrival
from rag_nodes.pipeline.rows import FileRows
from rag_nodes.workers.batches import FileGroups
from rag_nodes.workers.merging import Done, Lost, MergedProgress, PartReport, spoiled
from rag_nodes.workers.messages import (
    Batch,
    BatchFinished,
    Began,
    Deleted,
    FileNote,
    NotStored,
    Paid,
    Progressed,
    Settled,
    Unsettled,
    misfit,
)
from rag_nodes.workers.packing import PackedPoints
from rag_nodes.workers.transport import CannotWork, Died
from rag_nodes.workers.writer import Refusals, no_refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rag_nodes.pipeline import Progress
    from rag_nodes.workers.batches import DueFile, FileGroup
    from rag_nodes.workers.merging import Refusal
    from rag_nodes.workers.messages import Message
    from rag_nodes.workers.transport import Arrived, Transport
    from rag_nodes.workers.writer import Sent, Writer

logger = logging.getLogger(__name__)

POLL = 0.5
"""Seconds of waiting after which a signal is heard at the latest."""
WAITING = 1
"""Batches that a worker has beside the one it works on, so that it need not wait for the driver."""
BARREN = 3
"""Workers in a row, for each there is, that may die before they open a file."""


@dataclass(slots=True)
class _Flight:
    """A batch that a worker has.

    Attributes:
        number: of the batch.
        group: its files.
        begun: position in the group of the file begun last; None before the first.
        refusals: what the store did not take of it.
        notes: what its files became so far.
        announced: how many of these were written down before anything of them was stored.
        sent: what was to be changed, and was.
        paid: what LLMs wrote for it so far.
    """

    number: int
    group: FileGroup
    begun: int | None = None
    refusals: Refusals = field(default_factory=no_refusals)
    notes: list[FileNote] = field(default_factory=list)
    announced: int = 0
    sent: list[Unsettled | Settled] = field(default_factory=list)
    paid: Paid = field(default_factory=lambda: Paid(()))

    def unannounced(self) -> Sequence[FileNote]:
        """What its files became since this was asked for last."""
        new = self.notes[self.announced :]
        self.announced = len(self.notes)
        return new

    def take_down(self, said: FileNote | Paid) -> None:
        """Keep what the worker says about it until it is over."""
        if isinstance(said, Paid):
            self.paid = said
        else:
            self.notes.append(said)


class Driver:
    """One ingest by workers.

    Args:
        transport: the workers.
        writer: of the store; it is given what workers that cannot write send.
        collections: of each parser, by its name.
        progress: called after every step.
        total: how many files there are, where that is known.
        rows: takes the rows of all files, by their position in the listing; None to keep them all.
    """

    def __init__(
        self,
        transport: Transport[Batch, Message],
        writer: Writer,
        collections: Mapping[str, str],
        *,
        progress: Callable[[Progress], None] | None = None,
        total: int | None = None,
        rows: FileRows | None = None,
    ) -> None:
        self._transport = transport
        self._writer = writer
        self._collections = collections
        self._progress = progress or (lambda _: None)
        self._total = total
        self._merged = MergedProgress()
        self._groups = FileGroups(())
        self._flights: list[deque[_Flight]] = [deque() for _ in range(transport.workers)]
        self._batches = self._barren = 0
        self._rows = FileRows() if rows is None else rows
        self._parts: list[PartReport] = []
        self._errors: dict[str, list[str]] = defaultdict(list)
        self._stopped: dict[str, str] = {}
        self._unwritten: Counter[str] = Counter()
        self._lost = Lost()

    def run(self, files: Iterable[DueFile]) -> Done:
        """Have workers ingest files.

        Raises:
            EngineError: no worker can be started.
            RagNodesError: as a worker said, which the next one would say too.
        """
        self._groups = FileGroups(files)
        self._submit()
        while any(self._flights):
            arrived = self._transport.wait(POLL)
            flights = self._flights[arrived.worker] if arrived else None
            if arrived and flights and flights[0].number == arrived.task:
                self._take(self._trusted(arrived, flights[0]), flights[0])
                self._submit()
        if self._is_over:
            self._give_up(one for one in self._groups.rest())
        parts = sorted(self._parts, key=attrgetter("position"))
        return Done(self._rows, parts, self._errors, self._stopped, self._unwritten, self._lost)

    def passed(self, position: int, name: str) -> None:
        """A file need not be opened."""
        self._progress(self._merged.began(position, name, self._total))

    @property
    def _is_over(self) -> bool:
        """Whether every parser gave up, so that nothing is left to do."""
        return self._stopped.keys() >= self._collections.keys()

    def _submit(self) -> None:
        """Give every worker as many batches as it may have, as far as there are any."""
        for waiting in range(WAITING + 1):  # nobody has two while somebody has none
            for worker, flights in enumerate(self._flights):
                if self._is_over:
                    self._end_all()
                    return
                if len(flights) > waiting:
                    continue
                group = self._groups.next_to_wait() if flights else self._next()
                if group is None:
                    return
                flights.append(_Flight(self._batches, group))
                self._transport.submit(worker, self._batch(group))
                self._batches += 1

    def _next(self) -> FileGroup | None:
        under_way = chain.from_iterable(self._flights)
        return self._groups.next(collections=not any(one.group.is_collection for one in under_way))

    def _batch(self, group: FileGroup) -> Batch:
        stored = self._writer.stored(group)
        vectors = self._writer.vectors(stored)
        self._note_closed()
        refused = {self._collections[name]: why for name, why in self._stopped.items()}
        files = tuple(str(one.file.path) for one in group.files)
        twins = tuple(one.twins for one in group.files)
        own = self._lost.written(None if group.is_collection else set(group.documents))
        return Batch(
            self._batches, files, stored, vectors, refused, twins if any(twins) else (), own
        )

    def _trusted(self, arrived: Arrived[Message], flight: _Flight) -> Arrived[Message]:
        """What it said; that it died where that cannot be true, as it is not to go on then."""
        if isinstance(arrived.event, Died | CannotWork):
            return arrived
        wrong = misfit(arrived.event, len(flight.group.files), self._collections.values())
        return arrived._replace(event=Died(wrong)) if wrong else arrived

    def _take(self, arrived: Arrived[Message], flight: _Flight) -> None:
        match arrived.event:
            case Began(file):
                self._begin(flight, file)
            case Progressed(progress):
                self._progress(self._merged.step(flight.number, progress))
            case PackedPoints() | Deleted() | Unsettled() | Settled() | NotStored() as sent:
                self._write(flight, sent)
            case FileNote() | Paid() as said:
                flight.take_down(said)
            case BatchFinished() as finished:
                self._flights[arrived.worker].popleft()
                self._finish(flight, finished)
            case CannotWork(error):
                raise error
            case Died(reason):
                self._bury(arrived.worker, reason)

    def _write(self, flight: _Flight, sent: Sent) -> None:
        self._writer.announce(flight.group.files, flight.unannounced())
        self._writer.write(sent, flight.refusals)
        self._note_closed()
        if isinstance(sent, Unsettled | Settled):
            flight.sent.append(sent)

    def _begin(self, flight: _Flight, file: int) -> None:
        flight.begun = file
        self._barren = 0
        if file < len(flight.group.files):
            one = flight.group.files[file]
            self.passed(one.position, one.file.path.name)

    def _finish(self, flight: _Flight, finished: BatchFinished) -> None:
        """Take over what a batch gave, all of which the store was given by now."""
        self._merged.over(flight.number)
        files = flight.group.files
        self._writer.conclude(files, flight.notes)
        for number, row in zip(finished.rows, finished.report.files, strict=True):
            found = self._refused(row, flight.refusals)
            self._unwritten.update({name: refusal.chunks for name, refusal in found.items()})
            for name, refusal in found.items():
                self._errors[name].append(f"{row.name}: {refusal.why}")
                said = {row.document_id or "": refusal.why}
                self._write(flight, NotStored(self._collections[name], said))
            self._rows.add(files[number].position, spoiled(row, found))
        counted = replace(finished, report=replace(finished.report, files=()), rows=())
        self._parts.append(PartReport(files[0].position, counted))
        self._stopped = {**finished.stopped, **self._stopped}

    def _refused(self, row: FileOutcome, refusals: Refusals) -> dict[str, Refusal]:
        """What the store did not take of a file, by parser."""
        document = row.document_id or ""
        return {
            name: refusals[collection][document]
            for name, collection in self._collections.items()
            if document in refusals[collection] and name in row.columns
        }

    def _bury(self, worker: int, reason: str) -> None:
        """Have another in the place of a worker that died; what waited for it is innocent."""
        flight, *waited = self._flights[worker]
        self._flights[worker].clear()
        for one in reversed(waited):
            self._groups.put_back(one.group)
        self._blame(flight, reason)
        self._transport.replace(worker)

    def _blame(self, flight: _Flight, reason: str) -> None:
        """Find out what a worker died of, and have the rest done anew."""
        self._lost.take(flight.sent, self._merged.over(flight.number, lost=True), flight.paid)
        logger.warning("a worker died (%s); what it had not finished is done again", reason)
        if flight.begun is None:
            self._barren += 1
            if self._barren >= BARREN * self._transport.workers:
                raise EngineError(
                    f"workers die before they open a file ({reason}); look at free memory and "
                    "processes, or ingest without workers"
                )
        for one in self._groups.died(flight.group, flight.begun):
            why = f"the worker died twice reading it ({reason})"
            crashed = ReaderCrashedError(one.file.path, why)
            self._writer.conclude([one], [FileNote(0, None, crashed)])
            self._rows.add(one.position, Arrival(str(one.file.path), None, crashed).failure())

    def _note_closed(self) -> None:
        """Have parsers give up whose collection cannot be written any more."""
        for name, collection in self._collections.items():
            if collection in self._writer.closed:
                self._stopped.setdefault(name, self._writer.closed[collection])

    def _end_all(self) -> None:
        """End all workers: whatever they do would fail as it did before."""
        self._transport.close()
        flights = [*chain.from_iterable(self._flights)]
        for one in self._flights:
            one.clear()
        for flight in flights:
            with suppress(LedgerError):  # where the disk is full, say that
                self._conclude_unstored(flight)
        self._give_up(one for flight in flights for one in flight.group.files)

    def _conclude_unstored(self, flight: _Flight) -> None:
        """Write down what was read for nothing; of a file of many documents that is not certain."""
        for number, file in enumerate(flight.group.files):
            notes = [replace(one, file=0) for one in flight.notes if one.file == number]
            documents = [one.found.id for one in notes if one.found]
            if documents and not file.is_collection:
                self._writer.conclude([file], notes)
                for name, why in self._stopped.items():
                    sent = NotStored(self._collections[name], dict.fromkeys(documents, why))
                    self._write(flight, sent)

    def _give_up(self, files: Iterable[DueFile]) -> None:
        """Say of files that were not opened why."""
        for name, why in self._stopped.items():
            self._errors[name].append(why)
        for one in files:
            row = Arrival(str(one.file.path), None).unopened(self._stopped)
            self._rows.add(one.position, row)
