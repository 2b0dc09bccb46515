"""Messages that strangers may read: no stack traces, no keys, no paths of the server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

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
    NoTextLayerError,
    ParseError,
    RagNodesError,
    ReadError,
    SessionEndedError,
    StoreError,
)
from rag_nodes.operations.base import misfit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

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
_CHECK = "whoever runs the server has to check its key"
_OCR = "ask whoever runs the server to name a program for OCR in RAG_NODES_OCR"
_PUBLIC_ADVICE = {
    CHECK_KEY: _CHECK,
    SET_KEY: _CHECK,
    NoTextLayerError.remedy: f"{_OCR}; or run ocrmypdf on the file first",
    "read them with --ocr (Python: ocr=)": _OCR,
    "scanned pages need OCR: --ocr (Python: ocr=)": _OCR,
}
"""Advice for the owner of this computer, and what strangers read in its place."""
_PATH = re.compile(
    r"(?P<address>https?://[^\s;,'\"]+|(?<![\w/.])/api/\S*)"
    r"|(?:file://|(?<![\w/.])(?:\.{1,2}|~\w*)?|(?<=\w:))"
    r"(?:/(?=[^\s/])|(?<!\w)[A-Za-z]:\\)[^:;,'\"\n]*[/\\](?P<last>[^\s:;,'\"/\\]+)"
)
"""A path of a computer, with blanks in its folders; or else an address, which stays.

Where a message goes on behind a path and has a further slash, the words between are lost: better
these than the name of a folder.
"""


def public(error: Exception) -> tuple[int, str, str]:
    """Status, error and remedy of any exception, fit for people who must not see the server.

    Args:
        error: what was raised.
    """
    if isinstance(error, ReadError):
        return 422, without_paths(f"{error.path.name}: {error.reason}"), without_paths(error.remedy)
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status, *halves(str(error), status)
    if isinstance(error, RagNodesError):
        return 500, *halves(str(error), 500)
    return 500, *_BUG


def without_paths(text: str) -> str:
    """Return the text with paths shortened to their last part, and advice for strangers."""
    for advice, public_advice in _PUBLIC_ADVICE.items():
        text = text.replace(advice, public_advice)
    return _PATH.sub(lambda match: match["address"] or match["last"], text)


def misfits(errors: Iterable[Mapping[str, Any]]) -> str:
    """Describe which fields of a request are invalid and why, without values, which may be keys.

    Args:
        errors: what pydantic found.
    """
    return "; ".join(
        f"{'.'.join(str(key) for key in error['loc'] if key != 'body') or 'body'}: {misfit(error)}"
        for error in errors
    )


def halves(message: str, status: int) -> tuple[str, str]:
    """Error and remedy of one of our messages, which end in a remedy after the last semicolon.

    Args:
        message: of a `RagNodesError`.
        status: HTTP status code, decides the remedy where the message has none.
    """
    what, _, remedy = message.rpartition("; ")
    if not what:
        what, remedy = message, remedy_of(status)
    return without_paths(what), without_paths(remedy)


def remedy_of(status: int) -> str:
    """Return what helps against a refusal of this HTTP status code."""
    return _REMEDIES.get(status, "tell whoever runs the server")
