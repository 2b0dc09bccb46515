"""Gate before page, REST and MCP: who may enter, and which headers leave."""

from __future__ import annotations

import base64
import binascii
import hmac
import ipaddress
import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse

from rag_nodes.server.failures import error_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from pydantic import SecretStr
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MACHINES = ("/api", "/mcp")
"""Paths that programs use; a token opens these and nothing else."""
LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
"""Host names that are accepted while the server listens on the loopback interface."""
FREE = 5
"""Wrong ones in a row that cost no time: people mistype."""
LONGEST = 30.0
"""Seconds that an address waits at most."""
FORGOTTEN = 900.0
"""Seconds after which a wrong one no longer counts."""
ADDRESSES = 4096
"""Addresses remembered; beyond that, the one quiet for longest is forgotten."""
_NETWORK = 64
"""Bits of an IPv6 address that one customer of a provider has in common with nobody."""
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
_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})


@dataclass(frozen=True, slots=True)
class Access:
    """Credentials that a request has to present.

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


@dataclass(slots=True)
class _Failures:
    count: int
    last: float


class Throttle:
    """Counts wrong passwords and tokens by the address they come from.

    After `FREE` in a row the address waits 1, 2, 4, … up to `LONGEST` seconds before the next one
    is looked at. One that is right ends the count.

    Args:
        clock: seconds that only grow.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures: OrderedDict[str, _Failures] = OrderedDict()

    def __len__(self) -> int:
        """Addresses that are remembered."""
        return len(self._failures)

    def seconds(self, address: str) -> int:
        """Whole seconds that an address still has to wait; 0 for none.

        Args:
            address: of the client.
        """
        failures = self._failures.get(network_of(address))
        if failures is None or failures.count < FREE:
            return 0
        wait = min(2.0 ** min(failures.count - FREE, 10), LONGEST)
        return max(0, math.ceil(failures.last + wait - self._clock()))

    def failed(self, address: str) -> None:
        """Count a wrong one."""
        now, key = self._clock(), network_of(address)
        failures = self._failures.pop(key, None)
        recent = failures is not None and now - failures.last < FORGOTTEN
        self._failures[key] = _Failures(failures.count + 1 if failures and recent else 1, now)
        if len(self._failures) > ADDRESSES:
            self._failures.popitem(last=False)

    def succeeded(self, address: str) -> None:
        """Forget the wrong ones of an address."""
        self._failures.pop(network_of(address), None)


def network_of(address: str) -> str:
    """Return what a visitor cannot change at will: the IPv4 address, or the IPv6 network."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""  # a socket without addresses: all count as one
    if isinstance(parsed, ipaddress.IPv4Address):
        return str(parsed)
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _NETWORK), strict=False))


class Gate:
    """ASGI middleware that turns away whoever may not come in, before a body is read.

    Starlette's `TrustedHostMiddleware` would not do: it answers 400 in plain text, where REST
    promises 421 with error and remedy, and the check of the origin needs the host as well.

    Args:
        app: the application for everybody else.
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
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "")
        if self._access.local and _name(host) not in LOCAL_NAMES:
            return error_response(
                421,
                "the request names another host than this computer",
                "open the server as http://localhost or http://127.0.0.1, or ask whoever runs it "
                "to open it to the network",
            )
        if scope["method"] in _CHANGING and not _same_site(headers.get("origin"), host):
            return error_response(
                403,
                "a page of another website sent this request",
                "send it from the server's own page, or from a program without the header Origin",
            )
        by_token = self._access.token is not None and _is_for_machines(path)
        if self._access.password is None and not by_token:
            return None
        shown, address = headers.get("authorization", ""), (scope.get("client") or ("",))[0]
        if shown and (seconds := self._throttle.seconds(address)):
            return error_response(
                429,
                "too many wrong passwords or tokens",
                f"try again in {seconds} s, with the right one",
                {"retry-after": str(seconds)},
            )
        if self._opens(shown, by_token=by_token):
            self._throttle.succeeded(address)
            return None
        if shown:  # who shows nothing has guessed nothing
            self._throttle.failed(address)
        return _unauthorised(by_token=by_token)

    def _opens(self, shown: str, *, by_token: bool) -> bool:
        """Return True if the credentials are valid."""
        token, password = self._access.token, self._access.password
        kind, _, value = shown.partition(" ")
        if kind.lower() == "bearer" and token is not None and by_token:
            return _equal(value.strip(), token.get_secret_value())
        if kind.lower() == "basic" and password is not None:
            return _equal(_decoded(value), f"{self._access.user}:{password.get_secret_value()}")
        return False


def _is_for_machines(path: str) -> bool:
    return any(path == start or path.startswith(f"{start}/") for start in MACHINES)


def _unauthorised(*, by_token: bool) -> Response:
    scheme = "Bearer" if by_token else "Basic"
    remedy = (
        "send the header Authorization: Bearer with the token of this server"
        if by_token
        else "send user and password of this server"
    )
    challenge = {"www-authenticate": f'{scheme} realm="rag_nodes"'}
    return error_response(401, "not signed in", remedy, challenge)


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
    digests = (sha256(text.encode()).digest() for text in (given, wanted))
    return hmac.compare_digest(*digests)


class SecurityHeaders:
    """ASGI middleware that adds the headers to every response.

    Args:
        app: the application.
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
        app: the application for everything else.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or say that there is nothing."""
        closed = scope["type"] == "http" and scope["path"].rstrip("/").endswith("/deep_link")
        answer: ASGIApp = PlainTextResponse("Not Found", 404) if closed else self._app
        await answer(scope, receive, send)
