"""What keeps the page to itself, whatever ends up in it: response headers, and a closed route."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_POLICY = {
    "default-src": "'self'",
    # Gradio's own page compiles templates and injects styles.
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "connect-src": "'self'",
    "object-src": "'none'",
    "base-uri": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
"""The browser loads from and sends to this server only, so text in the page cannot leak."""

_HEADERS = (
    (
        b"content-security-policy",
        "; ".join(f"{what} {where}" for what, where in _POLICY.items()).encode(),
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)


class SecurityHeaders:
    """ASGI middleware that adds the headers to every response.

    Args:
        app: what answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the headers added."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                message["headers"] = [
                    *message["headers"],
                    *(pair for pair in _HEADERS if pair[0] not in given),
                ]
            await send(message)

        await self._app(scope, receive, send_with_headers)


class NoDeepLinks:
    """ASGI middleware that closes Gradio's route for links to the state of a page.

    That route writes everything a visitor has typed, the key included, into a file, and shows it
    to whoever has the link.

    Args:
        app: what answers everything else.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say that there is nothing."""
        closed = scope["type"] == "http" and scope["path"].rstrip("/").endswith("/deep_link")
        answer: ASGIApp = PlainTextResponse("Not Found", 404) if closed else self._app
        await answer(scope, receive, send)
