"""Who may use the served app: passwords, tokens, and no page of another site."""

from __future__ import annotations

import base64
import binascii
import hmac
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from rag_nodes.server.failures import error_response
from rag_nodes.server.gate.throttle import Throttle

if TYPE_CHECKING:
    from pydantic import SecretStr
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

MACHINES = ("/api", "/mcp")
"""Paths that programs use; a token opens these and nothing else."""
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""By these names a server that listens on the loopback interface is spoken to."""
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Access:
    """What a request has to show.

    Attributes:
        token: opens REST and MCP as `Authorization: Bearer …`; None to ask for none.
        user: name that goes with the password.
        password: opens everything, asked for by the browser; None to ask for none.
        local: answer only to the names of this machine, so that no site on the internet can make
            a visitor's browser talk to it by pointing its own name here.
        proxy: addresses of reverse proxies, separated by commas, or "*", whose `X-Forwarded-For`
            says where a request comes from; None for what `FORWARDED_ALLOW_IPS` names, if anything.
    """

    token: SecretStr | None = None
    user: str = ""
    password: SecretStr | None = None
    local: bool = True
    proxy: str | None = None


class Gate:
    """ASGI middleware that turns away whoever may not come in, before a body is read.

    Starlette's `TrustedHostMiddleware` would not do: it answers 400 in plain text, where REST
    promises 421 with error and remedy, and the check of the origin needs the host as well.

    Args:
        app: what answers everybody else.
        access: what a request has to show.
        throttle: slows down whoever guesses; None for a new one.
    """

    def __init__(self, app: ASGIApp, access: Access, throttle: Throttle | None = None) -> None:
        self._app = app
        self._access = access
        self._throttle = Throttle() if throttle is None else throttle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on or refuse it."""
        if scope["type"] == "websocket":  # nothing here speaks it
            return
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if self._access.local and _name(host) not in LOCAL_NAMES:
            return error_response(
                421,
                "this server is spoken to as localhost or 127.0.0.1",
                "use one of these, or start it with --host",
            )
        if scope["method"] in _CHANGING and not _same_site(headers.get("origin"), host):
            return error_response(
                403, "the request comes from the page of another site", "send it without one"
            )
        if not self._asks(scope["path"]):
            return None
        address = (scope.get("client") or ("",))[0]
        return self._signed_in(scope["path"], headers.get("authorization", ""), address)

    def _signed_in(self, path: str, shown: str, address: str) -> Response | None:
        """None for who may come in; who shows nothing has guessed nothing."""
        if shown and (seconds := self._throttle.seconds(address)):
            return _later(seconds)
        if self._opens(path, shown):
            self._throttle.succeeded(address)
            return None
        if shown:
            self._throttle.failed(address)
        return _unauthorised(asks_for_token=self._asks_for_token(path))

    def _asks(self, path: str) -> bool:
        return self._access.password is not None or self._asks_for_token(path)

    def _asks_for_token(self, path: str) -> bool:
        return self._access.token is not None and _is_for_machines(path)

    def _opens(self, path: str, shown: str) -> bool:
        """Whether what is shown is enough for the path."""
        token, password = self._access.token, self._access.password
        kind, _, value = shown.partition(" ")
        if kind.lower() == "bearer" and token is not None and self._asks_for_token(path):
            return _equal(value.strip(), token.get_secret_value())
        if kind.lower() == "basic" and password is not None:
            return _equal(_decoded(value), f"{self._access.user}:{password.get_secret_value()}")
        return False


def _is_for_machines(path: str) -> bool:
    return any(path == start or path.startswith(f"{start}/") for start in MACHINES)


def _unauthorised(*, asks_for_token: bool) -> Response:
    scheme = 'Bearer realm="rag_nodes"' if asks_for_token else 'Basic realm="rag_nodes"'
    remedy = (
        "send the header Authorization: Bearer with the token of this server"
        if asks_for_token
        else "send user and password of this server"
    )
    response = error_response(401, "not signed in", remedy)
    response.headers["www-authenticate"] = scheme
    return response


def _later(seconds: int) -> Response:
    response = error_response(
        429, "too many wrong passwords or tokens", f"try again in {seconds} s, with the right one"
    )
    response.headers["retry-after"] = str(seconds)
    return response


def _name(host: str) -> str:
    """The host of a Host header, without port and brackets."""
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return ""


def _same_site(origin: str | None, host: str) -> bool:
    """True where no page, or a page of this server, sends the request."""
    try:
        return origin is None or urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:  # no address at all
        return False


def _decoded(value: str) -> str:
    try:
        return base64.b64decode(value.strip(), validate=True).decode()
    except (binascii.Error, ValueError):
        return ""


def _equal(given: str, wanted: str) -> bool:
    """Compare in a time that says nothing about how much is right, nor about the length."""
    digests = (sha256(one.encode()).digest() for one in (given, wanted))
    return hmac.compare_digest(*digests)
