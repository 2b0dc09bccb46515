"""Workers as actors of Ray: the same batches and messages, on as many machines as it knows."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import EngineError, RagNodesError
from rag_nodes.workers.messages import (
    BatchFailed,
    BatchFinished,
    pack,
    pack_batch,
    unpack,
    unpack_batch,
)
from rag_nodes.workers.on_ray.session import home_for_actors, ray_session
from rag_nodes.workers.transport import Arrived, Died, Transport
from rag_nodes.workers.work import BatchWorker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rag_nodes.workers.messages import Batch, Message
    from rag_nodes.workers.recipe import Recipe

STARTING = 120.0
"""Seconds in which all workers must have started, or there are too few cores for them."""


class BatchActor:
    """What a process of Ray runs: a `BatchWorker` that talks in bytes.

    Args:
        recipe: of the worker. Its keys come as an argument, which nothing shows or writes down,
            unlike an environment that Ray is asked for.
    """

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._made: BatchWorker | None = None

    def ready(self) -> None:
        """Make all that the recipe says.

        Raises:
            RagNodesError: it cannot be made here.
        """
        if self._made is None:
            self._made = BatchWorker(self._recipe)

    def work(self, batch: bytes) -> Iterator[bytes]:
        """What happens to a batch, as messages."""
        try:
            self.ready()
        except RagNodesError as error:
            yield pack(BatchFailed(error))
            return
        if self._made is not None:
            for message in self._made.work(unpack_batch(batch)):
                yield pack(message)


class RayTransport(Transport):
    """Workers on Ray, one actor each, replaced by us: what Ray restarts by itself blames innocents.

    Args:
        recipe: what every worker is made of.
        workers: how many.
        address: of a cluster; None for this machine, see `ray_session`.
        num_gpus: share of a graphics card that each worker gets, for local embedding models.

    Raises:
        MissingExtraError: Ray is not installed.
        EngineError: there is no such cluster, or it has too few cores or graphics cards.
        RagNodesError: a worker cannot be made of the recipe.
    """

    def __init__(
        self,
        recipe: Recipe,
        workers: int,
        *,
        address: str | None = None,
        num_gpus: float = 0.0,
    ) -> None:
        self.workers = workers
        self._recipe = recipe
        self._streams: dict[int, Any] = {}
        self._batches: dict[int, int] = {}
        with ExitStack() as stack:
            self._ray = stack.enter_context(ray_session(workers, address))
            self._actor = self._ray.remote(
                num_cpus=1,
                num_gpus=num_gpus,
                max_restarts=0,
                max_task_retries=0,
                **({} if address else home_for_actors()),
            )(BatchActor)
            self._actors = [self._actor.remote(recipe) for _ in range(workers)]
            stack.callback(self._kill)
            self._await_all(address)
            self._session = stack.pop_all()

    def submit(self, worker: int, batch: Batch) -> None:
        """See `Transport`."""
        self._batches[worker] = batch.number
        # One message under way per worker: what it said last has arrived before it goes on.
        method = self._actors[worker].work.options(
            num_returns="streaming", _generator_backpressure_num_objects=1
        )
        self._streams[worker] = method.remote(pack_batch(batch))

    def wait(self, seconds: float) -> Arrived | None:
        """See `Transport`."""
        waited = list(self._streams.values())
        ready = waited and self._ray.wait(waited, num_returns=1, timeout=seconds)[0]
        if not ready:
            return None
        worker = next(one for one, stream in self._streams.items() if stream is ready[0])
        stream = self._streams.pop(worker)
        event = self._next(stream)
        if not isinstance(event, BatchFinished | BatchFailed | Died):
            self._streams[worker] = stream  # behind the others, so that each gets its turn
        return Arrived(worker, self._batches[worker], event)

    def replace(self, worker: int) -> None:
        """See `Transport`."""
        self._actors[worker] = self._actor.remote(self._recipe)

    def close(self) -> None:
        """See `Transport`."""
        self._streams.clear()
        self._session.close()

    def _next(self, stream: Any) -> Message | Died:
        errors = self._ray.exceptions
        try:
            return unpack(self._ray.get(next(stream)))
        except errors.RayTaskError as error:
            return BatchFailed(_plain(error.cause))
        except errors.OutOfMemoryError:
            return Died("ended by Ray, as its machine ran out of memory")
        except errors.RayError as error:
            return Died(f"lost by Ray: {type(error).__name__}")
        except (StopIteration, ValueError):
            return Died("it said what is no message")

    def _await_all(self, address: str | None) -> None:
        errors = self._ray.exceptions
        try:
            self._ray.get([actor.ready.remote() for actor in self._actors], timeout=STARTING)
        except errors.GetTimeoutError:
            where = f"the cluster at {address}" if address else "this machine"
            raise EngineError(
                f"{self.workers} workers did not start within {STARTING:.0f} seconds; {where} has "
                f"{self._ray.cluster_resources().get('CPU', 0):.0f} cores and "
                f"{self._ray.cluster_resources().get('GPU', 0):.0f} graphics cards for Ray: ask "
                "for fewer workers"
            ) from None
        except errors.RayTaskError as error:
            raise _plain(error.cause) from None
        except errors.RayError as error:
            raise EngineError(
                f"a worker died while it started ({type(error).__name__}); every machine of a "
                "cluster needs this version of rag_nodes and of what it was told to use"
            ) from error

    def _kill(self) -> None:
        for actor in self._actors:
            self._ray.kill(actor)


def _plain(cause: BaseException) -> RagNodesError:
    """What a worker raised, without the traceback that Ray puts into its words."""
    if isinstance(cause, RagNodesError):
        return cause
    return EngineError(f"a worker failed with an unexpected {type(cause).__name__}: {cause}")
