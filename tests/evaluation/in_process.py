"""An executor in this process that pickles what goes to workers, done in any order."""

from __future__ import annotations

import pickle
import random
from itertools import islice
from typing import TYPE_CHECKING, Any

from rag_nodes.models.pacing import RequestWindow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rag_nodes.evaluation.units import SweepUnit
    from rag_nodes.executors import PickledRecipe

    Behaviour = Callable[[Callable[..., Any], PickledRecipe, SweepUnit], Any]


def honest(work: Callable[..., Any], recipe: PickledRecipe, unit: SweepUnit) -> Any:
    """What comes of a unit that nothing happens to."""
    return work(recipe, unit)


class InProcess:
    """See `Executor`; a seed decides who is done first."""

    def __init__(self, workers: int, behaviour: Behaviour, seed: int) -> None:
        self.workers = workers
        self.units: list[SweepUnit] = []
        self.closed = False
        self._behaviour, self._drawn = behaviour, random.Random(seed)  # noqa: S311
        self._made: Any = None

    def run(self, work: Any, recipe: Any, units: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        coming, flying = iter(units), list[Any]()
        while flying := [*flying, *islice(coming, self.workers + 1 - len(flying))]:
            assert not self.closed
            unit = flying.pop(self._drawn.randrange(len(flying)))
            self.units.append(unit)
            if self._made is None:
                self._made = pickle.loads(pickle.dumps(recipe))
                self._made.prepare()
            told = pickle.loads(pickle.dumps(unit))
            found = self._behaviour(work, self._made, told)
            yield unit, pickle.loads(pickle.dumps(found))

    def close(self) -> None:
        self.closed = True
        if self._made is not None:
            self._made.made.opened.close()
            RequestWindow.processes = 1  # as the process is to go on


class InProcessEngine:
    """An engine without processes.

    Attributes:
        started: its executors that did something.
    """

    address: str | None = None

    def __init__(self, workers: int = 2, behaviour: Behaviour = honest, seed: int = 0) -> None:
        self.workers = workers
        self._made: list[InProcess] = []
        self._behaviour, self._seed = behaviour, seed

    def executor(self) -> InProcess:
        self._made.append(InProcess(self.workers, self._behaviour, self._seed))
        return self._made[-1]

    @property
    def started(self) -> list[InProcess]:
        return [one for one in self._made if one.units]

    @property
    def rows(self) -> list[str]:
        """The columns whose rows went to workers."""
        units = [one for each in self.started for one in each.units]
        return [one.variant["column"] for one in units if one.variant]
