"""What is noted of a column while it runs: errors, times, tokens and their price."""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from contextlib import contextmanager
from types import MappingProxyType
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
from rag_nodes.models.embedded_tokens import EmbeddedTokens
from rag_nodes.models.prices import cost_of
from rag_nodes.pipeline.report import Progress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rag_nodes.models import Models
    from rag_nodes.models.prices import Prices
    from rag_nodes.pipeline.report import Stage

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


class ColumnNotes:
    """The notes of one column; used by one thread at a time, and read by any.

    Args:
        name: the parser's name in the report.
        models: of which one embeds.
        report: takes progress; safe to call from any thread.
        prices: of embedding models, see `rag_nodes.models.prices`.

    Attributes:
        errors: everything that went wrong, in order.
        stopped: why it gave up, which the next document would fail by too; None while it has not.
        embedded: tokens that the model was given.
        seconds: wall-clock time by stage.
    """

    def __init__(
        self,
        name: str,
        models: Models,
        report: Callable[[Progress], None],
        prices: Prices = MappingProxyType({}),
    ) -> None:
        self.name = name
        self.errors: list[str] = []
        self.stopped: str | None = None
        self.embedded = EmbeddedTokens(models.embedding)
        self.seconds: dict[str, float] = defaultdict(float)
        self._model, self._report, self._prices = models.embedding_name, report, prices

    def note(self, what: str, error: BaseException) -> None:
        """Note an error; one that is hopeless is why the column stops."""
        # Where nobody configured logging, Python prints warnings, and with them any traceback.
        logger.warning("%s: %s: %s", self.name, what, said(error))
        if not isinstance(error, RagNodesError):  # ours say it all, and their causes may hold keys
            logger.debug("%s: %s", self.name, what, exc_info=error)
        self.errors.append(f"{what}: {said(error)}")
        if isinstance(error, HOPELESS):
            self.stopped = self.stopped or said(error)

    def tell(self, stage: Stage, done: int, total: int | None = None) -> None:
        """Report progress."""
        tokens = self.embedded.tokens
        self._report(Progress(stage, self.name, done, total, tokens, self.cost(tokens)))

    def cost(self, tokens: int) -> float | None:
        """US dollars for embedding so many tokens; None where the price is unknown."""
        return cost_of(tokens, 0, self._model, self._prices)

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Add the time of the block to a stage."""
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] += time.perf_counter() - started


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
