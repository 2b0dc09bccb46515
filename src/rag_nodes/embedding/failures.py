"""Errors of parsers and models, as columns report them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rag_nodes.core.errors import (
    CredentialsError,
    DimensionError,
    EmptyFileError,
    MissingExtraError,
    ModelConnectionError,
    RagNodesError,
    RateLimitedError,
    StoreError,
    UnknownModelError,
)
from rag_nodes.core.keys import trace_of, words_of

if TYPE_CHECKING:
    from llama_index.core.schema import Document

logger = logging.getLogger(__name__)

HOPELESS = (
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    RateLimitedError,
    StoreError,
    UnknownModelError,
)
"""Errors after which the next document would only fail the same way, slowly."""


def noted(column: str, what: str, error: BaseException) -> str:
    """Log an error of a column, and say it."""
    # Where nobody configured logging, Python prints warnings, and with them any traceback.
    logger.warning("%s: %s: %s", column, what, said(error))
    if not isinstance(error, RagNodesError):  # ours say it all
        logger.debug("%s: %s\n%s", column, what, trace_of(error))
    return f"{what}: {said(error)}"


def said(error: BaseException) -> str:
    """An error in words; of those that are not ours the class alone."""
    return words_of(error)


def missing_extra(error: BaseException | None) -> str | None:
    """Return the extra of rag-nodes without which a file could not be read, None if none is."""
    cause = error.__cause__ if error else None
    return cause.extra if isinstance(cause, MissingExtraError) else None


def without_text(document: Document, path: str) -> EmptyFileError:
    """Return the error of a document that has no text."""
    from rag_nodes.parsers.media import has_media  # a look at a store loads no LlamaIndex

    nothing = "the document has no text, so nothing of it is stored"
    remedy = "check what made it"
    if has_media(document):
        nothing = "the document is an image, sound or film without text, so it is not stored"
        remedy = "give it a text that can be found, such as a caption"
    return EmptyFileError(path, nothing, remedy)
