"""Workers that read, cut and embed beside each other, and the one writer behind them.

A worker of an ingest runs the very same ingest as a process alone, on a few files at a time, made
of a `Recipe`. Where the store is open in one process only, it sends what is to be stored. A
`Transport` takes tasks to workers of any `Trade`. Rows of an evaluation are measured by
`rag_nodes.executors`.
"""

from rag_nodes.workers.driver import BARREN
from rag_nodes.workers.engines import AutoEngine, ProcessEngine
from rag_nodes.workers.ingesting import ingest_by
from rag_nodes.workers.messages import Batch, Message
from rag_nodes.workers.recipe import Recipe
from rag_nodes.workers.transport import (
    Arrived,
    CannotWork,
    Died,
    Trade,
    Transport,
    WorkerRecipe,
    checked,
)
from rag_nodes.workers.work import BatchWorker

__all__ = [
    "BARREN",
    "Arrived",
    "AutoEngine",
    "Batch",
    "BatchWorker",
    "CannotWork",
    "Died",
    "Message",
    "ProcessEngine",
    "Recipe",
    "Trade",
    "Transport",
    "WorkerRecipe",
    "checked",
    "ingest_by",
]
