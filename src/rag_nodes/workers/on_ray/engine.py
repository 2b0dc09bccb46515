"""An ingest on Ray."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rag_nodes.errors import ConfigurationError, MissingExtraError
from rag_nodes.executors.ray import Ray
from rag_nodes.workers.engines import usable_cores
from rag_nodes.workers.ingesting import ingest_by
from rag_nodes.workers.on_ray.transport import RayShape, RayTransport

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rag_nodes.executors import Executor
    from rag_nodes.pipeline import IngestReport
    from rag_nodes.pipeline.arrivals import Parsers
    from rag_nodes.store import Store
    from rag_nodes.workers.transport import WorkerRecipe


class RayEngine:
    """Workers on Ray: on this machine, or on all machines of a cluster.

    Of use on several machines with a Qdrant server, which the workers write by themselves. On one
    machine `ProcessEngine` does the same without Ray's start and half a GB; and the folder of an
    embedded store is written by this process alone.

    On a cluster the files must have the same paths on every machine, with the same version of
    rag_nodes, and this process must run on one of its machines.

    Args:
        workers: how many, a core each; None for the cores this process may use.
        address: `host:port` of a cluster; None to start Ray on this machine until it is done.
        embedders: processes that hold the embedding model and embed for all workers, a core each;
            0 where every worker holds the model itself. For models that run here and are large.
        num_gpus: share of a graphics card for each embedder, or for each worker where there are
            none.

    Raises:
        ConfigurationError: fewer than one worker, or a negative number of anything.
        MissingExtraError: Ray is not installed.
    """

    def __init__(
        self,
        workers: int | None = None,
        *,
        address: str | None = None,
        embedders: int = 0,
        num_gpus: float = 0.0,
    ) -> None:
        if workers is not None and workers < 1:
            raise ConfigurationError(f"workers must be at least 1, not {workers}")
        for name, value in (("embedders", embedders), ("num_gpus", num_gpus)):
            if value < 0:
                raise ConfigurationError(f"{name} must not be negative, and is {value}")
        if find_spec("ray") is None:  # before a store is made, or a file read
            raise MissingExtraError("ray", "ray")
        self.shape = RayShape(workers or usable_cores(), embedders, num_gpus)
        self.address = address

    @property
    def workers(self) -> int:
        """How many there are."""
        return self.shape.workers

    def ingest(
        self, paths: Iterable[str | Path], parsers: Parsers, store: Store, **options: Any
    ) -> IngestReport:
        """As `rag_nodes.pipeline.ingest`, with its options.

        Raises:
            EngineError: it cannot be started, or there is no such cluster.
        """
        return ingest_by(self.start, paths, parsers, store, **options)

    def executor(self) -> Executor:
        """What does any work as tasks of Ray; embedders are for ingests."""
        return Ray(self.workers, address=self.address, num_gpus=self.shape.num_gpus)

    def start(self, recipe: WorkerRecipe) -> RayTransport[Any, Any]:
        """The workers, made of a recipe.

        Raises:
            EngineError: it cannot be started, or there is no such cluster.
        """
        share = recipe.shared_by(self.shape.workers, embedding=self.shape.embedding)
        return RayTransport(share, self.shape, address=self.address)
