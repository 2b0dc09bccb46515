"""An exception of a model's client in, one of our errors with a remedy out."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import (
    CHECK_KEY,
    CredentialsError,
    ModelConnectionError,
    ModelError,
    ModelRequestError,
    ModelResponseError,
    RateLimitedError,
    UnknownModelError,
)
from rag_nodes.core.keys import keys_of, kind_of, without_keys
from rag_nodes.core.settings import OPENAI_API_BASE

if TYPE_CHECKING:
    from collections.abc import Iterable

_OPENAI = ("llama_index.embeddings.openai", "llama_index.llms.openai", "rag_nodes.models.openai")
"""Modules of models that speak OpenAI's protocol, so that a strange answer is their server's."""
_UNREACHED = {"OSError", "ConnectError", "TimeoutException"}
"""Errors of Python, requests and httpx if a server cannot be reached or does not answer."""
_OF_FILES = {"FileNotFoundError", "PermissionError", "IsADirectoryError", "NotADirectoryError"}
"""Meanings that the first of these errors also has."""
_CUT_OFF = {"ReadError", "RemoteProtocolError"}
"""Errors of the transport when a connection ends in the middle of an answer."""
_PASSING = {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}
"""They tell nothing about the request: it is repeated as after a server's own failure."""
_TOO_LONG = ("context_length", "context length", "maximum context", "too long", "too many tokens")


def failure_of(error: Exception, asked: object, *, name: str) -> ModelError | CredentialsError:
    """Return the typed error for an exception of a model.

    OpenAI's client is recognised by its class names, so this imports nothing heavy.

    Args:
        error: as caught; one of ours is returned unchanged.
        asked: the model, of any class.
        name: of the model, for messages about its server.

    Returns:
        The error to raise: what failed, where, the words of a server that speaks OpenAI's
        protocol, and the remedy. Of any other model's exception the class is named, without its
        text. No key of the model is in the message.
    """
    if isinstance(error, ModelError | CredentialsError):
        return error
    own = f"{type(asked).__module__}.{type(asked).__qualname__}"
    families = {family.__name__ for family in type(error).__mro__}
    is_openai = own.startswith(_OPENAI) or "OpenAIError" in families
    words = server_words(error, keys_of(asked)) if is_openai else type(error).__name__
    address = getattr(asked, "api_base", None) or OPENAI_API_BASE
    place = f"{name} at {address}" if is_openai else f"{name} of {own}"
    if isinstance(status := getattr(error, "status_code", None), int):
        return _of_status(status, error, place, words)
    if is_openai:
        return _of_openai(error, families, place, words)
    is_unreached = families & _UNREACHED and not families & _OF_FILES
    kind = ModelConnectionError if is_unreached else ModelResponseError
    return kind(f"{own} failed: {kind_of(error)}; fix it, or choose another model")


def server_words(error: BaseException, keys: Iterable[str] = ()) -> str:
    """The server's message on one line, shortened, without these keys and what looks like one."""
    body = getattr(error, "body", None)
    message = body.get("message") if isinstance(body, dict) else None
    return without_keys(str(message or error), keys)


def out_of_quota(error: BaseException) -> bool:
    """True for the 429 that waiting does not cure."""
    return getattr(error, "code", None) == "insufficient_quota"


def _of_openai(
    error: Exception, families: set[str], place: str, words: str
) -> ModelError | CredentialsError:
    """Return the error for a fault before a request, during it, or in a reply without an answer."""
    if type(error).__name__ == "OpenAIError":  # nothing was asked: the client misses a key
        return CredentialsError(f"{place}: no key ({words})")
    if families & {"APITimeoutError", "TimeoutException"}:
        return ModelConnectionError(
            f"{place}: no answer in time; try again or raise request_timeout"
        )
    if type(error).__name__ == "APIError":  # said in the middle of a stream
        return ModelResponseError(f"{place}: the server broke its answer off ({words}); try again")
    cut = _CUT_OFF & (families | {family.__name__ for family in type(error.__cause__).__mro__})
    if families & {"APIConnectionError", "ConnectError", "OSError"} and not cut:
        return ModelConnectionError(
            f"{place}: the server cannot be reached; check the network, the proxy and api_base"
        )
    if cut or "TransportError" in families:
        return ModelResponseError(f"{place}: the answer is incomplete; try again")
    return ModelResponseError(
        f"{place}: the answer is not what an OpenAI-compatible server sends "
        f"({type(error).__name__}: {words}); "
        "check that api_base names the right server, it usually ends in /v1"
    )


def _of_status(
    status: int, error: Exception, place: str, words: str
) -> ModelError | CredentialsError:
    """Return the error for an HTTP status."""
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _PASSING:
        return ModelResponseError(
            f"{place}: the server failed with HTTP {status} ({words}); try again later"
        )
    if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
        return CredentialsError(
            f"{place}: the key was refused ({words}); {CHECK_KEY}, and that this key may use this "
            "model"
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS and out_of_quota(error):
        return RateLimitedError(
            f"{place}: no quota left ({words}); check the plan and billing of this key's account"
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        asked = _headers(error).get("retry-after", "")
        when = f"in {asked} s, as the server asks" if asked.isdecimal() else "in a while"
        return RateLimitedError(f"{place}: too many requests ({words}); try again {when}")
    code = getattr(error, "code", None)
    is_elsewhere = status == HTTPStatus.NOT_FOUND or status < HTTPStatus.BAD_REQUEST  # a redirect
    if is_elsewhere or code == "model_not_found":  # some send it with 400
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


def _headers(error: Exception) -> Any:
    return getattr(getattr(error, "response", None), "headers", {})
