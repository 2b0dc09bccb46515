"""Errors in, `{error, remedy}` with a status code out: no stack traces, no paths of the server."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as StarletteHTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response

from rag_nodes.core.errors import RagNodesError
from rag_nodes.core.keys import trace_of
from rag_nodes.server.messages import misfits, public, remedy_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fastapi import FastAPI
    from starlette.requests import Request

_RETRY_SECONDS = "2"
_GONE = 499
"""Status by which proxies log clients that left; nobody reads it."""

logger = logging.getLogger(__name__)


def error_response(
    status: int, error: str, remedy: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """Return the response to a refused request; all refusals have the same shape."""
    later = {"retry-after": _RETRY_SECONDS} if status == 503 else {}  # noqa: PLR2004
    return JSONResponse({"error": error, "remedy": remedy}, status, {**later, **(headers or {})})


def install_handlers(api: FastAPI) -> None:
    """Let every error of an app end as `{error, remedy}`."""
    api.add_exception_handler(StarletteHTTPException, _refused)
    api.add_exception_handler(RequestValidationError, _invalid)
    api.add_exception_handler(RagNodesError, _failed)
    api.add_exception_handler(ClientDisconnect, _gone)
    api.add_exception_handler(Exception, _failed)


def _refused(_: Request, error: Exception) -> Response:
    """Answer what the framework or a route refuses; an unreadable form is a bad request."""
    if not isinstance(error, StarletteHTTPException):
        raise error
    status, detail = error.status_code, str(error.detail)
    if status == 400:  # noqa: PLR2004 - Bad Request; of a form its limit of parts is one of size
        status = 413 if detail.startswith("Too many") else 422
    return error_response(status, detail, remedy_of(status), error.headers)


def _invalid(_: Request, error: Exception) -> Response:
    """A body or parameter that does not fit; its value, which may be a key, is not repeated."""
    if not isinstance(error, RequestValidationError):
        raise error
    faults, remedy = error.errors(), remedy_of(422)
    if any(fault["loc"] == ("body",) for fault in faults):
        remedy = "send JSON with the header Content-Type: application/json"
    return error_response(422, misfits(faults), remedy)


def _gone(_: Request, error: Exception) -> Response:
    """Nobody is there to read this; that a client hung up is no fault of the server."""
    logger.debug("a client left in the middle of its request\n%s", trace_of(error))
    return Response(status_code=_GONE)


def _failed(_: Request, error: Exception) -> Response:
    status, what, remedy = public(error)
    if not isinstance(error, RagNodesError):
        logger.error("a request failed\n%s", trace_of(error))
    return error_response(status, what, remedy)
