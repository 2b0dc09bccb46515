"""The loop of executors with other processes: what is done again, and who is blamed for a death."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections import deque
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import ConfigurationError, EngineError
from rag_nodes.executors.executor import LostUnit, RecipeT, ResultT, UnitT, usable_cores
from rag_nodes.executors.job import UnitOutcome, pickled_job
from rag_nodes.processes import current_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

POLL = 0.2
"""Seconds after which a run that was cancelled ends at the latest."""
_DEATHS = 2
"""Processes that a unit may take with it before it is given up."""
_BARREN = 2
"""Deaths in a row of processes that had not begun, after one of each worker, which end the run."""


class Death(NamedTuple):
    """A process ended by itself, for a reason in words.

    Where it had `begun` with its unit it probably is that unit it died of, and the `part` of it
    that it had in hand, where that is known.
    """

    reason: str
    begun: bool = True
    part: int | None = None


@dataclass(slots=True)
class _Flight:
    """A unit, and how many processes it took with it; one that did or may have is a suspect."""

    unit: Any
    deaths: int = 0
    is_suspect: bool = False


class Dispatcher(ABC):
    """Keeps workers busy, and has suspects done alone, so that nobody else is blamed.

    Args:
        workers: how many processes; None for the cores that may be used.

    Raises:
        ConfigurationError: fewer than 1.
    """

    is_remote = False

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigurationError(f"workers must be at least 1, not {workers}")
        self.workers = workers or usable_cores()
        self._session = ExitStack()
        """Ends what `_begin` started."""
        self._given: tuple[object, object] | None = None
        self._flying: dict[Hashable, _Flight] = {}
        self._again: deque[_Flight] = deque()
        self._barren = 0

    def run(
        self, work: Callable[[RecipeT, UnitT], ResultT], recipe: RecipeT, units: Iterable[UnitT]
    ) -> Iterator[tuple[UnitT, ResultT | LostUnit]]:
        """See `Executor`; processes stay for the next run of the same work and recipe."""
        if self._given != (work, recipe):
            self.close()
            self._begin(pickled_job(work, recipe, self.workers, is_remote=self.is_remote))
            self._given = work, recipe
        fresh = map(_Flight, units)
        try:
            while True:
                self._fill(fresh)
                if not self._flying:
                    return
                for handle, outcome in self._done():
                    flight = self._flying.pop(handle)
                    if isinstance(outcome, UnitOutcome):
                        self._barren = 0
                        yield flight.unit, outcome.result()
                    elif lost := self._lost(flight, outcome):
                        yield flight.unit, lost
                current_interrupt().check("the work")
        finally:
            if self._flying or self._again:  # nobody takes what would come of them
                self.close()

    def _fill(self, fresh: Iterator[_Flight]) -> None:
        """Have done what there is room for."""
        while flight := self._next(fresh):
            self._flying[self._submit(pickle.dumps(flight.unit))] = flight

    def _next(self, fresh: Iterator[_Flight]) -> _Flight | None:
        """What is to be begun now; None where there is no room, or nothing."""
        if self._again:
            return None if self._flying else self._again.popleft()
        is_alone = any(one.is_suspect for one in self._flying.values())
        # One waits, so that nobody is idle while a result is looked at.
        return None if is_alone or len(self._flying) > self.workers else next(fresh, None)

    def _lost(self, flight: _Flight, death: Death) -> LostUnit | None:
        """Why it is given up; None to have it done again, alone and by parts."""
        if not death.begun:
            self._barren += 1
            if self._barren > self.workers + _BARREN:
                raise EngineError(
                    f"workers die before they begin ({death.reason}); look at free memory and "
                    "processes, or go without workers"
                )
            self._again.append(flight)
            return None
        self._barren = 0
        unit, deaths = flight.unit, flight.deaths + 1
        parts = unit.parts(death.part) if hasattr(unit, "parts") else ()
        if not parts and deaths >= _DEATHS:
            return LostUnit(death.reason)
        flights = [_Flight(one, is_suspect=True) for one in parts or (unit,)]
        if not parts or death.part is not None:
            flights[0].deaths = deaths
        self._again.extend(flights)
        return None

    def close(self) -> None:
        """See `Executor`."""
        self._given = None
        self._session.close()
        self._flying.clear()
        self._again.clear()

    @abstractmethod
    def _begin(self, job: bytes) -> None:
        """Make ready for units of this job, see `WorkerJob`, until the session is closed."""

    @abstractmethod
    def _submit(self, unit: bytes) -> Hashable:
        """Have a unit done, and say by what it is known to `_done`."""

    @abstractmethod
    def _done(self) -> Iterable[tuple[Hashable, UnitOutcome | Death]]:
        """What came of those that fly, waited for; none where nothing is done within `POLL`."""
