"""What workers of an ingest run on: here, processes of this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError
from rag_nodes.workers.children import ChildProcesses
from rag_nodes.workers.ingesting import ingest_by

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.pipeline import IngestReport
    from rag_nodes.pipeline.arrivals import Parsers
    from rag_nodes.store import Store

_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
"""Where a container says how many cores' worth of time it has."""


def usable_cores() -> int:
    """Cores that this process may use: by its affinity, and by the limits of its container."""
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    try:
        quota, period = _CPU_MAX.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError):  # no cgroup of version 2, or no limit
        return cores


class ProcessEngine:
    """Workers that are processes of this machine.

    Args:
        workers: how many; None for the cores that may be used.

    Raises:
        ConfigurationError: fewer than 1.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigurationError(f"workers must be at least 1, not {workers}")
        self.workers = workers or usable_cores()

    def ingest(
        self, paths: Iterable[str | Path], parsers: Parsers, store: Store, **options: Any
    ) -> IngestReport:
        """As `rag_nodes.pipeline.ingest`, with its options."""
        return ingest_by(
            lambda recipe: ChildProcesses(recipe.shared_by(self.workers), self.workers),
            paths,
            parsers,
            store,
            **options,
        )
