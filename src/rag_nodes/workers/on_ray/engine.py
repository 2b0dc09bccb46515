"""An ingest on Ray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError
from rag_nodes.workers.engines import usable_cores
from rag_nodes.workers.ingesting import ingest_by
from rag_nodes.workers.on_ray.transport import RayTransport

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rag_nodes.pipeline import IngestReport
    from rag_nodes.pipeline.arrivals import Parsers
    from rag_nodes.store import Store
    from rag_nodes.workers.recipe import Recipe


class RayEngine:
    """Workers on Ray: on this machine, or on all machines of a cluster.

    Of use on several machines with a Qdrant server, which the workers write by themselves. On one
    machine `ProcessEngine` does the same without Ray's ten seconds and 400 MB; and the folder of an
    embedded store is written by this process alone.

    On a cluster the files must have the same paths on every machine, with the same version of
    rag_nodes, and this process must run on one of its machines.

    Args:
        workers: how many, a core each; None for the cores this process may use.
        address: `host:port` of a cluster; None to start Ray on this machine until it is done.
        num_gpus: share of a graphics card for each worker, for an embedding model that runs there.

    Raises:
        ConfigurationError: fewer than one worker, or a negative share.
    """

    def __init__(
        self, workers: int | None = None, *, address: str | None = None, num_gpus: float = 0.0
    ) -> None:
        if workers is not None and workers < 1:
            raise ConfigurationError(f"workers must be at least 1, not {workers}")
        if num_gpus < 0:
            raise ConfigurationError(f"num_gpus must not be negative, and is {num_gpus}")
        self.workers = workers or usable_cores()
        self.address = address
        self.num_gpus = num_gpus

    def ingest(
        self, paths: Iterable[str | Path], parsers: Parsers, store: Store, **options: Any
    ) -> IngestReport:
        """As `rag_nodes.pipeline.ingest`, with its options.

        Raises:
            MissingExtraError: Ray is not installed.
            EngineError: it cannot be started, or there is no such cluster.
        """
        return ingest_by(self._start, paths, parsers, store, **options)

    def _start(self, recipe: Recipe) -> RayTransport:
        share = recipe.shared_by(self.workers)
        return RayTransport(share, self.workers, address=self.address, num_gpus=self.num_gpus)
