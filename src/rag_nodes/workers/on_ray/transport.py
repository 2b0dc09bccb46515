"""Workers as actors of Ray: the same batches and messages, on as many machines as it knows."""

from __future__ import annotations

import time
from collections import deque
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any, NamedTuple

from rag_nodes.errors import EngineError, RagNodesError
from rag_nodes.executors.ray_session import home_for_actors, ray_session
from rag_nodes.workers.on_ray.embedders import (
    STARTING,
    EmbedderLostError,
    Embedders,
    EmbeddingActor,
)
from rag_nodes.workers.on_ray.journals import RETRIES, ActorJournal, JournalActor
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
from rag_nodes.workers.words import Hearing, LoggedWords, packed, spoken

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


class _Asked(NamedTuple):
    """A task that an actor was given.

    Attributes:
        number: of the task.
        stream: what the actor says of it.
    """

    number: int
    stream: Any


class WorkerActor:
    """What a process of Ray runs: a worker that talks in bytes.

    Args:
        recipe: of the worker. Its keys come as an argument, which nothing shows or writes down,
            unlike an environment that Ray is asked for.
        number: of the worker.
        embedders: actors that embed for it; none where it does so itself.
        keeper: actor that keeps the journals of the recipe; None where it has none.
    """

    def __init__(
        self, recipe: WorkerRecipe, number: int, embedders: Sequence[Any], keeper: Any = None
    ) -> None:
        self._recipe, self._trade = recipe, trade_at(recipe.trade)
        self._journals = {path: ActorJournal(keeper, path) for path in recipe.journals}
        self._words = LoggedWords(recipe.keys)
        self._embedders = Embedders(embedders, number)
        self._made: Worker | None = None

    def work(self, task: bytes) -> Iterator[bytes]:
        """What happens to a task, as messages.

        Raises:
            EmbedderLostError: an embedder died of it.
            EngineError: there are no embedders any more.
        """
        try:
            worker = self._worker()
        except RagNodesError as error:
            yield packed(self._trade.pack(CannotWork(error)))
            return
        told = self._trade.unpack_task(task)
        with closing(spoken(worker, told, self._trade, self._words)) as said:
            for data, _ in said:
                # What the pipeline makes of it is an error like any other of a model.
                if self._embedders.failure:
                    raise self._embedders.failure
                yield data

    def _worker(self) -> Worker:
        if self._made is None:
            with self._words.listening():
                models = self._embedders.models()
                self._made = self._trade.worker(self._recipe, models, self._journals)
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
        EngineError: there is no such cluster, or this machine has too few graphics cards.
    """

    def __init__(
        self, recipe: WorkerRecipe, shape: RayShape, *, address: str | None = None
    ) -> None:
        self.workers = shape.workers
        self._trade = trade_at(recipe.trade)
        self._hearing = Hearing(self._trade.unpack)
        self._recipe, self._shape, self._address = recipe, shape, address
        # What each is to do, those first whose turn it is.
        self._asked: dict[int, deque[_Asked]] = {one: deque() for one in range(shape.workers)}
        self._embedders: list[Any] = []
        self._keeper: Any = None
        self._actors: dict[int, Any] = {}
        self._starting: dict[int, float] = {}
        self._died: set[int] = set()
        with ExitStack() as stack:
            self._ray = stack.enter_context(ray_session(shape.cores, address))
            self._check_cards()
            stack.callback(self._kill)
            self._embedders = self._started_embedders()
            self._keeper = self._started_keeper()
            self._session = stack.pop_all()

    def submit(self, worker: int, task: TaskT) -> None:
        """See `Transport`; an actor is started with its first task."""
        if worker not in self._actors:
            self._actors[worker] = self._started(worker)
            self._starting[worker] = time.monotonic() + STARTING
        # One message under way per worker: what it said last has arrived before it goes on.
        method = self._actors[worker].work.options(
            num_returns="streaming", _generator_backpressure_num_objects=1
        )
        stream = method.remote(self._trade.pack_task(task))
        self._asked[worker].append(_Asked(task.number, stream))

    def wait(self, seconds: float) -> Arrived[SaidT] | None:
        """See `Transport`.

        Raises:
            EngineError: there is too little room for the actors, or no machine any more.
        """
        self._check_starts()
        first = {worker: own[0] for worker, own in self._asked.items() if own}
        ready = self._ready([one.stream for one in first.values()], seconds)
        if not ready:
            self._check_machines()
            return None
        worker = next(number for number, one in first.items() if one.stream is ready[0])
        event = self._next(worker, first[worker].stream)
        self._asked[worker] = own = self._asked.pop(worker)  # behind the others
        if isinstance(event, self._trade.last):
            own.popleft()
        elif isinstance(event, Died):
            own.clear()
        return None if event is None else Arrived(worker, first[worker].number, event)

    def replace(self, worker: int) -> None:
        """Let the next task start a new actor."""
        self._ray.kill(self._actors.pop(worker))  # it lives where it was an embedder that died
        self._died.add(worker)

    def close(self) -> None:
        """See `Transport`."""
        for own in self._asked.values():
            own.clear()
        self._session.close()

    def _ready(self, streams: list[Any], seconds: float) -> list[Any]:
        """Those of which something has come, one at most, waited for."""
        found: list[Any] = streams and self._ray.wait(streams, num_returns=1, timeout=seconds)[0]
        return found

    def _next(self, worker: int, stream: Any) -> SaidT | CannotWork | Died | None:
        """What an actor said; None where it was for people."""
        errors = self._ray.exceptions
        is_new = self._starting.pop(worker, None) is not None
        try:
            data = self._ray.get(next(stream))
            said: SaidT | CannotWork | None = self._hearing.message(data)
        except errors.RayTaskError as error:
            if isinstance(error.cause, EmbedderLostError):
                return Died(str(error.cause))
            return CannotWork(_plain(error.cause))
        except errors.OutOfMemoryError:
            return Died("ended by Ray, as its machine ran out of memory")
        except errors.RayError as error:
            return Died(self._loss(error, is_new=is_new))
        except (StopIteration, ValueError):
            return Died("it said what is no message")
        return said

    def _loss(self, error: Exception, *, is_new: bool) -> str:
        how = f"lost by Ray{' while it started' if is_new else ''}: {type(error).__name__}"
        if is_new and self._address:
            how += "; every machine needs this version of rag_nodes and what it was told to use"
        return how

    def _started(self, number: int) -> Any:
        """A new worker."""
        recipe = self._recipe.successor() if number in self._died else self._recipe
        cards = 0.0 if self._embedders else self._shape.num_gpus
        kind = self._kind(WorkerActor, num_gpus=cards, max_restarts=0)
        return kind.remote(recipe, number, self._embedders, self._keeper)

    def _started_embedders(self) -> list[Any]:
        kind = self._kind(EmbeddingActor, num_gpus=self._shape.num_gpus, max_restarts=-1)
        return [kind.remote(self._recipe) for _ in range(self._shape.embedders)]

    def _started_keeper(self) -> Any:
        """Who keeps what LLMs write, on this machine, whose files they are."""
        if not self._recipe.journals:
            return None
        here = self._ray.get_runtime_context().get_node_id()
        strategies = self._ray.util.scheduling_strategies
        kind = self._kind(
            JournalActor,
            num_cpus=0,
            max_restarts=RETRIES,
            max_task_retries=RETRIES,
            scheduling_strategy=strategies.NodeAffinitySchedulingStrategy(here, soft=False),
        )
        return kind.remote(self._recipe.journals)

    def _kind(self, actor: type, **options: Any) -> Any:
        own = {} if self._address else home_for_actors()
        usual = {"num_cpus": 1, "max_task_retries": 0}
        return self._ray.remote(**{**usual, **options, **own})(actor)

    def _check_cards(self) -> None:
        """See that this machine has the graphics cards; a cluster may get some when asked."""
        wanted = self._shape.num_gpus * self._shape.embedding
        found = self._ray.cluster_resources().get("GPU", 0)
        if self._address is None and found < wanted:
            raise EngineError(
                f"{self._shape.embedding} processes that embed need {wanted:g} graphics cards, and "
                f"Ray finds {found:g} on this machine: ask for fewer, or for a smaller share each"
            )

    def _check_starts(self) -> None:
        """See that no actor waits for ever for a core or a card, of which Ray says nothing."""
        now = time.monotonic()
        late = [self._asked[one][0].stream for one, end in self._starting.items() if end < now]
        if all(self._ready([stream], 0.0) for stream in late):
            return
        found = self._ray.cluster_resources()
        where = f"the cluster at {self._address}" if self._address else "this machine"
        raise EngineError(
            f"of {self._shape.cores} processes some did not start within {STARTING:.0f} seconds; "
            f"{where} has {found.get('CPU', 0):.0f} cores and {found.get('GPU', 0):.0f} graphics "
            "cards for Ray: ask for fewer"
        )

    def _check_machines(self) -> None:
        """See that an actor which starts has where to: without its raylet a machine is lost."""
        if self._starting and not self._ray.cluster_resources():
            where = f"the cluster at {self._address}" if self._address else "this machine"
            raise EngineError(
                f"Ray's own process on {where} has ended, and with it all workers; look at free "
                "memory, and run this again: what was stored stays"
            )

    def _kill(self) -> None:
        keeper = [self._keeper] if self._keeper else []
        for actor in (*self._actors.values(), *self._embedders, *keeper):
            self._ray.kill(actor)


def _plain(cause: BaseException) -> RagNodesError:
    """What a worker raised, without the traceback that Ray puts into its words."""
    if isinstance(cause, RagNodesError):
        return cause
    return EngineError(f"a worker failed with an unexpected {type(cause).__name__}: {cause}")
