"""The loop that all executors with other processes share, and all of the blame."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import EngineError
from rag_nodes.executors.protocol import LostUnit
from rag_nodes.executors.runner import UnitOutcome
from rag_nodes.processes import current_interrupt

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence

    from rag_nodes.executors.protocol import RecipeT, ResultT, UnitT

POLL = 0.2
"""Seconds after which a run that was cancelled ends at the latest."""
_DEATHS = 2
"""Processes that a unit may take with it before it is given up."""
_BARREN = 3
"""Deaths in a row for each worker, of processes that had not begun, which end the run."""


class Death(NamedTuple):
    """A process ended by itself.

    Attributes:
        reason: how, for people.
        begun: it had begun with the unit, so that it probably is the unit that it died of.
    """

    reason: str
    begun: bool


@dataclass(slots=True)
class _Flight:
    """A unit, and how many processes it took with it; one that did or may have is a suspect."""

    unit: Any
    deaths: int = 0
    is_suspect: bool = False


class Dispatcher(ABC):
    """Keeps workers busy, and has suspects done alone, so that nobody else is blamed.

    Args:
        workers: how many processes.
        ahead: units under way beyond one for each.
    """

    def __init__(self, workers: int, *, ahead: int = 0) -> None:
        self.workers = workers
        self._most = workers + ahead
        self._given: tuple[object, object] | None = None

    def run(
        self, work: Callable[[RecipeT, UnitT], ResultT], recipe: RecipeT, units: Iterable[UnitT]
    ) -> Iterator[tuple[UnitT, ResultT | LostUnit]]:
        """See `Executor`; processes stay for the next run of the same work and recipe."""
        self._prepare(work, recipe)
        flights = _Flights(map(_Flight, units), _BARREN * self.workers)
        flying: dict[Hashable, _Flight] = {}
        try:
            while True:
                while len(flying) < self._most and (flight := flights.next(flying.values())):
                    flying[self._submit(pickle.dumps(flight.unit))] = flight
                if not flying:
                    return
                for handle, outcome in self._done([*flying], POLL):
                    flight = flying.pop(handle)
                    if isinstance(outcome, UnitOutcome):
                        flights.barren = 0
                        yield flight.unit, outcome.result()
                    elif lost := flights.bury(flight, outcome):
                        yield flight.unit, lost
                current_interrupt().check("the work")
        finally:
            if flying:  # nobody takes what would come of them
                self.close()

    def _prepare(self, work: object, recipe: object) -> None:
        given = self._given
        if given is None or given[0] is not work or given[1] is not recipe:
            self.close()
            self._begin(work, recipe)
            self._given = work, recipe

    def close(self) -> None:
        """See `Executor`."""
        self._given = None
        self._end()

    @abstractmethod
    def _begin(self, work: object, recipe: object) -> None:
        """Make ready for units of this work."""

    @abstractmethod
    def _submit(self, unit: bytes) -> Hashable:
        """Give a unit to a process that has room, and say by what it is known to `_done`."""

    @abstractmethod
    def _done(
        self, handles: Sequence[Any], seconds: float
    ) -> Iterable[tuple[Hashable, UnitOutcome | Death]]:
        """What is done of these, waited for; none where nothing is in time."""

    @abstractmethod
    def _end(self) -> None:
        """End all processes; twice is fine."""


class _Flights:
    """What is to be done next: units once more that a process died with, then fresh ones."""

    def __init__(self, fresh: Iterator[_Flight], most: int) -> None:
        self.barren = 0
        self._fresh, self._most = fresh, most
        self._again: deque[_Flight] = deque()
        self._suspects: deque[_Flight] = deque()

    def next(self, flying: Collection[_Flight]) -> _Flight | None:
        """The next one; None for nothing, or while a suspect has to be alone."""
        if any(one.is_suspect for one in flying):
            return None
        if self._suspects:
            return None if flying else self._suspects.popleft()
        return self._again.popleft() if self._again else next(self._fresh, None)

    def bury(self, flight: _Flight, death: Death) -> LostUnit | None:
        """Have it done again, alone, and by halves where it has some, unless that was done."""
        if not death.begun:
            self.barren += 1
            if self.barren >= self._most:
                raise EngineError(
                    f"workers die before they begin ({death.reason}); look at free memory and "
                    "processes, or go without workers"
                )
            self._again.append(flight)
            return None
        self.barren, flight.is_suspect = 0, True
        flight.deaths += 1
        halves = flight.unit.halves() if hasattr(flight.unit, "halves") else ()
        if not halves and flight.deaths >= _DEATHS:
            return LostUnit(death.reason)
        self._suspects.extend(
            [_Flight(one, is_suspect=True) for one in halves] if halves else [flight]
        )
        return None
