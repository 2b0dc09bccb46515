"""The workers of one run: who does what, what came of it, and whom they died of."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rag_nodes.errors import ConfigurationError, EngineError, RagNodesError
from rag_nodes.evaluation.by_workers.messages import (
    Begun,
    Refused,
    RowTask,
    SizeFound,
    SizeTask,
)
from rag_nodes.evaluation.by_workers.recipe import written_options
from rag_nodes.evaluation.columns import StoredCollection
from rag_nodes.evaluation.examining import AskedSoFar, Examined
from rag_nodes.evaluation.sizes import Matched, resized
from rag_nodes.workers import BARREN, CannotWork, Died

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from rag_nodes.evaluation.by_workers.messages import SweepMessage, SweepTask
    from rag_nodes.evaluation.columns import Variant
    from rag_nodes.evaluation.race import Lead
    from rag_nodes.parsers import SpanNodeParser
    from rag_nodes.workers import Arrived, Transport
    from rag_nodes.workers.shelf import Shelf

    Start = Callable[[], Transport[SweepTask, SweepMessage]]

logger = logging.getLogger(__name__)

POLL = 0.5
"""Seconds of waiting after which a signal is heard at the latest."""
_DEATHS = 2
"""Workers that a task may take with it before it is given up."""


@dataclass(slots=True)
class _Job:
    """Something that workers are to do.

    Attributes:
        name: of the row; of the column whose size is looked for.
        task: makes the task that says it, by its number.
        variant: that is examined; None where a size is looked for.
        begun: a worker has begun with it.
        deaths: of workers that had begun.
        result: what came of it; None while nothing did.
    """

    name: str
    task: Callable[[int], SweepTask]
    variant: Variant | None = None
    begun: bool = False
    deaths: int = 0
    result: Examined | SizeFound | Refused | None = None


class Crew:
    """Workers that measure what can be sent to them, in the order it was given.

    Used by one thread, which has to `hear` now and then while it does something else: workers wait
    where nobody takes what they say.

    Args:
        workers: how many.
        start: starts them; called when there is something to do.
        shelf: with all embedding models that they know.
        lead: says who leads when a task is begun; None where every question is asked.
        stays: whether a variant is not for workers.
    """

    def __init__(
        self,
        workers: int,
        start: Start,
        shelf: Shelf,
        lead: Callable[[], Lead | None] = lambda: None,
        stays: Callable[[Variant], bool] = lambda _: False,
    ) -> None:
        self.workers = workers
        self._start, self._shelf, self._lead, self._stays = start, shelf, lead, stays
        self._models = len(shelf)
        self._transport: Transport[SweepTask, SweepMessage] | None = None
        self._jobs: dict[tuple[str, str], _Job] = {}
        self._waiting: deque[_Job] = deque()
        self._flights: dict[int, tuple[int, _Job]] = {}
        self._numbers = self._barren = 0
        self._asked: Callable[[str, AskedSoFar], None] = lambda _name, _so_far: None
        self._keep: Callable[[Variant, Examined], object] = lambda _variant, _found: None
        self._check: Callable[[], None] = lambda: None

    def tells(
        self,
        asked: Callable[[str, AskedSoFar], None],
        keep: Callable[[Variant, Examined], object],
        check: Callable[[], None],
    ) -> None:
        """Who hears what.

        Args:
            asked: how far a row is, by its name.
            keep: what was found, as soon as it was.
            check: called while this waits; may raise to end it.
        """
        self._asked, self._keep, self._check = asked, keep, check

    def close(self) -> None:
        """End all workers at once."""
        self._flights.clear()
        self._waiting.clear()
        if self._transport:
            self._transport.close()

    def size(self, parsers: Mapping[str, SpanNodeParser], target: int) -> None:
        """Begin to look for the size at which each has a mean of `target` tokens."""
        for name, parser in parsers.items():
            written = self._written(parser)
            if written:
                task = _sizing(written, target)
                self._add(("size", name), _Job(name, task))
        self.hear()

    def sized(self, name: str, parser: SpanNodeParser, target: int) -> Matched | None:
        """What `size` found for a column; None where it could not be sent.

        Raises:
            RagNodesError: it has no such size, or took its workers with it.
            EngineError: no worker can be started.
        """
        found = self._result(("size", name))
        if not isinstance(found, SizeFound):
            return None
        return Matched(resized(parser, found.size), found.mean, target, found.size)

    def examine(self, variants: Iterable[Variant], drawn: Iterable[str] = ()) -> None:
        """Begin to examine those that can be sent.

        Args:
            variants: in the order in which they will be asked for.
            drawn: ids of the questions of which is kept what was read.
        """
        kept = tuple(sorted(drawn))
        for variant in variants:
            task = self._examining(variant, kept)
            if task and ("row", variant.name) not in self._jobs:
                self._add(("row", variant.name), _Job(variant.name, task, variant))
        self.hear()

    def examined(self, variant: Variant, drawn: Iterable[str] = ()) -> Examined | None:
        """What was found, waited for; None where it could not be sent.

        Raises:
            RagNodesError: the variant cannot be measured, or took its workers with it.
            EngineError: no worker can be started.
        """
        self.examine([variant], drawn)
        found = self._result(("row", variant.name))
        return found if isinstance(found, Examined) else None

    def hear(self) -> None:
        """Take what workers have said meanwhile, and give them more to do."""
        self._submit()
        while self._take(0.0):
            self._submit()

    def _add(self, key: tuple[str, str], job: _Job) -> None:
        self._jobs[key] = job
        self._waiting.append(job)

    def _result(self, key: tuple[str, str]) -> Examined | SizeFound | None:
        job = self._jobs.get(key)
        if job is None:
            return None
        while job.result is None:
            self._submit()
            self._take(POLL)
            self._check()
        if isinstance(job.result, Refused):
            raise RagNodesError(job.result.reason)
        return job.result

    def _submit(self) -> None:
        """Give every idle worker something to do."""
        for worker in range(self.workers):
            if worker in self._flights or not self._waiting:
                continue
            if self._transport is None:
                self._transport = self._start()
            job = self._waiting.popleft()
            self._flights[worker] = (self._numbers, job)
            self._transport.submit(worker, job.task(self._numbers))
            self._numbers += 1

    def _take(self, seconds: float) -> bool:
        """Whether something came of a worker in time."""
        if self._transport is None or not self._flights:
            return False
        arrived = self._transport.wait(seconds)
        if arrived is None:
            return False
        number, job = self._flights.get(arrived.worker, (-1, None))
        if job and number == arrived.task:
            self._heard(arrived, job)
        return True

    def _heard(self, arrived: Arrived[SweepMessage], job: _Job) -> None:
        match arrived.event:
            case Begun():
                job.begun, self._barren = True, 0
            case AskedSoFar() as so_far:
                self._asked(job.name, so_far)
            case Examined() | SizeFound() | Refused() as result:
                del self._flights[arrived.worker]
                job.result = result
                if isinstance(result, Examined) and job.variant:
                    self._keep(job.variant, result)
            case CannotWork(error):
                raise EngineError(f"the workers cannot measure: {error}") from error
            case Died(reason):
                del self._flights[arrived.worker]
                self._bury(arrived.worker, job, reason)

    def _bury(self, worker: int, job: _Job, reason: str) -> None:
        """Have another worker try, unless it is clear what they die of."""
        assert self._transport is not None  # noqa: S101 -- for the type checker: one of it died
        logger.warning("a worker died (%s) at %s", reason, job.name)
        self._transport.replace(worker)
        if job.begun:
            job.begun, job.deaths = False, job.deaths + 1
        else:
            self._barren += 1
            if self._barren >= BARREN * self.workers:
                raise EngineError(
                    f"workers die before they begin ({reason}); look at free memory and processes, "
                    "or measure without workers"
                )
        if job.deaths >= _DEATHS:
            job.result = Refused(f"the worker died twice measuring it ({reason})")
        else:
            self._waiting.appendleft(job)

    def _examining(
        self, variant: Variant, drawn: tuple[str, ...]
    ) -> Callable[[int], RowTask] | None:
        """What makes the task of a variant; None where it cannot be sent."""
        if isinstance(variant.parser, StoredCollection) or self._stays(variant):
            return None
        parser = self._written(variant.parser)
        if parser is None:
            return None
        try:
            options = written_options(variant.options) if variant.options else None
        except ConfigurationError:
            return None
        return lambda number: RowTask(
            number,
            variant.column,
            variant.role,
            parser,
            variant.nominal,
            options,
            drawn,
            self._lead(),
        )

    def _written(self, parser: SpanNodeParser) -> dict[str, Any] | None:
        """A parser as plain data; None where workers could not make it of that."""
        try:
            written = self._shelf.parser(parser)
        except ConfigurationError:
            return None
        known = all(number < self._models for number in written["models"].values())
        return written if known else None


def _sizing(parser: Mapping[str, Any], target: int) -> Callable[[int], SizeTask]:
    return lambda number: SizeTask(number, parser, target)
