"""Qdrant's exceptions into ours, each with location and remedy."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from rag_nodes.errors import (
    CollectionMissingError,
    RagNodesError,
    StoreError,
    StoreUnreachableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_NOT_FOUND = 404
_REFUSED = (401, 403)


@contextmanager
def translated(location: str, collection: str = "") -> Iterator[None]:
    """Run Qdrant calls so that whatever they raise on purpose comes out as a `StoreError`.

    Raises:
        CollectionMissingError: the collection does not exist.
        StoreUnreachableError: the server does not answer.
        StoreError: the server refused.
    """
    try:
        yield
    except RagNodesError:
        raise
    except Exception as error:
        ours = _translation(error, shown(location), collection)
        if ours is None:
            raise
        raise ours from error


def missing(location: str, collection: str) -> CollectionMissingError:
    """The error for a collection that nothing was ingested into."""
    return CollectionMissingError(
        f"{shown(location)}: there is no collection {collection!r}; ingest documents first, with "
        "the same corpus, parser settings and embedding model; after an update that changes how "
        "a parser cuts, ingest them again"
    )


def shown(location: str) -> str:
    """`location` as messages may show it: a URL without user name and password."""
    parts = urlsplit(location)
    if "@" not in parts.netloc:
        return location
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def was_refused(error: Exception) -> bool:
    """Whether a server refused the key, or what was asked with it."""
    return getattr(error, "status_code", None) in _REFUSED


def _translation(error: Exception, location: str, collection: str) -> StoreError | None:
    from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

    if isinstance(error, UnexpectedResponse):
        return _of_response(error, location, collection)
    if isinstance(error, ResponseHandlingException):
        return StoreUnreachableError(
            f"{location}: the Qdrant server does not answer ({error}); check the address and that "
            "the server is running"
        )
    return None


def _of_response(error: Exception, location: str, collection: str) -> StoreError:
    status = getattr(error, "status_code", None)
    if status == _NOT_FOUND and collection:
        return missing(location, collection)
    if was_refused(error):
        return StoreError(
            f"{location}: the Qdrant server refused the key (HTTP {status}); set the right one"
        )
    return StoreError(f"{location}: the Qdrant server refused the request: {error}")
