"""How much the served app takes on: bytes of a request, files of an upload, work at a time."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect

from rag_nodes.server.failures import ApiError, busy, error_response, too_large
from rag_nodes.server.gate.throttle import network_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_READ_ON = 32 * 1024**2
"""Bytes of a body over its limit that are read and dropped, at most."""
_READ_ON_SECONDS = 5
"""Seconds that this takes, at most."""
UPLOADS = ("/api/upload", "/gradio_api/upload")
"""Paths that take documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """What one server takes on.

    Attributes:
        upload_bytes: bytes of one upload, all files together, on REST and on the page.
        upload_files: files of one upload on REST.
        body_bytes: bytes of any other request.
        documents: documents of one REST session.
        sessions: REST sessions at a time; the one idle longest ends first.
        idle_seconds: seconds without a request after which a REST session ends.
        at_once: requests worked on at a time.
        per_session: those of one session; they wait for each other.
        per_address: those that come without a session from one address.
    """

    upload_bytes: int = 200 * 1024**2
    upload_files: int = 20
    body_bytes: int = 4 * 1024**2
    documents: int = 100
    sessions: int = 100
    idle_seconds: float = 2 * 3600
    at_once: int = 64
    per_session: int = 4
    per_address: int = 16


class Caller(NamedTuple):
    """Who takes places among the workers.

    Attributes:
        key: a session, or an address that came without one.
        most: places it may hold.
    """

    key: str
    most: int


class BodyLimits:
    """ASGI middleware that answers 413 to bodies over the limit, announced or not.

    Args:
        app: what answers the others.
        limits: how many bytes are too many.
    """

    def __init__(self, app: ASGIApp, limits: ServerLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, counting what comes in."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        limit = self._limit(scope["path"])
        refusal = too_large(f"the request has more than {limit:,} bytes")
        headers = Headers(scope=scope)
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > limit:
            # With `Expect` a client sends nothing before it is told to.
            await _answer(refusal, scope, receive, send, more="expect" not in headers)
            return
        with suppress(ClientDisconnect):  # of Gradio's upload; nobody is there to be answered
            await self._counted(scope, receive, send, limit, refusal)

    async def _counted(
        self, scope: Scope, receive: Receive, send: Send, limit: int, refusal: ApiError
    ) -> None:
        seen, more, started = 0, False, False

        async def receive_some() -> Message:
            nonlocal seen, more
            message = await receive()
            seen += len(message.get("body", b""))
            more = message.get("more_body", False)
            if seen > limit:
                raise refusal
            return message

        async def send_some(message: Message) -> None:
            nonlocal started
            if seen > limit and not started:
                return  # some routes take the refusal for a fault of their own, and say so
            started = True
            await send(message)

        try:
            await self._app(scope, receive_some, send_some)
        except ApiError:
            if started or seen <= limit:
                raise
        if seen > limit and not started:
            await _answer(refusal, scope, receive, send, more=more)

    def _limit(self, path: str) -> int:
        """Bytes that a request to this path may have."""
        is_upload = path.rstrip("/") in UPLOADS
        return self._limits.upload_bytes if is_upload else self._limits.body_bytes


class Workers:
    """Threads for what blocks, shared so that nobody takes them all.

    A request that finds no place is refused at once instead of waiting unseen. To be used from
    one event loop.

    Args:
        limits: how many places there are.
    """

    def __init__(self, limits: ServerLimits) -> None:
        self._limits = limits
        self._threads = anyio.CapacityLimiter(2 * limits.at_once)
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
            ApiError: all places, or those of the caller, are taken.
        """
        key, most = caller
        if self._running.total() >= self._limits.at_once or self._running[key] >= most:
            raise busy()
        self._running[key] += 1
        return partial(self._release, key)

    @contextmanager
    def place(self, caller: Caller) -> Iterator[None]:
        """Hold a place for a caller inside a `with` block; raises ApiError like `hold`."""
        release = self.hold(caller)
        try:
            yield
        finally:
            release()

    async def run(
        self,
        caller: Caller,
        work: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Hold a place and do something in a thread."""
        with self.place(caller):
            return await self.thread(work, *args, **kwargs)

    async def thread(
        self,
        work: Callable[Arguments, Result],
        *args: Arguments.args,
        **kwargs: Arguments.kwargs,
    ) -> Result:
        """Do something in a thread, under a place that is held already."""
        call = partial(work, *args, **kwargs)
        return await anyio.to_thread.run_sync(call, limiter=self._threads, abandon_on_cancel=True)

    def _release(self, key: str) -> None:
        self._running[key] -= 1
        if not self._running[key]:
            del self._running[key]


async def _read_on(receive: Receive) -> None:
    """Drop some of what still comes: clients that send while we hang up read no refusal."""
    left, more = _READ_ON, True
    with anyio.move_on_after(_READ_ON_SECONDS):
        while more and left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)


async def _answer(
    refusal: ApiError, scope: Scope, receive: Receive, send: Send, *, more: bool
) -> None:
    """Refuse; with more of the body to come, after some of that."""
    if more:
        await _read_on(receive)
    response = error_response(refusal.status_code, str(refusal.detail), refusal.remedy)
    response.headers["connection"] = "close"  # the rest of the body is not wanted
    await response(scope, receive, send)
