"""An exception of a model's client in, one of our errors with a remedy out."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from rag_nodes.errors import (
    CredentialsError,
    ModelConnectionError,
    ModelError,
    ModelRequestError,
    ModelResponseError,
    RateLimitedError,
    UnknownModelError,
)
from rag_nodes.settings import OPENAI_API_BASE, is_secret, without_secrets

_KEY_LIKE = re.compile(r"(?:sk-|[Bb]earer\s+)[\w*.\-]{4,}")
"""Servers repeat a refused key, whole or in part."""
LONGEST_DETAIL = 300
"""Characters of a server's own words that a message quotes."""
_TOO_LONG = ("context_length", "context length", "maximum context", "too long", "too many tokens")
_UNKNOWN_MODEL = "model_not_found"
"""Code of the error that some servers send with 400 instead of 404."""
_BROKEN_OFF = {"ReadError", "RemoteProtocolError"}
"""What the transport raises when a connection ends in the middle of an answer."""
_PASSING = {408, 409}
"""Statuses that tell nothing about the request: it is repeated as after a server's own failure."""
_OPENAI = ("llama_index.embeddings.openai", "llama_index.llms.openai", "rag_nodes.models.openai")
"""Modules of models that speak OpenAI's protocol, so that a strange answer is their server's."""
_UNREACHED = {"OSError", "ConnectError", "TimeoutException"}
"""What Python, requests and httpx raise where a server cannot be reached or does not answer."""
_OF_FILES = {"FileNotFoundError", "PermissionError", "IsADirectoryError", "NotADirectoryError"}
"""What the first of these also stands for."""


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
        return _of_status(status, error, place)
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


def failure_of(error: Exception, asked: object, *, name: str) -> ModelError | CredentialsError:
    """What to raise instead of any exception of a model that was handed in.

    Args:
        error: as caught; one of ours is returned unchanged.
        asked: the model, of any class.
        name: of the model, for messages about its server.

    Returns:
        As `map_model_error` where OpenAI's client or a server said it. What the model's own code
        raised is told by its class and the error's, without an address. No key of the model's is
        in the message.
    """
    if isinstance(error, ModelError | CredentialsError):
        return error
    told = _told(error, asked, name)
    return type(told)(without_secrets(str(told), secrets_of(asked)))


def secrets_of(model: object) -> dict[str, Any]:
    """The attributes of a model that may be keys, which its server or its own code may repeat."""
    held = {**getattr(model, "__dict__", {}), **(getattr(model, "__pydantic_private__", {}) or {})}
    return {name: _revealed(value) for name, value in held.items() if value and is_secret(name)}


def _revealed(value: Any) -> Any:
    return value.get_secret_value() if hasattr(value, "get_secret_value") else value


def _told(error: Exception, asked: object, name: str) -> ModelError | CredentialsError:
    own = f"{type(asked).__module__}.{type(asked).__qualname__}"
    families = {family.__name__ for family in type(error).__mro__}
    if own.startswith(_OPENAI) or "OpenAIError" in families:
        return map_model_error(error, model=name, api_base=getattr(asked, "api_base", None))
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return _of_status(status, error, f"{name} of {own}")
    is_unreached = families & _UNREACHED and not families & _OF_FILES
    kind = ModelConnectionError if is_unreached else ModelResponseError
    # First, or what is quoted may end in the middle of a key that nobody recognises then.
    words = safe_line(without_secrets(str(error), secrets_of(asked)))
    said = ": ".join(filter(None, (type(error).__name__, words)))
    return kind(f"{own} failed: {said}; mend it, or choose another model")


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


def _of_status(status: int, error: Exception, place: str) -> ModelError | CredentialsError:
    """What an HTTP status says went wrong."""
    words = server_words(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _PASSING:
        return ModelResponseError(
            f"{place}: the server failed with HTTP {status} ({words}); try again later"
        )
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return CredentialsError(
            f"{place}: the key was refused ({words}); check RAG_NODES_API_KEY or OPENAI_API_KEY, "
            "and that this key may use this model"
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return RateLimitedError(f"{place}: {_limit(error, words)}")
    code = getattr(error, "code", None)
    if status == HTTPStatus.NOT_FOUND or code == _UNKNOWN_MODEL:
        return UnknownModelError(
            f"{place}: unknown model or address ({words}); check the model's name and api_base, "
            "which usually ends in /v1"
        )
    is_too_long = any(sign in f"{code or ''} {words}".lower() for sign in _TOO_LONG)
    remedy = (
        "make the chunks or the context budget smaller"
        if is_too_long
        else "check the model's name and options"
    )
    return ModelRequestError(f"{place}: the request was refused ({words}); {remedy}")


def _limit(error: Exception, words: str) -> str:
    """Which limit of an account is reached, and what to do."""
    if out_of_quota(error):
        return f"no quota left ({words}); check the plan and billing of this key's account"
    seconds = retry_after(error)
    when = "in a while" if seconds is None else f"in {seconds:g} s, as the server asks"
    return f"too many requests ({words}); try again {when}"
