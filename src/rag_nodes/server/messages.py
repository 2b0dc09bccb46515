"""Messages that strangers may read: no stack traces, no keys, no paths of the server."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rag_nodes.core.errors import (
    CHECK_KEY,
    FREE_SPACE,
    NAME_KEYS,
    REPAIR,
    SET_KEY,
    BusyError,
    CollectionMissingError,
    ConfigurationError,
    CredentialsError,
    DatasetError,
    DatasetTooLargeError,
    DocumentMissingError,
    FileMissingError,
    FileTooLargeError,
    MissingPackageError,
    ModelError,
    NoTextLayerError,
    OcrProgramMissingError,
    ParseError,
    RagNodesError,
    ReadError,
    ReadMemoryError,
    ReadTimeoutError,
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
_WORDS = frozenset({"error", "remedy", "reason", "incomplete", "warnings", "detail", "boxes_error"})
"""Fields in which a message of this computer may stand."""
_BUG = ("this went wrong inside the server", "tell whoever runs it; its log says more")
_CHECK = "whoever runs the server has to check its key"
_OCR = "ask whoever runs the server to name a program for OCR in RAG_NODES_OCR"
_OWNER = "whoever runs the server has to"
_LIMIT = "split it, or ask whoever runs the server to raise the limit"
_PUBLIC_ADVICE = {
    CHECK_KEY: _CHECK,
    SET_KEY: _CHECK,
    NoTextLayerError.remedy: f"{_OCR}, or run ocrmypdf on the file first",
    OcrProgramMissingError.remedy: f"{_OWNER} install it, or set RAG_NODES_OCR to its path",
    FileMissingError.remedy: "the file was moved or deleted: put it back, or ingest it again",
    FileTooLargeError.remedy: _LIMIT,
    ReadMemoryError.remedy: _LIMIT,
    ReadTimeoutError.remedy: _LIMIT,
    REPAIR: "export or download it again",
    NAME_KEYS: "a file gets such keys from its front matter, or from whoever ingests it",
    FREE_SPACE: f"{_OWNER} free some space",
    "read them with --ocr (Python: ocr=)": _OCR,
    "scanned pages need OCR: --ocr (Python: ocr=)": _OCR,
}
"""Advice for the owner of this computer, and what strangers read in its place."""
_INSTALL = re.compile(
    r"(?P<lead>(?:^|(?P<dot>\. ))Install (?:it|one) with: )?pip install "
    r"(?:'rag-nodes\[(?P<extra>[\w-]+)\]'|(?P<package>[\w-]+))"
)
"""The install line of a message, with the words that lead to it."""
_CLEAR = re.compile(
    r"`rag-nodes clear --parser [^`]+` deletes it, then ingest again or restore a copy"
)
"""The remedy for a damaged collection, which only its owner may delete."""
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
        return 422, public_words(f"{error.path.name}: {error.reason}"), public_words(error.remedy)
    for kind, status in _STATUS:
        if isinstance(error, kind):
            return status, *halves(str(error), status)
    if isinstance(error, RagNodesError):
        return 500, *halves(str(error), 500)
    return 500, *_BUG


def public_words(text: str) -> str:
    """Return the text with paths shortened to their last part, and advice for strangers.

    This is the only place that replaces advice for the owner of this computer.
    """
    for advice, public_advice in _PUBLIC_ADVICE.items():
        text = text.replace(advice, public_advice)
    text = _CLEAR.sub(f"{_OWNER} restore this collection", _INSTALL.sub(_to_install, text))
    return _PATH.sub(lambda match: match["address"] or match["last"], text)


def misfits(errors: Iterable[Mapping[str, Any]]) -> str:
    """Describe which fields of a request are invalid and why, without values, which may be keys.

    Args:
        errors: what pydantic found.
    """
    return "; ".join(f"{_field_of(error)}: {misfit(error)}" for error in errors)


def _field_of(error: Mapping[str, Any]) -> str:
    """Return the path of a field; for text that is no JSON, pydantic gives an offset instead."""
    keys = () if error["type"] == "json_invalid" else error["loc"]
    return ".".join(str(key) for key in keys if key != "body") or "body"


def halves(message: str, status: int) -> tuple[str, str]:
    """Error and remedy of one of our messages, which end in a remedy after the last semicolon.

    Args:
        message: of a `RagNodesError`.
        status: HTTP status code, decides the remedy where the message has none.
    """
    words = public_words(message)
    what, _, remedy = words.rpartition("; ")
    return (what, remedy) if what else (words, remedy_of(status))


def clean(value: Any, *, is_words: bool = False) -> Any:
    """The same data with messages fit for strangers; texts of documents stay as they are."""
    if isinstance(value, dict):
        return {
            name: part if name == "metadata" else clean(part, is_words=name in _WORDS)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [clean(part, is_words=is_words) for part in value]
    return public_words(value) if is_words and isinstance(value, str) else value


def _to_install(line: re.Match[str]) -> str:
    needed = f"the extra {line['extra']} of rag-nodes" if line["extra"] else line["package"]
    return f"{'; ' if line['dot'] else ''}{_OWNER} install {needed}" if line["lead"] else needed


def remedy_of(status: int) -> str:
    """Return what helps against a refusal of this HTTP status code."""
    return _REMEDIES.get(status, "tell whoever runs the server")
