"""How much the served app takes on, and bodies that are too large for it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from rag_nodes.server.failures import error_response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

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


class BodyLimits:
    """ASGI middleware that answers 413 to bodies over the limit, announced or not.

    Starlette's `RequestBodyLimitMiddleware` would not do: it answers in plain text and hangs up
    while a client still sends, who then reads no refusal.

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
        is_upload = scope["path"].rstrip("/") in UPLOADS
        limit = self._limits.upload_bytes if is_upload else self._limits.body_bytes
        headers = Headers(scope=scope)
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > limit:
            # With `Expect` a client sends nothing before it is told to.
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
