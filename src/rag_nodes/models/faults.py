"""An exception of a model's client in, one of our errors with a remedy out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import (
    CredentialsError,
    ModelConnectionError,
    ModelError,
    ModelRequestError,
    ModelResponseError,
    RateLimitedError,
    UnknownModelError,
)
from rag_nodes.settings import OPENAI_API_BASE

if TYPE_CHECKING:
    from collections.abc import Callable

_KEY_LIKE = re.compile(r"(?:sk-|[Bb]earer\s+)[\w*.\-]{4,}")
"""Servers repeat a refused key, whole or in part."""
LONGEST_DETAIL = 300
"""Characters of a server's own words that a message quotes."""
_TOO_LONG = ("context_length", "context length", "maximum context", "too long", "too many tokens")
_UNKNOWN_MODEL = "model_not_found"
"""Code of the error that some servers send with 400 instead of 404."""
_BROKEN_OFF = {"ReadError", "RemoteProtocolError"}
"""What the transport raises when a connection ends in the middle of an answer."""


def map_model_error(
    error: Exception, *, model: str, api_base: str | None
) -> ModelError | CredentialsError:
    """What to raise instead of an exception of the OpenAI client or of the network beneath it.

    The client is recognised by its class names, so this imports nothing heavy.

    Args:
        error: as caught; one of ours is returned unchanged.
        model: name of the model that was asked.
        api_base: address that was asked; None for OpenAI itself.

    Returns:
        The error to raise: what failed, where, the server's words without keys, and the remedy.
    """
    if isinstance(error, ModelError | CredentialsError):
        return error
    place = f"{model} at {api_base or OPENAI_API_BASE}"
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _of_status(status)(error, place)
    if type(error).__name__ == "OpenAIError":  # nothing was asked: the client misses a key
        return CredentialsError(f"{place}: no key ({server_words(error)})")
    return _of_the_way(error, place)


def _of_the_way(error: Exception, place: str) -> ModelError:
    """What went wrong on the way to the server or back, or was no answer at all."""
    families = {family.__name__ for family in type(error).__mro__}
    if families & {"APITimeoutError", "TimeoutException"}:
        return ModelConnectionError(
            f"{place}: no answer in time; try again or raise request_timeout"
        )
    if type(error).__name__ == "APIError":  # said in the middle of a stream
        return ModelResponseError(
            f"{place}: the server broke its answer off ({server_words(error)}); try again"
        )
    cause = {family.__name__ for family in type(error.__cause__).__mro__}
    broken_off = "APIConnectionError" in families and cause & _BROKEN_OFF
    if not broken_off and families & {"APIConnectionError", "ConnectError", "OSError"}:
        return ModelConnectionError(
            f"{place}: the server cannot be reached; check the network, the proxy and api_base"
        )
    if broken_off or "TransportError" in families:
        return ModelResponseError(f"{place}: the answer was cut off; try again")
    return ModelResponseError(
        f"{place}: the answer is not what an OpenAI-compatible server sends "
        f"({type(error).__name__}: {server_words(error)}); "
        "check that api_base names the right server, it usually ends in /v1"
    )


def server_words(error: BaseException) -> str:
    """The server's message on one line, shortened, with anything that looks like a key removed."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    return safe_line(str(message or error))


def safe_line(text: str, most: int = LONGEST_DETAIL) -> str:
    """Words of others on one line, shortened, with anything that looks like a key removed."""
    line = " ".join(text.split())
    printable = "".join(character for character in line if character.isprintable())
    hidden = _KEY_LIKE.sub("****", printable)
    return hidden if len(hidden) <= most else f"{hidden[:most]}…"


def retry_after(error: BaseException) -> float | None:
    """Seconds the server asks to wait, which it may say as a date; None where it does not."""
    headers = getattr(getattr(error, "response", None), "headers", {})
    asked = headers.get("retry-after", "")
    try:
        return max(0.0, float(asked))
    except ValueError:
        pass
    try:
        return max(0.0, (parsedate_to_datetime(asked) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):  # absent, nonsense, or a date without a zone
        return None


def out_of_quota(error: BaseException) -> bool:
    """True for the 429 that waiting does not cure."""
    return getattr(error, "code", None) == "insufficient_quota"


def _of_status(status: int) -> Callable[[Exception, str], ModelError | CredentialsError]:
    if status >= 500:  # noqa: PLR2004 - HTTP: the server's fault
        return _server_failed
    named: dict[int, Callable[[Exception, str], ModelError | CredentialsError]] = {
        401: _refused,
        403: _refused,
        404: _unknown,
        429: _limited,
    }
    return named.get(status, _bad_request)


def _refused(error: Exception, place: str) -> CredentialsError:
    return CredentialsError(
        f"{place}: the key was refused ({server_words(error)}); check RAG_NODES_API_KEY or "
        "OPENAI_API_KEY, and that this key may use this model"
    )


def _unknown(error: Exception, place: str) -> UnknownModelError:
    return UnknownModelError(
        f"{place}: unknown model or address ({server_words(error)}); check the model's name and "
        "api_base, which usually ends in /v1"
    )


def _limited(error: Exception, place: str) -> RateLimitedError:
    if out_of_quota(error):
        return RateLimitedError(
            f"{place}: no quota left ({server_words(error)}); check the plan and billing of this "
            "key's account"
        )
    seconds = retry_after(error)
    when = "in a while" if seconds is None else f"in {seconds:g} s, as the server asks"
    return RateLimitedError(f"{place}: too many requests ({server_words(error)}); try again {when}")


def _bad_request(error: Exception, place: str) -> ModelRequestError:
    if getattr(error, "code", None) == _UNKNOWN_MODEL:
        return _unknown(error, place)
    words = server_words(error)
    facts = f"{getattr(error, 'code', '')} {words}".lower()
    remedy = (
        "make the chunks or the context budget smaller"
        if any(sign in facts for sign in _TOO_LONG)
        else "check the model's name and options"
    )
    return ModelRequestError(f"{place}: the request was refused ({words}); {remedy}")


def _server_failed(error: Exception, place: str) -> ModelResponseError:
    status: Any = getattr(error, "status_code", "")
    return ModelResponseError(
        f"{place}: the server failed with HTTP {status} ({server_words(error)}); try again later"
    )
