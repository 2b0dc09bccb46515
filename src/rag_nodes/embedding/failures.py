"""Errors of parsers and models, as columns report them."""

from __future__ import annotations

import logging

from rag_nodes.errors import (
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    RagNodesError,
    RateLimitedError,
    StoreError,
    UnknownModelError,
)
from rag_nodes.keys import trace_of, words_of

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
