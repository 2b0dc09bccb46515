"""Workers in this process that do all that real ones do, but for dying by themselves."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from rag_nodes.evaluation.by_workers.messages import SweepMessage, SweepTask, pack, unpack
from rag_nodes.evaluation.by_workers.recipe import SweepRecipe
from rag_nodes.evaluation.by_workers.work import MEASURING, SweepWorker
from rag_nodes.workers import Arrived, Died, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rag_nodes.workers import WorkerRecipe

    Behaviour = Callable[[SweepWorker, SweepTask], Generator[Any]]


def honest(worker: SweepWorker, task: SweepTask) -> Generator[Any]:
    """What a worker says whom nothing happens to."""
    yield from worker.work(task)


class InProcess(Transport[SweepTask, SweepMessage]):
    """Workers whose messages arrive in an order that a seed decides, each after a way as bytes."""

    def __init__(self, recipe: SweepRecipe, workers: int, behaviour: Behaviour, seed: int) -> None:
        self.workers = workers
        self.tasks: list[SweepTask] = []
        self.deaths = 0
        self.closed = False
        self._recipe = recipe
        self._made: dict[int, SweepWorker] = {}
        self._behaviour = behaviour
        self._drawn = random.Random(seed)  # noqa: S311 -- the same again is the point
        self._busy: dict[int, tuple[SweepTask, Generator[Any]]] = {}

    def submit(self, worker: int, task: SweepTask) -> None:
        assert worker not in self._busy
        assert not self.closed
        told = unpack(pack(task))
        self.tasks.append(told)
        if worker not in self._made:
            self._made[worker] = SweepWorker(self._recipe)
        self._busy[worker] = (told, self._behaviour(self._made[worker], told))

    def wait(self, seconds: float) -> Arrived[SweepMessage] | None:
        del seconds
        worker = self._drawn.choice(list(self._busy))
        task, events = self._busy[worker]
        event = next(events)
        if isinstance(event, (*MEASURING.last, Died)):
            del self._busy[worker]
        said = event if isinstance(event, Died) else unpack(pack(event))
        return Arrived(worker, task.number, said)

    def replace(self, worker: int) -> None:
        assert worker not in self._busy
        self.deaths += 1

    def close(self) -> None:
        self.closed = True
        while self._busy:
            self._busy.popitem()[1][1].close()
        while self._made:
            self._made.popitem()[1].close()


class InProcessEngine:
    """An engine without processes.

    Attributes:
        started: the transports that were.
    """

    address: str | None = None

    def __init__(self, workers: int = 2, behaviour: Behaviour = honest, seed: int = 0) -> None:
        self.workers = workers
        self.started: list[InProcess] = []
        self._behaviour, self._seed = behaviour, seed

    def start(self, recipe: WorkerRecipe) -> InProcess:
        made = SweepRecipe(**json.loads(json.dumps(recipe.plain())), keys=recipe.keys)
        transport = InProcess(made, self.workers, self._behaviour, self._seed)
        self.started.append(transport)
        return transport

    @property
    def rows(self) -> list[str]:
        """The columns whose rows went to workers."""
        return [one.column for each in self.started for one in each.tasks if hasattr(one, "column")]
