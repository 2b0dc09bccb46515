"""Errors in, `{error, remedy}` with a status code out: no stack traces, no paths of the server."""

from __future__ import annotations

import logging
import re
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from rag_nodes.core.errors import (
    CHECK_KEY,
    SET_KEY,
    BusyError,
    CollectionMissingError,
    ConfigurationError,
    CredentialsError,
    DatasetError,
    DatasetTooLargeError,
    DocumentMissingError,
    MissingPackageError,
    ModelError,
    ParseError,
    RagNodesError,
    ReadError,
    SessionEndedError,
    StoreError,
)
from rag_nodes.core.keys import trace_of
from rag_nodes.operations.base import misfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from fastapi import FastAPI
    from starlette.requests import Request

_STATUS: tuple[tuple[type[RagNodesError], int], ...] = (
    (BusyError, 503),
    (SessionEndedError, 404),
    (DocumentMissingError, 404),
    (CollectionMissingError, 404),
    (CredentialsError, 503),  # those of the server itself
    (ConfigurationError, 422),
    (DatasetTooLargeError, 413),
    (DatasetError, 422),
    (ReadError, 422),
    (ParseError, 422),
    (MissingPackageError, 503),
    (ModelError, 503),
    (StoreError, 503),
)
"""First match wins; everything else is ours to repair."""
_REMEDIES = {
    404: "see /api/openapi.json for what there is",
    405: "see /api/openapi.json for the methods of this address",
    413: "send less at once",
    422: "correct the request and send it again",
    503: "try again later",
}
_BUG = ("this went wrong inside the server", "tell whoever runs it; its log says more")
_PATH = re.compile(
    r"(?P<address>https?://[^\s;,'\"]+|(?<![\w/.])/api/\S*)"
    r"|(?:file://|(?<![\w/.])(?:\.{1,2}|~\w*)?|(?<=\w:))"
    r"(?:/(?=[^\s/])|(?<!\w)[A-Za-z]:\\)[^:;,'\"\n]*[/\\](?P<last>[^\s:;,'\"/\\]+)"
)
"""A path of a computer, with blanks in its folders; or else an address, which stays.

Where a message goes on behind a path and has a further slash, the words between are lost: better
these than the name of a folder.
"""
_RETRY_SECONDS = "2"
_GONE = 499
"""What proxies note for clients that left; nobody reads it."""

logger = logging.getLogger(__name__)


def error_response(
    status: int, error: str, remedy: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The one shape of all refusals."""
    later = {"retry-after": _RETRY_SECONDS} if status == 503 else {}  # noqa: PLR2004
    return JSONResponse({"error": error, "remedy": remedy}, status, {**later, **(headers or {})})


def public(error: Exception) -> tuple[int, str, str]:
    """Status, error and remedy of any exception, fit for people who must not see the server.

    Args:
        error: what was raised.
    """
    if isinstance(error, ReadError):
        return 422, without_paths(f"{error.path.name}: {error.reason}"), error.remedy
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status, *halves(str(error), status)
    if isinstance(error, RagNodesError):
        return 500, *halves(str(error), 500)
    return 500, *_BUG


def without_paths(text: str) -> str:
    """The text with every path cut down to its last part, and no advice on the server's keys."""
    for remedy in (CHECK_KEY, SET_KEY):
        text = text.replace(remedy, "whoever runs the server has to check its key")
    return _PATH.sub(lambda found: found["address"] or found["last"], text)


def install_handlers(api: FastAPI) -> None:
    """Let every error of an app end as `{error, remedy}`."""
    api.add_exception_handler(StarletteHTTPException, _refused)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(RagNodesError, _failed)
    api.add_exception_handler(ClientDisconnect, _gone)
    api.add_exception_handler(Exception, _failed)


def _refused(_: Request, error: Exception) -> Response:
    """What the framework or a route refuses; an unreadable form is a wrong request."""
    if not isinstance(error, StarletteHTTPException):
        raise error
    status, said = error.status_code, str(error.detail)
    if status == 400:  # noqa: PLR2004 - Bad Request; of a form its limit of parts is one of size
        status = 413 if said.startswith("Too many") else 422
    return error_response(status, said, _remedy(status), error.headers)


def _invalid(_: Request, error: Exception) -> Response:
    """A body or parameter that does not fit; its value, which may be a key, is not repeated."""
    if not isinstance(error, RequestValidationError):
        raise error
    return error_response(422, misfits(error.errors()), _remedy(422))


def misfits(errors: Iterable[Mapping[str, Any]]) -> str:
    """Where a request does not fit and why; its values, which may be keys, are not repeated.

    Args:
        errors: what pydantic found.
    """
    return "; ".join(
        f"{'.'.join(str(part) for part in one['loc'] if part != 'body') or 'body'}: {misfit(one)}"
        for one in errors
    )


def _gone(_: Request, error: Exception) -> Response:
    """Nobody is there to read this; that a client hung up is no fault of the server."""
    logger.debug("a client left in the middle of its request\n%s", trace_of(error))
    return Response(status_code=_GONE)


def _failed(_: Request, error: Exception) -> Response:
    status, what, remedy = public(error)
    if not isinstance(error, RagNodesError):
        logger.error("a request failed\n%s", trace_of(error))
    return error_response(status, what, remedy)


def halves(message: str, status: int) -> tuple[str, str]:
    """Error and remedy of one of our messages, which end in a remedy after the last semicolon.

    Args:
        message: of a `RagNodesError`.
        status: HTTP status code, decides the remedy where the message has none.
    """
    what, _, remedy = message.rpartition("; ")
    if not what:
        what, remedy = message, _remedy(status)
    return without_paths(what), without_paths(remedy)


def _remedy(status: int) -> str:
    return _REMEDIES.get(status, "tell whoever runs the server")
