"""Limits of the server: sizes of bodies, and work in progress.

Models are paid for by the word, and cores are few: nobody takes all threads, and work ends where a
client leaves.
"""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from rag_nodes.core.errors import BusyError
from rag_nodes.core.numbers import number_in
from rag_nodes.core.processes import Interrupt, current_interrupt, interruptible
from rag_nodes.server.failures import error_response
from rag_nodes.server.gate import network_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")
_READ_ON = 32 * 1024**2
"""Bytes of a body over its limit that are read and dropped, at most."""
_READ_ON_SECONDS = 5
"""Seconds that this takes, at most."""
UPLOADS = ("/api/upload", "/gradio_api/upload")
"""Paths that take documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Limits of a server.

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


_MAX_LENGTH_DIGITS = 20
"""Digits of a Content-Length, which is a number of 64 bits."""


class BodyLimits:
    """ASGI middleware that answers 413 to bodies over the limit, announced or not.

    Starlette's `RequestBodyLimitMiddleware` would not do: it answers in plain text and hangs up
    while a client still sends, who then reads no refusal.

    Args:
        app: the application for the others.
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
        is_upload = scope["path"].rstrip("/") in UPLOADS
        limit = self._limits.upload_bytes if is_upload else self._limits.body_bytes
        headers = Headers(scope=scope)
        announced = headers.get("content-length", "0")
        size = number_in(announced, _MAX_LENGTH_DIGITS)
        if size is None or size > limit:
            # With `Expect` a client sends nothing before it is asked to.
            await _refuse(limit, scope, receive, send, more="expect" not in headers)
            return
        with suppress(ClientDisconnect):  # of Gradio's upload; nobody is there to be answered
            await self._counted(scope, receive, send, limit)

    async def _counted(self, scope: Scope, receive: Receive, send: Send, limit: int) -> None:
        seen, more, started = 0, False, False

        async def receive_some() -> Message:
            nonlocal seen, more
            message = await receive()
            seen += len(message.get("body", b""))
            more = message.get("more_body", False)
            if seen > limit:
                raise HTTPException(413)
            return message

        async def send_some(message: Message) -> None:
            nonlocal started
            if seen > limit and not started:
                return  # some routes take the refusal for a fault of their own, and say so
            started = True
            await send(message)

        try:
            await self._app(scope, receive_some, send_some)
        except HTTPException:
            if started or seen <= limit:
                raise
        if seen > limit and not started:
            await _refuse(limit, scope, receive, send, more=more)


async def _refuse(limit: int, scope: Scope, receive: Receive, send: Send, *, more: bool) -> None:
    """Refuse; with more of the body to come, after some of that.

    Clients that send while we hang up read no refusal.
    """
    left = _READ_ON if more else 0
    with anyio.move_on_after(_READ_ON_SECONDS):
        while more and left > 0:
            message = await receive()
            left -= len(message.get("body", b""))
            more = message.get("more_body", False)
    what = f"the request has more than {limit:,} bytes"
    # The rest of the body is not wanted.
    response = error_response(413, what, "send less at once", {"connection": "close"})
    await response(scope, receive, send)


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

    def hold(self, address: str, session: str | None = None) -> Callable[[], None]:
        """Hold a place for a session, or else for an address, until what is returned is called.

        Raises:
            BusyError: all places, or those of the session or the address, are taken.
        """
        limits, key = self._limits, f"session {session}"
        most = limits.per_session
        if session is None:
            key, most = f"address {network_of(address)}", limits.per_address
        with self._lock:
            if self._running.total() >= limits.at_once or self._running[key] >= most:
                raise BusyError("too much is being worked on at once; try again in a few seconds")
            self._running[key] += 1
        return partial(self._release, key)

    @contextmanager
    def place(self, address: str, session: str | None = None) -> Iterator[None]:
        """Hold a place inside a `with` block, and until models that were asked there have answered.

        Raises:
            BusyError: as `hold`.
        """
        release = self.hold(address, session)
        try:
            yield
        finally:
            current_interrupt().afterwards(release)

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


def address_of(request: Request) -> str:
    """Return the address that a request comes from."""
    return request.client.host if request.client else ""


async def _watch(request: Request, interrupt: Interrupt) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    interrupt.set()
