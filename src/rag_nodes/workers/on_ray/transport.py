"""Workers as actors of Ray: the same batches and messages, on as many machines as it knows."""

from __future__ import annotations

from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import EngineError, RagNodesError
from rag_nodes.workers.on_ray.embedders import (
    STARTING,
    EmbedderLostError,
    Embedders,
    EmbeddingActor,
)
from rag_nodes.workers.on_ray.session import home_for_actors, ray_session
from rag_nodes.workers.transport import (
    Arrived,
    CannotWork,
    Died,
    SaidT,
    TaskT,
    Transport,
    Worker,
    WorkerRecipe,
    trade_at,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class RayShape(NamedTuple):
    """How many actors of what kind, and what each needs.

    Attributes:
        workers: that read, cut and store, a core each.
        embedders: that embed for them, a core each; 0 where workers do so themselves.
        num_gpus: share of a graphics card of each that embeds.
    """

    workers: int
    embedders: int = 0
    num_gpus: float = 0.0

    @property
    def cores(self) -> int:
        """Of all actors."""
        return self.workers + self.embedders

    @property
    def embedding(self) -> int:
        """Actors that embed."""
        return self.embedders or self.workers


class WorkerActor:
    """What a process of Ray runs: a worker that talks in bytes.

    Args:
        recipe: of the worker. Its keys come as an argument, which nothing shows or writes down,
            unlike an environment that Ray is asked for.
        number: of the worker.
        embedders: actors that embed for it; none where it does so itself.
        facts: what one of them says of its models, to be waited for.
    """

    def __init__(
        self, recipe: WorkerRecipe, number: int, embedders: Sequence[Any], facts: Sequence[Any]
    ) -> None:
        self._recipe, self._trade = recipe, trade_at(recipe.trade)
        self._embedders = Embedders(embedders, facts, number)
        self._made: Worker | None = None

    def ready(self) -> None:
        """Make all that the recipe says.

        Raises:
            RagNodesError: it cannot be made here.
        """
        self._worker()

    def work(self, task: bytes) -> Iterator[bytes]:
        """What happens to a task, as messages.

        Raises:
            EmbedderLostError: an embedder died of it.
            EngineError: there are no embedders any more.
        """
        try:
            worker = self._worker()
        except RagNodesError as error:
            yield self._trade.pack(CannotWork(error))
            return
        with closing(worker.work(self._trade.unpack_task(task))) as messages:
            for message in messages:
                # What the pipeline makes of it is an error like any other of a model.
                if self._embedders.failure:
                    raise self._embedders.failure
                yield self._trade.pack(message)

    def _worker(self) -> Worker:
        if self._made is None:
            self._made = self._trade.worker(self._recipe, self._embedders.models())
        return self._made


class RayTransport(Transport[TaskT, SaidT]):
    """Workers on Ray, one actor each, replaced by us: what Ray restarts by itself blames innocents.

    Embedders it may restart, as each says what it begins with, see `Embedders.ask`.

    Args:
        recipe: what every worker is made of.
        shape: how many there are.
        address: of a cluster; None for this machine, see `ray_session`.

    Raises:
        MissingExtraError: Ray is not installed.
        EngineError: there is no such cluster, or it has too few cores or graphics cards.
        RagNodesError: a worker cannot be made of the recipe.
    """

    def __init__(
        self, recipe: WorkerRecipe, shape: RayShape, *, address: str | None = None
    ) -> None:
        self.workers = shape.workers
        self._trade = trade_at(recipe.trade)
        self._recipe, self._shape, self._address = recipe, shape, address
        self._streams: dict[int, Any] = {}
        self._tasks: dict[int, int] = {}
        self._embedders: list[Any] = []
        self._actors: list[Any] = []
        with ExitStack() as stack:
            self._ray = stack.enter_context(ray_session(shape.cores, address))
            self._check_cards()
            stack.callback(self._kill)
            self._embedders = self._started_embedders()
            ready = [actor.ready.remote() for actor in self._embedders]
            self._facts = ready[:1]
            self._actors = [self._started(number, recipe) for number in range(shape.workers)]
            self._await([*ready, *(actor.ready.remote() for actor in self._actors)])
            self._session = stack.pop_all()

    def submit(self, worker: int, task: TaskT) -> None:
        """See `Transport`."""
        self._tasks[worker] = task.number
        # One message under way per worker: what it said last has arrived before it goes on.
        method = self._actors[worker].work.options(
            num_returns="streaming", _generator_backpressure_num_objects=1
        )
        self._streams[worker] = method.remote(self._trade.pack_task(task))

    def wait(self, seconds: float) -> Arrived[SaidT] | None:
        """See `Transport`."""
        waited = list(self._streams.values())
        ready = waited and self._ray.wait(waited, num_returns=1, timeout=seconds)[0]
        if not ready:
            return None
        worker = next(one for one, stream in self._streams.items() if stream is ready[0])
        stream = self._streams.pop(worker)
        event = self._next(stream)
        if not isinstance(event, (*self._trade.last, Died)):
            self._streams[worker] = stream  # behind the others, so that each gets its turn
        return Arrived(worker, self._tasks[worker], event)

    def replace(self, worker: int) -> None:
        """See `Transport`."""
        self._ray.kill(self._actors[worker])  # it lives where it was an embedder that died
        self._actors[worker] = self._started(worker, self._recipe.successor())

    def close(self) -> None:
        """See `Transport`."""
        self._streams.clear()
        self._session.close()

    def _next(self, stream: Any) -> SaidT | CannotWork | Died:
        errors = self._ray.exceptions
        try:
            said: SaidT | CannotWork = self._trade.unpack(self._ray.get(next(stream)))
        except errors.RayTaskError as error:
            if isinstance(error.cause, EmbedderLostError):
                return Died(str(error.cause))
            return CannotWork(_plain(error.cause))
        except errors.OutOfMemoryError:
            return Died("ended by Ray, as its machine ran out of memory")
        except errors.RayError as error:
            return Died(f"lost by Ray: {type(error).__name__}")
        except (StopIteration, ValueError):
            return Died("it said what is no message")
        return said

    def _started(self, number: int, recipe: WorkerRecipe) -> Any:
        """A new worker."""
        cards = 0.0 if self._embedders else self._shape.num_gpus
        kind = self._kind(WorkerActor, num_gpus=cards, max_restarts=0)
        return kind.remote(recipe, number, self._embedders, self._facts)

    def _started_embedders(self) -> list[Any]:
        kind = self._kind(EmbeddingActor, num_gpus=self._shape.num_gpus, max_restarts=-1)
        return [kind.remote(self._recipe) for _ in range(self._shape.embedders)]

    def _kind(self, actor: type, **options: Any) -> Any:
        own = {} if self._address else home_for_actors()
        return self._ray.remote(num_cpus=1, max_task_retries=0, **options, **own)(actor)

    def _check_cards(self) -> None:
        """See that this machine has the graphics cards; a cluster may get some when asked."""
        wanted = self._shape.num_gpus * self._shape.embedding
        found = self._ray.cluster_resources().get("GPU", 0)
        if self._address is None and found < wanted:
            raise EngineError(
                f"{self._shape.embedding} processes that embed need {wanted:g} graphics cards, and "
                f"Ray finds {found:g} on this machine: ask for fewer, or for a smaller share each"
            )

    def _await(self, ready: list[Any]) -> None:
        """Wait until all actors have made what they need."""
        errors = self._ray.exceptions
        try:
            self._ray.get(ready, timeout=STARTING)
        except errors.GetTimeoutError:
            where = f"the cluster at {self._address}" if self._address else "this machine"
            raise EngineError(
                f"{len(ready)} processes did not start within {STARTING:.0f} seconds; {where} has "
                f"{self._ray.cluster_resources().get('CPU', 0):.0f} cores and "
                f"{self._ray.cluster_resources().get('GPU', 0):.0f} graphics cards for Ray: ask "
                "for fewer"
            ) from None
        except errors.RayTaskError as error:
            raise _plain(error.cause) from None
        except errors.OutOfMemoryError as error:
            raise EngineError(
                "a worker was ended while it started, as its machine ran out of memory; ask for "
                "fewer processes, or embed with a smaller model"
            ) from error
        except errors.RayError as error:
            raise EngineError(
                f"a worker died while it started ({type(error).__name__}); every machine of a "
                "cluster needs this version of rag_nodes and of what it was told to use"
            ) from error

    def _kill(self) -> None:
        for actor in (*self._actors, *self._embedders):
            self._ray.kill(actor)


def _plain(cause: BaseException) -> RagNodesError:
    """What a worker raised, without the traceback that Ray puts into its words."""
    if isinstance(cause, RagNodesError):
        return cause
    return EngineError(f"a worker failed with an unexpected {type(cause).__name__}: {cause}")
