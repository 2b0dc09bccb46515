"""Which processes do the work of an ingest or an evaluation: several of this machine, or Ray."""

from __future__ import annotations

import os
from importlib.util import find_spec
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rag_nodes.errors import ConfigurationError, MissingExtraError
from rag_nodes.executors import Pool

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rag_nodes.executors import Executor
    from rag_nodes.models import Models
    from rag_nodes.pipeline.run import IngestRun
    from rag_nodes.readers import ListedFile

LARGE_SWEEP = 1_000_000
"""Characters of documents, times rows, from which several processes measure sooner than one."""
LARGE = 20_000_000
"""Bytes of files that are due from which several processes end sooner than one."""
_CPU_MAX = Path("/sys/fs/cgroup/cpu.max")
"""Where a container says how many cores' worth of time it has."""


class WorkerEngine(Protocol):
    """Workers of any kind."""

    @property
    def workers(self) -> int:
        """How many."""

    @property
    def address(self) -> str | None:
        """Of a cluster, whose machines need not have the files of this one; None for none."""

    def executor(self) -> Executor:
        """What does any work by these workers."""


class IngestEngine(Protocol):
    """Says by which workers an ingest is done."""

    def ingesting(self, run: IngestRun, files: Iterable[ListedFile]) -> WorkerEngine | None:
        """The workers; None for this process alone.

        Args:
            run: the ingest.
            files: all of it, as often as they are asked for.
        """


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

    address: str | None = None
    """Of a cluster; there is none."""

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigurationError(f"workers must be at least 1, not {workers}")
        self.workers = workers or usable_cores()

    def ingesting(self, run: IngestRun, files: Iterable[ListedFile]) -> WorkerEngine | None:  # noqa: ARG002
        """These, in any case."""
        return self

    def executor(self) -> Executor:
        """What does any work in such processes."""
        return Pool(self.workers)


class RayEngine:
    """Workers on Ray: on this machine, or on all machines of a cluster.

    Of use on several machines; on one `ProcessEngine` does the same without Ray's start and half a
    GB. This process is the only one that writes to the store.

    On a cluster the files must have the same paths on every machine, with the same version of
    rag_nodes, and this process must run on one of its machines.

    Args:
        workers: how many, a core each; None for the cores this process may use.
        address: `host:port` of a cluster; None to start Ray on this machine until it is done.
        num_gpus: share of a graphics card for each worker.

    Raises:
        ConfigurationError: fewer than one worker, or a negative share.
        MissingExtraError: Ray is not installed.
    """

    def __init__(
        self, workers: int | None = None, *, address: str | None = None, num_gpus: float = 0.0
    ) -> None:
        if workers is not None and workers < 1:
            raise ConfigurationError(f"workers must be at least 1, not {workers}")
        if num_gpus < 0:
            raise ConfigurationError(f"num_gpus must not be negative, and is {num_gpus}")
        if find_spec("ray") is None:  # before a store is made, or a file read
            raise MissingExtraError("ray", "ray")
        self.workers, self.address, self.num_gpus = workers or usable_cores(), address, num_gpus

    def ingesting(self, run: IngestRun, files: Iterable[ListedFile]) -> WorkerEngine | None:  # noqa: ARG002
        """These, in any case."""
        return self

    def executor(self) -> Executor:
        """What does any work as tasks of Ray."""
        from rag_nodes.executors.ray import Ray

        return Ray(self.workers, address=self.address, num_gpus=self.num_gpus)


class AutoEngine:
    """Several processes where that pays, and this one where it does not.

    Starting a worker takes seconds, and so it pays for `LARGE` bytes that are due and for a model
    that runs offline: where a server embeds, waiting for it is what takes the time, and one process
    has several requests under way. What cannot be made in another process stays in this one.
    """

    def ingesting(self, run: IngestRun, files: Iterable[ListedFile]) -> WorkerEngine | None:
        """See `IngestEngine`."""
        if usable_cores() < 2 or not run.recipe.models.embeds_offline or not _are_large(files):  # noqa: PLR2004
            return None
        if not _are_large(run.changed(files)):
            return None
        try:
            run.recipe.for_workers(1, is_elsewhere=False)
        except ConfigurationError:
            return None
        return ProcessEngine()

    def measuring(self, characters: int, rows: int, models: Models) -> ProcessEngine | None:
        """What `evaluate` and `recommend` measure by; None for this process alone.

        Args:
            characters: of the documents.
            rows: that are measured.
            models: embed the chunks.
        """
        workers = min(usable_cores(), rows)
        if workers < 2 or characters * rows < LARGE_SWEEP or not models.embeds_offline:  # noqa: PLR2004
            return None
        return ProcessEngine(workers)


def _are_large(files: Iterable[ListedFile]) -> bool:
    """Whether several processes are done with files sooner than one; no more are looked at."""
    return any(total >= LARGE for total in accumulate(one.size or 0 for one in files))
