"""Workers that read, cut and embed beside each other, and the one writer behind them.

A worker runs the very same ingest as a process alone, on a few files at a time, made of a `Recipe`.
Where the store is open in one process only, it sends what is to be stored.
"""

from rag_nodes.workers.engines import AutoEngine, ProcessEngine
from rag_nodes.workers.ingesting import ingest_by
from rag_nodes.workers.messages import Batch, Message
from rag_nodes.workers.recipe import Recipe
from rag_nodes.workers.transport import Arrived, Died, Transport
from rag_nodes.workers.work import BatchWorker

__all__ = [
    "Arrived",
    "AutoEngine",
    "Batch",
    "BatchWorker",
    "Died",
    "Message",
    "ProcessEngine",
    "Recipe",
    "Transport",
    "ingest_by",
]
