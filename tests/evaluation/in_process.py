"""An executor in this process that pickles what goes to workers, done in any order."""

import pickle
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from rag_nodes.evaluation.measuring import Recipe, Unit
from rag_nodes.models.pickling import Sharing, pickled, unpickled

Behaviour = Callable[[Callable[..., Any], Recipe, Unit], Any]


def honest(work: Callable[..., Any], recipe: Recipe, unit: Unit) -> Any:
    """What comes of a unit that nothing happens to."""
    return work(recipe, unit)


class InProcess:
    """See `Executor`; a seed decides who is done first.

    Attributes:
        units: that were done.
        closed: there are no workers any more.
    """

    is_remote = False

    def __init__(self, workers: int = 2, behaviour: Behaviour = honest, seed: int = 0) -> None:
        self.workers = workers
        self.units: list[Unit] = []
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
                self._made = unpickled(pickled(recipe))
                self._made.prepare()
            unpickled_unit = pickle.loads(pickle.dumps(unit))
            result = self._behaviour(work, self._made, unpickled_unit)
            yield unit, pickle.loads(pickle.dumps(result))

    def close(self) -> None:
        self.closed = True
        if self._made is not None:
            self._made.close()
            Sharing.processes = 1  # as the process is to go on

    @property
    def rows(self) -> list[str]:
        """The columns whose rows went to workers."""
        return [unit.variant.column for unit in self.units]
