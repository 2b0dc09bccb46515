"""Errors of an ingest: which of them end a column, and what is said of the others."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rag_nodes.errors import (
    CredentialsError,
    DimensionError,
    ModelConnectionError,
    RagNodesError,
    RateLimitedError,
    StoreError,
    UnknownModelError,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

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
LONGEST = 1000
"""Characters of an error that a ledger keeps."""


def noted(column: str, what: str, error: BaseException) -> None:
    """Log an error of a column."""
    # Where nobody configured logging, Python prints warnings, and with them any traceback.
    logger.warning("%s: %s: %s", column, what, said(error))
    if not isinstance(error, RagNodesError):  # ours say it all, and their causes may hold keys
        logger.debug("%s: %s", column, what, exc_info=error)


def said(error: BaseException) -> str:
    """An error in words; those that are not ours with their class."""
    if isinstance(error, RagNodesError):
        return str(error)
    return ": ".join(filter(None, (type(error).__name__, str(error))))


def summary(errors: Sequence[str]) -> str | None:
    """The first error, and how many more there are; None without any."""
    if not errors:
        return None
    more = f" (and {len(errors) - 1} more, see the log)" if len(errors) > 1 else ""
    return errors[0] + more
