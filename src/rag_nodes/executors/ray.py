"""Units done as tasks of Ray, on this machine or on all of a cluster."""

from __future__ import annotations

import pickle
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rag_nodes.errors import EngineError
from rag_nodes.executors.loop import Death, Dispatcher
from rag_nodes.executors.ray_session import home_for_actors, ray_session
from rag_nodes.executors.runner import UnitOutcome, UnitRunner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_JOBS: dict[str, UnitRunner] = {}
"""Made in this process of Ray, by their names."""


class Ray(Dispatcher):
    """See `Executor`; of a dead process only its own task is tried again, and by us.

    Recipes are arguments, which Ray shows nowhere, and not an environment, which it writes down.

    Args:
        workers: tasks at a time, a core each.
        address: `host:port` of a cluster; None to start Ray on this machine until it is closed.
        num_gpus: share of a graphics card for each.
    """

    def __init__(self, workers: int, *, address: str | None = None, num_gpus: float = 0.0) -> None:
        super().__init__(workers, ahead=1)
        self._address, self._num_gpus = address, num_gpus
        self._session = ExitStack()
        self._ray: Any = None
        self._under_way: list[Any] = []

    def _begin(self, work: object, recipe: object) -> None:
        self._ray = ray = self._session.enter_context(ray_session(self.workers, self._address))
        usual = {"num_cpus": 1, "num_gpus": self._num_gpus, "max_retries": 0}
        own = {} if self._address else home_for_actors()
        self._do = ray.remote(**usual, **own)(do)
        # Within a list it stays where it is until a process asks for it.
        self._shared = uuid4().hex, [ray.put(pickle.dumps((work, recipe)))]

    def _submit(self, unit: bytes) -> Any:
        return self._do.remote(*self._shared, unit)

    def _done(
        self, handles: Sequence[Any], seconds: float
    ) -> Iterator[tuple[Any, UnitOutcome | Death]]:
        self._under_way = [*handles]
        for one in self._ray.wait(self._under_way, num_returns=1, timeout=seconds)[0]:
            self._under_way.remove(one)
            yield one, self._outcome(one)

    def _outcome(self, one: Any) -> UnitOutcome | Death:
        errors = self._ray.exceptions
        try:
            return pickle.loads(self._ray.get(one))  # type: ignore[no-any-return]  # noqa: S301 -- of our own task
        except errors.RayTaskError as error:
            raise EngineError(f"a task of Ray could not be done: {error.cause}") from error
        except errors.RayError as error:
            if not self._ray.cluster_resources():
                raise EngineError(
                    "Ray's own process has ended, and with it all workers; look at free memory, "
                    "and run this again"
                ) from error
            return Death(f"lost by Ray: {type(error).__name__}", begun=True)

    def _end(self) -> None:
        for one in self._under_way:
            self._ray.cancel(one, force=True)
        self._under_way = []
        self._session.close()


def do(name: str, pickled: Sequence[Any], unit: bytes) -> bytes:
    """What a process of Ray runs: one unit, by a job that it makes once."""
    if name not in _JOBS:
        import ray

        _JOBS.clear()
        _JOBS[name] = UnitRunner(ray.get(pickled[0]))
    return _JOBS[name].do(unit)
