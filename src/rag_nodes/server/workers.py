"""Work for those who wait for it: threads that nobody takes all of, ended where a client leaves.

Models are paid for by the word, and cores are few.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

import anyio
import anyio.to_thread

from rag_nodes.errors import BusyError
from rag_nodes.processes import Interrupt, current_interrupt, interruptible
from rag_nodes.server.throttle import network_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from starlette.requests import Request

    from rag_nodes.server.limits import ServerLimits

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")


class Caller(NamedTuple):
    """Who takes places among the workers.

    Attributes:
        key: a session, or an address that came without one.
        most: places it may hold.
    """

    key: str
    most: int


class Workers:
    """Threads for what blocks, shared so that nobody takes them all.

    A request that finds no place is refused at once instead of waiting unseen.

    Args:
        limits: how many places there are.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._threads = anyio.CapacityLimiter(2 * limits.at_once)
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()

    def session(self, key: str) -> Caller:
        """A session as a caller."""
        return Caller(f"session {key}", self._limits.per_session)

    def address(self, address: str) -> Caller:
        """Whoever comes without a session, by where from."""
        return Caller(f"address {network_of(address)}", self._limits.per_address)

    def hold(self, caller: Caller) -> Callable[[], None]:
        """Hold a place for a caller until what is returned is called, once.

        Raises:
            BusyError: all places, or those of the caller, are taken.
        """
        key, most = caller
        with self._lock:
            if self._running.total() >= self._limits.at_once or self._running[key] >= most:
                raise BusyError("too much is being worked on at once; try again in a few seconds")
            self._running[key] += 1
        return partial(self._release, key)

    @contextmanager
    def place(self, caller: Caller) -> Iterator[None]:
        """Hold a place inside a `with` block, and until models that were asked there have answered.

        Raises:
            BusyError: as `hold`.
        """
        release = self.hold(caller)
        try:
            yield
        finally:
            current_interrupt().afterwards(release)

    async def run(
        self,
        caller: Caller,
        work: Callable[Arguments, Made],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Made:
        """Hold a place and do something in a thread."""
        with self.place(caller):
            return await self.thread(work, *args, **kwargs)

    async def thread(
        self,
        work: Callable[Arguments, Made],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Made:
        """Do something in a thread, under a place that is held already."""
        call = partial(work, *args, **kwargs)
        return await anyio.to_thread.run_sync(call, limiter=self._threads, abandon_on_cancel=True)

    def _release(self, key: str) -> None:
        with self._lock:
            self._running -= Counter([key])


@asynccontextmanager
async def ended_by_leaving(request: Request) -> AsyncIterator[Interrupt]:
    """Have children that work for a request killed once its client has left.

    Args:
        request: whose body has been read.

    Yields:
        What is set then; `killing` adds to what it ends.
    """
    interrupt = Interrupt()
    watching = asyncio.create_task(_watch(request, interrupt))
    try:
        with interruptible(interrupt):
            yield interrupt
    except asyncio.CancelledError:  # whoever waited for it does not any more
        interrupt.set()
        raise
    finally:
        watching.cancel()


async def _watch(request: Request, interrupt: Interrupt) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    interrupt.set()
